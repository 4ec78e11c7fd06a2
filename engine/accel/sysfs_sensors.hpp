// Sensors in files of the Linux kernel. Source: the kernel's documentation: hwmon/sysfs-interface, gpu/amdgpu/thermal,
// admin-guide/pm/cpufreq, power/powercap.
#pragma once

#include <kinetograph/engine/accel/sensors.hpp>

namespace kinetograph::accel {

/// Errors: NotFound (no place on a bus, no hwmon folder of that device).
Result<std::unique_ptr<Sensors>> open_amdgpu_sensors(const DeviceInfo& device, const std::filesystem::path& sysfs);

/// The mean clock of a sample of the cores (all of up to 31, else 16 to 24 of them), and the power of all packages,
/// which only root may read on most systems.
/// Errors: NotFound (neither).
Result<std::unique_ptr<Sensors>> open_cpu_sensors(const std::filesystem::path& sysfs);

}  // namespace kinetograph::accel
