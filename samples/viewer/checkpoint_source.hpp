// CheckpointSource: clips decoded with one checkpoint on one device.
#pragma once

#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/samples/viewer/clip.hpp>

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

    /// `options` say what decodes, and where the spans of every pass go. `say_route` is called for every clip of a GPU,
    /// on the thread that opens it; may be empty.
    CheckpointSource(std::string weights, session::SessionOptions options, SayRoute say_route = {})
        : weights_(std::move(weights)), options_(std::move(options)), say_route_(std::move(say_route)) {}
    void draw_on(const vulkan::Device& display) override { options_.display = &display; }
    Result<Clip> open(const std::filesystem::path& latents, bool loop) override;
    void close() override { session_.reset(); }
    std::string description() const override;

  private:
    Result<Clip> open_streamed(const vae::Latents& clip, bool loop, session::StreamOptions::Storage storage) const;

    std::string weights_;
    session::SessionOptions options_;
    SayRoute say_route_;
    std::unique_ptr<session::Session> session_;
};

}  // namespace kinetograph::viewer
