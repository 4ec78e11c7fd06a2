#pragma once

#include <kinetograph/kernels/hip/gfx950/passes/frame_table.hpp>
#include <kinetograph/kernels/isa/element.hpp>

/// RMS norm over the channels of each pixel: x * sqrt(C) / max(||x||, 1e-12) * gamma, then SiLU if requested.
///
/// A power of two of lanes share a pixel and hold all of it in registers, so every byte is read and written once. A
/// frame may be its own output. rms_norm_lanes chooses the number of lanes so that few of them idle:
///
///   C, bf16    units of 16 bytes    lanes x units a lane    pixels a wave    busy lanes
///     32              4                  4 x 1                  16             100 %
///     96             12                  4 x 3                  16             100 %
///    192             24                  8 x 3                   8             100 %
///    384             48                 16 x 3                   4             100 %
///   1024            128                 64 x 2                   1             100 %
namespace kinetograph::gfx950 {

inline constexpr uint32_t kRmsNormWaves = 4;  ///< of a workgroup
inline constexpr uint32_t kRmsNormRounds =
    4;  ///< rounds of a wave, each over as many pixels as fit it; gamma is read once
inline constexpr uint32_t kRmsNormMostChannels = 1024;

struct RmsNormParams {
    FrameTable frames;   ///< grid y; [pixels, channels] each
    const float* gamma;  ///< [channels]
    uint32_t pixels, channels;
    uint32_t lanes;           ///< that share a pixel: a power of two up to 64
    uint32_t units_per_lane;  ///< 16-byte units: 1 to 4; single elements: 1, 4 or 16
    float root;               ///< sqrt(channels)
    uint32_t silu;            ///< 0 or 1
    void* sum = nullptr;      ///< the only frame's: the input is added to it in place and the sum normed; null: none
};

}  // namespace kinetograph::gfx950
