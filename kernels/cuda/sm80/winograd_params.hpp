#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_params.hpp>

namespace kinetograph::sm80 {

inline constexpr uint32_t kMaxPairs = kMaxConvFrames / 2;

/// What one launch of WinogradKernel reads, by value. Tiles walk over pairs of output frames in place of frames: pair i
/// reads input frames 4i to 4i + 3, under its taps, and stores output frames 2i and 2i + 1. `q` is 4, the transform's
/// filters in the order in which they are used.
struct WinogradParams {
    ConvParams conv;
    uint32_t alone;  ///< bit i: pair i has no second output frame
};
static_assert(4 * kMaxPairs <= kMaxConvFrameTaps && sizeof(WinogradParams) <= 4096, "4 KiB of kernel parameters");

}  // namespace kinetograph::sm80
