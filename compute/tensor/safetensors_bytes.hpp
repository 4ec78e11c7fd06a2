// A safetensors file that goes elsewhere than to a path.
#pragma once

#include <kinetograph/compute/tensor/safetensors.hpp>

#include <functional>

namespace kinetograph::tensor {

/// Takes the bytes of a file piece by piece and in order; each piece is valid during its call.
using TakeBytes = std::function<Result<void>(std::span<const std::byte>)>;

/// The bytes that write_safetensors() puts into a file. Errors: its InvalidArgument; those of `take`.
Result<void> give_safetensors(const TakeBytes& take, std::span<const NamedTensor> tensors,
                              const std::map<std::string, std::string>& metadata = {});

}  // namespace kinetograph::tensor
