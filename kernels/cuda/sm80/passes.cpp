#include <cmath>
#include <kinetograph/kernels/cuda/sm80/cost.hpp>
#include <kinetograph/kernels/cuda/sm80/passes.hpp>

namespace kinetograph::sm80 {

conv::KernelName norm_kernel(const conv::ConvProblem& problem) {
    return {std::string("sm80_rms_norm_") + element_name(problem.output_dtype), "frame_passes"};
}

void append_norm(std::vector<conv::ConvStep>& steps, uint32_t kernel, const conv::ConvProblem& problem,
                 const float* gamma, std::span<std::byte* const> stored, std::span<std::byte* const> normed) {
    const auto pixels = static_cast<uint32_t>(problem.pixels_out());
    const std::vector<const std::byte*> input(stored.begin(), stored.end());
    append_pass(steps, kernel,
                RmsNormParams{.frames = {},
                              .gamma = gamma,
                              .pixels = pixels,
                              .channels = static_cast<uint32_t>(problem.filter.k),
                              .silu = problem.norm_activation == conv::Activation::Silu,
                              .sqrt_channels = std::sqrt(static_cast<float>(problem.filter.k))},
                input, normed, [&](uint32_t frames) { return rms_norm_launch(pixels, frames); });
}

double norm_seconds(const conv::ConvProblem& problem, const conv::Chip& chip) {
    const auto frames = static_cast<double>(problem.frames_out());
    return conv::kLaunchSeconds + traffic_seconds(2 * frames * static_cast<double>(problem.output_frame_bytes()), chip);
}

}  // namespace kinetograph::sm80
