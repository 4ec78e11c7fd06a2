// Tensor maps through the driver: what the tensor copy engine (sm_90 and newer) reads of a tensor in memory.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/kernels/isa/tensor_map.hpp>

#include <optional>

namespace kinetograph::accel::cuda {

/// CUDA drivers before 13.2 set a bit of word 1 that makes Blackwell's copies of some tensors below this size fault
/// intermittently; encode_tensor_map() clears it. Source: CUTLASS, include/cute/atom/copy_traits_sm90_im2col.hpp.
inline constexpr std::uint64_t kSmallTensorBytes = 128 << 10, kWrongMapBit = 1U << 21U;

/// Encodes a tiled or im2col map, to be passed to a kernel in a __grid_constant__ parameter. Runs on the host alone and
/// does not read the tensor, whose memory may be of any kind that the device addresses.
///
/// tensor   its name, for errors: "up2.res1.conv1: activation"
/// desc     axes innermost first, corners in w, h, d order; rank 1 to 5 (im2col: 3 to 5)
/// Errors   Unsupported (a device of another kind, or one without tensor maps), InvalidArgument (which limit of the
///          encode calls `desc` breaks, as a sentence), what the driver says
/// Source   CUDA Driver API, Tensor Map Object Management; what cuda.h says of corners is reversed
Result<isa::TensorMap> encode_tensor_map(const Device& device, std::string_view tensor, const isa::TensorMapDesc& desc);

/// Encodes the maps of one pass for code that plans launches and cannot fail, and keeps the first error. Pass it by
/// reference (std::ref) where a function object is wanted: a copy would keep its own error.
class TensorMapEncoder {
  public:
    /// `pass` names the maps in errors; it and the device outlive the encoder.
    TensorMapEncoder(const Device& device, std::string_view pass) : device_(device), pass_(pass) {}
    isa::TensorMap operator()(const isa::TensorMapDesc& desc);  ///< zeros where it cannot be encoded
    /// The first error of encode_tensor_map(), if there was one.
    Result<void> result() const;

  private:
    const Device& device_;
    std::string_view pass_;
    std::optional<Error> error_;
};

}  // namespace kinetograph::accel::cuda
