#include <kinetograph/compute/conv/cuda/launch.hpp>
#include <kinetograph/compute/nn/cuda/attention.hpp>

#include <cmath>

namespace kinetograph::nn::cuda {
namespace {

using tensor::DType;

constexpr std::int64_t kMostTokens = 1 << 20;

class CudaAttention final : public Attention {
  public:
    CudaAttention(const AttentionProblem& problem, std::shared_ptr<conv::Kernels> kernels,
                  std::shared_ptr<accel::Kernel> kernel)
        : problem_(problem), kernels_(std::move(kernels)), kernel_(std::move(kernel)) {}

    const AttentionProblem& problem() const override { return problem_; }
    std::uint64_t workspace_bytes() const override { return 0; }

    Result<void> enqueue(accel::Stream& stream, std::string_view pass_name,
                         const AttentionTensors& tensors) const override {
        if (tensors.qkv.size() != tensors.output.size())
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": attention of {} input and {} output frames",
                        pass_name, tensors.qkv.size(), tensors.output.size());
        const auto tokens = static_cast<std::uint32_t>(problem_.tokens);
        const auto channels = static_cast<std::uint32_t>(problem_.channels);
        conv::cuda::launch_frames(
            stream, pass_name, *kernel_,
            sm80::AttentionParams{.frames = {}, .tokens = tokens, .scale = 1 / std::sqrt(static_cast<float>(channels))},
            tensors.qkv, tensors.output,
            [&](std::uint32_t frames) { return sm80::attention_launch(tokens, channels, frames); });
        return {};
    }

  private:
    AttentionProblem problem_;
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
    if (!narrow || !sm80::has_attention_width(problem.channels))
        return fail(ErrorCode::Unsupported,
                    "attention of {} channels in {}: the kernels for CUDA take BF16 and F16, and {} channels",
                    problem.channels, tensor::to_string(problem.dtype), sm80::attention_widths());
    const std::string_view element = conv::cuda::element_suffix(problem.dtype);
    auto kernel = kernels->get(fmt::format("attention_{}", element),
                               fmt::format("sm80_attention_{}_{}", element, problem.channels));
    if (!kernel) return fail(std::move(kernel.error()));
    return std::make_unique<CudaAttention>(problem, std::move(kernels), std::move(*kernel));
}

}  // namespace kinetograph::nn::cuda
