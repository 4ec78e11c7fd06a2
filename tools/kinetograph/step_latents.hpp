// StepLatents: latents for timed steps, in the accelerator's memory.
#pragma once

#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>

#include <memory>

namespace kinetograph::cli {

/// Four different latent frames of synthetic values, which steps use in turn.
class StepLatents {
  public:
    /// Errors: OutOfMemory.
    static Result<StepLatents> create(accel::Device& device, std::int64_t channels, vae::LatentSize size) {
        StepLatents latents;
        KG_TRY(const auto values, vae::synthetic_tensor("latents", {kFrames, channels, size.height, size.width}));
        KG_TRY(latents.memory_, device.allocate("latents", values.size() * sizeof(float)));
        KG_TRY(auto stream, device.create_stream("latents"));
        KG_CHECK(stream->upload(latents.memory_->data(), std::as_bytes(std::span(values))));
        return latents;
    }
    std::uint64_t bytes() const { return memory_->bytes() / kFrames; }  ///< of one latent frame
    const std::byte* of_step(std::uint64_t step) const { return memory_->data() + step % kFrames * bytes(); }

  private:
    static constexpr std::int64_t kFrames = 4;
    StepLatents() = default;
    std::unique_ptr<accel::Memory> memory_;
};

}  // namespace kinetograph::cli
