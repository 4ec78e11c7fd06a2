#include <gtest/gtest.h>

#include "conv_case.hpp"

namespace kinetograph::gfx950 {
namespace {

using enum ConvElement;

constexpr uint64_t kSchedules = 3;  // late, early and mixed landing

/// The kernel runs to its end under every schedule, gives the reference's values and reads LDS without bank conflicts.
void expect_agrees(const ConvCase& conv) {
    const ConvPlanResult planned = plan_four_wave_conv(conv.problem, conv.overrides);
    ASSERT_EQ(planned.error, "");
    ConvRun run(conv);
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        const host_model::WaveOutcome outcome = run.run(seed);
        ASSERT_EQ(outcome.fault.value_or(""), "") << describe(conv) << " seed " << seed;
        ASSERT_EQ(run.compare(), "") << describe(conv) << " by " << run.plan().kernel->name << " seed " << seed;
        EXPECT_EQ(outcome.lds_read_conflicts, 0u) << describe(conv);
        EXPECT_GT(outcome.matrix_products, 0u);
    }
}

FourWaveConvProblem square(int64_t size, int64_t c_in, int64_t c_out, int64_t taps = 3) {
    return {.h = size,
            .w = size,
            .c_in = c_in,
            .c_out = c_out,
            .r = taps,
            .s = taps,
            .pad_top = taps / 2,
            .pad_bottom = taps / 2,
            .pad_left = taps / 2,
            .pad_right = taps / 2};
}

TEST(FourWaveConv, AgreesOnTheFastPath) {
    expect_agrees({.problem = square(12, 64, 64), .overrides = {.tile = ConvTile{128, 128, 64}}});
}

}  // namespace
}  // namespace kinetograph::gfx950
