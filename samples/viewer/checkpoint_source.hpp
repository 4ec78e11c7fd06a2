// CheckpointSource: clips decoded with one checkpoint on one device.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/samples/viewer/clip_source.hpp>

#include <optional>
#include <string>

namespace kinetograph::viewer {

/// Opens the checkpoint with the first clip and keeps it for the next ones.
class CheckpointSource final : public ClipSource {
  public:
    CheckpointSource(std::string weights, const vae::DecoderOptions& options, std::unique_ptr<accel::Device> device);
    ~CheckpointSource() override;
    Result<std::unique_ptr<vae::DecodeQueue>> open(const std::filesystem::path& latents, bool loop) override;
    std::string description() const override;

  private:
    std::string weights_;
    vae::DecoderOptions options_;
    std::unique_ptr<accel::Device> device_;
    std::optional<vae::Checkpoint> checkpoint_;
};

}  // namespace kinetograph::viewer
