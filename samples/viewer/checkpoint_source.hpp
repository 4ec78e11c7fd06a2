// CheckpointSource: clips decoded with one checkpoint on one device.
#pragma once

#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/samples/viewer/clip_source.hpp>

#include <functional>
#include <memory>
#include <string>

namespace kinetograph::viewer {

/// Opens the checkpoint with the first clip and keeps it for the next ones. What a GPU decodes stays on the device that
/// draws, or comes there through the host, with the reason in the clip's Route; what the CPU decodes is in the host's
/// memory anyway.
class CheckpointSource final : public ClipSource {
  public:
    using SayRoute = std::function<void(const Route&)>;

    /// `say_route` is called for every clip of a GPU, on the thread that opens it; may be empty.
    /// `recorder` gets the spans of every pass, and outlives the source.
    CheckpointSource(std::string weights, const vae::ModelOptions& options, std::unique_ptr<accel::Device> device,
                     profile::Recorder& recorder, SayRoute say_route = {});
    ~CheckpointSource() override;
    void draw_on(const vulkan::Device& display) override { display_ = &display; }
    Result<std::unique_ptr<DecodingClip>> open(const std::filesystem::path& latents, bool loop) override;
    std::string description() const override;

  private:
    Result<std::unique_ptr<vae::Decoder>> make_decoder(const vae::Latents& clip) const;
    Result<std::unique_ptr<DecodingClip>> open_queued(vae::Latents clip, bool loop, Route route = {}) const;
    Result<std::unique_ptr<DecodingClip>> open_streamed(vae::Latents clip, bool loop) const;

    std::string weights_;
    vae::ModelOptions options_;
    std::unique_ptr<accel::Device> device_;
    profile::Recorder& recorder_;
    SayRoute say_route_;
    const vulkan::Device* display_ = nullptr;
    std::shared_ptr<vae::Model> model_;
};

}  // namespace kinetograph::viewer
