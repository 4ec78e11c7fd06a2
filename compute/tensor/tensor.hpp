// Tensor vocabulary: element types, shapes and views that do not own memory.
#pragma once

#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/kernels/isa/element.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::tensor {

using DType = Element;
constexpr std::uint32_t bytes_per_element(DType dtype) { return element_bytes(dtype); }
/// The safetensors spelling: "F32", "BF16", "F8_E4M3", "BOOL", ...
std::string_view to_string(DType dtype);
/// The element type of a safetensors spelling; none for any other text.
std::optional<DType> dtype_from_string(std::string_view spelling);

using Shape = std::vector<std::int64_t>;
/// Product of the dimensions; OutOfRange if one is negative or the product exceeds 2^62.
Result<std::int64_t> element_count(const Shape& shape);
/// "[16, 5, 10, 14]"
std::string to_string(const Shape& shape);

/// How the elements of a view are stored.
enum class Packing : std::uint8_t {
    Plain,   ///< one after the other
    BlockQ8  ///< ggml's Q8_0: blocks of a scale in F16 and 32 signed bytes, which stand for 32 elements of F32
};

/// Row-major (C order), densely packed, in memory owned elsewhere. `data` may have any alignment: files guarantee none.
struct TensorView {
    DType dtype = DType::F32;
    Shape shape;
    const std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    Packing packing = Packing::Plain;
};

/// Whether the view has as many bytes as the elements of its shape take, as they are packed.
bool is_whole(const TensorView& view);

/// All elements as float: F32, F16, BF16, F64 (rounded to nearest), F8E4M3 and F8E5M2, from data of any alignment and
/// packing. Errors: Unsupported for integer types, naming `name`; Corrupt if the view's byte count does not match its
/// shape.
Result<std::vector<float>> to_f32(const TensorView& view, std::string_view name);

/// Flat index of the first infinity or NaN; none if all are finite. Integers are finite.
std::optional<std::int64_t> first_not_finite(const TensorView& view);

}  // namespace kinetograph::tensor
