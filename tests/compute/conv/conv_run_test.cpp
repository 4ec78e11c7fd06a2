#include <kinetograph/compute/conv/conv_run.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/base/processor.hpp>

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
    p.input = p.weight = p.output = p.normed = dtype;
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
    if (processor().uses < InstructionSet::Avx2) GTEST_SKIP() << "below AVX2 there are the plain loops alone";
    const auto device = accel::cpu::create_device();
    const auto run = run_problem(*device, small_problem(DType::BF16), {.backend = "onednn-f32-cpu", .repeats = 1});
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_LE(run->relative_l2, 2.5e-3);
    EXPECT_GE(run->relative_l2, 1e-4);  // a bf16 output cannot be closer: it is not compared with itself
    EXPECT_EQ(run->backend, "onednn-f32-cpu");
}

TEST(ConvRunTest, MeasuresTheRoundingOfTheNarrowerFormats) {
    const auto device = accel::cpu::create_device();
    const auto half = run_problem(*device, small_problem(DType::F16), {.repeats = 1});
    ASSERT_TRUE(half) << half.error().message;
    EXPECT_EQ(half->backend, "reference-cpu");  // the only one on the CPU that accepts it
    EXPECT_LE(half->relative_l2, 3e-4);         // 11 bits
    EXPECT_GE(half->relative_l2, 1e-5);
    ConvProblem p = small_problem(DType::F8E4M3);
    p.output = p.normed = DType::BF16;
    const auto eighth = run_problem(*device, p, {.repeats = 1});
    ASSERT_TRUE(eighth) << eighth.error().message;
    EXPECT_LE(eighth->relative_l2, 2.5e-3);  // of the bf16 output: both sides start from the same fp8 numbers
    EXPECT_GE(eighth->relative_l2, 1e-4);
}

TEST(ConvRunTest, MeasuresANormBesideTheOutputAndInsteadOfIt) {
    const auto device = accel::cpu::create_device();
    for (const DType dtype : {DType::F32, DType::BF16})
        for (const Norm norm : {Norm::Beside, Norm::Instead})
            for (const Activation activation : {Activation::None, Activation::Silu}) {
                ConvProblem p = small_problem(dtype);
                p.norm = norm;
                p.norm_activation = activation;
                const auto run = run_problem(*device, p, {.repeats = 1});
                ASSERT_TRUE(run) << run.error().message;
                ASSERT_TRUE(run->normed_relative_l2) << p.to_string();
                EXPECT_LE(*run->normed_relative_l2, dtype == DType::F32 ? 1e-5 : 5e-3) << p.to_string();
                EXPECT_GT(*run->normed_relative_l2, 1e-8) << p.to_string();
                EXPECT_EQ(run->relative_l2 == *run->normed_relative_l2, norm == Norm::Instead);
            }
    EXPECT_FALSE(run_problem(*device, small_problem(DType::F32), {.repeats = 1})->normed_relative_l2);
}

TEST(ConvRunTest, UpsamplingOnTheWayIsTheConvolutionOfTheUpsampledImage) {
    const auto device = accel::cpu::create_device();
    ConvProblem p = small_problem(DType::F32);
    p.d = p.filter.q = 1;
    p.residual = false;
    p.upsample = true;
    ASSERT_EQ(p.h_out(), 18);
    ConvProblem doubled = p;
    doubled.upsample = false;
    doubled.h *= 2;
    doubled.w *= 2;
    std::vector<float> filter(p.filter_elements()), bias(p.filter.k, 0.5F);
    for (std::size_t i = 0; i < filter.size(); ++i) filter[i] = static_cast<float>(i % 7) - 3;
    std::vector<float> small(p.h * p.w * p.c_in), large(4 * small.size());
    for (std::size_t i = 0; i < small.size(); ++i) small[i] = static_cast<float>(i % 11) - 5;
    for (std::int64_t y = 0; y < doubled.h; ++y)
        for (std::int64_t x = 0; x < doubled.w; ++x)
            for (std::int64_t c = 0; c < p.c_in; ++c)
                large[(y * doubled.w + x) * p.c_in + c] = small[(y / 2 * p.w + x / 2) * p.c_in + c];
    const auto run = [&](const ConvProblem& problem, const std::vector<float>& image) {
        const auto convolution =
            Convolution::create(*device, problem, {filter, bias}, {.backend = "reference-cpu"}).value();
        const auto stream = device->create_stream("test").value();
        std::vector<float> output(problem.h_out() * problem.w_out() * problem.filter.k, -77.0F);
        const auto* input = reinterpret_cast<const std::byte*>(image.data());
        auto* stored = reinterpret_cast<std::byte*>(output.data());
        EXPECT_TRUE(convolution->enqueue(*stream, "conv", {std::span(&input, 1), std::span(&stored, 1), {}}));
        EXPECT_TRUE(stream->synchronize());
        return output;
    };
    EXPECT_EQ(run(p, small), run(doubled, large));
}

TEST(ConvRunTest, GivesTheSameNumbersForTheSameSeedOnly) {
    const auto device = accel::cpu::create_device();
    const auto first =
        run_problem(*device, small_problem(DType::BF16), {.backend = "reference-cpu", .repeats = 1, .seed = 5});
    const auto again =
        run_problem(*device, small_problem(DType::BF16), {.backend = "reference-cpu", .repeats = 1, .seed = 5});
    const auto other =
        run_problem(*device, small_problem(DType::BF16), {.backend = "reference-cpu", .repeats = 1, .seed = 6});
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
