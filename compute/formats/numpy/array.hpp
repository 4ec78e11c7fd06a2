// One array as NumPy's .npy files and the members of .npz archives hold it.
#pragma once

#include <kinetograph/compute/formats/tensor_source.hpp>

#include <optional>

namespace kinetograph::formats::numpy {

inline constexpr std::string_view kFirstBytes = "\x93NUMPY";

/// The array in `contents` as a tensor `name`: a view of them, or of a copy that `owners` then keeps, if the elements
/// are not little-endian and in C order. Elements of two bytes without a type (|V2) are bfloat16, which NumPy has no
/// name for. Errors: Corrupt, with `file`: a header that is not NumPy's, fewer bytes than the shape takes; Unsupported
/// (Python objects, complex numbers, text); OutOfMemory; Cancelled.
Result<tensor::NamedTensor> read_array(std::span<const std::byte> contents, std::string name, const std::string& file,
                                       const tensor::ReadOptions& options,
                                       std::vector<std::shared_ptr<const void>>& owners);

/// The number in an array of one element: "16", "23.976". Nothing for other arrays.
std::optional<std::string> number_in(const tensor::TensorView& array);

}  // namespace kinetograph::formats::numpy
