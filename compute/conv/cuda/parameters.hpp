// A convolution's parameters on a CUDA device.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::cuda {

struct DeviceParameters {
    std::unique_ptr<accel::Memory> filter;       ///< as its kernel reads it
    std::unique_ptr<accel::Memory> bias, gamma;  ///< fp32; null where the problem has none
};

/// Null for null.
inline const float* floats(const std::unique_ptr<accel::Memory>& memory) {
    return memory == nullptr ? nullptr : reinterpret_cast<const float*>(memory->data());
}

/// `filter`: packed already. Errors: those of accel::upload.
Result<DeviceParameters> upload_parameters(accel::Device& device, std::span<const std::byte> filter,
                                           const ConvParameters& parameters);

}  // namespace kinetograph::conv::cuda
