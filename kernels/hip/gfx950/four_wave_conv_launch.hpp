#pragma once

#include <kinetograph/kernels/hip/gfx950/cost.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_params.hpp>
#include <kinetograph/kernels/hip/gfx950/rates.hpp>
#include <vector>

/// From a convolution to launches of FourWaveConv. Pure functions of their arguments; no device is needed. An output
/// frame lists its q input frames, so that stride, dilation, padding and history rings in time are the caller's choice
/// of addresses.
namespace kinetograph::gfx950 {

/// What the caller may fix.
struct ConvOverrides {
    std::optional<ConvTile> tile =
        {};  ///< a tile that has a kernel for the problem's element type and path (conv_configs.hpp)
    std::optional<ConvPath> path = {};  ///< another path than path_of() that takes the channels
    uint32_t splits = 1;                ///< parts of K; more than one: float32 sums of each part, for JoinSumsProblem
};

/// A problem that is not declined, bound to a kernel; complete but for the addresses.
struct FourWaveConvPlan {
    conv::ConvProblem problem;
    const ConvKernel* kernel;
    uint32_t threads = 256;
    FourWaveConvParams params;  ///< without addresses, of a launch with params.frames frames at most
    uint32_t compute_units;     ///< of the device
    uint32_t frames_per_launch;
};

/// Errors: a sentence for a declined problem, or for overrides without a kernel.
struct ConvPlanResult {
    std::optional<FourWaveConvPlan> plan;
    std::string error;
};
ConvPlanResult plan_four_wave_conv(const conv::ConvProblem& problem, const ConvOverrides& overrides = {},
                                   const conv::Chip& chip = mi355x());

/// Device addresses of one call. Frames are dense blocks aligned to 4 bytes (input frames: to 16 for speed).
struct ConvAddresses {
    std::span<const void* const> input;   ///< frames * q: [frame][tap]; null: a frame of zeros
    std::span<void* const> output;        ///< frames; empty without output; with splits: the first part's sums
    uint64_t split_bytes = 0;             ///< with splits: from a part's output frame to the next part's
    std::span<const void* const> source;  ///< frames; empty without source; may be the output frames
    std::span<void* const> normed;        ///< frames; empty without norm
    const void* filter = nullptr;         ///< pack_filter
    const void* bias = nullptr;           ///< pack_channels
    const void* gamma = nullptr;          ///< pack_channels
    const void* scales = nullptr;         ///< pack_channels; null: none
};

struct FourWaveConvLaunch {
    uint32_t workgroups;  ///< along x; threads of each: plan.threads; LDS is the kernel's own
    FourWaveConvParams params;
};

/// The launches of one call, in any order: one, unless there are more frames than a launch can list. Frames that follow
/// each other in memory are one frame of all their pixels, so that tiles do not end at each image, where the kernel's
/// path can (joins_images). None for a problem without output elements.
std::vector<FourWaveConvLaunch> launches(const FourWaveConvPlan& plan, const ConvAddresses& addresses);

}  // namespace kinetograph::gfx950
