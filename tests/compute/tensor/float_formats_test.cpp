#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <limits>

namespace kinetograph::tensor {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The value of a small float from the definition: 1 sign bit, then exponent, then mantissa.
double defined_value(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto exponent = static_cast<int>((bits >> mantissa_bits) & ((1U << exponent_bits) - 1));
    const double fraction = std::ldexp(static_cast<double>(bits & ((1U << mantissa_bits) - 1)), -mantissa_bits);
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0 + fraction, exponent - bias);
    return (bits >> (exponent_bits + mantissa_bits)) != 0 ? -magnitude : magnitude;
}

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(F16, WidensEveryBitPatternExactly) {
    for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
        const float value = from_f16(static_cast<std::uint16_t>(bits));
        if ((bits & 0x7FFFU) > 0x7C00U) {
            EXPECT_TRUE(std::isnan(value)) << bits;
            EXPECT_EQ(std::signbit(value), bits >> 15U != 0) << bits;
        } else if ((bits & 0x7FFFU) == 0x7C00U) {
            EXPECT_EQ(value, bits == 0x7C00U ? kInfinity : -kInfinity);
        } else {
            ASSERT_EQ(static_cast<double>(value), defined_value(bits, 5, 10)) << bits;
            ASSERT_EQ(std::signbit(value), bits >> 15U != 0) << bits;
        }
    }
}

/// Walks over all neighbours a < b of a format and checks the floats around their midpoint: below goes to a, above to
/// b, the midpoint itself to the one whose last bit is 0.
template <class Narrow, class Widen>
void expect_nearest_even_up_to(std::uint32_t infinity_bits, Narrow narrow, Widen widen) {
    for (std::uint32_t a = 0; a + 1 < infinity_bits; ++a) {
        const float low = widen(static_cast<std::uint16_t>(a));
        const float high = widen(static_cast<std::uint16_t>(a + 1));
        const auto middle = static_cast<float>((static_cast<double>(low) + static_cast<double>(high)) / 2);
        const std::uint32_t even = (a & 1U) == 0 ? a : a + 1;
        ASSERT_EQ(narrow(low), a);
        ASSERT_EQ(narrow(middle), even) << a;
        ASSERT_EQ(narrow(std::nextafter(middle, -kInfinity)), a) << a;
        ASSERT_EQ(narrow(std::nextafter(middle, kInfinity)), a + 1) << a;
        ASSERT_EQ(narrow(-middle), even | 0x8000U) << a;
    }
}

TEST(F16, NarrowsToTheNearestAndTiesToEven) { expect_nearest_even_up_to(0x7C00, to_f16, from_f16); }

TEST(F16, NarrowsWhatIsTooLargeToInfinityAndWhatIsTooSmallToZero) {
    EXPECT_EQ(to_f16(65504.0F), 0x7BFF);
    EXPECT_EQ(to_f16(std::nextafter(65520.0F, 0.0F)), 0x7BFF);
    EXPECT_EQ(to_f16(65520.0F), 0x7C00);
    EXPECT_EQ(to_f16(65536.0F), 0x7C00);
    EXPECT_EQ(to_f16(std::numeric_limits<float>::max()), 0x7C00);
    EXPECT_EQ(to_f16(-kInfinity), 0xFC00);
    EXPECT_EQ(to_f16(0x1p-25F), 0x0000);
    EXPECT_EQ(to_f16(std::nextafter(0x1p-25F, 1.0F)), 0x0001);
    EXPECT_EQ(to_f16(std::numeric_limits<float>::denorm_min()), 0x0000);
    EXPECT_EQ(to_f16(-0.0F), 0x8000);
}

TEST(F16, KeepsNanWithSignAndTopPayload) {
    EXPECT_EQ(to_f16(std::bit_cast<float>(0x7F800001U)), 0x7E00);
    EXPECT_EQ(to_f16(std::bit_cast<float>(0xFFC00000U)), 0xFE00);
    EXPECT_EQ(to_f16(std::bit_cast<float>(0x7FFFFFFFU)), 0x7FFF);
    EXPECT_EQ(to_f16(std::bit_cast<float>(0x7FC02000U)), 0x7E01);
}

TEST(Bf16, WidensEveryBitPatternExactly) {
    for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
        const float value = from_bf16(static_cast<std::uint16_t>(bits));
        ASSERT_EQ(bits_of(value), bits << 16U);
        if ((bits & 0x7F80U) != 0x7F80U) {
            ASSERT_EQ(static_cast<double>(value), defined_value(bits, 8, 7)) << bits;
        }
    }
}

TEST(Bf16, NarrowsToTheNearestAndTiesToEven) { expect_nearest_even_up_to(0x7F80, to_bf16, from_bf16); }

TEST(Bf16, NarrowsWhatIsTooLargeToInfinity) {
    EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7F80);
    EXPECT_EQ(to_bf16(std::bit_cast<float>(0x7F7F7FFFU)), 0x7F7F);
    EXPECT_EQ(to_bf16(std::bit_cast<float>(0x7F7F8000U)), 0x7F80);
    EXPECT_EQ(to_bf16(kInfinity), 0x7F80);
    EXPECT_EQ(to_bf16(-kInfinity), 0xFF80);
}

TEST(Bf16, KeepsNanWithSignAndTopPayload) {
    EXPECT_EQ(to_bf16(std::bit_cast<float>(0x7F800001U)), 0x7FC0);  // plain truncation would give infinity
    EXPECT_EQ(to_bf16(std::bit_cast<float>(0x7FFFFFFFU)), 0x7FFF);  // plain rounding would give -0
    EXPECT_EQ(to_bf16(std::bit_cast<float>(0xFFC00000U)), 0xFFC0);
}

TEST(F8E4M3, WidensEveryBitPatternExactly) {
    for (std::uint32_t bits = 0; bits <= 0xFF; ++bits) {
        const float value = from_f8e4m3(static_cast<std::uint8_t>(bits));
        if ((bits & 0x7FU) == 0x7FU) {
            EXPECT_TRUE(std::isnan(value)) << bits;
        } else {
            EXPECT_EQ(static_cast<double>(value), defined_value(bits, 4, 3)) << bits;
        }
        EXPECT_EQ(std::signbit(value), bits >> 7U != 0) << bits;
    }
    EXPECT_EQ(from_f8e4m3(0x7E), 448.0F);
}

TEST(F8E4M3, NarrowsToTheNearestAndTiesToEven) {
    for (std::uint8_t a = 0; a + 1 < 0x7F; ++a) {
        const float low = from_f8e4m3(a), high = from_f8e4m3(a + 1), middle = (low + high) / 2;
        const int even = a % 2 == 0 ? a : a + 1;
        ASSERT_EQ(to_f8e4m3(low), a);
        ASSERT_EQ(to_f8e4m3(middle), even) << int{a};
        ASSERT_EQ(to_f8e4m3(std::nextafter(middle, -kInfinity)), a) << int{a};
        ASSERT_EQ(to_f8e4m3(std::nextafter(middle, kInfinity)), a + 1) << int{a};
        ASSERT_EQ(to_f8e4m3(-middle), even | 0x80) << int{a};
    }
}

TEST(F8E4M3, NarrowsWhatIsTooLargeToItsLargestNumberAndKeepsNaN) {
    for (const float value : {448.0F, 463.9F, 464.0F, 480.0F, 1e30F, kInfinity}) {
        EXPECT_EQ(to_f8e4m3(value), 0x7E) << value;
        EXPECT_EQ(to_f8e4m3(-value), 0xFE) << value;
    }
    EXPECT_EQ(to_f8e4m3(std::numeric_limits<float>::quiet_NaN()), 0x7F);
    EXPECT_EQ(to_f8e4m3(0x1p-11F), 0);
    EXPECT_EQ(to_f8e4m3(-0.0F), 0x80);
}

TEST(F8E5M2, WidensEveryBitPatternExactly) {
    for (std::uint32_t bits = 0; bits <= 0xFF; ++bits) {
        const float value = from_f8e5m2(static_cast<std::uint8_t>(bits));
        if ((bits & 0x7FU) > 0x7CU) {
            EXPECT_TRUE(std::isnan(value)) << bits;
        } else if ((bits & 0x7FU) < 0x7CU) {
            EXPECT_EQ(static_cast<double>(value), defined_value(bits, 5, 2)) << bits;
        }
        EXPECT_EQ(std::signbit(value), bits >> 7U != 0) << bits;
    }
    EXPECT_EQ(from_f8e5m2(0x7C), kInfinity);
    EXPECT_EQ(from_f8e5m2(0x7B), 57344.0F);
}

TEST(F8E5M2, NarrowsToTheNearestAndTiesToEven) {
    for (std::uint8_t a = 0; a + 1 < 0x7C; ++a) {
        const float low = from_f8e5m2(a), high = from_f8e5m2(a + 1), middle = (low + high) / 2;
        const int even = a % 2 == 0 ? a : a + 1;
        ASSERT_EQ(to_f8e5m2(low), a);
        ASSERT_EQ(to_f8e5m2(middle), even) << int{a};
        ASSERT_EQ(to_f8e5m2(std::nextafter(middle, -kInfinity)), a) << int{a};
        ASSERT_EQ(to_f8e5m2(std::nextafter(middle, kInfinity)), a + 1) << int{a};
        ASSERT_EQ(to_f8e5m2(-middle), even | 0x80) << int{a};
    }
    for (const float value : {57344.0F, 61440.0F, 1e30F, kInfinity}) EXPECT_EQ(to_f8e5m2(-value), 0xFB) << value;
    EXPECT_EQ(to_f8e5m2(std::numeric_limits<float>::quiet_NaN()), 0x7F);
}

}  // namespace
}  // namespace kinetograph::tensor
