#include <kinetograph/compute/conv/cuda/launch.hpp>
#include <kinetograph/compute/conv/cuda/norm_pass.hpp>

#include <cmath>

namespace kinetograph::conv::cuda {

Result<NormPass> NormPass::create(Kernels& kernels, const ConvProblem& problem) {
    KG_TRY(auto kernel,
           kernels.get("frame_passes", fmt::format("sm80_rms_norm_{}", element_suffix(problem.output_dtype))));
    return NormPass(std::move(kernel));
}

void NormPass::enqueue(accel::Stream& stream, std::string_view pass_name, const ConvProblem& problem,
                       const float* gamma, std::span<std::byte* const> stored,
                       std::span<std::byte* const> normed) const {
    const auto pixels = static_cast<std::uint32_t>(problem.h_out() * problem.w_out());
    const std::vector<const std::byte*> input(stored.begin(), stored.end());
    launch_frames(stream, pass_name, *kernel_,
                  sm80::RmsNormParams{.frames = {},
                                      .gamma = gamma,
                                      .pixels = pixels,
                                      .channels = static_cast<std::uint32_t>(problem.filter.k),
                                      .silu = problem.norm_activation == Activation::Silu,
                                      .sqrt_channels = std::sqrt(static_cast<float>(problem.filter.k))},
                  input, normed, [&](std::uint32_t frames) { return sm80::rms_norm_launch(pixels, frames); });
}

}  // namespace kinetograph::conv::cuda
