// Tensor maps of the CUDA driver, for the tensor copy engine of sm_90 and newer.
#pragma once

#include <kinetograph/engine/accel/tensor_map.hpp>

namespace kinetograph::accel::cuda {

class Context;

/// CUDA drivers before 13.2 set a bit of word 1 that makes Blackwell's copies of some tensors below this size fault
/// intermittently; encode() clears it. Source: CUTLASS, include/cute/atom/copy_traits_sm90_im2col.hpp.
inline constexpr std::uint64_t kSmallTensorBytes = 128 << 10, kWrongMapBit = 1U << 21U;

/// Source: CUDA Driver API, Tensor Map Object Management; what cuda.h says of corners is reversed.
class DriverEncoder final : public TensorMapEncoder {
  public:
    explicit DriverEncoder(const Context& context) : context_(context) {}  ///< which owns it
    Result<isa::TensorMap> encode(std::string_view tensor, const isa::TensorMapDesc& desc) const override;

  private:
    const Context& context_;
};

}  // namespace kinetograph::accel::cuda
