#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/planned.hpp>
#include <kinetograph/compute/nn/attention_check.hpp>
#include <kinetograph/compute/nn/cpu_operators.hpp>
#include <kinetograph/compute/nn/operators.hpp>

#include <algorithm>

namespace kinetograph::nn {
namespace {

using conv::OpTensors;

/// Errors: InvalidArgument, naming the pass.
template <class Problem>
Result<void> check_frames(std::string_view pass_name, const Problem&, const OpTensors& tensors) {
    if (tensors.input.size() == tensors.output.size()) return {};
    return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} of {} input and {} output frames", pass_name,
                Problem::kName, tensors.input.size(), tensors.output.size());
}
Result<void> check_frames(std::string_view pass_name, const conv::KeepFramesProblem&, const OpTensors& tensors) {
    if (tensors.input.size() <= tensors.output.size()) return {};
    return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} fresh frames, of which {} are kept", pass_name,
                tensors.input.size(), tensors.output.size());
}

template <class Problem>
constexpr bool kNorms = std::is_same_v<Problem, conv::NormProblem>;
template <class Problem>
constexpr bool kNormsGroups = std::is_same_v<Problem, conv::GroupNormProblem>;

/// Errors: InvalidArgument, naming the pass.
template <class Problem>
Result<void> check(std::string_view pass_name, const Problem& problem, std::uint64_t workspace_bytes,
                   const OpTensors& tensors) {
    KG_CHECK(check_frames(pass_name, problem, tensors));
    if constexpr (requires { problem.adds; }) {
        if (tensors.sum.size() != (problem.adds ? tensors.input.size() : 0))
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} of {} frames added to {}", pass_name,
                        Problem::kName, tensors.input.size(), tensors.sum.size());
        if ((kNorms<Problem> || problem.adds) && tensors.parameters == nullptr)
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} without gamma", pass_name, Problem::kName);
    }
    if (kNormsGroups<Problem> && tensors.parameters == nullptr)
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} without weights", pass_name, Problem::kName);
    if (workspace_bytes > 0 && tensors.workspace == nullptr)
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} without a workspace, wanted {} bytes", pass_name,
                    Problem::kName, workspace_bytes);
    return {};
}

template <class Problem>
struct Candidate {
    std::string_view method;
    conv::OpPlan (*plan_of)(const Problem&, const conv::Chip&);
    conv::OpPlan plan;
    bool norm_follows = false;
};

/// The methods of the chip that take the problem, cheapest first. The reasons of the others are appended to `declined`:
/// "wgmma-sm90 wants ..., met ...; ...".
template <class Problem>
std::vector<Candidate<Problem>> candidates(const Problem& problem, const conv::Chip& chip, std::string& declined) {
    std::vector<Candidate<Problem>> open;
    const auto offer = [&](const conv::OpMethod& any) {
        const auto* method = std::get_if<conv::OpMethodOf<Problem>>(&any);
        if (method == nullptr || !method->runs_on(chip)) return;
        if (const std::string reasons = conv::reasons(method->gates, {problem, chip}); !reasons.empty()) {
            declined += fmt::format("{}{} {}", declined.empty() ? "" : "; ", method->name, reasons);
            return;
        }
        Problem its = problem;
        bool norm_follows = false;
        if constexpr (requires { its.adds; }) {
            norm_follows = problem.adds && !method->adds;
            its.adds = problem.adds && method->adds;
        }
        open.push_back({method->name, method->plan, method->plan(its, chip), norm_follows});
    };
    for (const conv::ChipKernels& folder : conv::chips())
        for (const conv::OpMethod& method : folder.operators()) offer(method);
    for (const conv::OpMethod& method : cpu_operators()) offer(method);
    if (chip.rated) std::ranges::stable_sort(open, {}, [](const auto& candidate) { return candidate.plan.seconds; });
    return open;
}

}  // namespace

Result<void> Operator::enqueue(accel::Stream& stream, std::string_view pass_name, const OpTensors& tensors) const {
    KG_CHECK(std::visit([&](const auto& problem) { return check(pass_name, problem, plan_.workspace_bytes, tensors); },
                        problem_));
    KG_CHECK(conv::enqueue_steps(stream, pass_name, *device_, loaded_,
                                 [&](const conv::EncodeMap& encode) { return plan_.steps(tensors, encode); }));
    if (norm_ == nullptr) return {};
    const std::vector<const std::byte*> result(tensors.output.begin(), tensors.output.end());
    return norm_->enqueue(
        stream, pass_name,
        {.input = result, .output = tensors.output, .sum = tensors.sum, .parameters = tensors.parameters});
}

Operators::Operators(accel::Device& device) : kernels_(device), chip_(conv::chip_of(device.info())) {}

Result<std::unique_ptr<Operators>> Operators::create(accel::Device& device) {
    std::unique_ptr<Operators> operators(new Operators(device));
    if (auto last = operators->get(conv::StorePictureProblem{.pixels = 1}); !last)
        return fail(last.error().code, "there are no decoder passes for {} {}: {}", device.info().kind,
                    device.info().architecture, last.error().message);
    return operators;
}

Result<std::shared_ptr<const Operator>> Operators::get(const conv::OpProblem& problem) const {
    const auto known = [&]() KG_REQUIRES(mutex_) {
        return std::ranges::find(made_, problem, [](const auto& one) { return one->problem(); });
    };
    {
        const Lock lock(mutex_);
        if (const auto found = known(); found != made_.end()) return *found;
    }
    KG_TRY(auto made, std::visit([this](const auto& each) { return make(each); }, problem));
    const Lock lock(mutex_);
    if (const auto found = known(); found != made_.end()) return *found;
    return made_.emplace_back(std::move(made));
}

template <class Problem>
Result<std::shared_ptr<const Operator>> Operators::make(const Problem& problem) const {
    if (const std::string wrong = conv::reasons(conv::valid(problem), problem); !wrong.empty())
        return fail(ErrorCode::InvalidArgument, "{} {}", Problem::kName, wrong);
    std::string declined;
    for (auto& candidate : candidates(problem, chip_, declined)) {
        auto loaded = conv::load(kernels_, candidate.plan.kernels);
        if (!loaded && loaded.error().code != ErrorCode::Unsupported) return fail(std::move(loaded.error()));
        if (!loaded) {
            declined += fmt::format("{}{}: {}", declined.empty() ? "" : "; ", candidate.method, loaded.error().message);
            continue;
        }
        if constexpr (std::is_same_v<Problem, conv::AttentionProblem>) {
            auto checked = check_attention(kernels_, candidate.method, problem, candidate.plan_of);
            if (!checked && checked.error().code != ErrorCode::Unsupported) return fail(std::move(checked.error()));
            if (!checked) {
                declined += fmt::format("{}{}", declined.empty() ? "" : "; ", checked.error().message);
                continue;
            }
        }
        auto made = std::make_shared<Operator>();
        made->problem_ = problem;
        made->explanation_ =
            declined.empty() ? std::string(candidate.method) : fmt::format("{}: {}", candidate.method, declined);
        made->plan_ = std::move(candidate.plan);
        made->device_ = &kernels_.device();
        made->loaded_ = *std::move(loaded);
        if constexpr (std::is_same_v<Problem, conv::AttentionProblem>) {
            if (candidate.norm_follows) {
                KG_TRY(made->norm_, get(conv::NormProblem{.pixels = problem.tokens,
                                                          .channels = problem.channels,
                                                          .input = problem.output,
                                                          .output = problem.output,
                                                          .activation = problem.norm_activation,
                                                          .adds = true}));
            }
        }
        return made;
    }
    return fail(ErrorCode::Unsupported, "{} on {}: {}", Problem::kName, kernels_.device().info().name,
                declined.empty() ? "there are no kernels for it" : declined);
}

}  // namespace kinetograph::nn
