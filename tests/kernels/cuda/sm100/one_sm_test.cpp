#include "model_conv.hpp"

namespace kinetograph::sm100 {
namespace {

TEST(Conv2dOneSm, AgreesOnAWholeTileOfA1x1Filter) { expect_agrees<one_sm_128b()>({same2d(1, 8, 16, 64, 128, 1, 1)}); }
TEST(Conv2dOneSm, AgreesOn3x3WithRaggedPixels) { expect_agrees<one_sm_128b()>({same2d(1, 9, 17, 64, 128, 3, 3)}); }
TEST(Conv2dOneSm, AgreesOn3x3WithRaggedFilters) { expect_agrees<one_sm_128b()>({same2d(2, 7, 11, 128, 200, 3, 3)}); }
TEST(Conv2dOneSm, KeepsEveryPositionApart) {
    expect_agrees<one_sm_128b()>({same2d(2, 9, 13, 64, 72, 3, 3), Numbers::Coded});
}
TEST(Conv2dOneSm, SumsIntegersExactly) {
    expect_agrees<one_sm_128b()>({same2d(1, 10, 20, 64, 128, 5, 5), Numbers::Integers});
}

}  // namespace
}  // namespace kinetograph::sm100
