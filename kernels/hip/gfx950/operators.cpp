#include <algorithm>
#include <kinetograph/kernels/conv/group_norm.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/attention_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_moves_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_values_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/rms_norm_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>

namespace kinetograph::gfx950 {
namespace {

using conv::ConvStep;
using conv::EncodeMap;
using conv::Gate;
using conv::OpPlan;
using conv::OpTensors;
using conv::SubjectOf;

bool runs_on(const conv::Chip& chip) { return chip.kind == "hip" && chip.architecture.starts_with("gfx950"); }

// ---- the problem of one launch over `frames` frames, and its parameters ----------------------------------------

UnpackLatentProblem launch_of(const conv::UnpackLatentProblem& p, int64_t frames = 1) {
    return {frames, p.pixels, p.channels, p.output.element, p.soft_limit, p.input.element};
}
RmsNormProblem launch_of(const conv::NormProblem& p, int64_t frames = 1) {
    return {frames, p.pixels, p.channels, p.input.element, p.activation == conv::Activation::Silu};
}
UpsampleProblem launch_of(const conv::UpsampleProblem& p, int64_t frames = 1) {
    return {frames, p.height, p.width, p.channels, p.input.element};
}
DepthToSpaceProblem launch_of(const conv::DepthToSpaceProblem& p, int64_t frames = 1) {
    return {frames, p.height, p.width, p.channels_in, p.channels_out, p.order, p.input.element};
}
StoreFloatProblem launch_of(const conv::StoreFloatProblem& p, int64_t frames = 1) {
    return {frames, p.elements, 1, p.input.element, p.limit, nullptr, p.output.element};
}
StorePictureProblem launch_of(const conv::StorePictureProblem& p, int64_t frames = 1) {
    return {frames, p.pixels, p.input.element};
}

/// `first`: the first of the call's frames.
auto params_of(const UnpackLatentProblem& p, const FrameTable& frames, const OpTensors& t, size_t /*first*/) {
    return make_params(p, frames, t.parameters);
}
auto params_of(const RmsNormProblem& p, const FrameTable& frames, const OpTensors& t, size_t first) {
    return make_params(p, frames, t.parameters, t.sum.empty() ? nullptr : t.sum[first]);
}
auto params_of(const UpsampleProblem& p, const FrameTable& frames, const OpTensors&, size_t) {
    return make_params(p, frames);
}
auto params_of(const DepthToSpaceProblem& p, const FrameTable& frames, const OpTensors&, size_t) {
    return make_params(p, frames);
}
/// The problem of the formats' kernels names what they flag.
template <class Stored>
auto params_of(Stored p, const FrameTable& frames, const OpTensors& t, size_t) {
    p.not_finite = t.not_finite;
    return make_params(p, frames);
}

// ---- plans ----------------------------------------------------------------------------------------------------

conv::ConvLaunch launch(uint32_t kernel, const LaunchShape& shape, const conv::Arguments& arguments) {
    return {.kernel = kernel,
            .grid = {shape.grid_x, shape.grid_y, shape.grid_z},
            .threads = shape.threads,
            .arguments = arguments};
}

/// One kernel over all frames, as launches of as many as one takes.
template <class Problem>
OpPlan plan_pass(const Problem& problem, const conv::Chip&) {
    const LaunchShape shape = launch_shape(launch_of(problem));
    return {.kernels = {{shape.kernel, shape.object}}, .steps = [problem](const OpTensors& t, const EncodeMap&) {
                std::vector<ConvStep> steps;
                const size_t together = t.sum.empty() ? kMostFrames : 1;
                for (size_t first = 0; first < t.input.size(); first += together) {
                    const size_t count = std::min(together, t.input.size() - first);
                    const auto part = launch_of(problem, static_cast<int64_t>(count));
                    const FrameTable frames =
                        frame_table(t.input.subspan(first, count), t.output.subspan(first, count));
                    steps.emplace_back(
                        launch(0, launch_shape(part), conv::Arguments::of(params_of(part, frames, t, first))));
                }
                return steps;
            }};
}

template <class Problem>
constexpr Gate<SubjectOf<Problem>> kPassGates[] = {
    {"what one launch of the kernel holds", [](const SubjectOf<Problem>& s) { return !refusal(launch_of(s.problem)); },
     [](const SubjectOf<Problem>& s) { return *refusal(launch_of(s.problem)); }}};

template <class Problem>
conv::OpMethodOf<Problem> pass(std::string_view name) {
    return {name, runs_on, kPassGates<Problem>, plan_pass<Problem>};
}

OpPlan plan_group_norm(const conv::GroupNormProblem& problem, const conv::Chip&) {
    const std::string type = element_name(problem.input.element);
    std::vector<conv::KernelName> kernels;
    for (const std::string& kernel : {"moments_" + type, std::string("factors"), "norm_" + type})
        kernels.push_back({"kinetograph_group_" + kernel, "group_norm"});
    return conv::plan_group_norm(problem, std::move(kernels));
}

OpPlan plan_keep_frames(const conv::KeepFramesProblem& problem, const conv::Chip&) {
    return {.steps = [problem](const OpTensors& t, const EncodeMap&) { return conv::copies_of_kept(problem, t); }};
}

AttentionProblem on_device(const conv::AttentionProblem& problem, const conv::Chip& chip) {
    return {problem.tokens, problem.channels, problem.input.element, chip.compute_units, lds_read_bytes(chip)};
}

constexpr Gate<SubjectOf<conv::AttentionProblem>> kAttention[] = {
    {"what the kernels hold",
     [](const SubjectOf<conv::AttentionProblem>& s) { return !refusal(on_device(s.problem, s.chip)); },
     [](const SubjectOf<conv::AttentionProblem>& s) { return *refusal(on_device(s.problem, s.chip)); }}};

OpPlan plan_mfma(const conv::AttentionProblem& given, const conv::Chip& chip) {
    const AttentionProblem problem = on_device(given, chip);
    const AttentionPlan made = plan(problem);
    OpPlan result;
    for (const LaunchShape* shape : {&made.values, &made.attend, made.join ? &*made.join : nullptr})
        if (shape != nullptr) result.kernels.push_back({shape->kernel, shape->object});
    result.workspace_bytes = made.workspace_bytes;
    result.seconds = attention_seconds(problem, chip);
    result.steps = [problem, made](const OpTensors& t, const EncodeMap&) {
        std::vector<ConvStep> steps;
        for (size_t i = 0; i < t.input.size(); ++i) {
            const auto params = make_params(problem, t.input[i], t.output[i], t.workspace);
            steps.emplace_back(launch(0, made.values, conv::Arguments::of(params.values)));
            steps.emplace_back(launch(1, made.attend, conv::Arguments::of(params.attend)));
            if (made.join) steps.emplace_back(launch(2, *made.join, conv::Arguments::of(params.join)));
        }
        return steps;
    };
    return result;
}

}  // namespace

std::span<const conv::OpMethod> operators() {
    static const conv::OpMethod kMethods[] = {
        conv::OpMethodOf<conv::AttentionProblem>{"mfma-gfx950", runs_on, kAttention, plan_mfma, false},
        pass<conv::UnpackLatentProblem>("unpack-latent-gfx950"),
        pass<conv::NormProblem>("norm-gfx950"),
        conv::OpMethodOf<conv::GroupNormProblem>{"group-norm-gfx950", runs_on, {}, plan_group_norm},
        pass<conv::UpsampleProblem>("upsample-gfx950"),
        pass<conv::DepthToSpaceProblem>("depth-to-space-gfx950"),
        conv::OpMethodOf<conv::KeepFramesProblem>{"keep-frames-gfx950", runs_on, {}, plan_keep_frames},
        pass<conv::StoreFloatProblem>("store-float-gfx950"),
        pass<conv::StorePictureProblem>("store-picture-gfx950"),
    };
    return kMethods;
}

}  // namespace kinetograph::gfx950
