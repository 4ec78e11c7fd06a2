// NVML: what NVIDIA's driver reports of a GPU's state; its library is opened at run time. Source: NVML API Reference
// Guide.
#pragma once

#include <kinetograph/engine/accel/sensors.hpp>

namespace kinetograph::accel::cuda {

/// `library`: as SensorSources::nvml. Errors: NotFound (no library, no such GPU), what NVML says.
Result<std::unique_ptr<Sensors>> open_nvml(const DeviceInfo& device, const std::string& library = {});

}  // namespace kinetograph::accel::cuda
