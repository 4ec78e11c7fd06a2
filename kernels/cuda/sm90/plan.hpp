#pragma once

#include <kinetograph/kernels/conv/chips.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_config.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>

/// The convolutions and the attention of this folder as plans. Pure host code.
namespace kinetograph::sm90 {

/// implicit-gemm-sm90, byte-gemm-sm90, winograd-time-sm90, winograd-volume-sm90 (volume_plan.hpp), narrow-gemm-sm90,
/// q-slice-sm90 (q_slice_plan.hpp).
std::span<const conv::ConvMethod> methods();
std::span<const conv::ConvModel> models();
/// wgmma-sm90, products-sm90 (attention_products.hpp).
std::span<const conv::OpMethod> operators();
std::span<const conv::KnownDevice> devices();

/// What a tile's kernel computes: all of the problem if it `fits`, else all but the norm, which a pass computes then.
inline conv::ConvProblem without_norm_unless(bool fits, conv::ConvProblem problem) {
    if (!fits) problem.norm = conv::Norm::None;
    return problem;
}

/// One launch of ConvKernel for `problem` in that tile; several if its frames do not fit into the parameters of one, in
/// any order; none if it is empty. The tile fits (cost.hpp), and `sms` CTAs share the tiles of a launch. Addresses are
/// multiples of 16. Arguments: ConvParams, whose maps `encode` makes.
std::vector<conv::ConvLaunch> conv_launches(const ConvConfig& config, const conv::ConvProblem& problem,
                                            const conv::ConvTensors& tensors,
                                            const conv::ParameterAddresses& parameters, uint32_t sms,
                                            const conv::EncodeMap& encode);

/// The same for a kernel with fp32_sums. `sums` has one frame per output frame; it is added first if `adds`. If the
/// problem's output is fp32, `sums` takes the results and `tensors` has no output. Arguments: SumConvParams.
std::vector<conv::ConvLaunch> sum_launches(const ConvConfig& config, const conv::ConvProblem& problem,
                                           const conv::ConvTensors& tensors, std::span<std::byte* const> sums,
                                           bool adds, const conv::ParameterAddresses& parameters, uint32_t sms,
                                           const conv::EncodeMap& encode);

}  // namespace kinetograph::sm90
