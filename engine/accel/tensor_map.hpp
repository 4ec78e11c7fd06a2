// Tensor maps: what a copy engine reads of a tensor in memory, in the form that kernels take as an argument.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/kernels/isa/tensor_map.hpp>

#include <optional>

namespace kinetograph::accel {

/// A device's, by Device::encoder().
class TensorMapEncoder {
  public:
    virtual ~TensorMapEncoder() = default;
    /// Encodes a tiled or im2col map, to be passed to a kernel in a __grid_constant__ parameter. Runs on the host alone
    /// and does not read the tensor, whose memory may be of any kind that the device addresses.
    ///
    /// tensor   its name, for errors: "up2.res1.conv1: activation"
    /// desc     axes innermost first, corners in w, h, d order; rank 1 to 5 (im2col: 3 to 5)
    /// Errors   InvalidArgument (which limit `desc` breaks, as a sentence), what the driver says
    virtual Result<isa::TensorMap> encode(std::string_view tensor, const isa::TensorMapDesc& desc) const = 0;
};

/// The map by the device's encoder. Errors: its; Unsupported (the device has none).
Result<isa::TensorMap> encode_tensor_map(const Device& device, std::string_view tensor, const isa::TensorMapDesc& desc);

/// Encodes the maps of one pass for code that plans launches and cannot fail, and keeps the first error. Pass it by
/// reference (std::ref) where a function object is wanted: a copy would keep its own error.
class PassMaps {
  public:
    /// `pass` names the maps in errors; it and the device outlive this.
    PassMaps(const Device& device, std::string_view pass) : device_(device), pass_(pass) {}
    isa::TensorMap operator()(const isa::TensorMapDesc& desc);  ///< zeros where it cannot be encoded
    /// The first error of encode_tensor_map(), if there was one.
    Result<void> result() const;

  private:
    const Device& device_;
    std::string_view pass_;
    std::optional<Error> error_;
};

}  // namespace kinetograph::accel
