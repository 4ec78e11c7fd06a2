// Generator: stands for a diffusion model, which leaves latents in the accelerator's memory, one frame after another.
#pragma once

#include <kinetograph/compute/session/session.hpp>

/// Its stream signals a timeline after each frame. With CUDA the memory may also come from cudaMalloc or PyTorch, and
/// accel::Device::adopt_stream adopts the stream that their work runs on.
class Generator {
  public:
    static kinetograph::Result<Generator> create(kinetograph::accel::Device& device, const char* latents) {
        Generator made;
        KG_TRY(made.clip_, kinetograph::vae::Latents::open(latents));
        made.frame_bytes_ = made.clip_.values.size() / static_cast<std::uint64_t>(made.clip_.frames) * sizeof(float);
        KG_TRY(made.latents_, device.allocate("latents", made.clip_.values.size() * sizeof(float)));
        KG_TRY(made.stream_, device.create_stream("generator"));
        KG_TRY(made.made_, device.create_timeline());
        return made;
    }
    kinetograph::vae::LatentSize size() const { return {clip_.height, clip_.width}; }
    double fps() const { return clip_.fps; }
    bool done() const { return next_ == static_cast<std::uint64_t>(clip_.frames); }

    /// Enqueues the next frame; returns its address and the timeline point at which it is complete.
    kinetograph::stream::LatentFrame next() {
        std::byte* address = latents_->data() + next_ * frame_bytes_;
        const std::vector<float> values = clip_.frame(static_cast<std::int64_t>(next_++));
        static_cast<void>(stream_->upload(address, std::as_bytes(std::span(values))));  // stands for a model
        stream_->signal(made_, next_);
        return {address, frame_bytes_, {VK_NULL_HANDLE, made_, next_}};
    }

  private:
    Generator() = default;
    kinetograph::vae::Latents clip_;
    std::uint64_t frame_bytes_ = 0, next_ = 0;
    std::unique_ptr<kinetograph::accel::Memory> latents_;  // [T, z_dim, h, w] float32
    std::unique_ptr<kinetograph::accel::Stream> stream_;
    std::shared_ptr<kinetograph::accel::Timeline> made_;
};
