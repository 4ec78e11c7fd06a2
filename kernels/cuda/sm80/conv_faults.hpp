#pragma once

#include <cstdint>

/// Mistakes that can be built into the kernel on purpose, to see the host model find them. Kernels are compiled with
/// ConvFault::None: every use is an `if constexpr` or a constant, and nothing of it reaches the chip.
namespace kinetograph::sm80 {

enum class ConvFault : uint8_t {
    None,
    NoWait,                     ///< products start before the copies of their stage have landed
    WaitsForOneGroupLess,       ///< one more group than the ring allows is left under way
    NoBarrier,                  ///< a thread waits for its own copies only
    NoCommit,                   ///< copies are in no group, so that no wait covers them
    LoadsIntoReadStage,         ///< the next block goes where other warps still read
    SwizzledByRow,              ///< chunks are written with another phase than they are read with
    UnswizzledBothWays,         ///< true results from busy banks
    StagesWhileOthersMultiply,  ///< the epilogue's tile is written where other warps still read the ring
    NoStagingBarrier,           ///< sums are read before the other warps have staged them
    HaloNotZeroed,              ///< the column right of the image is the next row's first
};

}  // namespace kinetograph::sm80
