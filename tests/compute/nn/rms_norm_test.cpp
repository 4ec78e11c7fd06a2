#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>
#include <kinetograph/tests/compute/nn/enqueue.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kinetograph::nn {
namespace {

using conv::Activation;
using conv::FrameLayout;
using conv::TestFrames;
using tensor::DType;

class RmsNormTest : public testing::Test {
  protected:
    Result<void> run(const TestFrames& input, const TestFrames& output, std::int64_t pixels,
                     const std::vector<float>& gamma, DType dtype, Activation activation) {
        const auto inputs = input.readable();
        const auto channels = static_cast<std::int64_t>(gamma.size());
        auto enqueued =
            enqueue(*operators_, *stream_, "norm0", conv::NormProblem{pixels, channels, dtype, dtype, activation},
                    {.input = inputs, .output = output.writable(), .parameters = gamma.data()});
        return enqueued ? stream_->synchronize() : enqueued;
    }

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    std::unique_ptr<Operators> operators_ = Operators::create(*device_).value();
    std::unique_ptr<accel::Stream> stream_ = device_->create_stream("test").value();
};

/// The definition, in fp64.
std::vector<float> reference(const std::vector<float>& x, const std::vector<float>& gamma, bool silu) {
    const std::size_t channels = gamma.size();
    std::vector<float> y(x.size());
    for (std::size_t pixel = 0; pixel < x.size() / channels; ++pixel) {
        double squares = 0;
        for (std::size_t c = 0; c < channels; ++c) squares += std::pow(static_cast<double>(x[pixel * channels + c]), 2);
        const double scale = std::sqrt(static_cast<double>(channels)) / std::max(std::sqrt(squares), 1e-12);
        for (std::size_t c = 0; c < channels; ++c) {
            const double value = x[pixel * channels + c] * scale * gamma[c];
            y[pixel * channels + c] = static_cast<float>(silu ? value / (1 + std::exp(-value)) : value);
        }
    }
    return y;
}

TEST_F(RmsNormTest, AgreesWithItsDefinitionForAllChannelCountsAndBothStorages) {
    std::mt19937_64 random(3);
    std::normal_distribution<float> normal(0, 3);
    for (const std::int64_t channels : {1, 3, 16, 32, 64, 96, 100, 384, 1024}) {
        for (const DType dtype : {DType::F32, DType::BF16}) {
            for (const bool silu : {false, true}) {
                const std::int64_t pixels = 1 + 40'000 / channels;  // several blocks and a ragged one
                std::vector<float> gamma(channels);
                for (float& value : gamma) value = 1 + 0.1F * normal(random);
                TestFrames input(1, 3, pixels * channels, dtype, FrameLayout::Scattered);
                TestFrames output(1, 3, pixels * channels, dtype, FrameLayout::EveryOther);
                input.fill([&](auto, auto) { return normal(random); });
                ASSERT_TRUE(run(input, output, pixels, gamma, dtype, silu ? Activation::Silu : Activation::None));
                const auto d = conv::difference(output.values(), reference(input.values(), gamma, silu));
                SCOPED_TRACE(fmt::format("{} channels, {}, silu {}", channels, tensor::to_string(dtype), silu));
                // float32: sums of up to 1024 squares and an exponential, 2e-6; bf16: one rounding, at most 2^-8 each.
                EXPECT_LE(d.relative_l2, dtype == DType::F32 ? 2e-6 : 0x1p-8);
                if (dtype == DType::BF16) {
                    EXPECT_LE(d.worst_excess, 1.0);
                }
                EXPECT_TRUE(output.gaps_untouched());
            }
        }
    }
}

TEST_F(RmsNormTest, HasNoEpsilonUnderTheRootAndLeavesZerosZero) {
    constexpr std::int64_t kChannels = 32;
    TestFrames input(1, 1, 3 * kChannels, DType::F32, FrameLayout::Dense);
    TestFrames output(1, 1, 3 * kChannels, DType::F32, FrameLayout::Dense);
    // Pixel 0: zeros. Pixel 1: tiny. Pixel 2: the same numbers, large.
    input.fill([](auto, std::int64_t i) {
        const float value = static_cast<float>(i % kChannels) - 15.5F;
        return i < kChannels ? 0.0F : i < 2 * kChannels ? value * 0x1p-40F : value;
    });
    ASSERT_TRUE(run(input, output, 3, std::vector<float>(kChannels, 1.0F), DType::F32, Activation::None));
    const auto values = output.values();
    for (std::int64_t c = 0; c < kChannels; ++c) {
        EXPECT_EQ(values[c], 0.0F);
        EXPECT_FLOAT_EQ(values[kChannels + c], values[2 * kChannels + c]);
    }
}

TEST_F(RmsNormTest, WorksInPlace) {
    TestFrames frames(1, 1, 5 * 64, DType::BF16, FrameLayout::Dense);
    frames.fill([](auto, std::int64_t i) { return static_cast<float>(i % 7) - 3; });
    const auto wanted = reference(frames.values(), std::vector<float>(64, 1.5F), true);
    ASSERT_TRUE(run(frames, frames, 5, std::vector<float>(64, 1.5F), DType::BF16, Activation::Silu));
    EXPECT_LE(conv::difference(frames.values(), wanted).worst_excess, 1.0);
}

TEST_F(RmsNormTest, SiluStaysFiniteAtTheEndsOfFloat32) {
    TestFrames frames(1, 1, 4, DType::F32, FrameLayout::Dense);
    frames.fill([](auto, std::int64_t i) { return i % 2 == 0 ? 1.0F : -1.0F; });
    ASSERT_TRUE(run(frames, frames, 1, {1e4F, 1e4F, 1e30F, 1e30F}, DType::F32, Activation::Silu));
    const auto values = frames.values();
    EXPECT_FLOAT_EQ(values[0], 1e4F);
    EXPECT_NEAR(values[1], 0, 1e-30);
    EXPECT_FLOAT_EQ(values[2], 1e30F);
    EXPECT_NEAR(values[3], 0, 1e-7);  // 1e30 / e^88
}

/// Rows of whole registers and others, which another loop norms.
TEST_F(RmsNormTest, InBf16HoldsAtTheEndsOfSiluAndKeepsZerosAndNaN) {
    for (const std::int64_t channels : {64, 40}) {
        SCOPED_TRACE(channels);
        std::mt19937_64 random(5);
        std::normal_distribution<float> normal(0, 1);
        const std::vector<float> gamma(channels, 30.0F);  // SiLU of -100 to 100
        TestFrames frames(1, 1, 500 * channels, DType::BF16, FrameLayout::Dense);
        frames.fill([&](auto, std::int64_t i) { return i < channels ? 0.0F : normal(random); });
        const auto wanted = reference(frames.values(), gamma, true);
        ASSERT_TRUE(run(frames, frames, 500, gamma, DType::BF16, Activation::Silu));
        EXPECT_LE(conv::difference(frames.values(), wanted).worst_excess, 1.0);
        const auto values = frames.values();
        for (std::int64_t c = 0; c < channels; ++c) EXPECT_EQ(values[c], 0.0F);
        for (std::size_t i = 0; i < values.size(); ++i)  // half a step of bf16, and SiLU's own error
            if (std::abs(wanted[i]) > 1e-30F) {
                ASSERT_NEAR(values[i] / wanted[i], 1.0F, 0x1p-8F + 0x1p-13F) << wanted[i];
            }
        for (const float odd : {NAN, -NAN}) {
            frames.fill([&](auto, std::int64_t i) { return i == 0 ? odd : 1.0F; });
            ASSERT_TRUE(run(frames, frames, 500, gamma, DType::BF16, Activation::Silu));
            for (std::int64_t c = 0; c < channels; ++c) EXPECT_TRUE(std::isnan(frames.values()[c]));
            EXPECT_FLOAT_EQ(frames.values()[channels], 30.0F);
        }
    }
}

TEST_F(RmsNormTest, RefusesToRunWithoutGammaNamingThePass) {
    TestFrames frames(1, 1, 4 * 8, DType::F32, FrameLayout::Dense);
    const auto inputs = frames.readable();
    const auto enqueued = enqueue(*operators_, *stream_, "norm0", conv::NormProblem{4, 8, DType::F32, DType::F32},
                                  {.input = inputs, .output = frames.writable()});
    ASSERT_FALSE(enqueued);
    EXPECT_EQ(enqueued.error().message, "pass \"norm0\": RMS norm without gamma");
}

TEST_F(RmsNormTest, RefusesToAddToAnotherNumberOfFrames) {
    TestFrames frames(1, 1, 4 * 8, DType::F32, FrameLayout::Dense);
    const auto inputs = frames.readable();
    const auto outputs = frames.writable();
    const std::vector<std::byte*> sums{outputs[0], outputs[0]};
    const std::vector<float> gamma(8, 1.0F);
    const auto refused =
        enqueue(*operators_, *stream_, "norm", conv::NormProblem{4, 8, DType::F32, DType::F32, Activation::None, true},
                {.input = inputs, .output = outputs, .sum = sums, .parameters = gamma.data()});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "pass \"norm\": RMS norm of 1 frames added to 2");
}

}  // namespace
}  // namespace kinetograph::nn
