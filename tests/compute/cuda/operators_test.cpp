// The decoder's other passes on the CUDA lane against the CPU's.
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>
#include <kinetograph/tests/compute/nn/operators_agreement.hpp>

#include <gmock/gmock.h>

namespace kinetograph::nn {
namespace {

using CudaOperatorsTest = test::CudaLane;

TEST_F(CudaOperatorsTest, RmsNormAgreesForManyWidths) { expect_norms(*device_); }
TEST_F(CudaOperatorsTest, GroupNormAgreesForManyShapes) { expect_group_norms(*device_); }
TEST_F(CudaOperatorsTest, UpsamplingIsExact) { expect_upsampling(*device_); }
TEST_F(CudaOperatorsTest, ChannelsBecomePixelsExactly) { expect_depth_to_space(*device_); }
TEST_F(CudaOperatorsTest, LatentsAreUnpackedAndFramesStoredAlike) { expect_both_ends(*device_); }
TEST_F(CudaOperatorsTest, PicturesAreTheSameBytes) { expect_pictures(*device_); }
TEST_F(CudaOperatorsTest, FramesAreKeptAlike) { expect_kept_frames(*device_); }
TEST_F(CudaOperatorsTest, AttentionAgrees) { expect_attention(*device_); }

TEST_F(CudaOperatorsTest, MistakesNameThePass) { expect_mistakes(*device_); }

TEST_F(CudaOperatorsTest, WhatNoMethodTakesIsRefusedWithReasons) {
    const auto operators = Operators::create(*device_).value();
    const auto wide = operators->get(conv::AttentionProblem{16, 1032});
    ASSERT_FALSE(wide);
    EXPECT_EQ(wide.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(
        wide.error().message,
        testing::AllOf(testing::StartsWith("attention on "),
                       testing::HasSubstr("mma-sm80 wants a head of 8 to 1024 channels, a multiple of 8, met 1032")));
    const auto float32 = operators->get(conv::AttentionProblem{16, 384, Element::F32, Element::F32});
    ASSERT_FALSE(float32);
    EXPECT_EQ(float32.error().code, ErrorCode::Unsupported);
}

TEST_F(CudaOperatorsTest, AProblemIsPlannedOnce) {
    const auto operators = Operators::create(*device_).value();
    const conv::NormProblem problem{16, 96};
    EXPECT_EQ(operators->get(problem).value(), operators->get(problem).value());
    EXPECT_NE(operators->get(problem).value(), operators->get(conv::NormProblem{17, 96}).value());
}

}  // namespace
}  // namespace kinetograph::nn
