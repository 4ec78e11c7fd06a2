// Sensors: what a device's driver reports of its state: clocks, power, temperature, memory in use.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <filesystem>
#include <vector>

namespace kinetograph::accel {

struct SensorReading {
    const char* quantity = "";  ///< "clock", "memory clock", "power", "temperature", "memory in use"
    const char* unit = "";      ///< "MHz", "W", "°C", "MiB"
    double value = 0.0;
};

/// One thread at a time.
class Sensors {
  public:
    virtual ~Sensors() = default;
    /// The readings of the sensors that answer now. Power that is derived from an energy counter is the mean since the
    /// last call, and missing from the first one.
    virtual std::vector<SensorReading> read() = 0;
};

/// Where sensors are looked for.
struct SensorSources {
    std::string nvml{};                    ///< library; empty: $KINETOGRAPH_NVML_LIBRARY, or libnvidia-ml.so.1
    std::filesystem::path sysfs = "/sys";  ///< where the kernel's files are
};

/// By Backend::open_sensors: of an NVIDIA GPU by NVML, of an AMD GPU by the files of amdgpu, of the CPU by those of
/// cpufreq and powercap. Errors: NotFound, naming the library or the folder that is missing; what the library says.
Result<std::unique_ptr<Sensors>> open_sensors(const DeviceInfo& device, const SensorSources& sources = {});

}  // namespace kinetograph::accel
