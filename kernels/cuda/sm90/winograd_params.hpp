#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>

/// What one launch of WinogradKernel reads, by value.
namespace kinetograph::sm90 {

/// Two neighbouring output frames, or the last one alone, and the four input frames under their taps.
struct FramePair {
    static constexpr uint8_t kPadding = 0xff;
    uint8_t input[4] = {kPadding, kPadding, kPadding, kPadding};  ///< index into ConvParams::input
    uint8_t outputs = 0;                                          ///< 1 or 2
};
inline constexpr uint32_t kMaxPairs = kMaxOutputs / 2;

struct WinogradParams {
    /// The grid walks pairs of frames, and `frames` counts pairs. Pair i stores output frames 2i and 2i + 1. The filter
    /// is laid out as pack_winograd() says.
    ConvParams conv;
    FramePair pairs[kMaxPairs];
};
static_assert(std::is_trivially_copyable_v<WinogradParams> && sizeof(WinogradParams) <= 4096,
              "4 KiB of kernel parameters");

}  // namespace kinetograph::sm90
