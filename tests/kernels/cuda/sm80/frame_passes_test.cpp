#include <array>
#include <cmath>
#include <kinetograph/kernels/cuda/sm80/attention.hpp>
#include <kinetograph/kernels/cuda/sm80/frame_passes.hpp>
#include <limits>

#include "pass_run.hpp"

namespace kinetograph::sm80 {
namespace {

template <Element kValue>
void expect_norm(uint32_t pixels, uint32_t channels, bool silu, uint32_t shift = 0) {
    Frames frames = random_frames(2, int64_t{pixels} * channels + shift, kValue, channels);
    for (uint32_t c = 0; c < channels && pixels > 1; ++c) store_value(kValue, frames.frame(1), shift + channels + c, 0);
    const Frames before = frames;
    cuda::FrameTable table = table_of(frames, frames);
    for (size_t i = 0; i < 2; ++i) {
        table.output[i] = static_cast<uint8_t*>(table.output[i]) + shift * element_bytes(kValue);
        table.input[i] = table.output[i];  // in place
    }
    std::vector<float> gamma(channels);
    for (uint32_t c = 0; c < channels; ++c) gamma[c] = 0.5f + 0.01f * static_cast<float>(c);
    const cuda::RmsNormParams params{table,    gamma.data(),   pixels,
                                     channels, silu ? 1u : 0u, std::sqrt(static_cast<float>(channels))};
    ASSERT_EQ(run_pass(
                  cuda::rms_norm_launch(pixels, 2), [&] { RmsNormKernel<kValue>::run(params); }, channels),
              "");
    EXPECT_TRUE(frames.intact());
    for (size_t i = 0; i < size_t{2} * pixels; ++i) {
        const uint8_t* input = before.frame(i / pixels);
        const size_t first = i % pixels * channels + shift;
        double squares = 0;
        for (uint32_t c = 0; c < channels; ++c) squares += std::pow(load_value(kValue, input, first + c), 2);
        for (uint32_t c = 0; c < channels; ++c) {
            double expected = load_value(kValue, input, first + c) * std::sqrt(double{1} * channels) /
                              std::max(std::sqrt(squares), 1e-12) * double{gamma[c]};
            if (silu) expected /= 1 + std::exp(-expected);
            ASSERT_NEAR(load_value(kValue, frames.frame(i / pixels), first + c), expected,
                        allowed_error(kValue, expected))
                << "pixel " << i << " channel " << c;
        }
    }
}

TEST(RmsNormPass, AgreesWithFp64InPlaceForEveryType) {
    expect_norm<Element::BF16>(13, 96, true);
    expect_norm<Element::BF16>(9, 384, false);
    expect_norm<Element::F16>(13, 33, true);
    expect_norm<Element::F32>(3, 7, false);
    expect_norm<Element::F32>(5, 20, true);
    expect_norm<Element::F32>(1, 1, false);
}
TEST(RmsNormPass, TakesFramesThatAreNotAlignedToItsVectors) {
    expect_norm<Element::BF16>(17, 64, true, 1);
    expect_norm<Element::F32>(17, 64, false, 3);
}

template <class Unit>
void expect_upsampled(uint32_t height, uint32_t width, uint32_t pixel_bytes) {
    ASSERT_EQ(cuda::upsample_unit(pixel_bytes), sizeof(Unit));
    Frames input(2, int64_t{height} * width * pixel_bytes, 1), output(2, int64_t{4} * height * width * pixel_bytes, 2);
    for (size_t frame = 0; frame < 2; ++frame) {
        for (uint32_t i = 0; i < height * width * pixel_bytes; ++i) {
            input.frame(frame)[i] = static_cast<uint8_t>(i * 7 + i / 256 + frame * 101);
        }
    }
    const uint32_t units = pixel_bytes / static_cast<uint32_t>(sizeof(Unit));
    const cuda::UpsampleParams params{table_of(input, output), width * units, units};
    const cuda::PassLaunch launch = cuda::upsample_launch(params.row_units, height, 2);
    ASSERT_EQ(run_pass(
                  launch, [&] { UpsampleKernel<Unit>::run(params); }, height),
              "");
    EXPECT_TRUE(output.intact());
    for (size_t frame = 0; frame < 2; ++frame) {
        for (uint32_t i = 0; i < 4 * height * width * pixel_bytes; ++i) {
            const uint32_t byte = i % pixel_bytes, x = i / pixel_bytes % (2 * width), y = i / pixel_bytes / (2 * width);
            ASSERT_EQ(output.frame(frame)[i], input.frame(frame)[(y / 2 * width + x / 2) * pixel_bytes + byte]) << i;
        }
    }
}

TEST(UpsamplePass, MakesEveryPixelFourInEveryUnit) {
    expect_upsampled<isa::Words<4>>(3, 50, 192);
    expect_upsampled<uint32_t>(5, 7, 12);
    expect_upsampled<uint16_t>(4, 9, 6);
}

/// Two frames.
template <Element kValue>
void expect_unpacked(uint32_t pixels, uint32_t channels, bool mapped, Element type = Element::F32) {
    const Frames latent = random_frames(2, int64_t{pixels} * channels, type, pixels);
    Frames output(2, int64_t{pixels} * channels * element_bytes(kValue), 3);
    std::vector<float> map((channels + 1) * channels);
    for (uint32_t i = 0; i < map.size(); ++i) map[i] = static_cast<float>(i * 7 % 19) / 8 - 1;
    UnpackLatentParams params{table_of(latent, output), mapped ? map.data() : nullptr, pixels, channels};
    params.latent = type;
    ASSERT_EQ(run_pass(
                  unpack_latent_launch(pixels, channels, 2), [&] { UnpackLatentKernel<kValue>::run(params); }, 1),
              "");
    EXPECT_TRUE(output.intact());
    for (uint32_t i = 0; i < 2 * pixels * channels; ++i) {
        const uint32_t frame = i / (pixels * channels), at = i % (pixels * channels);
        const uint32_t c = at % channels, pixel = at / channels;
        const auto value = [&](uint32_t in) { return load_value(type, latent.frame(frame), in * pixels + pixel); };
        double expected = mapped ? double{map[channels * channels + c]} : value(c), size = std::abs(expected);
        for (uint32_t in = 0; mapped && in < channels; ++in) {
            expected += value(in) * map[in * channels + c];
            size += std::abs(value(in) * map[in * channels + c]);
        }
        ASSERT_NEAR(load_value(kValue, output.frame(frame), at), expected,
                    allowed_error(kValue, expected) + channels * size * 0x1p-23)
            << i;
    }
}

/// Two kept frames, of which the newer becomes the older and a fresh one takes its place, in one launch.
TEST(KeepFramesPass, MovesAQueueOnThoughItsFramesAreReadAndWritten) {
    constexpr uint32_t kUnits = 700;
    Frames kept(2, kUnits * kKeepUnit, 1), fresh(1, kUnits * kKeepUnit, 2);
    for (uint32_t i = 0; i < kUnits * kKeepUnit; ++i) {
        for (uint32_t frame = 0; frame < 2; ++frame) kept.frame(frame)[i] = static_cast<uint8_t>(i * 3 + frame);
        fresh.frame(0)[i] = static_cast<uint8_t>(i * 5 + 7);
    }
    const KeepFramesParams params{.input = {kept.frame(1), fresh.frame(0)},
                                  .output = {kept.frame(0), kept.frame(1)},
                                  .frames = 2,
                                  .units = kUnits};
    ASSERT_EQ(run_pass(
                  cuda::elements_launch(kUnits, 1), [&] { KeepFramesKernel::run(params); }, 3),
              "");
    EXPECT_TRUE(kept.intact());
    for (uint32_t i = 0; i < kUnits * kKeepUnit; ++i) {
        ASSERT_EQ(kept.frame(0)[i], static_cast<uint8_t>(i * 3 + 1)) << i;
        ASSERT_EQ(kept.frame(1)[i], static_cast<uint8_t>(i * 5 + 7)) << i;
    }
}

TEST(UnpackLatentPass, TurnsPlanesIntoPixels) {
    expect_unpacked<Element::BF16>(300, 16, true);
    expect_unpacked<Element::F16>(65, 4, false);
    expect_unpacked<Element::F32>(31, 16, true);
    expect_unpacked<Element::BF16>(70, 5, true);
    expect_unpacked<Element::F16>(33, 48, true, Element::BF16);
    expect_unpacked<Element::F32>(40, 20, false, Element::F16);
}

TEST(StoreFloatPass, LimitsAndKeepsNan) {
    Frames input = random_frames(2, 300, Element::BF16, 5), output(2, 1200, 6);
    store_value(Element::BF16, input.frame(1), 7, std::nan(""));
    store_value(Element::BF16, input.frame(1), 8, -std::numeric_limits<double>::infinity());
    uint32_t flag = 0;
    const StoreFloatParams params{table_of(input, output), 300, 0.75f, &flag};
    ASSERT_EQ(run_pass(
                  cuda::elements_launch(300, 2), [&] { StoreFloatKernel<Element::BF16>::run(params); }, 1),
              "");
    EXPECT_TRUE(output.intact());
    EXPECT_EQ(flag, 1u);
    for (size_t i = 0; i < 600; ++i) {
        const double value = load_value(Element::BF16, input.frame(i / 300), i % 300);
        const double found = load_value(Element::F32, output.frame(i / 300), i % 300);
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(found));
        } else {
            EXPECT_EQ(found, std::clamp(value, -0.75, 0.75));
        }
    }
}

TEST(StoreFloatPass, LeavesTheFlagAloneWhereAllValuesAreFinite) {
    Frames input = random_frames(2, 300, Element::F32, 5), output(2, 1200, 6);
    store_value(Element::F32, input.frame(1), 299, std::numeric_limits<float>::max());
    uint32_t flag = 0;
    const StoreFloatParams params{table_of(input, output), 300, 0.75f, &flag};
    ASSERT_EQ(run_pass(
                  cuda::elements_launch(300, 2), [&] { StoreFloatKernel<Element::F32>::run(params); }, 1),
              "");
    EXPECT_EQ(flag, 0u);
}

TEST(StorePicturePass, RoundsToNearestAndIsOpaque) {
    constexpr std::array kValues{
        -2.0f, -1.0f, -0.99609375f, 0.0f, 0.5f, 1.0f, 7.0f, std::numeric_limits<float>::quiet_NaN(), 0.25f};
    constexpr std::array<uint32_t, 9> kBytes{0, 0, 0, 128, 191, 255, 255, 0, 159};  // (x + 1) * 127.5, halves up
    Frames input(1, 36, 1), output(1, 12, 2);
    for (size_t i = 0; i < 9; ++i) store_value(Element::F32, input.frame(0), i, double{kValues[i]});
    uint32_t flag = 0;
    const StorePictureParams params{table_of(input, output), 3, &flag};
    ASSERT_EQ(run_pass(
                  cuda::elements_launch(3, 1), [&] { StorePictureKernel<Element::F32>::run(params); }, 1),
              "");
    EXPECT_EQ(flag, 1u) << "one is NaN";
    EXPECT_TRUE(output.intact());
    for (size_t i = 0; i < 12; ++i) {
        EXPECT_EQ(output.frame(0)[i], i % 4 == 3 ? 255 : kBytes[i / 4 * 3 + i % 4]) << i;
    }
}

TEST(SlicePasses, SumInFloat32AndRoundOnce) {
    constexpr uint32_t kElements = 15 * 24;
    const Frames first = random_frames(2, kElements, Element::BF16, 1),
                 second = random_frames(2, kElements, Element::BF16, 2);
    const Frames residual = random_frames(2, kElements, Element::BF16, 3);
    Frames sums(2, kElements * 4, 4), output(2, kElements * 2, 5);
    const std::vector<float> bias = [] {
        std::vector<float> made(24);
        for (size_t c = 0; c < made.size(); ++c) made[c] = 0.25f * static_cast<float>(c) - 1;
        return made;
    }();
    const cuda::PassLaunch launch = cuda::elements_launch(kElements, 2);
    for (const Frames* slice : {&first, &second}) {
        const AddSliceParams params{table_of(*slice, sums), kElements, slice == &first ? 1u : 0u};
        ASSERT_EQ(run_pass(
                      launch, [&] { AddSliceKernel<Element::BF16>::run(params); }, 1),
                  "");
    }
    for (const bool plain : {false, true}) {
        FinishSlicesParams params{
            table_of(sums, output), {},  plain ? nullptr : bias.data(), kElements, 24, plain ? 0u : 1u, 0.5f,
            plain ? 1u : 0u,        0.2f};
        for (size_t frame = 0; frame < 2 && !plain; ++frame) params.residual[frame] = residual.frame(frame);
        ASSERT_EQ(run_pass(
                      launch, [&] { FinishSlicesKernel<Element::BF16>::run(params); }, 1),
                  "");
        for (size_t i = 0; i < size_t{2} * kElements; ++i) {
            const size_t frame = i / kElements, element = i % kElements;
            const auto at = [&](const Frames& frames) {
                return load_value(Element::BF16, frames.frame(frame), element);
            };
            double expected = at(first) + at(second);
            if (!plain) {
                expected += double{bias[element % 24]};
                expected = expected / (1 + std::exp(-expected)) + 0.5 * at(residual);
            } else if (expected < 0) {
                expected *= double{params.negative_slope};
            }
            ASSERT_NEAR(at(output), expected, allowed_error(Element::BF16, expected)) << i;
        }
    }
    EXPECT_TRUE(sums.intact() && output.intact());
}

TEST(PassLaunches, OfNothingAreEmpty) {
    EXPECT_TRUE(cuda::rms_norm_launch(0, 3).empty());
    EXPECT_TRUE(cuda::elements_launch(5, 0).empty());
    EXPECT_TRUE(cuda::upsample_launch(4, 0, 1).empty());
    EXPECT_TRUE(attention_launch(0, 384, 1).empty());
    EXPECT_FALSE(attention_launch(1, 384, 1).empty());
}

}  // namespace
}  // namespace kinetograph::sm80
