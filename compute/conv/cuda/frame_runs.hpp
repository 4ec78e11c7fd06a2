// Frames that lie anywhere, for kernels that want them one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kinetograph::conv::cuda {

/// How many of `frames`, from the first on, follow one another in memory.
template <class Byte>
std::size_t adjoining(std::span<Byte* const> frames, std::uint64_t frame_bytes) {
    std::size_t count = frames.empty() ? 0 : 1;
    while (count < frames.size() && frames[count] == frames[count - 1] + frame_bytes) ++count;
    return count;
}

template <class Byte>
bool all_adjoin(std::span<Byte* const> frames, std::uint64_t frame_bytes) {
    return adjoining(frames, frame_bytes) == frames.size();
}

}  // namespace kinetograph::conv::cuda
