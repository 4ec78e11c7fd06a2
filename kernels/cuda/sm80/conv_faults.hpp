#pragma once

#include <cstdint>

/// Faults that tests build into the kernel to check that the host model finds them. Kernels are compiled with
/// ConvFault::None: every use is an `if constexpr` or a constant, so the chip's code contains none of it.
namespace kinetograph::sm80 {

enum class ConvFault : uint8_t {
    None,
    NoWait,                     ///< products start before the copies of their stage have landed
    WaitsForOneGroupLess,       ///< one more group than the ring allows remains in flight
    NoBarrier,                  ///< a thread waits for its own copies only
    NoCommit,                   ///< copies are in no group, so that no wait covers them
    LoadsIntoReadStage,         ///< the next block overwrites a stage that other warps still read
    SwizzledByRow,              ///< chunks are written with a different swizzle phase than they are read with
    UnswizzledBothWays,         ///< correct results with bank conflicts
    StagesWhileOthersMultiply,  ///< the epilogue's tile overwrites a ring that other warps still read
    NoStagingBarrier,           ///< sums are read before the other warps have staged them
    HaloNotZeroed,              ///< the column right of the image reads the next row's first
    // of Winograd's kernel alone
    WrongTransformSign,  ///< every operand is a difference
    NoButterfly,         ///< the second phase adds to the first one's sums as they are
};

}  // namespace kinetograph::sm80
