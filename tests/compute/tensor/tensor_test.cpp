#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <kinetograph/compute/tensor/tensor.hpp>
#include <limits>
#include <span>

namespace kinetograph::tensor {
namespace {

constexpr std::array kAllDTypes = {DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2,
                                   DType::F64, DType::I64, DType::I32,  DType::I16,    DType::I8,
                                   DType::U64, DType::U32, DType::U16,  DType::U8,     DType::Bool};

template <class Element>
TensorView view_of(DType dtype, Shape shape, std::span<const Element> values) {
    const auto bytes = std::as_bytes(values);
    return {dtype, std::move(shape), bytes.data(), bytes.size()};
}

TEST(DType, IsSpelledAsInSafetensorsBothWays) {
    for (const DType dtype : kAllDTypes) EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype);
    EXPECT_EQ(to_string(DType::BF16), "BF16");
    EXPECT_EQ(to_string(DType::F8E4M3), "F8_E4M3");
    EXPECT_EQ(to_string(DType::Bool), "BOOL");
    EXPECT_EQ(dtype_from_string("f32"), std::nullopt);
    EXPECT_EQ(dtype_from_string(""), std::nullopt);
}

TEST(DType, KnowsItsSize) {
    const std::array<std::uint32_t, kAllDTypes.size()> bytes = {4, 2, 2, 1, 1, 8, 8, 4, 2, 1, 8, 4, 2, 1, 1};
    for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes_per_element(kAllDTypes[i]), bytes[i]);
}

TEST(Shape, CountsItsElements) {
    EXPECT_EQ(element_count({}).value(), 1);
    EXPECT_EQ(element_count({16, 5, 10, 14}).value(), 11'200);
    EXPECT_EQ(element_count({3, 0, std::numeric_limits<std::int64_t>::max(), 7}).value(), 0);
    EXPECT_EQ(element_count({std::int64_t{1} << 31U, std::int64_t{1} << 31U}).value(), std::int64_t{1} << 62U);
}

TEST(Shape, RefusesNegativeAndOverflowingProducts) {
    EXPECT_EQ(element_count({2, -1}).error().message, "shape [2, -1] has a negative dimension");
    EXPECT_EQ(element_count({-1, 0}).error().message, "shape [-1, 0] has a negative dimension");
    const auto large = element_count({std::int64_t{1} << 31U, std::int64_t{1} << 31U, 2});
    EXPECT_EQ(large.error().code, ErrorCode::OutOfRange);
    EXPECT_EQ(large.error().message, "shape [2147483648, 2147483648, 2] has more than 2^62 elements");
    EXPECT_FALSE(element_count({std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max()}));
}

TEST(Shape, IsPrintedAsAList) {
    EXPECT_EQ(to_string(Shape{16, 5, 10, 14}), "[16, 5, 10, 14]");
    EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(ToF32, WidensEveryFloatingPointType) {
    const std::vector<float> expected = {1.0F, -2.0F, 0.5F};
    const auto converted = [](const TensorView& view) { return to_f32(view, "x").value(); };
    EXPECT_EQ(converted(view_of<float>(DType::F32, {3}, std::array{1.0F, -2.0F, 0.5F})), expected);
    EXPECT_EQ(converted(view_of<double>(DType::F64, {3}, std::array{1.0, -2.0, 0.5})), expected);
    EXPECT_EQ(converted(view_of<std::uint16_t>(DType::F16, {3}, std::array<std::uint16_t, 3>{0x3C00, 0xC000, 0x3800})),
              expected);
    EXPECT_EQ(converted(view_of<std::uint16_t>(DType::BF16, {3}, std::array<std::uint16_t, 3>{0x3F80, 0xC000, 0x3F00})),
              expected);
    EXPECT_EQ(converted(view_of<std::uint8_t>(DType::F8E4M3, {3}, std::array<std::uint8_t, 3>{0x38, 0xC0, 0x30})),
              expected);
    EXPECT_EQ(converted(view_of<std::uint8_t>(DType::F8E5M2, {3}, std::array<std::uint8_t, 3>{0x3C, 0xC0, 0x38})),
              expected);
}

TEST(ToF32, ReadsFromAnyAlignment) {
    const std::array<float, 2> values = {1.0F, -2.0F};
    std::array<std::byte, 2 * sizeof(double) + 1> shifted{};
    std::memcpy(shifted.data() + 1, values.data(), sizeof(values));
    EXPECT_EQ(to_f32({DType::F32, {2}, shifted.data() + 1, 8}, "x").value(), (std::vector<float>{1.0F, -2.0F}));
    const std::array<std::uint16_t, 2> halves = {to_f16(1.0F), to_f16(-2.0F)};
    std::memcpy(shifted.data() + 1, halves.data(), sizeof(halves));
    EXPECT_EQ(to_f32({DType::F16, {2}, shifted.data() + 1, 4}, "x").value(), (std::vector<float>{1.0F, -2.0F}));
}

TEST(ToF32, GivesNothingForAnEmptyTensor) {
    EXPECT_TRUE(to_f32({DType::F32, {0, 4}, nullptr, 0}, "x").value().empty());
}

TEST(ToF32, RefusesIntegersByName) {
    for (const DType dtype :
         {DType::I64, DType::I32, DType::I16, DType::I8, DType::U64, DType::U32, DType::U16, DType::U8, DType::Bool}) {
        const auto values = to_f32({dtype, {0}, nullptr, 0}, "step");
        ASSERT_FALSE(values);
        EXPECT_EQ(values.error().code, ErrorCode::Unsupported);
        EXPECT_EQ(values.error().message,
                  "tensor \"step\" holds " + std::string(to_string(dtype)) + ", which is not a floating-point type");
    }
}

TEST(ToF32, RefusesAByteCountThatDoesNotMatch) {
    const std::array<float, 4> values{};
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{15}, std::uint64_t{0}}) {
        const auto refused = to_f32({DType::F32, {2, 2}, std::as_bytes(std::span(values)).data(), bytes}, "x");
        ASSERT_FALSE(refused) << bytes;
        EXPECT_EQ(refused.error().message,
                  "tensor \"x\": " + std::to_string(bytes) + " bytes do not hold 4 elements of F32");
    }
}

TEST(FirstNotFinite, FindsTheFirstOfSeveralBeyondABlock) {
    std::vector<float> values(10'000, std::numeric_limits<float>::max());
    const auto first = [&] { return first_not_finite(view_of<float>(DType::F32, {10'000}, values)); };
    EXPECT_EQ(first(), std::nullopt);
    values[9'999] = -INFINITY;
    EXPECT_EQ(first(), 9'999);
    values[4'097] = std::nanf("");
    EXPECT_EQ(first(), 4'097);
    values[0] = INFINITY;
    EXPECT_EQ(first(), 0);
}

TEST(FirstNotFinite, KnowsInfinityAndNanOfEveryType) {
    const auto halves = [](DType dtype, std::uint16_t bits) {
        return first_not_finite(view_of<std::uint16_t>(dtype, {2}, std::array<std::uint16_t, 2>{0, bits}));
    };
    EXPECT_EQ(halves(DType::F16, 0x7BFF), std::nullopt);
    EXPECT_EQ(halves(DType::F16, 0x7C00), 1);
    EXPECT_EQ(halves(DType::F16, 0xFE00), 1);
    EXPECT_EQ(halves(DType::BF16, 0x7F7F), std::nullopt);
    EXPECT_EQ(halves(DType::BF16, 0xFF80), 1);
    EXPECT_EQ(halves(DType::BF16, 0x7FC0), 1);
    EXPECT_EQ(halves(DType::I16, 0x7FFF), std::nullopt);
    const auto byte = [](DType dtype, std::uint8_t bits) {
        return first_not_finite(view_of<std::uint8_t>(dtype, {1}, std::array<std::uint8_t, 1>{bits}));
    };
    EXPECT_EQ(byte(DType::F8E4M3, 0x7E), std::nullopt);
    EXPECT_EQ(byte(DType::F8E4M3, 0xFF), 0);
    EXPECT_EQ(byte(DType::F8E5M2, 0x7B), std::nullopt);
    EXPECT_EQ(byte(DType::F8E5M2, 0x7C), 0);
    EXPECT_EQ(byte(DType::U8, 0xFF), std::nullopt);
    const auto wide = [](double value) {
        return first_not_finite(view_of<double>(DType::F64, {1}, std::array{value}));
    };
    EXPECT_EQ(wide(std::numeric_limits<double>::max()), std::nullopt);
    EXPECT_EQ(wide(std::nan("")), 0);
}

}  // namespace
}  // namespace kinetograph::tensor
