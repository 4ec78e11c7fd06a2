// Clip: a stream of frames as the viewer plays it, and where such streams come from.
#pragma once

#include <kinetograph/samples/viewer/frame.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace kinetograph::viewer {

/// How frames come from the decoder to the device that draws, in a sentence for a person.
struct Route {
    std::string sentence;
    bool is_detour = false;  ///< through the host, where the way without a copy was wanted: the sentence says why
};

/// One thread takes frames and lets go of them; all of them are gone before the clip is. Destruction takes as long as
/// the step that is being decoded, and the pictures that are still drawn from its frames.
struct Clip {
    std::unique_ptr<stream::FrameStream> stream{};
    std::size_t kept = 8;  ///< frames that may be held at once, for stepping back
    Route route;

    /// The next frame in order, or nothing if none is ready. Errors: those of FrameStream::take.
    Result<std::optional<Frame>> try_take();
};

class ClipSource {
  public:
    virtual ~ClipSource() = default;
    /// Pictures are drawn by `display`: frames of clips that are opened from now on may be images of it. Those clips
    /// are gone before `display` is.
    virtual void draw_on(const vulkan::Device& display) = 0;
    /// Opens `latents` and starts to decode it. Takes its time, so the viewer calls it away from its window's thread;
    /// never two calls at once.
    virtual Result<Clip> open(const std::filesystem::path& latents, bool loop) = 0;
    /// Closes the device that decodes: the next open() opens it anew. Never during open(); its clips are gone, or about
    /// to go.
    virtual void close() = 0;
    /// What decodes where, for the overlay: "wan_2.1_vae.safetensors · bf16 · cpu".
    virtual std::string description() const = 0;
};

}  // namespace kinetograph::viewer
