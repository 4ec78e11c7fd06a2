#include <kinetograph/compute/conv/cuda/launch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/nn/cuda/attention.hpp>
#include <kinetograph/engine/accel/cuda/tensor_map.hpp>
#include <kinetograph/kernels/cuda/sm100/attention_plan.hpp>

#include <cmath>
#include <functional>

namespace kinetograph::nn::cuda {
namespace {

using tensor::DType;

constexpr std::int64_t kMostTokens = 1 << 20;

Result<void> expect_as_many(std::string_view pass_name, const AttentionTensors& tensors) {
    if (tensors.qkv.size() == tensors.output.size()) return {};
    return fail(ErrorCode::InvalidArgument, "pass \"{}\": attention of {} input and {} output frames", pass_name,
                tensors.qkv.size(), tensors.output.size());
}

/// On every chip since sm_80.
class CudaAttention final : public Attention {
  public:
    CudaAttention(const AttentionProblem& problem, std::uint32_t width, std::string_view why,
                  std::shared_ptr<conv::Kernels> kernels, std::shared_ptr<accel::Kernel> kernel)
        : problem_(problem),
          width_(width),
          explanation_(fmt::format("mma-sm80: {}", why)),
          kernels_(std::move(kernels)),
          kernel_(std::move(kernel)) {}

    const AttentionProblem& problem() const override { return problem_; }
    std::uint64_t workspace_bytes() const override { return 0; }
    std::string_view explanation() const override { return explanation_; }

    Result<void> enqueue(accel::Stream& stream, std::string_view pass_name,
                         const AttentionTensors& tensors) const override {
        KG_CHECK(expect_as_many(pass_name, tensors));
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
    std::uint32_t width_;  ///< of the kernel
    std::string explanation_;
    std::shared_ptr<conv::Kernels> kernels_;  ///< keeps the module loaded for the next one
    std::shared_ptr<accel::Kernel> kernel_;
};

/// On sm_90 by wgmma, on sm_100 by tcgen05; both by TMA.
class TensorMapAttention final : public Attention {
  public:
    TensorMapAttention(const AttentionProblem& problem, std::string_view method, const sm90::AttentionCta& cta,
                       std::shared_ptr<conv::Kernels> kernels, std::shared_ptr<accel::Kernel> kernel)
        : problem_(problem), method_(method), cta_(cta), kernels_(std::move(kernels)), kernel_(std::move(kernel)) {}

    const AttentionProblem& problem() const override { return problem_; }
    std::uint64_t workspace_bytes() const override { return 0; }
    std::string_view explanation() const override { return method_; }

    Result<void> enqueue(accel::Stream& stream, std::string_view pass_name,
                         const AttentionTensors& tensors) const override {
        KG_CHECK(expect_as_many(pass_name, tensors));
        accel::cuda::TensorMapEncoder encode(kernels_->device(), pass_name);
        const sm90::AttentionShape shape{.element = problem_.dtype,
                                         .tokens = static_cast<std::uint32_t>(problem_.tokens),
                                         .channels = static_cast<std::uint32_t>(problem_.channels)};
        const auto launches = sm90::attention_launches(shape, cta_, tensors.qkv, tensors.output, std::ref(encode));
        KG_CHECK(encode.result());
        for (const conv::ConvLaunch& launch : launches) {
            stream.launch({pass_name,
                           *kernel_,
                           {launch.grid[0], launch.grid[1], launch.grid[2]},
                           {launch.threads, 1, 1},
                           {},
                           launch.shared_bytes,
                           launch.arguments.span()});
        }
        return {};
    }

  private:
    AttentionProblem problem_;
    std::string_view method_;
    sm90::AttentionCta cta_;
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
            "up to 1024",
            problem.channels, tensor::to_string(problem.dtype));
    const conv::Chip chip = conv::chip_of(kernels->device().info());
    const bool blackwell = chip.cuda_architecture() / 10 == 10;
    std::string declined = blackwell ? sm100::attention_reasons(chip, problem.dtype, problem.channels)
                                     : sm90::attention_reasons(chip, problem.dtype, problem.channels);
    const std::string_view method = blackwell ? "tcgen05-sm100" : "wgmma-sm90";
    if (declined.empty()) {
        const auto channels = static_cast<std::uint32_t>(problem.channels);
        const auto name = blackwell ? sm100::attention_kernel(problem.dtype, channels)
                                    : sm90::attention_kernel(problem.dtype, channels);
        const auto cta = blackwell ? sm100::attention_cta(channels) : sm90::attention_cta(channels);
        KG_TRY(auto kernel, kernels->get(name.image, name.kernel));
        return std::make_unique<TensorMapAttention>(problem, method, cta, std::move(kernels), std::move(kernel));
    }
    declined.insert(0, fmt::format("{} ", method));
    const std::string_view element = element_name(problem.dtype);
    KG_TRY(auto kernel,
           kernels->get(fmt::format("attention_{}", element), fmt::format("sm80_attention_{}_{}", element, width)));
    return std::make_unique<CudaAttention>(problem, width, std::move(declined), std::move(kernels), std::move(kernel));
}

}  // namespace kinetograph::nn::cuda
