// Layouts of pixels for encoders and textures, against values worked out by hand.
#include <kinetograph/compute/stream/host_pixels.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <vector>

namespace kinetograph::stream {
namespace {

using Colour = std::array<float, 3>;
constexpr Colour kBlack{-1, -1, -1}, kWhite{1, 1, 1}, kRed{1, -1, -1}, kBlue{-1, -1, 1};

template <class Code>
std::vector<Code> converted(HostPixels layout, std::uint32_t width, std::uint32_t height,
                            const std::vector<Colour>& pixels) {
    std::vector<float> rgb;
    for (const Colour& pixel : pixels) rgb.insert(rgb.end(), pixel.begin(), pixel.end());
    std::vector<Code> out(frame_bytes(layout, width, height) / sizeof(Code));
    convert(rgb, width, height, layout, std::as_writable_bytes(std::span(out)));
    return out;
}

TEST(HostPixelLayouts, Nv12HasTheCodesOfBt709InLimitedRange) {
    // Two 2x2 blocks, one red and one blue: Y = 16 + 219 * (0.2126, 0.0722), and the difference of its own colour
    // at the end of its range.
    const auto codes =
        converted<std::uint8_t>(HostPixels::Nv12, 4, 2, {kRed, kRed, kBlue, kBlue, kRed, kRed, kBlue, kBlue});
    EXPECT_EQ(codes, (std::vector<std::uint8_t>{63, 63, 32, 32, 63, 63, 32, 32, 102, 240, 240, 118}));
}

TEST(HostPixelLayouts, P010HasTenBitsAtTheTop) {
    const auto codes = converted<std::uint16_t>(HostPixels::P010, 2, 2, {kBlack, kWhite, kWhite, kBlack});
    EXPECT_EQ(codes, (std::vector<std::uint16_t>{64 << 6, 940 << 6, 940 << 6, 64 << 6, 512 << 6, 512 << 6}));
}

TEST(HostPixelLayouts, ChromaIsThatOfTheMeanOfFourPixels) {
    const auto codes = converted<std::uint8_t>(HostPixels::Nv12, 2, 2, {kRed, kBlack, kBlack, kBlack});
    // R = 0.25: Cr = 128 + 224 * 0.25 * 0.5
    EXPECT_EQ(codes[5], 156);
}

TEST(HostPixelLayouts, HalvesAreInTheUnitRangeWithAlpha) {
    const auto halves = converted<std::uint16_t>(HostPixels::Rgba16Float, 1, 1, {{-1.0F, 0.0F, 1.0F}});
    ASSERT_EQ(halves.size(), 4U);
    EXPECT_EQ(tensor::from_f16(halves[0]), 0.0F);
    EXPECT_EQ(tensor::from_f16(halves[1]), 0.5F);
    EXPECT_EQ(tensor::from_f16(halves[2]), 1.0F);
    EXPECT_EQ(tensor::from_f16(halves[3]), 1.0F);
}

TEST(HostPixelLayouts, ValuesBeyondTheRangeAreItsEndsAndNanIsBlack) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
    const auto codes = converted<std::uint8_t>(
        HostPixels::Nv12, 2, 2, {{9, 9, 9}, {-9, -9, -9}, {kNan, kNan, kNan}, {kInfinity, kInfinity, kInfinity}});
    EXPECT_EQ(codes, (std::vector<std::uint8_t>{235, 16, 16, 235, 128, 128}));
}

}  // namespace
}  // namespace kinetograph::stream
