// ClipSource: turns a latents file into a running decode.
#pragma once

#include <kinetograph/compute/vae/decode_queue.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace kinetograph::viewer {

class ClipSource {
  public:
    virtual ~ClipSource() = default;
    /// Opens `latents` and starts to decode it. Takes its time, so the viewer calls it away from its window's thread;
    /// never two calls at once.
    virtual Result<std::unique_ptr<vae::DecodeQueue>> open(const std::filesystem::path& latents, bool loop) = 0;
    /// What decodes where, for the overlay: "Wan 2.1 · bf16 · cpu".
    virtual std::string description() const = 0;
};

}  // namespace kinetograph::viewer
