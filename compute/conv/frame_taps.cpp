#include <kinetograph/compute/conv/frame_taps.hpp>

namespace kinetograph::conv {
namespace {

/// Whether frames first ... last follow one another in memory.
bool adjoin(std::span<const std::byte* const> frames, std::int64_t first, std::int64_t last, std::uint64_t bytes) {
    for (std::int64_t i = first; i < last; ++i) {
        if (frames[i] + bytes != frames[i + 1]) return false;
    }
    return true;
}

}  // namespace

std::vector<TapRun> tap_runs(const ConvProblem& problem, std::span<const std::byte* const> frames, std::int64_t t_out) {
    const std::uint64_t bytes = problem.input_frame_bytes();
    std::vector<TapRun> runs;
    std::int64_t previous = 0;
    for (std::int64_t tap = 0; tap < problem.filter.q; ++tap) {
        const std::int64_t frame = t_out * problem.stride.d + tap * problem.dilation.d - problem.pad.front;
        if (frame < 0 || frame >= problem.d) continue;
        if (!runs.empty() && adjoin(frames, previous, frame, bytes)) {
            ++runs.back().count;
        } else {
            runs.push_back({tap, 1, frame});
        }
        previous = frame;
    }
    return runs;
}

}  // namespace kinetograph::conv
