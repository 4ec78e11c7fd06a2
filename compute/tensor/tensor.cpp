#include <kinetograph/compute/tensor/tensor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

namespace kinetograph::tensor {

namespace {

struct DTypeFacts {
    DType dtype;
    std::string_view spelling;
};

constexpr std::array<DTypeFacts, 15> kDTypes{{{DType::F32, "F32"},
                                              {DType::F16, "F16"},
                                              {DType::BF16, "BF16"},
                                              {DType::F8E4M3, "F8_E4M3"},
                                              {DType::F8E5M2, "F8_E5M2"},
                                              {DType::F64, "F64"},
                                              {DType::I64, "I64"},
                                              {DType::I32, "I32"},
                                              {DType::I16, "I16"},
                                              {DType::I8, "I8"},
                                              {DType::U64, "U64"},
                                              {DType::U32, "U32"},
                                              {DType::U16, "U16"},
                                              {DType::U8, "U8"},
                                              {DType::Bool, "BOOL"}}};
static_assert(std::ranges::all_of(kDTypes, [index = std::size_t{0}](const DTypeFacts& facts) mutable {
    return static_cast<std::size_t>(facts.dtype) == index++;
}));

const DTypeFacts& facts_of(DType dtype) { return kDTypes.at(static_cast<std::size_t>(dtype)); }

/// Element `index` of packed, possibly unaligned `data`.
template <class Bits>
Bits element(const std::byte* data, std::int64_t index) {
    Bits bits;
    std::memcpy(&bits, data + static_cast<std::size_t>(index) * sizeof(Bits), sizeof(Bits));
    return bits;
}

template <class Bits, class Convert>
void convert_all(const std::byte* data, std::span<float> out, Convert convert) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = convert(element<Bits>(data, static_cast<std::int64_t>(i)));
    }
}

constexpr std::uint64_t kBlockElements = 32;
constexpr std::uint64_t kBlockBytes = sizeof(std::uint16_t) + kBlockElements;

void unpack_blocks(const std::byte* data, std::span<float> out) {
    for (std::size_t first = 0; first < out.size(); first += kBlockElements, data += kBlockBytes) {
        const float scale = from_f16(element<std::uint16_t>(data, 0));
        const std::byte* values = data + sizeof(std::uint16_t);
        for (std::size_t i = 0; i < kBlockElements; ++i)
            out[first + i] = scale * static_cast<float>(static_cast<std::int8_t>(values[i]));
    }
}

/// A scale of infinity or NaN makes every element of its block infinite or NaN, even zeros: the first one is reported.
std::optional<std::int64_t> first_in_blocks(const TensorView& view) {
    constexpr std::uint16_t kExponent = 0x7C00U;
    for (std::uint64_t block = 0; block < view.bytes / kBlockBytes; ++block)
        if ((element<std::uint16_t>(view.data + block * kBlockBytes, 0) & kExponent) == kExponent)
            return static_cast<std::int64_t>(block * kBlockElements);
    return std::nullopt;
}

/// Searches for an exponent of all ones, a block at a time: the inner loop has no exit, so that it is vectorised.
template <class Bits>
std::optional<std::int64_t> first_with_exponent(const std::byte* data, std::int64_t count, Bits exponent) {
    constexpr std::int64_t kBlock = 4096;
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
        const std::int64_t end = std::min(begin + kBlock, count);
        bool found = false;
        for (std::int64_t i = begin; i < end; ++i) {
            found |= (element<Bits>(data, i) & exponent) == exponent;
        }
        for (std::int64_t i = begin; found && i < end; ++i) {
            if ((element<Bits>(data, i) & exponent) == exponent) return i;
        }
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_string(DType dtype) { return facts_of(dtype).spelling; }

std::optional<DType> dtype_from_string(std::string_view spelling) {
    const auto* found = std::ranges::find(kDTypes, spelling, &DTypeFacts::spelling);
    if (found == kDTypes.end()) return std::nullopt;
    return found->dtype;
}

Result<std::int64_t> element_count(const Shape& shape) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 62U;
    if (std::ranges::any_of(shape, [](std::int64_t side) { return side < 0; })) {
        return fail(ErrorCode::OutOfRange, "shape {} has a negative dimension", to_string(shape));
    }
    if (std::ranges::find(shape, 0) != shape.end()) return 0;
    std::int64_t count = 1;
    for (const std::int64_t side : shape) {
        if (side > kLimit / count) {
            return fail(ErrorCode::OutOfRange, "shape {} has more than 2^62 elements", to_string(shape));
        }
        count *= side;
    }
    return count;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

bool is_whole(const TensorView& view) {
    const auto elements = element_count(view.shape);
    if (!elements) return false;
    const auto count = static_cast<std::uint64_t>(*elements);
    if (view.packing == Packing::BlockQ8)
        return view.dtype == DType::F32 && count % kBlockElements == 0 && view.bytes % kBlockBytes == 0 &&
               view.bytes / kBlockBytes == count / kBlockElements;
    const std::uint32_t size = bytes_per_element(view.dtype);
    return view.bytes % size == 0 && view.bytes / size == count;
}

Result<std::vector<float>> to_f32(const TensorView& view, std::string_view name) {
    const auto count = element_count(view.shape);
    KG_CHECK_IN(fmt::format("tensor \"{}\"", name), count);
    if (!is_whole(view)) {
        return fail(ErrorCode::Corrupt, "tensor \"{}\": {} bytes do not hold {} elements of {}", name, view.bytes,
                    *count, to_string(view.dtype));
    }
    std::vector<float> values(static_cast<std::size_t>(*count));
    if (view.packing == Packing::BlockQ8) {
        unpack_blocks(view.data, values);
        return values;
    }
    switch (view.dtype) {
        case DType::F32:
            if (!values.empty()) std::memcpy(values.data(), view.data, view.bytes);
            return values;
        case DType::F16:
            convert_all<std::uint16_t>(view.data, values, from_f16);
            return values;
        case DType::BF16:
            convert_all<std::uint16_t>(view.data, values, from_bf16);
            return values;
        case DType::F64:
            convert_all<double>(view.data, values, [](double value) { return static_cast<float>(value); });
            return values;
        case DType::F8E4M3:
            convert_all<std::uint8_t>(view.data, values, from_f8e4m3);
            return values;
        case DType::F8E5M2:
            convert_all<std::uint8_t>(view.data, values, from_f8e5m2);
            return values;
        default:  // integers
            break;
    }
    return fail(ErrorCode::Unsupported, "tensor \"{}\" holds {}, which is not a floating-point type", name,
                to_string(view.dtype));
}

std::optional<std::int64_t> first_not_finite(const TensorView& view) {
    if (view.packing == Packing::BlockQ8) return first_in_blocks(view);
    const auto count = static_cast<std::int64_t>(view.bytes / bytes_per_element(view.dtype));
    switch (view.dtype) {
        case DType::F32:
            return first_with_exponent<std::uint32_t>(view.data, count, 0x7F800000U);
        case DType::F16:
            return first_with_exponent<std::uint16_t>(view.data, count, 0x7C00U);
        case DType::BF16:
            return first_with_exponent<std::uint16_t>(view.data, count, 0x7F80U);
        case DType::F64:
            return first_with_exponent<std::uint64_t>(view.data, count, 0x7FF0000000000000U);
        case DType::F8E4M3:
            return first_with_exponent<std::uint8_t>(view.data, count, 0x7FU);
        case DType::F8E5M2:
            return first_with_exponent<std::uint8_t>(view.data, count, 0x7CU);
        default:  // integers
            break;
    }
    return std::nullopt;
}

}  // namespace kinetograph::tensor
