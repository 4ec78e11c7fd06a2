// Tensor vocabulary: element types, shapes and non-owning views.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::tensor {

enum class DType : std::uint8_t { F32, F16, BF16, F8E4M3, F64, I64, I32, I16, I8, U8, Bool };
std::uint32_t bytes_per_element(DType dtype);
/// The safetensors spelling: "F32", "BF16", ...
std::string_view to_string(DType dtype);

using Shape = std::vector<std::int64_t>;
/// Product of the dimensions; OutOfRange when one is negative or the product exceeds 2^62.
Result<std::int64_t> element_count(const Shape& shape);
/// "[16, 5, 10, 14]"
std::string to_string(const Shape& shape);

/// Row-major (C order), densely packed, memory owned by somebody else.
struct TensorView {
    DType dtype = DType::F32;
    Shape shape;
    const std::byte* data = nullptr;
    std::uint64_t bytes = 0;
};

/// Round to nearest, ties to even; NaN stays NaN.
std::uint16_t to_bf16(float value);
float from_bf16(std::uint16_t bits);
std::uint16_t to_f16(float value);
float from_f16(std::uint16_t bits);

/// All elements as float. Errors: Unsupported for integer types, naming `name`.
Result<std::vector<float>> to_f32(const TensorView& view, std::string_view name);

}  // namespace kinetograph::tensor
