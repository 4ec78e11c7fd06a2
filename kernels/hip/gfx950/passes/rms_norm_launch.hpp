#pragma once

#include <kinetograph/kernels/hip/gfx950/passes/launch_shape.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/rms_norm_config.hpp>

namespace kinetograph::gfx950 {

/// x * sqrt(channels) / max(||x||, 1e-12) * gamma for every pixel, then SiLU if `silu`. Frames 16-byte aligned.
struct RmsNormProblem {
    int64_t frames = 1;
    int64_t pixels = 0;    ///< of a frame
    int64_t channels = 0;  ///< 1 to 1024
    Element storage = Element::BF16;
    bool silu = false;
};

/// How the channels of a pixel are divided among lanes.
struct RmsNormLanes {
    uint32_t unit_bytes = 16;     ///< read by a lane at a time: 16, or the size of one element
    uint32_t lanes = 64;          ///< of a pixel, a power of two
    uint32_t units_per_lane = 1;  ///< the last lanes may have fewer
};
/// The split with the fewest idle lanes; among equals the one with the most lanes, whose accesses are adjacent.
RmsNormLanes rms_norm_lanes(int64_t channels, Element storage);

Refusal refusal(const RmsNormProblem& problem);
LaunchShape launch_shape(const RmsNormProblem& problem);
/// gamma [channels] float32, 16-byte aligned. A frame may be its own output. sum: RmsNormParams::sum.
RmsNormParams make_params(const RmsNormProblem& problem, const FrameTable& frames, const float* gamma,
                          void* sum = nullptr);

}  // namespace kinetograph::gfx950
