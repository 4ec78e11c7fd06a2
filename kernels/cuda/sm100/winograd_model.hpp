#pragma once

#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>

/// F(2,3) along time on SM100 as a model: no kernel is built. Pure host code.
///
/// A tile is the halo kernel's, of two output frames: its two accumulators in tensor memory are the P and Q of
/// docs/kernels-sm90.md, and warps beside the epilogue rewrite halos in shared memory into sums and differences of
/// frames. The operand cannot be in tensor memory: a tap would have to shift its lanes. Both accumulators are in use
/// throughout, so products wait twice in a tile: for the butterfly between the phases, which goes through registers,
/// and until the epilogue has taken the sums.
namespace kinetograph::sm100 {

/// How the epilogue takes the sums of both frames.
enum class SumsTaken : uint8_t {
    AsStored,       ///< piece by piece, by a warpgroup for each frame that computes and stores as it reads
    IntoRegisters,  ///< all at once: 192 registers of each thread of two warpgroups, the most that they can have
};

/// The time that a problem needs of each unit, like estimate() for a tile of the halo kernel.
Conv2dEstimate winograd_estimate(const HaloConfig& config, const conv::ConvProblem& problem, const ChipRates& chip = {},
                                 SumsTaken taken = SumsTaken::AsStored);

/// Seconds of the fastest tile, all launches included. `problem` has passed winograd_gates().
double winograd_seconds(const conv::ConvProblem& problem, const conv::Chip& chip,
                        SumsTaken taken = SumsTaken::AsStored);

}  // namespace kinetograph::sm100
