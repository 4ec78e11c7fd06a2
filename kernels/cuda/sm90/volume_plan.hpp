#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>

/// winograd-volume-sm90 as a plan. Pure host code. Every two output frames are computed in cells of 2 x 2 x 2 results:
/// a pass makes their operands, one launch multiplies them with the filters of their 64 positions, and a pass adds the
/// products up and has the whole epilogue, a norm too. 64 products take the place of 216, for the memory traffic of the
/// operands and products: it pays where there are many channels.
namespace kinetograph::sm90 {

/// How the cells of a pair of frames are divided between launches, so that the workspace holds their operands and
/// products.
struct VolumeDivision {
    int64_t columns, cells;  ///< of one row of the picture; of the picture
    int64_t together;        ///< cells of one launch, at most
    int64_t stride;          ///< rows of a position's matrices
};
/// Launches of about equal size whose operands and products take `most_bytes`, or of 192 cells if that is more.
inline constexpr int64_t kVolumeBytes = int64_t{1} << 30;
VolumeDivision volume_division(const conv::ConvProblem& problem, int64_t most_bytes = kVolumeBytes);

/// The cheapest tile of the implicit GEMM for the matrix products. There is one for every problem.
const NamedConvConfig& choose_volume_config(const conv::ConvProblem& problem, const conv::Chip& chip);

/// Filter [k][c_in][3][3][3] as [position][k][c_in] in fp16, times the power of two that brings its largest weight to 1
/// to 2; then, at volume_scale_offset(), that power's inverse as a float. Bias and gamma as pack_parameters().
conv::PackedParameters pack_volume(const conv::ConvProblem& problem, const conv::ConvParameters& parameters);
uint64_t volume_scale_offset(const conv::ConvProblem& problem);

/// Bytes of the workspace.
uint64_t volume_workspace_bytes(const conv::ConvProblem& problem, const VolumeDivision& division);

/// The launches in order. ConvLaunch::kernel: 0 input pass, 1 products, 2 output pass, whose arguments are
/// VolumeInputParams, ConvParams and VolumeOutputParams.
std::vector<conv::ConvLaunch> volume_launches(const ConvConfig& config, const VolumeDivision& division,
                                              const conv::ConvProblem& problem, const conv::ConvTensors& tensors,
                                              const conv::ParameterAddresses& parameters, uint32_t sms,
                                              const conv::EncodeMap& encode);

conv::ConvPlan plan_volume(const conv::ConvProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::sm90
