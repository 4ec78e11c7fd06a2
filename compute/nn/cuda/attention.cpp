#include <kinetograph/compute/conv/cuda/launch.hpp>
#include <kinetograph/compute/nn/cuda/attention.hpp>

#include <cmath>

namespace kinetograph::nn::cuda {
namespace {

using tensor::DType;

constexpr std::int64_t kMostTokens = 1 << 20;

class CudaAttention final : public Attention {
  public:
    CudaAttention(const AttentionProblem& problem, std::uint32_t width, std::shared_ptr<conv::Kernels> kernels,
                  std::shared_ptr<accel::Kernel> kernel)
        : problem_(problem), width_(width), kernels_(std::move(kernels)), kernel_(std::move(kernel)) {}

    const AttentionProblem& problem() const override { return problem_; }
    std::uint64_t workspace_bytes() const override { return 0; }

    Result<void> enqueue(accel::Stream& stream, std::string_view pass_name,
                         const AttentionTensors& tensors) const override {
        if (tensors.qkv.size() != tensors.output.size())
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": attention of {} input and {} output frames",
                        pass_name, tensors.qkv.size(), tensors.output.size());
        const auto tokens = static_cast<std::uint32_t>(problem_.tokens);
        const auto channels = static_cast<std::uint32_t>(problem_.channels);
        conv::cuda::launch_frames(stream, pass_name, *kernel_,
                                  sm80::AttentionParams{.frames = {},
                                                        .tokens = tokens,
                                                        .channels = channels,
                                                        .scale = 1 / std::sqrt(static_cast<float>(channels))},
                                  tensors.qkv, tensors.output,
                                  [&](std::uint32_t frames) { return sm80::attention_launch(tokens, width_, frames); });
        return {};
    }

  private:
    AttentionProblem problem_;
    std::uint32_t width_;                     ///< of the kernel
    std::shared_ptr<conv::Kernels> kernels_;  ///< keeps the module loaded for the next one
    std::shared_ptr<accel::Kernel> kernel_;
};

}  // namespace

Result<std::unique_ptr<Attention>> create_attention(std::shared_ptr<conv::Kernels> kernels,
                                                    const AttentionProblem& problem) {
    if (problem.tokens < 1 || problem.tokens > kMostTokens)
        return fail(ErrorCode::InvalidArgument, "attention over {} tokens, wanted 1 to {}", problem.tokens,
                    kMostTokens);
    const bool narrow = problem.dtype == DType::BF16 || problem.dtype == DType::F16;
    const std::uint32_t width = sm80::attention_width(problem.channels);
    if (!narrow || width == 0)
        return fail(
            ErrorCode::Unsupported,
            "attention of {} channels in {}: the kernels for CUDA take BF16 and F16, and multiples of 8 channels "
            "up to 384",
            problem.channels, tensor::to_string(problem.dtype));
    const std::string_view element = element_name(problem.dtype);
    auto kernel =
        kernels->get(fmt::format("attention_{}", element), fmt::format("sm80_attention_{}_{}", element, width));
    if (!kernel) return fail(std::move(kernel.error()));
    return std::make_unique<CudaAttention>(problem, width, std::move(kernels), std::move(*kernel));
}

}  // namespace kinetograph::nn::cuda
