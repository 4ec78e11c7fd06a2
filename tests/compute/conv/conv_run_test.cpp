#include <kinetograph/compute/conv/conv_run.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <gtest/gtest.h>

namespace kinetograph::conv {
namespace {

using tensor::DType;

ConvProblem small_problem(DType dtype) {
    ConvProblem p;
    p.d = 4;
    p.h = 9;
    p.w = 13;
    p.c_in = 32;
    p.filter = {48, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    p.dtype = p.output_dtype = dtype;
    p.residual = true;
    p.activation = Activation::Silu;
    return p;
}

TEST(ConvRunTest, MeasuresAFloat32ConvolutionToBeAlmostExact) {
    const auto device = accel::cpu::create_device();
    const auto run = run_problem(*device, small_problem(DType::F32), {.repeats = 3});
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_LE(run->relative_l2, 2e-6);  // float32 sums of 864 terms
    EXPECT_GT(run->max_abs_reference, 0.5);
    EXPECT_GT(run->seconds_median, 0);
    EXPECT_NEAR(run->tflops, small_problem(DType::F32).flops() / run->seconds_median / 1e12, 1e-12);
    EXPECT_FALSE(run->backend.empty());
}

TEST(ConvRunTest, MeasuresTheRoundingOfABf16Output) {
    const auto device = accel::cpu::create_device();
    const auto run = run_problem(*device, small_problem(DType::BF16), {.backend = "onednn-f32", .repeats = 1});
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_LE(run->relative_l2, 2.5e-3);
    EXPECT_GE(run->relative_l2, 1e-4);  // a bf16 output cannot be closer: the comparison is not with itself
    EXPECT_EQ(run->backend, "onednn-f32");
}

TEST(ConvRunTest, MeasuresTheRoundingOfTheNarrowerFormats) {
    const auto device = accel::cpu::create_device();
    const auto half = run_problem(*device, small_problem(DType::F16), {.repeats = 1});
    ASSERT_TRUE(half) << half.error().message;
    EXPECT_EQ(half->backend, "reference");  // the only one on the CPU that takes it
    EXPECT_LE(half->relative_l2, 3e-4);     // 11 bits
    EXPECT_GE(half->relative_l2, 1e-5);
    ConvProblem p = small_problem(DType::F8E4M3);
    p.output_dtype = DType::BF16;
    const auto eighth = run_problem(*device, p, {.repeats = 1});
    ASSERT_TRUE(eighth) << eighth.error().message;
    EXPECT_LE(eighth->relative_l2, 2.5e-3);  // of the bf16 output: both sides start from the same fp8 numbers
    EXPECT_GE(eighth->relative_l2, 1e-4);
}

TEST(ConvRunTest, GivesTheSameNumbersForTheSameSeedOnly) {
    const auto device = accel::cpu::create_device();
    const auto first =
        run_problem(*device, small_problem(DType::BF16), {.backend = "reference", .repeats = 1, .seed = 5});
    const auto again =
        run_problem(*device, small_problem(DType::BF16), {.backend = "reference", .repeats = 1, .seed = 5});
    const auto other =
        run_problem(*device, small_problem(DType::BF16), {.backend = "reference", .repeats = 1, .seed = 6});
    ASSERT_TRUE(first && again && other);
    EXPECT_EQ(first->max_abs_reference, again->max_abs_reference);
    EXPECT_NE(first->max_abs_reference, other->max_abs_reference);
}

TEST(ConvRunTest, PassesOnWhyAProblemIsRefused) {
    const auto device = accel::cpu::create_device();
    ConvProblem p = small_problem(DType::F32);
    p.w = 0;
    const auto run = run_problem(*device, p);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().message, "convolution: w is 0, wanted at least 1");
}

}  // namespace
}  // namespace kinetograph::conv
