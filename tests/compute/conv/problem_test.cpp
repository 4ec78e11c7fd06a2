#include <kinetograph/compute/conv/validate.hpp>
#include <kinetograph/compute/tensor/tensor.hpp>

#include <gtest/gtest.h>

namespace kinetograph::conv {
namespace {

using tensor::DType;

ConvProblem causal_problem() {
    ConvProblem p;
    p.d = 6;
    p.h = 36;
    p.w = 64;
    p.c_in = 128;
    p.filter = {64, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    return p;
}

TEST(ConvProblemTest, GivesTheOutputSizesOfPaddingStrideAndDilation) {
    ConvProblem p = causal_problem();
    EXPECT_EQ(p.d_out(), 4);
    EXPECT_EQ(p.h_out(), 36);
    EXPECT_EQ(p.w_out(), 64);
    p.stride = {1, 2, 2};
    p.dilation = {1, 2, 1};
    p.pad.right = 0;
    EXPECT_EQ(p.h_out(), (36 + 2 - 5) / 2 + 1);
    EXPECT_EQ(p.w_out(), (64 + 1 - 3) / 2 + 1);
}

TEST(ConvProblemTest, CountsTwoFlopsAMultiplyAdd) {
    EXPECT_EQ(causal_problem().flops(), 2.0 * 4 * 36 * 64 * 64 * 128 * 27);
}

TEST(ConvProblemTest, ReadsAsOneLine) {
    ConvProblem p = causal_problem();
    p.activation = Activation::Silu;
    p.residual = true;
    EXPECT_EQ(p.to_string(),
              "1x6x36x64x128 bf16 * 64x3x3x3 pad 0,0,1,1,1,1 + bias, silu, + 1 * residual -> 1x4x36x64x64 bf16");
    p.activation = Activation::None;
    p.residual = false;
    p.norm = Norm::Beside;
    EXPECT_EQ(p.to_string(),
              "1x6x36x64x128 bf16 * 64x3x3x3 pad 0,0,1,1,1,1 + bias, norm, silu beside -> 1x4x36x64x64 bf16");
    p.norm = Norm::None;
    p.norm = Norm::Beside;
    p.input = {DType::U8, 0.5F, 40};
    p.weight = DType::I8;
    p.normed = {DType::U8, 0.25F, 12};
    EXPECT_EQ(p.to_string(),
              "1x6x36x64x128 u8 * 64x3x3x3 pad 0,0,1,1,1,1 * 0.5 + bias, norm, silu as u8 / 0.25 + 12 beside -> "
              "1x4x36x64x64 bf16");
    p.input = p.weight = p.normed = Storage();
    p.norm = Norm::None;
    p.activation = Activation::Relu;
    p.negative_slope = 0.25F;
    EXPECT_EQ(p.to_string(), "1x6x36x64x128 bf16 * 64x3x3x3 pad 0,0,1,1,1,1 + bias, relu 0.25 -> 1x4x36x64x64 bf16");
}

struct Mistake {
    std::string_view sentence;
    ErrorCode code;
    void (*spoil)(ConvProblem&);
};

const Mistake kMistakes[] = {
    {"convolution: h is 0, wanted at least 1", ErrorCode::InvalidArgument, [](ConvProblem& p) { p.h = 0; }},
    {"convolution: stride.w is -1, wanted at least 1", ErrorCode::InvalidArgument,
     [](ConvProblem& p) { p.stride.w = -1; }},
    {"convolution: filter.q is 4294967296, above 2^31 - 1", ErrorCode::OutOfRange,
     [](ConvProblem& p) { p.filter.q = std::int64_t{1} << 32; }},
    {"convolution: pad.front is -1, wanted 0 to 2^31 - 1", ErrorCode::InvalidArgument,
     [](ConvProblem& p) { p.pad.front = -1; }},
    {"convolution: negative_slope is -0.5, wanted 0 to 1", ErrorCode::InvalidArgument,
     [](ConvProblem& p) { p.negative_slope = -0.5F; }},
    {"convolution: 3 groups do not divide both c_in 128 and k 64", ErrorCode::InvalidArgument,
     [](ConvProblem& p) { p.groups = 3; }},
    {"convolution: the input is F64, wanted F32, BF16, F16, F8_E4M3, F8_E5M2 or U8", ErrorCode::InvalidArgument,
     [](ConvProblem& p) { p.input = p.weight = DType::F64; }},
    {"convolution: the filter is F16, wanted BF16 as the input", ErrorCode::InvalidArgument,
     [](ConvProblem& p) { p.weight = DType::F16; }},
    {"convolution: the filter is BF16, wanted F8_E4M3 or F8_E5M2 under an input of fp8", ErrorCode::InvalidArgument,
     [](ConvProblem& p) { p.input = DType::F8E5M2; }},
    {"convolution: the output is BF16, wanted F16 or F32", ErrorCode::InvalidArgument,
     [](ConvProblem& p) { p.input = p.weight = DType::F16; }},
    {"convolution: the output is F8_E4M3, wanted BF16 or F32", ErrorCode::InvalidArgument,
     [](ConvProblem& p) { p.input = p.weight = p.output = p.normed = DType::F8E4M3; }},
    {"convolution: the output is BF16, wanted F32", ErrorCode::InvalidArgument,
     [](ConvProblem& p) { p.input = p.weight = DType::F32; }},
    {"convolution 1x6x36x64x128 bf16 * 64x3x3x3 pad 2,1,1,1,1,1 + bias, carried sums -> 1x7x36x64x64 f32: carried sums "
     "want one sample, taps in time without stride and dilation, one frame of padding fewer than taps before and "
     "after, float32 sums and no other epilogue than a bias",
     ErrorCode::InvalidArgument,
     [](ConvProblem& p) {
         p.carried = true;
         p.output = p.normed = DType::F32;
         p.pad.front = 2;
         p.pad.back = 1;
     }},
    {"convolution: the filter is BF16 of zero point 0, wanted I8 without one", ErrorCode::InvalidArgument,
     [](ConvProblem& p) { p.input = DType::U8; }},
    {"convolution: the input is U8 of scale 1 and zero point 256, wanted a scale above 0 and a zero point of 0 to 255",
     ErrorCode::InvalidArgument,
     [](ConvProblem& p) {
         p.input = {DType::U8, 1, 256};
         p.weight = DType::I8;
     }},
    {"convolution: the norm is U8 of scale 0 and zero point 1, wanted a scale above 0 and a zero point of 0 to 255",
     ErrorCode::InvalidArgument,
     [](ConvProblem& p) {
         p.norm = Norm::Beside;
         p.normed = {DType::U8, 0, 1};
     }},
    {"convolution: 110592 products of U8 and I8 are summed, wanted at most 65536", ErrorCode::OutOfRange,
     [](ConvProblem& p) {
         p.input = DType::U8;
         p.weight = DType::I8;
         p.c_in = 4096;
     }},
    {"convolution: the filter of 9x3x3 taps does not fit the padded input, output would be 0x36x64",
     ErrorCode::InvalidArgument, [](ConvProblem& p) { p.filter.q = 9; }},
};

TEST(ConvProblemTest, RefusesEveryMistakeInItsOwnWords) {
    EXPECT_TRUE(validate(causal_problem()));
    for (const Mistake& mistake : kMistakes) {
        ConvProblem p = causal_problem();
        mistake.spoil(p);
        const auto valid = validate(p);
        ASSERT_FALSE(valid) << mistake.sentence;
        EXPECT_EQ(valid.error().message, mistake.sentence);
        EXPECT_EQ(valid.error().code, mistake.code);
    }
}

TEST(ConvProblemTest, CarriesSumsOfOneFrameFewerThanTaps) {
    ConvProblem p = causal_problem();
    EXPECT_EQ(p.residual_frames(), 0);
    p.residual = true;
    EXPECT_EQ(p.residual_frames(), 4);
    p.residual = false;
    p.carried = true;
    p.pad.front = p.pad.back = 2;
    p.output = p.normed = DType::F32;
    EXPECT_TRUE(validate(p));
    EXPECT_EQ(p.d_out(), 6 + 2);
    EXPECT_EQ(p.residual_frames(), 2);
}

TEST(ConvProblemTest, RefusesFramesOfMoreThanTwoBillionElements) {
    ConvProblem p = causal_problem();
    p.h = p.w = 1 << 15;
    const auto valid = validate(p);
    ASSERT_FALSE(valid);
    EXPECT_EQ(valid.error().code, ErrorCode::OutOfRange);
}

}  // namespace
}  // namespace kinetograph::conv
