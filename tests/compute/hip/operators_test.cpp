// The decoder's other passes on gfx950 against the CPU's.
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/tests/compute/hip/hip_lane.hpp>
#include <kinetograph/tests/compute/nn/operators_agreement.hpp>

namespace kinetograph::nn {
namespace {

using HipOperatorsTest = test::HipLane;

TEST_F(HipOperatorsTest, RmsNormAgreesForManyWidths) { expect_norms(*device_); }
TEST_F(HipOperatorsTest, GroupNormAgreesForManyShapes) { expect_group_norms(*device_); }
TEST_F(HipOperatorsTest, FramesAreKeptAlike) { expect_kept_frames(*device_); }
TEST_F(HipOperatorsTest, UpsamplingIsExact) { expect_upsampling(*device_); }
TEST_F(HipOperatorsTest, ChannelsBecomePixelsExactly) { expect_depth_to_space(*device_); }
TEST_F(HipOperatorsTest, LatentsAreUnpackedAndFramesStoredAlike) { expect_both_ends(*device_); }
TEST_F(HipOperatorsTest, PicturesAreTheSameBytes) { expect_pictures(*device_); }
TEST_F(HipOperatorsTest, AttentionAgrees) { expect_attention(*device_); }

TEST_F(HipOperatorsTest, MistakesNameThePass) { expect_mistakes(*device_); }

TEST_F(HipOperatorsTest, WhatTheKernelsDoNotHoldIsRefusedWithReasons) {
    const auto operators = Operators::create(*device_).value();
    const auto wide = operators->get(conv::AttentionProblem{16, 1032});
    ASSERT_FALSE(wide);
    EXPECT_EQ(wide.error().code, ErrorCode::Unsupported);
    const auto norm = operators->get(conv::NormProblem{16, 1025});
    ASSERT_FALSE(norm);
    EXPECT_EQ(
        norm.error().message,
        "RMS norm on " + device_->info().name +
            ": norm-gfx950 wants what one launch of the kernel holds, met RMS norm of 1025 channels: the lanes of "
            "a wave hold 1 to 1024");
}

}  // namespace
}  // namespace kinetograph::nn
