#include <kinetograph/kernels/cuda/sm100/plan.hpp>

#include <kinetograph/kernels/cuda/sm100/conv2d_gates.hpp>
#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/gates.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>
#include <kinetograph/kernels/cuda/sm100/pack.hpp>
#include <kinetograph/kernels/cuda/sm100/shape.hpp>
#include <kinetograph/kernels/cuda/sm80/passes.hpp>

namespace kinetograph::sm100 {
namespace {

using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvStep;
using conv::ConvTensors;

/// Frames of one launch.
struct Frames {
    std::span<const std::byte*const> input, residual;
    std::span<std::byte* const> output;

    /// The first of each: the addresses of dense tensors.
    Frames first() const {
        return {input.first(1), residual.first(std::min<size_t>(residual.size(), 1)), output.first(1)};
    }
};

const Conv2dEntry& choose(const ConvProblem& problem, const Conv2dProblemShape& shape, Activation activation,
                          const conv::Chip& chip) {
    const auto* entry =
        choose_entry(shape,
                     {.activation = activation,
                      .source = problem.residual ? Source::Residual : Source::None,
                      .function = problem.activation == conv::Activation::Silu ? EntryFunction::SiluInRegisters
                                                                               : EntryFunction::None},
                     rates_of(chip));
    assert(entry != nullptr);  // gates admit only what is built
    return *entry;
}

ConvStep launch(const Conv2dEntry& entry, uint32_t kernel, const ConvProblem& problem, const Conv2dProblemShape& shape,
                const Frames& frames, const conv::ParameterAddresses& parameters, const conv::EncodeMap& encode) {
    const auto input = map_addresses(frames.input), residual = map_addresses(frames.residual);
    const auto output = map_addresses(frames.output);
    return entry_launch(entry, kernel,
                        plan_launch(entry.config, shape,
                                    {.activation = input,
                                     .filter = const_cast<std::byte*>(parameters.filter),
                                     .output = output,
                                     .source = residual}),
                        {.bias = parameters.bias, .alpha = problem.alpha, .beta = problem.residual ? problem.beta : 0},
                        encode);
}

/// The norm as a last pass; its kernel is the plan's last.
void add_norm(ConvPlan& plan, const ConvProblem& problem, const conv::Chip& chip) {
    if (problem.norm == conv::Norm::None) return;
    plan.kernels.push_back(sm80::norm_kernel(problem));
    plan.seconds += sm80::norm_seconds(problem, chip);
    plan.steps = [bare = std::move(plan.steps), problem, kernel = static_cast<uint32_t>(plan.kernels.size() - 1)](
                     const ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                     const conv::EncodeMap& encode) {
        // An output that only the norm reads is normalised in place.
        ConvTensors convolved = tensors;
        if (problem.norm == conv::Norm::Instead) convolved.output = tensors.normed;
        std::vector<ConvStep> steps = bare(convolved, parameters, encode);
        sm80::append_norm(steps, kernel, problem, parameters.gamma, convolved.output, tensors.normed);
        return steps;
    };
}

}  // namespace

std::span<const conv::ConvMethod> methods() {
    static const conv::ConvMethod kMethods[] = {
        {"implicit-gemm-sm100",
         "implicit GEMM of halos on SM100's tensor memory: frames in place, upsampled or normed on the way",
         implicit_gemm_gates(), plan_implicit_gemm},
        {"conv2d-sm100", "implicit GEMM of images on SM100's tensor memory", conv2d_gates(), plan_conv2d},
        {"conv3d-sm100", "causal implicit GEMM in one launch on SM100's tensor memory", conv3d_gates(), plan_conv3d},
        {"q-slice-sm100", "a 2-D implicit GEMM a temporal tap on SM100, its epilogue adding fp32 sums", q_slice_gates(),
         [](const ConvProblem& problem, const conv::Chip& chip) {
             ConvPlan plan = plan_q_slice(problem, chip);
             add_norm(plan, problem, chip);
             return plan;
         }},
        {"q-slice-rounded-sm100", "a 2-D implicit GEMM a temporal tap on SM100, its bf16 results added by a pass",
         q_slice_gates(),
         [](const ConvProblem& problem, const conv::Chip& chip) {
             ConvPlan plan = plan_rounded_q_slice(problem, chip);
             add_norm(plan, problem, chip);
             return plan;
         },
         conv::Rounding::Between},
        {"im2col-sm100", "a matrix of all taps and its product on SM100's tensor memory", im2col_gates(),
         [](const ConvProblem& problem, const conv::Chip& chip) {
             ConvPlan plan = plan_im2col(problem, chip);
             add_norm(plan, problem, chip);
             return plan;
         }},
    };
    return kMethods;
}

ConvPlan plan_conv2d(const ConvProblem& problem, const conv::Chip& chip) {
    Conv2dProblemShape shape = shape_of(problem);
    shape.n *= shape.d;
    shape.d = 1;
    const Conv2dEntry& entry = choose(problem, shape, Activation::Frames2d, chip);
    ConvPlan plan;
    plan.kernels = {kernel_name(entry)};
    plan.seconds = conv::kLaunchSeconds + estimate(entry.config, shape, rates_of(chip)).seconds;
    plan.packing = filter_packing(problem);
    plan.steps = [&entry, problem](const ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                                   const conv::EncodeMap& encode) {
        std::vector<ConvStep> steps;
        Frames left{tensors.input, tensors.residual, tensors.output};
        while (!left.input.empty()) {
            size_t count = adjoining(left.input, problem.input_frame_bytes());
            count = std::min(count, adjoining(left.output, problem.output_frame_bytes()));
            if (problem.residual) count = std::min(count, adjoining(left.residual, problem.output_frame_bytes()));
            Conv2dProblemShape images = shape_of(problem);
            images.n = static_cast<int64_t>(count);
            images.d = 1;
            steps.push_back(launch(entry, 0, problem, images, left.first(), parameters, encode));
            left = {left.input.subspan(count), problem.residual ? left.residual.subspan(count) : left.residual,
                    left.output.subspan(count)};
        }
        return steps;
    };
    add_norm(plan, problem, chip);
    return plan;
}

ConvPlan plan_conv3d(const ConvProblem& problem, const conv::Chip& chip) {
    const Conv2dProblemShape shape = shape_of(problem);
    const Conv2dEntry& window = choose(problem, shape, Activation::Window3d, chip);
    const Conv2dEntry* volume = nullptr;  // if a map's corners reach
    if (declined(gates(Activation::Volume3d), shape).empty())
        volume = &choose(problem, shape, Activation::Volume3d, chip);
    ConvPlan plan;
    plan.kernels = {kernel_name(window)};
    if (volume != nullptr) plan.kernels.push_back(kernel_name(*volume));
    plan.seconds = conv::kLaunchSeconds + estimate(window.config, shape, rates_of(chip)).seconds;
    plan.packing = filter_packing(problem);
    plan.steps = [&window, volume, problem, shape](const ConvTensors& tensors,
                                                   const conv::ParameterAddresses& parameters,
                                                   const conv::EncodeMap& encode) {
        const Frames frames{tensors.input, tensors.residual, tensors.output};
        const bool dense = volume != nullptr && all_adjoin(frames.input, problem.input_frame_bytes()) &&
                           all_adjoin(frames.output, problem.output_frame_bytes()) &&
                           all_adjoin(frames.residual, problem.output_frame_bytes());
        std::vector<ConvStep> steps;
        steps.push_back(dense ? launch(*volume, 1, problem, shape, frames.first(), parameters, encode)
                              : launch(window, 0, problem, shape, frames, parameters, encode));
        return steps;
    };
    add_norm(plan, problem, chip);
    return plan;
}

}  // namespace kinetograph::sm100
