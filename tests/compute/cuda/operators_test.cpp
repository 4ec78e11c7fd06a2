// The decoder's other passes on the CUDA lane against the CPU's.
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>
#include <kinetograph/tests/compute/nn/operators_agreement.hpp>

#include <gmock/gmock.h>

namespace kinetograph::nn {
namespace {

using tensor::DType;
using CudaOperatorsTest = test::CudaLane;

TEST_F(CudaOperatorsTest, RmsNormAgreesForManyWidths) { expect_norms(*device_); }
TEST_F(CudaOperatorsTest, UpsamplingIsExact) { expect_upsampling(*device_); }
TEST_F(CudaOperatorsTest, ChannelsBecomePixelsExactly) { expect_depth_to_space(*device_); }
TEST_F(CudaOperatorsTest, LatentsAreUnpackedAndFramesStoredAlike) { expect_both_ends(*device_); }
TEST_F(CudaOperatorsTest, PicturesAreTheSameBytes) { expect_pictures(*device_); }
TEST_F(CudaOperatorsTest, FramesAreKeptAlike) { expect_kept_frames(*device_); }
TEST_F(CudaOperatorsTest, AttentionAgrees) { expect_attention(*device_); }

TEST_F(CudaOperatorsTest, MistakesNameThePass) {
    const auto operators = Operators::create(*device_).value();
    const auto stream = device_->create_stream("test").value();
    const auto norm = operators->rms_norm(*stream, "norm0", {{}, {}, 4, 8, nullptr, DType::BF16, {}});
    ASSERT_FALSE(norm);
    EXPECT_EQ(norm.error().message, "pass \"norm0\": RMS norm without gamma");
    const auto dtype = operators->store_float(*stream, "store0", {{}, nullptr, 4, DType::I8});
    ASSERT_FALSE(dtype);
    EXPECT_EQ(dtype.error().message, "pass \"store0\": frames of I8, wanted F32, BF16 or F16");
    const auto stored = operators->store_float(
        *stream, "store0", {.input = {}, .elements = 4, .dtype = DType::F32, .output_dtype = DType::BF16});
    ASSERT_FALSE(stored);
    EXPECT_EQ(stored.error().message, "pass \"store0\": frames stored as BF16, wanted F32 or F16");
    std::byte* const kept[] = {nullptr};
    const std::byte* const fresh[] = {nullptr, nullptr};
    const auto more = operators->keep_frames(*stream, "keep0", {kept, fresh, 16});
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().message, "pass \"keep0\": 2 fresh frames, of which 1 are kept");
    const auto wide = operators->attention({16, 1032, DType::BF16});
    ASSERT_FALSE(wide);
    EXPECT_EQ(wide.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(
        wide.error().message,
        testing::AllOf(testing::StartsWith("attention of 1032 channels in BF16 on "),
                       testing::HasSubstr("mma-sm80 wants a head of 8 to 1024 channels, a multiple of 8, met 1032")));
    const auto float32 = operators->attention({16, 384, DType::F32});
    ASSERT_FALSE(float32);
    EXPECT_EQ(float32.error().code, ErrorCode::Unsupported);
    const auto none = operators->attention({0, 384, DType::BF16});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace kinetograph::nn
