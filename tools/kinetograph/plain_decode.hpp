// PlainDecode: steps of a decoder whose frames stay where it writes them, for comparison with drawing and interop.
#pragma once

#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/step_latents.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace kinetograph::cli {

class PlainDecode {
  public:
    /// Errors: those of the decoder.
    static Result<std::unique_ptr<PlainDecode>> create(const std::shared_ptr<vae::Model>& model, vae::LatentSize size);

    /// `count` steps, two in flight, as in PresentedDecode::run(), with 8-bit pixels that stay on the accelerator.
    /// Returns the periods between the ends of consecutive steps: two fewer than steps. Errors: of the decoder.
    Result<Samples> run(std::int64_t count);

  private:
    PlainDecode(StepLatents latents, std::unique_ptr<vae::Decoder> decoder)
        : latents_(std::move(latents)), decoder_(std::move(decoder)) {}
    Result<void> make_frames(accel::Device& device);

    StepLatents latents_;
    std::vector<std::unique_ptr<accel::Memory>> frames_;
    std::vector<graph::Physical> places_;
    std::unique_ptr<vae::Decoder> decoder_;  ///< whose executor waits before the memory above is freed
    std::uint64_t steps_ = 0;
};

}  // namespace kinetograph::cli
