// ClipSource: turns a latents file into a running decode.
#pragma once

#include <kinetograph/samples/viewer/decoding_clip.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace kinetograph::vulkan {
class Device;
}

namespace kinetograph::viewer {

class ClipSource {
  public:
    virtual ~ClipSource() = default;
    /// Pictures are drawn by `display`: frames of clips that are opened from now on may be images of it. Those clips
    /// are gone before `display` is.
    virtual void draw_on(const vulkan::Device& display) = 0;
    /// Opens `latents` and starts to decode it. Takes its time, so the viewer calls it away from its window's thread;
    /// never two calls at once.
    virtual Result<std::unique_ptr<DecodingClip>> open(const std::filesystem::path& latents, bool loop) = 0;
    /// What decodes where, for the overlay: "wan_2.1_vae.safetensors · bf16 · cpu".
    virtual std::string description() const = 0;
};

}  // namespace kinetograph::viewer
