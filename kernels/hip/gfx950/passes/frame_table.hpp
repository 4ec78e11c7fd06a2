#pragma once

#include <cstdint>

namespace kinetograph::gfx950 {

/// Frames of one launch; a step with more takes several launches.
inline constexpr uint32_t kMostFrames = 16;

/// Frame addresses of a pass: in a ring frames do not follow one another.
struct FrameTable {
    const void* input[kMostFrames];
    void* output[kMostFrames];
};

/// Bytes of one frame that a buffer descriptor may span: every offset beyond them, kNowhere too, is out of range.
inline constexpr uint64_t kMostFrameBytes = 0x7fff'ff00;

}  // namespace kinetograph::gfx950
