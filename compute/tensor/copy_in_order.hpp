// copy_in_order: elements of a tensor with strides, as C order.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/base/call_limits.hpp>

#include <span>
#include <string>

namespace kinetograph::tensor {

/// Copies a tensor's elements, each of `size` bytes and `strides` elements apart along each axis, from its first one at
/// `from` to `to`, in C order. Errors: Cancelled, naming `file`.
Result<void> copy_in_order(const std::byte* from, const Shape& shape, std::span<const std::int64_t> strides,
                           std::size_t size, std::byte* to, const std::string& file, const CallLimits& limits);

}  // namespace kinetograph::tensor
