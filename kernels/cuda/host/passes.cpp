#include <cmath>
#include <kinetograph/kernels/cuda/host/cost.hpp>
#include <kinetograph/kernels/cuda/host/passes.hpp>

namespace kinetograph::cuda {

conv::KernelName norm_kernel(const conv::ConvProblem& problem) {
    return {
        std::string("sm80_rms_norm_") + element_name(problem.output.element) + (problem.norms_to_bytes() ? "_u8" : ""),
        "frame_passes"};
}

namespace {

struct ByteGrid {
    const float* folds = nullptr;
    float zero_point = 0;
};

void append_norms(std::vector<conv::ConvStep>& steps, uint32_t kernel, const conv::NormProblem& problem,
                  const conv::OpTensors& tensors, const ByteGrid& grid) {
    const auto pixels = static_cast<uint32_t>(problem.pixels);
    RmsNormParams params{.frames = {},
                         .gamma = tensors.parameters,
                         .pixels = pixels,
                         .channels = static_cast<uint32_t>(problem.channels),
                         .silu = problem.activation == conv::Activation::Silu,
                         .sqrt_channels = std::sqrt(static_cast<float>(problem.channels)),
                         .folds = grid.folds,
                         .zero_point = grid.zero_point};
    const size_t together = problem.adds ? 1 : std::max<size_t>(tensors.input.size(), 1);
    for (size_t i = 0; i < tensors.input.size(); i += together) {
        if (problem.adds) params.sum = tensors.sum[i];
        append_pass(steps, kernel, params, tensors.input.subspan(i, together), tensors.output.subspan(i, together),
                    [&](uint32_t frames) { return rms_norm_launch(pixels, frames); });
    }
}

}  // namespace

void append_norm(std::vector<conv::ConvStep>& steps, uint32_t kernel, const conv::NormProblem& problem,
                 const conv::OpTensors& tensors) {
    append_norms(steps, kernel, problem, tensors, {});
}

void append_norm(std::vector<conv::ConvStep>& steps, uint32_t kernel, const conv::ConvProblem& problem,
                 const conv::ParameterAddresses& parameters, std::span<std::byte* const> stored,
                 std::span<std::byte* const> normed) {
    const std::vector<const std::byte*> input(stored.begin(), stored.end());
    append_norms(steps, kernel,
                 {.pixels = problem.pixels_out(), .channels = problem.filter.k, .activation = problem.norm_activation},
                 {.input = input, .output = normed, .parameters = parameters.gamma},
                 {parameters.folds, static_cast<float>(problem.normed.zero)});
}

double norm_seconds(const conv::ConvProblem& problem, const conv::Chip& chip) {
    const auto frames = static_cast<double>(problem.frames_out());
    return conv::kLaunchSeconds + traffic_seconds(2 * frames * static_cast<double>(problem.output_frame_bytes()), chip);
}

}  // namespace kinetograph::cuda
