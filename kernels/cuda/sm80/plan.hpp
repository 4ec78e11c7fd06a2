#pragma once

#include <kinetograph/kernels/conv/chips.hpp>
#include <kinetograph/kernels/cuda/host/cost.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_config.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_params.hpp>
#include <kinetograph/kernels/cuda/sm80/operators.hpp>

/// The convolutions of this folder as plans. Pure host code.
namespace kinetograph::sm80 {

/// implicit-gemm-sm80, winograd-time-sm80 (winograd_plan.hpp), q-slice-sm80, q-slice-rounded-sm80, im2col-sm80.
std::span<const conv::ConvMethod> methods();
std::span<const conv::ConvModel> models();
std::span<const conv::KnownDevice> devices();

/// All parameters of a launch except its frames.
ConvParams shape_params(const ConvConfig& config, const conv::ConvProblem& problem,
                        const conv::ParameterAddresses& parameters);

/// One launch of ConvKernel for `problem` in that tile; several, in any order, if its frames do not fit into one
/// launch's parameters; none if it is empty. The tile must fit (cost.hpp). `addend`: fp32 frames that are added to the
/// sums first, n * d_out or none; they may be an fp32 output. Alignment: filter 16 bytes, input the width of the tile's
/// copies, others 4 elements if k is a multiple of 4, else 1.
std::vector<conv::ConvLaunch> conv_launches(const ConvConfig& config, const conv::ConvProblem& problem,
                                            const conv::ConvTensors& tensors,
                                            const conv::ParameterAddresses& parameters,
                                            std::span<const std::byte* const> addend = {});

enum class QSliceForm : uint8_t {
    FusedSums,      ///< each 2-D convolution's epilogue adds its fp32 sums to the frame's; the last one finishes
    RoundedSlices,  ///< each stores bf16, a pass adds it to the sums, another pass finishes: q more roundings
};

/// output[t] = sum over q of conv2d(input[t + q], filter[q]): equal to one launch over q * r * s taps if stride and
/// dilation are 1 and nothing is padded in time. Works in bands of rows, as few as possible while the fp32 sums of one
/// band fit `sum_bytes` (or are one row). Workspace: a band's sums; in the rounded form half as much again for a slice
/// in bf16.
conv::ConvPlan plan_q_slice(const conv::ConvProblem& problem, const conv::Chip& chip, QSliceForm form,
                            std::uint64_t sum_bytes = cuda::kQSliceSumBytes);

}  // namespace kinetograph::sm80
