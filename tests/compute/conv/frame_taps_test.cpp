#include <kinetograph/compute/conv/frame_taps.hpp>
#include <kinetograph/compute/tensor/tensor.hpp>

#include <gtest/gtest.h>

namespace kinetograph::conv {
namespace {

/// Six frames of 4 bytes each, three causal taps, four outputs.
ConvProblem ring_problem() {
    ConvProblem p;
    p.d = 6;
    p.h = p.w = p.c_in = 1;
    p.filter = {1, 3, 1, 1};
    p.input = p.weight = p.output = p.normed = tensor::DType::F32;
    return p;
}

/// Frames of a ring of six slots whose frame `seam` is in slot 0.
std::vector<const std::byte*> ring(const std::byte* base, std::int64_t seam) {
    std::vector<const std::byte*> frames;
    for (std::int64_t i = 0; i < 6; ++i) frames.push_back(base + (i + 6 - seam) % 6 * 4);
    return frames;
}

TEST(TapRuns, AreOneRunWhereFramesAdjoin) {
    const std::byte memory[24]{};
    for (std::int64_t t = 0; t < 4; ++t) {
        EXPECT_EQ(tap_runs(ring_problem(), ring(memory, 0), t), (std::vector<TapRun>{{0, 3, t}}));
    }
}

TEST(TapRuns, AreCutAtTheSeam) {
    const std::byte memory[24]{};
    const auto frames = ring(memory, 3);
    EXPECT_EQ(tap_runs(ring_problem(), frames, 0), (std::vector<TapRun>{{0, 3, 0}}));
    EXPECT_EQ(tap_runs(ring_problem(), frames, 1), (std::vector<TapRun>{{0, 2, 1}, {2, 1, 3}}));
    EXPECT_EQ(tap_runs(ring_problem(), frames, 2), (std::vector<TapRun>{{0, 1, 2}, {1, 2, 3}}));
    EXPECT_EQ(tap_runs(ring_problem(), frames, 3), (std::vector<TapRun>{{0, 3, 3}}));
}

TEST(TapRuns, LeaveOutTapsInThePadding) {
    const std::byte memory[24]{};
    ConvProblem p = ring_problem();
    p.pad = {2, 1, 0, 0, 0, 0};
    const auto frames = ring(memory, 0);
    EXPECT_EQ(tap_runs(p, frames, 0), (std::vector<TapRun>{{2, 1, 0}}));
    EXPECT_EQ(tap_runs(p, frames, 1), (std::vector<TapRun>{{1, 2, 0}}));
    EXPECT_EQ(tap_runs(p, frames, 6), (std::vector<TapRun>{{0, 2, 4}}));
    p.d = 1;
    p.pad = {0, 4, 0, 0, 0, 0};
    EXPECT_EQ(tap_runs(p, frames, 1), std::vector<TapRun>{});
}

TEST(TapRuns, StepOverFramesBetweenDilatedTaps) {
    const std::byte memory[24]{};
    ConvProblem p = ring_problem();
    p.dilation.d = 2;
    EXPECT_EQ(tap_runs(p, ring(memory, 0), 1), (std::vector<TapRun>{{0, 3, 1}}));
    EXPECT_EQ(tap_runs(p, ring(memory, 2), 1), (std::vector<TapRun>{{0, 1, 1}, {1, 2, 3}}));
}

}  // namespace
}  // namespace kinetograph::conv
