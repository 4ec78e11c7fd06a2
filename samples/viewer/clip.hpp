// Clip: a stream of frames as the viewer plays it, and where such streams come from.
#pragma once

#include <kinetograph/compute/live/live_feed.hpp>
#include <kinetograph/samples/viewer/frame.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace kinetograph::vulkan {
class Display;
}

namespace kinetograph::viewer {

/// How frames come from the decoder to the device that draws, in a sentence for a person.
struct Route {
    std::string sentence;
    bool is_detour = false;  ///< through the host, where the way without a copy was wanted: the sentence says why
};

/// One thread takes frames and releases them, all before the clip is destroyed. Destruction waits for the step that is
/// being decoded and for pictures that are still being drawn from its frames.
struct Clip {
    std::unique_ptr<stream::FrameSource> stream{};
    std::size_t kept = 8;  ///< frames that may be held at once, for stepping back
    Route route;
    std::shared_ptr<const live::LiveFeed> live{};        ///< if its latents are made while it plays
    std::string title{};                                 ///< of such a clip, shown instead of a file name
    std::function<std::string(std::int64_t)> note_of{};  ///< about a frame, for the status bar; null: none

    /// The next frame in order, or nothing if none is ready. Errors: those of FrameSource::take.
    Result<std::optional<Frame>> try_take();
};

class ClipSource {
  public:
    virtual ~ClipSource() = default;
    /// Sets the device that draws: frames of clips that are opened from now on may be images of `display`. Those clips
    /// are destroyed before `display` is.
    virtual void draw_on(const vulkan::Display& display) = 0;
    /// Opens `latents` and starts to decode it. May take long, so the viewer calls it on another thread than its
    /// window's; never two calls at once.
    virtual Result<Clip> open(const std::filesystem::path& latents, bool loop) = 0;
    /// Closes the device that decodes; the next open() opens it again. Not called during open() or next(), and only
    /// after the clips on the device were destroyed.
    virtual void close() = 0;
    /// The clip after the last one, from a source that receives several in a row; nothing if there is none. Blocks
    /// until it comes, so it is called like open().
    virtual Result<std::optional<Clip>> next() { return std::nullopt; }
    /// Whether next() may give a clip. Any thread.
    virtual bool more() const { return false; }
    /// Ends the waiting for another clip in open() and next(): they return Cancelled until close(). Any thread.
    virtual void cancel() {}
    /// What open() or next() is doing: "opening clip". Any thread.
    virtual std::string_view opening() const { return "opening clip"; }
    /// What decodes where, for the overlay: "wan_2.1_vae.safetensors · bf16 · cpu".
    virtual std::string description() const = 0;
};

}  // namespace kinetograph::viewer
