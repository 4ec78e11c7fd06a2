#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/planned.hpp>
#include <kinetograph/compute/nn/planned_attention.hpp>
#include <kinetograph/engine/accel/tensor_map.hpp>
#include <kinetograph/kernels/conv/chips.hpp>

#include <algorithm>
#include <functional>

namespace kinetograph::nn {
namespace {

constexpr std::int64_t kMostTokens = 1 << 20;

class PlannedAttention final : public Attention {
  public:
    PlannedAttention(const AttentionProblem& problem, std::string explanation, conv::AttentionPlan plan,
                     const accel::Device& device, std::vector<std::shared_ptr<accel::Kernel>> loaded)
        : problem_(problem),
          explanation_(std::move(explanation)),
          plan_(std::move(plan)),
          device_(device),
          loaded_(std::move(loaded)) {}

    const AttentionProblem& problem() const override { return problem_; }
    std::uint64_t workspace_bytes() const override { return plan_.workspace_bytes; }
    std::string_view explanation() const override { return explanation_; }

    Result<void> enqueue(accel::Stream& stream, std::string_view pass_name,
                         const AttentionTensors& tensors) const override {
        const bool without = plan_.workspace_bytes > 0 && tensors.workspace == nullptr;
        const bool without_norm =
            problem_.adds && (tensors.normed.size() != tensors.output.size() || tensors.gamma == nullptr);
        if (tensors.qkv.size() != tensors.output.size() || without || without_norm)
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": attention of {} input and {} output frames{}{}",
                        pass_name, tensors.qkv.size(), tensors.output.size(), without ? " without workspace" : "",
                        without_norm ? " without their norms" : "");
        accel::PassMaps encode(device_, pass_name);
        const std::vector<conv::ConvLaunch> launches = plan_.launches(tensors, std::ref(encode));
        KG_CHECK(encode.result());
        for (const conv::ConvLaunch& launch : launches)
            conv::enqueue_launch(stream, pass_name, *loaded_[launch.kernel], launch);
        return {};
    }

  private:
    AttentionProblem problem_;
    std::string explanation_;
    conv::AttentionPlan plan_;
    const accel::Device& device_;
    std::vector<std::shared_ptr<accel::Kernel>> loaded_;  ///< one for each of the plan's kernels
};

struct Candidate {
    std::string_view method;
    AttentionProblem problem;  ///< without the sum if the method does not add
    conv::AttentionPlan plan;
};

/// The methods of the chip that take the problem, cheapest first. The reasons of the others are appended to `declined`:
/// "wgmma-sm90 wants ..., met ...; ...".
std::vector<Candidate> candidates(const AttentionProblem& problem, const conv::Chip& chip, std::string& declined) {
    std::vector<Candidate> open;
    for (const conv::ChipKernels& folder : conv::chips())
        for (const conv::AttentionMethod& method : folder.attention_methods()) {
            if (!method.runs_on(chip)) continue;
            const std::string reasons = method.reasons(problem);
            if (reasons.empty()) {
                AttentionProblem its = problem;
                its.adds = problem.adds && method.adds;
                open.push_back({method.name, its, method.plan(its, chip)});
            } else {
                declined += fmt::format("{}{} {}", declined.empty() ? "" : "; ", method.name, reasons);
            }
        }
    if (chip.rated)
        std::ranges::stable_sort(open, {}, [](const Candidate& candidate) { return candidate.plan.seconds; });
    return open;
}

Result<std::vector<std::shared_ptr<accel::Kernel>>> load(const conv::Kernels& kernels,
                                                         const conv::AttentionPlan& plan) {
    std::vector<std::shared_ptr<accel::Kernel>> loaded;
    for (const conv::KernelName& name : plan.kernels) {
        KG_TRY(auto kernel, kernels.get(name.image, name.kernel));
        loaded.push_back(std::move(kernel));
    }
    return loaded;
}

}  // namespace

Result<std::unique_ptr<Attention>> create_planned_attention(const conv::Kernels& kernels,
                                                            const AttentionProblem& problem) {
    if (problem.tokens < 1 || problem.tokens > kMostTokens)
        return fail(ErrorCode::InvalidArgument, "attention over {} tokens, wanted 1 to {}", problem.tokens,
                    kMostTokens);
    std::string declined;
    for (Candidate& candidate : candidates(problem, conv::chip_of(kernels.device().info()), declined)) {
        auto loaded = load(kernels, candidate.plan);
        if (loaded)
            return std::make_unique<PlannedAttention>(
                candidate.problem,
                declined.empty() ? std::string(candidate.method) : fmt::format("{}: {}", candidate.method, declined),
                std::move(candidate.plan), kernels.device(), *std::move(loaded));
        if (loaded.error().code != ErrorCode::Unsupported) return fail(std::move(loaded.error()));
        declined += fmt::format("{}{}: {}", declined.empty() ? "" : "; ", candidate.method, loaded.error().message);
    }
    return fail(ErrorCode::Unsupported, "attention of {} channels in {} on {}: {}", problem.channels,
                tensor::to_string(problem.dtype), kernels.device().info().name,
                declined.empty() ? "there are no kernels for it" : declined);
}

}  // namespace kinetograph::nn
