#include <algorithm>
#include <kinetograph/kernels/cuda/host/cost.hpp>
#include <kinetograph/kernels/cuda/sm100/dense_frames.hpp>
#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/pack.hpp>
#include <kinetograph/kernels/cuda/sm100/plan.hpp>
#include <kinetograph/kernels/cuda/sm100/qslice_conv3d.hpp>
#include <kinetograph/kernels/cuda/sm100/slice_passes.hpp>
#include <kinetograph/kernels/cuda/sm100/sum_entries.hpp>

namespace kinetograph::sm100 {
namespace {

using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvStep;
using conv::ConvTensors;

// Functions without members do not change the parameters.
using FinishParams = FinishSlicesParams<NoEpilogue>;
static_assert(sizeof(FinishParams) == sizeof(FinishSlicesParams<SiluInRegisters>));

/// What the steps of one form launch, as indices into the plan's kernels.
struct SliceKernels {
    const Conv2dEntry *image = nullptr, *first_sum = nullptr, *next_sum = nullptr, *last_sum = nullptr;
    static constexpr uint32_t kSlice = 0, kAccumulate = 1;                // RoundedSlices
    static constexpr uint32_t kFirstSum = 0, kNextSum = 1, kLastSum = 2;  // FusedSums
    uint32_t finish = 0;
};

int64_t values_of(const ConvProblem& p) { return p.frames_out() * p.pixels_out() * p.filter.k; }

/// Workspace: fp32 sums, then bf16 slices in the rounded form, then dense copies.
DenseRoom room_of(const ConvProblem& p, QsliceForm form) {
    return dense_room(p, static_cast<uint64_t>(values_of(p) * (form == QsliceForm::RoundedSlices ? 6 : 4)));
}

/// Whether a pass must finish because the last sum's epilogue cannot.
bool pass_finishes(const ConvProblem& problem, QsliceForm form) {
    return form == QsliceForm::RoundedSlices || problem.residual || problem.activation != conv::Activation::None;
}

ConvStep step_of(const QsliceWork& work, const QsliceTensors& where, const SliceKernels& kernels,
                 const ConvProblem& problem, const conv::ParameterAddresses& parameters,
                 const conv::EncodeMap& encode) {
    const auto values = static_cast<uint64_t>(values_of(problem));
    const EntryEpilogue bare{.scales = parameters.scales, .alpha = problem.alpha};
    switch (work.step) {
        case QsliceStep::Slice:
            return entry_launch(*kernels.image, SliceKernels::kSlice, work.launch, bare, encode);
        case QsliceStep::FirstSum:
            return entry_launch(*kernels.first_sum, SliceKernels::kFirstSum, work.launch, bare, encode);
        case QsliceStep::NextSum:
            return entry_launch(*kernels.next_sum, SliceKernels::kNextSum, work.launch, bare, encode);
        case QsliceStep::LastSum:
            return entry_launch(*kernels.last_sum, SliceKernels::kLastSum, work.launch,
                                {.bias = parameters.bias, .scales = parameters.scales, .alpha = problem.alpha}, encode);
        case QsliceStep::Accumulate:
            return pass_launch(SliceKernels::kAccumulate, slice_pass_blocks(values), kPassThreads,
                               AccumulateSliceParams{.sums = static_cast<float*>(where.sums),
                                                     .slice = static_cast<const uint32_t*>(where.slice),
                                                     .values = values,
                                                     .first = work.first});
        case QsliceStep::Finish:
            break;
    }
    return pass_launch(kernels.finish, slice_pass_blocks(values), kPassThreads,
                       FinishParams{.sums = static_cast<const float*>(where.sums),
                                    .bias = parameters.bias,
                                    .source = static_cast<uint32_t*>(where.source),
                                    .output = static_cast<uint32_t*>(where.output),
                                    .values = values,
                                    .c_out = static_cast<uint32_t>(problem.filter.k),
                                    .beta = problem.beta,
                                    .function = {}});
}

/// One slice: all output frames as images.
ConvProblem slice_of(const ConvProblem& problem) {
    ConvProblem image = problem;
    image.n *= image.d_out();
    image.d = image.filter.q = 1;
    return image;
}

const Conv2dEntry& named(const SumEntries& entries, QsliceForm form) {
    return form == QsliceForm::FusedSums ? *entries.first_sum : *entries.image;
}

std::vector<std::string_view> kernels_of(const ConvProblem& problem, const conv::Chip& chip, QsliceForm form) {
    std::vector<std::string_view> names;
    for (const SumEntries& entries : all_sums(slice_of(problem), rates_of(chip)))
        names.emplace_back(named(entries, form).name);
    return names;
}

SumEntries find(const ConvProblem& problem, const conv::Chip& chip, QsliceForm form, std::string_view kernel) {
    const std::vector<SumEntries> all = all_sums(slice_of(problem), rates_of(chip));
    return *std::ranges::find_if(all, [&](const SumEntries& entries) { return named(entries, form).name == kernel; });
}

ConvPlan plan_form(const ConvProblem& problem, const conv::Chip& chip, QsliceForm form, const SumEntries& entries) {
    const ConvProblem image = slice_of(problem);
    SliceKernels kernels{entries.image, entries.first_sum, entries.next_sum, entries.last_sum};

    ConvPlan plan;
    if (form == QsliceForm::FusedSums) {
        plan.kernels = {kernel_name(*entries.first_sum), kernel_name(*entries.next_sum),
                        kernel_name(*entries.last_sum)};
    } else {
        plan.kernels = {kernel_name(*entries.image), {"qslice_accumulate", "slice_passes"}};
    }
    const auto slices = static_cast<double>(problem.filter.q), values = static_cast<double>(values_of(problem));
    const Conv2dConfig& slice = form == QsliceForm::FusedSums ? entries.next_sum->config : entries.image->config;
    plan.seconds = slices * (static_cast<double>(problem.n) * conv::kLaunchSeconds +
                             estimate(slice, image, rates_of(chip)).seconds);
    if (form == QsliceForm::RoundedSlices)
        plan.seconds += slices * (conv::kLaunchSeconds + cuda::traffic_seconds(10 * values, chip));
    if (pass_finishes(problem, form)) {
        const bool silu = problem.activation == conv::Activation::Silu;
        kernels.finish = static_cast<uint32_t>(plan.kernels.size());
        plan.kernels.push_back({silu ? "qslice_finish_silu" : "qslice_finish", "slice_passes"});
        plan.seconds += conv::kLaunchSeconds + cuda::traffic_seconds((problem.residual ? 8 : 6) * values, chip);
    }
    plan.workspace_bytes = room_of(problem, form).end;
    plan.packing = filter_packing(problem);
    plan.steps = [kernels, problem, form](const ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                                          const conv::EncodeMap& encode) {
        std::vector<ConvStep> steps;
        const DenseTensors dense = append_gather(steps, problem, tensors, tensors.output, room_of(problem, form));
        const QsliceTensors where{.activation = dense.input,
                                  .filter = const_cast<std::byte*>(parameters.filter),
                                  .output = dense.output,
                                  .source = dense.residual,
                                  .sums = tensors.workspace,
                                  .slice = tensors.workspace + values_of(problem) * 4};
        const Finisher finisher = problem.activation == conv::Activation::None ? Finisher::LastSum : Finisher::Pass;
        for (const QsliceWork& work : plan_qslice(kernels.image->config, problem, where, form, finisher))
            steps.push_back(step_of(work, where, kernels, problem, parameters, encode));
        append_scatter(steps, problem, tensors.output, dense.output);
        return steps;
    };
    return plan;
}

}  // namespace

ConvPlan plan_q_slice(const ConvProblem& problem, const conv::Chip& chip) {
    return plan_form(problem, chip, QsliceForm::FusedSums, choose_sums(slice_of(problem), rates_of(chip)));
}

ConvPlan plan_rounded_q_slice(const ConvProblem& problem, const conv::Chip& chip) {
    return plan_form(problem, chip, QsliceForm::RoundedSlices, choose_sums(slice_of(problem), rates_of(chip)));
}

std::vector<std::string_view> q_slice_kernels(const ConvProblem& problem, const conv::Chip& chip) {
    return kernels_of(problem, chip, QsliceForm::FusedSums);
}

ConvPlan plan_q_slice_with(const ConvProblem& problem, const conv::Chip& chip, std::string_view kernel) {
    return plan_form(problem, chip, QsliceForm::FusedSums, find(problem, chip, QsliceForm::FusedSums, kernel));
}

std::vector<std::string_view> rounded_q_slice_kernels(const ConvProblem& problem, const conv::Chip& chip) {
    return kernels_of(problem, chip, QsliceForm::RoundedSlices);
}

ConvPlan plan_rounded_q_slice_with(const ConvProblem& problem, const conv::Chip& chip, std::string_view kernel) {
    return plan_form(problem, chip, QsliceForm::RoundedSlices, find(problem, chip, QsliceForm::RoundedSlices, kernel));
}

}  // namespace kinetograph::sm100
