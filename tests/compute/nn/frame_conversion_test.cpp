#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>
#include <kinetograph/tests/compute/nn/enqueue.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace kinetograph::nn {
namespace {

using conv::FrameLayout;
using conv::TestFrames;
using tensor::DType;

template <class T>
const std::byte* bytes_of(const std::vector<T>& values) {
    return reinterpret_cast<const std::byte*>(values.data());
}

/// The places of `frames` equal frames, one after the other.
template <class T>
std::vector<std::byte*> places_of(std::vector<T>& values, std::size_t frames = 1) {
    std::vector<std::byte*> places;
    for (std::size_t i = 0; i < frames; ++i)
        places.push_back(reinterpret_cast<std::byte*>(values.data() + i * (values.size() / frames)));
    return places;
}

class FrameConversionTest : public testing::Test {
  protected:
    Result<void> unpack(const conv::UnpackLatentProblem& problem, const std::byte* latent, std::byte* output,
                        const float* map = nullptr) {
        return enqueue(*operators_, *stream_, "unpack", problem,
                       {.input = std::span(&latent, 1), .output = std::span(&output, 1), .parameters = map});
    }
    Result<void> store(const conv::OpProblem& problem, const TestFrames& input, const std::vector<std::byte*>& output,
                       std::uint32_t* not_finite = nullptr) {
        const auto inputs = input.readable();
        return enqueue(*operators_, *stream_, "store", problem,
                       {.input = inputs, .output = output, .not_finite = not_finite});
    }

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    std::unique_ptr<Operators> operators_ = Operators::create(*device_).value();
    std::unique_ptr<accel::Stream> stream_ = device_->create_stream("test").value();
};

TEST_F(FrameConversionTest, UnpackedLatentsAreMappedPixelByPixelAndMovedToChannelsLast) {
    constexpr std::int64_t kChannels = 16, kPixels = 35;
    std::vector<float> latent(kChannels * kPixels);
    for (std::size_t i = 0; i < latent.size(); ++i) latent[i] = static_cast<float>(i) * 0.37F - 90;
    std::vector<float> map((kChannels + 1) * kChannels);
    for (std::size_t i = 0; i < map.size(); ++i) map[i] = static_cast<float>(i * 7 % 19) - 8;
    for (const DType dtype : {DType::F32, DType::BF16}) {
        TestFrames output(1, 1, kChannels * kPixels, dtype, FrameLayout::Dense);
        ASSERT_TRUE(
            unpack({kPixels, kChannels, DType::F32, dtype}, bytes_of(latent), output.writable()[0], map.data()));
        ASSERT_TRUE(stream_->synchronize());
        const auto values = output.values();
        for (std::int64_t pixel = 0; pixel < kPixels; ++pixel) {
            for (std::int64_t c = 0; c < kChannels; ++c) {
                double wanted = map[kChannels * kChannels + c], size = std::abs(wanted);
                for (std::int64_t i = 0; i < kChannels; ++i) {
                    const double term = static_cast<double>(latent[i * kPixels + pixel]) * map[i * kChannels + c];
                    wanted += term;
                    size += std::abs(term);
                }
                // Each of the terms may round twice in float32; bf16: half a unit of 8 bits.
                const double limit =
                    2 * (kChannels + 1) * size * 0x1p-24 + (dtype == DType::F32 ? 0 : std::abs(wanted) * 0x1p-8);
                EXPECT_NEAR(values[pixel * kChannels + c], wanted, limit);
            }
        }
    }
}

TEST_F(FrameConversionTest, UnpackingWithoutAMapKeepsTheNumbers) {
    const std::vector<float> latent{1, 2, 3, 4, 5, 6};  // two channels of three pixels
    TestFrames output(1, 1, 6, DType::F32, FrameLayout::Dense);
    ASSERT_TRUE(unpack({3, 2, DType::F32, DType::F32}, bytes_of(latent), output.writable()[0]));
    ASSERT_TRUE(stream_->synchronize());
    EXPECT_EQ(output.values(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST_F(FrameConversionTest, LatentsOfTwoBytesAreWidenedExactlyAndOtherTypesAreRefused) {
    const std::vector<float> wanted{1, -2.5F, 3, 0.125F};  // exact in all types
    for (const DType dtype : {DType::F16, DType::BF16}) {
        std::vector<std::uint16_t> latent;
        for (const float value : {wanted[0], wanted[2], wanted[1], wanted[3]})  // channels apart
            latent.push_back(dtype == DType::F16 ? tensor::to_f16(value) : tensor::to_bf16(value));
        TestFrames output(1, 1, 4, DType::F32, FrameLayout::Dense);
        ASSERT_TRUE(unpack({2, 2, dtype, DType::F32}, bytes_of(latent), output.writable()[0]));
        ASSERT_TRUE(stream_->synchronize());
        EXPECT_EQ(output.values(), wanted);
    }
    const auto refused = operators_->get(conv::UnpackLatentProblem{2, 2, DType::I32, DType::F32});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "unpacking latents wants F32, BF16 or F16, met I32");
}

TEST_F(FrameConversionTest, RefusesALatentWithoutChannels) {
    const auto refused = operators_->get(conv::UnpackLatentProblem{3, 0, DType::F32, DType::F32});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "unpacking latents wants a pixel and a channel or more, met 3 and 0");
}

TEST_F(FrameConversionTest, StoresFramesOneAfterTheOtherWithinTheLimitAndKeepsNaN) {
    constexpr std::int64_t kElements = 40'000;  // more than two blocks
    const auto value_of = [](std::int64_t frame, std::int64_t i) {
        return i == 77 ? std::numeric_limits<float>::quiet_NaN()
                       : static_cast<float>(i % 401 - 200) * 0x1p-6F * static_cast<float>(frame + 1);  // exact in bf16
    };
    for (const DType dtype : {DType::F32, DType::BF16}) {
        TestFrames frames(1, 2, kElements, dtype, FrameLayout::EveryOther);
        frames.fill(value_of);
        std::vector<float> values(2 * kElements, -77.0F);
        ASSERT_TRUE(store(conv::StoreFloatProblem{kElements, dtype, DType::F32, 1}, frames, places_of(values, 2)));
        ASSERT_TRUE(stream_->synchronize());
        for (std::int64_t i = 0; i < 2 * kElements; ++i) {
            const float given = value_of(i / kElements, i % kElements);
            if (std::isnan(given)) {
                EXPECT_TRUE(std::isnan(values[i]));
            } else {
                ASSERT_EQ(values[i], std::clamp(given, -1.0F, 1.0F)) << i;
            }
        }
    }
}

TEST_F(FrameConversionTest, WithoutALimitStoresWhatIsThere) {
    TestFrames frame(1, 1, 3, DType::BF16, FrameLayout::Dense);
    frame.fill([](auto, std::int64_t i) { return static_cast<float>(i) * 100 - 50; });
    std::vector<float> values(3);
    ASSERT_TRUE(store(conv::StoreFloatProblem{3, DType::BF16}, frame, places_of(values)));
    ASSERT_TRUE(stream_->synchronize());
    EXPECT_EQ(values, (std::vector<float>{-50, 50, 150}));
}

TEST_F(FrameConversionTest, FlagsAValueThatIsNotFiniteInWhicheverBlockAndFrame) {
    constexpr std::int64_t kElements = 40'000;  // several blocks
    std::vector<float> values(2 * kElements);
    for (const DType dtype : {DType::F32, DType::BF16}) {
        for (const float bad :
             {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38F}) {
            for (const std::int64_t at : {std::int64_t{0}, kElements - 1}) {
                TestFrames frames(1, 2, kElements, dtype, FrameLayout::Dense);
                frames.fill([&](std::int64_t frame, std::int64_t i) { return frame == 1 && i == at ? bad : 0.5F; });
                for (const DType stored : {DType::F32, DType::F16}) {
                    std::uint32_t flag = 0;
                    ASSERT_TRUE(store(conv::StoreFloatProblem{kElements, dtype, stored, 1}, frames,
                                      places_of(values, 2), &flag));
                    ASSERT_TRUE(stream_->synchronize());
                    EXPECT_EQ(flag, std::isfinite(bad) ? 0U : 1U) << bad << " at " << at;
                }
            }
        }
    }
}

TEST_F(FrameConversionTest, StoresHalvesRoundedOnceWithinTheLimit) {
    constexpr std::int64_t kElements = 40'000;  // more than two blocks
    const auto value_of = [](std::int64_t frame, std::int64_t i) {
        return static_cast<float>(i % 401 - 200) * 0x1.03p-6F * static_cast<float>(frame + 1);
    };
    for (const DType dtype : {DType::F32, DType::BF16}) {
        TestFrames frames(1, 2, kElements, dtype, FrameLayout::EveryOther);
        frames.fill(value_of);
        std::vector<std::uint16_t> halves(2 * kElements, 7777);
        ASSERT_TRUE(store(conv::StoreFloatProblem{kElements, dtype, DType::F16, 1}, frames, places_of(halves, 2)));
        ASSERT_TRUE(stream_->synchronize());
        for (std::int64_t i = 0; i < 2 * kElements; ++i) {
            float given = value_of(i / kElements, i % kElements);
            if (dtype == DType::BF16) given = tensor::from_bf16(tensor::to_bf16(given));
            ASSERT_EQ(halves[i], tensor::to_f16(std::clamp(given, -1.0F, 1.0F))) << i;
        }
    }
}

TEST_F(FrameConversionTest, RefusesToStoreAsSomethingElseOrBeyondNoLimit) {
    const auto as_bf16 = operators_->get(conv::StoreFloatProblem{3, DType::F32, DType::BF16});
    ASSERT_FALSE(as_bf16);
    EXPECT_EQ(as_bf16.error().message, "storing frames of floats wants frames stored as F32 or F16, met BF16");
    const auto limit = operators_->get(conv::StoreFloatProblem{3, DType::F32, DType::F32, -1});
    ASSERT_FALSE(limit);
    EXPECT_EQ(limit.error().message, "storing frames of floats wants a limit of 0 or more, met -1.000000");
}

TEST_F(FrameConversionTest, PicturesAreOpaqueAndRoundedToTheNearestOf256Values) {
    constexpr std::int64_t kPixels = 17'000;  // more than one block
    const auto value_of = [](std::int64_t frame, std::int64_t i) {
        return i == 7
                   ? std::numeric_limits<float>::quiet_NaN()
                   : static_cast<float>((i + 31 * frame) % 300 - 150) * 0x1p-7F;  // exact in bf16; beyond [-1, 1] too
    };
    for (const DType dtype : {DType::F32, DType::BF16}) {
        TestFrames frames(1, 2, 3 * kPixels, dtype, FrameLayout::EveryOther);
        frames.fill(value_of);
        std::vector<std::uint8_t> first(4 * kPixels, 77), second(4 * kPixels, 77);
        ASSERT_TRUE(store(conv::StorePictureProblem{kPixels, dtype}, frames,
                          {places_of(first).front(), places_of(second).front()}));
        ASSERT_TRUE(stream_->synchronize());
        for (std::int64_t i = 0; i < 4 * kPixels; ++i) {
            const std::int64_t element = i / 4 * 3 + i % 4;
            ASSERT_EQ(first[i], i % 4 == 3 ? 255 : to_unorm8(value_of(0, element))) << i;
            ASSERT_EQ(second[i], i % 4 == 3 ? 255 : to_unorm8(value_of(1, element))) << i;
        }
    }
}

TEST_F(FrameConversionTest, PicturesFlagValuesThatAreNotFinite) {
    for (const float value : {0.5F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
        for (const DType dtype : {DType::F32, DType::BF16}) {
            TestFrames frame(1, 1, 300, dtype, FrameLayout::Dense);
            frame.fill([value](std::int64_t, std::int64_t i) { return i == 211 ? value : 0.25F; });
            std::vector<std::byte> picture(400);
            std::uint32_t flag = 0;
            ASSERT_TRUE(store(conv::StorePictureProblem{100, dtype}, frame, places_of(picture), &flag));
            ASSERT_TRUE(stream_->synchronize());
            EXPECT_EQ(flag, std::isfinite(value) ? 0U : 1U) << value;
        }
}

TEST(FrameValues, MapMinusOneToOneOntoEightBitsRoundedAndClamped) {
    EXPECT_EQ(to_unorm8(-1.0F), 0);
    EXPECT_EQ(to_unorm8(1.0F), 255);
    EXPECT_EQ(to_unorm8(0.0F), 128);  // 127.5 rounds up
    EXPECT_EQ(to_unorm8(-2.0F), 0);
    EXPECT_EQ(to_unorm8(7.0F), 255);
    EXPECT_EQ(to_unorm8(std::nanf("")), 0);
    EXPECT_EQ(to_unorm8(1.4F / 255.0F - 1.0F), 1);
}

TEST_F(FrameConversionTest, RefusesPicturesWithoutAPlaceNamingThePass) {
    TestFrames frame(1, 1, 3, DType::F32, FrameLayout::Dense);
    const auto enqueued = store(conv::StorePictureProblem{1, DType::F32}, frame, {});
    ASSERT_FALSE(enqueued);
    EXPECT_EQ(enqueued.error().message, "pass \"store\": storing a picture of 1 input and 0 output frames");
}

}  // namespace
}  // namespace kinetograph::nn
