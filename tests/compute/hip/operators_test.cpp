// The decoder's other passes on gfx950 against the CPU's.
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/tests/compute/hip/hip_lane.hpp>
#include <kinetograph/tests/compute/nn/operators_agreement.hpp>

namespace kinetograph::nn {
namespace {

using tensor::DType;
using HipOperatorsTest = test::HipLane;

TEST_F(HipOperatorsTest, RmsNormAgreesForManyWidths) { expect_norms(*device_); }
TEST_F(HipOperatorsTest, FramesAreKeptAlike) { expect_kept_frames(*device_); }
TEST_F(HipOperatorsTest, UpsamplingIsExact) { expect_upsampling(*device_); }
TEST_F(HipOperatorsTest, ChannelsBecomePixelsExactly) { expect_depth_to_space(*device_); }
TEST_F(HipOperatorsTest, LatentsAreUnpackedAndFramesStoredAlike) { expect_both_ends(*device_); }
TEST_F(HipOperatorsTest, PicturesAreTheSameBytes) { expect_pictures(*device_); }
TEST_F(HipOperatorsTest, AttentionAgrees) { expect_attention(*device_); }

TEST_F(HipOperatorsTest, MistakesNameThePass) {
    const auto operators = Operators::create(*device_).value();
    const auto stream = device_->create_stream("test").value();
    const auto norm = operators->rms_norm(*stream, "norm0", {{}, {}, 4, 8, nullptr, DType::BF16, {}});
    ASSERT_FALSE(norm);
    EXPECT_EQ(norm.error().message, "pass \"norm0\": RMS norm of 0 input and 0 output frames without gamma");
    const auto dtype = operators->store_float(*stream, "store0", {{}, nullptr, 4, DType::I8});
    ASSERT_FALSE(dtype);
    EXPECT_EQ(dtype.error().message, "pass \"store0\": frames of I8, wanted F32, BF16 or F16");
    const auto stored = operators->store_float(
        *stream, "store0", {.input = {}, .elements = 4, .dtype = DType::F32, .output_dtype = DType::BF16});
    ASSERT_FALSE(stored);
    EXPECT_EQ(stored.error().message, "pass \"store0\": frames stored as BF16, wanted F32 or F16");
    const auto wide = operators->attention({16, 1032, DType::BF16});
    ASSERT_FALSE(wide);
    EXPECT_EQ(wide.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace kinetograph::nn
