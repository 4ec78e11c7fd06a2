#pragma once

#include <cstdint>

/// How GPUs norm groups: a frame after the other, each in three launches of kGroupThreads threads with these
/// parameters, a kernel's only one by value.
///
///   moments   grid: tiles, slabs of channels   of every channel in every tile of pixels
///   factors   grid: groups                     of every channel, from the moments of its group
///   norm      grid: tiles, slabs, kGroupParts  output = (input - mean) * scale + bias, then SiLU or not
///
/// Sums of a tile are those of differences from its first pixel, so that a large mean costs no precision. A thread
/// takes kGroupVector channels of every kGroupRows-th pixel of a tile, in a norm of every kGroupParts-th of these.
namespace kinetograph::conv {

inline constexpr uint32_t kGroupThreads = 256, kGroupVector = 8;
inline constexpr uint32_t kGroupLanes = 16;                          ///< threads beside each other in a slab
inline constexpr uint32_t kGroupSlab = kGroupLanes * kGroupVector;   ///< channels
inline constexpr uint32_t kGroupRows = kGroupThreads / kGroupLanes;  ///< pixels that a slab's threads read at a time
inline constexpr uint32_t kGroupParts = 4;  ///< of a tile, so that norms of one slab have threads for a whole GPU

struct GroupNormParams {
    const void* input;        ///< [pixels, channels]
    void* output;             ///< likewise
    float* moments;           ///< [tiles, 2, channels]: means, then sums of squared differences from them
    float* factors;           ///< [2, channels]: means of the channels' groups, then scales
    const float* parameters;  ///< [2, channels]: weights, then biases
    uint32_t pixels, channels, groups;
    uint32_t tile, tiles;  ///< pixels of a tile, an even number; the last may have fewer
    float epsilon;
    uint32_t silu;
};

}  // namespace kinetograph::conv
