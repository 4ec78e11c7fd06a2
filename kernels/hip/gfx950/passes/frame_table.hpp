#pragma once

#include <cstdint>

namespace kinetograph::gfx950 {

/// Frames that one launch takes; a step with more is several launches.
inline constexpr uint32_t kMostFrames = 16;

/// A pass reads and writes frames where they lie: in a ring they do not follow one another.
struct FrameTable {
    const void* input[kMostFrames];
    void* output[kMostFrames];
};

/// Bytes of one frame that a buffer descriptor may span: every offset beyond them, kNowhere too, is out of range.
inline constexpr uint64_t kMostFrameBytes = 0x7fff'ff00;

}  // namespace kinetograph::gfx950
