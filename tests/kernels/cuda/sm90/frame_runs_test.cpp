#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm90/frame_runs.hpp>

namespace kinetograph::sm90 {
namespace {

conv::ConvProblem frames(int64_t n, int64_t d, int64_t q, int64_t front) {
    conv::ConvProblem p;
    p.n = n;
    p.d = d;
    p.h = p.w = 8;
    p.c_in = 32;
    p.filter = {32, q, 1, 1};
    p.pad.front = front;
    return p;
}

TEST(FrameRuns, ListTheTapsThatMeetAFrame) {
    const auto runs = frame_runs(frames(1, 2, 3, 2));
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].count, 2);
    EXPECT_EQ(runs[0].inputs, 2);
    EXPECT_EQ(runs[0].taps[0].count, 1u);  // padding, padding, frame 0
    EXPECT_EQ(runs[0].taps[0].q[0], 2);
    EXPECT_EQ(runs[0].taps[0].input[0], 0);
    EXPECT_EQ(runs[0].taps[1].count, 2u);  // padding, frame 0, frame 1
    EXPECT_EQ(runs[0].taps[1].q[0], 1);
    EXPECT_EQ(runs[0].taps[1].input[1], 1);
}

TEST(FrameRuns, AreAboutEquallyLongAndCoverEveryOutputOnce) {
    for (const int64_t d : {1, 4, 6, 7, 13, 18}) {
        const auto problem = frames(2, d, 3, 2);
        int64_t next = 0, shortest = d, longest = 0;
        for (const FrameRun& run : frame_runs(problem)) {
            EXPECT_EQ(run.first_output, next);
            EXPECT_EQ(run.first_output / d, (run.first_output + run.count - 1) / d) << "frames of two samples";
            EXPECT_LE(run.inputs, static_cast<int64_t>(kMaxInputs));
            next += run.count;
            shortest = std::min(shortest, run.count);
            longest = std::max(longest, run.count);
        }
        EXPECT_EQ(next, problem.frames_out());
        EXPECT_LE(longest - shortest, 1) << d << " frames";
        EXPECT_LE(longest, static_cast<int64_t>(kMaxOutputs));
    }
}

}  // namespace
}  // namespace kinetograph::sm90
