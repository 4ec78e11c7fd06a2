#include <kinetograph/engine/accel/sensors.hpp>

#include <kinetograph/engine/accel/cuda/nvml.hpp>
#include <kinetograph/engine/accel/sysfs_sensors.hpp>

namespace kinetograph::accel {

Result<std::unique_ptr<Sensors>> open_sensors(const DeviceInfo& device, const SensorSources& sources) {
    switch (device.kind) {
        case Kind::Cuda:
            return cuda::open_nvml(device, sources.nvml);
        case Kind::Hip:
            return open_amdgpu_sensors(device, sources.sysfs);
        case Kind::Cpu:
            break;
    }
    return open_cpu_sensors(sources.sysfs);
}

}  // namespace kinetograph::accel
