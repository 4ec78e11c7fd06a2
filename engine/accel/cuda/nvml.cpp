#include <kinetograph/engine/accel/cuda/nvml.hpp>

#include <kinetograph/engine/accel/gpu/driver.hpp>

namespace kinetograph::accel::cuda {
namespace {

using gpu::EntryPoint;

enum class NvmlStatus : int { Success = 0 };
enum class NvmlClock : int { Sm = 1, Memory = 2 };
enum class NvmlTemperature : int { Gpu = 0 };
using NvmlDevice = struct NvmlDeviceObject*;
struct NvmlMemory {
    unsigned long long total, free, used;
};

struct NvmlEntryPoints : gpu::EntryPointTable {
    EntryPoint<NvmlStatus()> nvmlInit_v2{*this, "nvmlInit_v2"};
    EntryPoint<NvmlStatus()> nvmlShutdown{*this, "nvmlShutdown"};
    EntryPoint<const char*(NvmlStatus status)> nvmlErrorString{*this, "nvmlErrorString"};
    EntryPoint<NvmlStatus(const char* bus_id, NvmlDevice* device)> nvmlDeviceGetHandleByPciBusId_v2{
        *this, "nvmlDeviceGetHandleByPciBusId_v2"};
    EntryPoint<NvmlStatus(NvmlDevice device, NvmlClock clock, unsigned* megahertz)> nvmlDeviceGetClockInfo{
        *this, "nvmlDeviceGetClockInfo"};
    EntryPoint<NvmlStatus(NvmlDevice device, unsigned* milliwatts)> nvmlDeviceGetPowerUsage{*this,
                                                                                            "nvmlDeviceGetPowerUsage"};
    EntryPoint<NvmlStatus(NvmlDevice device, NvmlTemperature sensor, unsigned* degrees)> nvmlDeviceGetTemperature{
        *this, "nvmlDeviceGetTemperature"};
    EntryPoint<NvmlStatus(NvmlDevice device, NvmlMemory* memory)> nvmlDeviceGetMemoryInfo{*this,
                                                                                          "nvmlDeviceGetMemoryInfo"};
};

constexpr const char* kNames[] = {"libnvidia-ml.so.1"};
constexpr gpu::LibraryDesc kLibrary{
    .without = "no clocks and power of NVIDIA GPUs",
    .variable = "KINETOGRAPH_NVML_LIBRARY",
    .names = kNames,
    .since = "every release of NVML has it",
};

class NvmlSensors final : public Sensors {
  public:
    explicit NvmlSensors(std::unique_ptr<NvmlEntryPoints> nvml) : nvml_(std::move(nvml)) {}
    NvmlSensors(const NvmlSensors&) = delete;
    NvmlSensors& operator=(const NvmlSensors&) = delete;
    ~NvmlSensors() override { nvml_->nvmlShutdown(); }

    Result<void> find(const DeviceInfo& device, const std::string& library) {
        if (!device.pci) return fail(ErrorCode::NotFound, "{}: its place on the PCI bus is not known", device.name);
        const std::string bus_id =
            fmt::format("{:08X}:{:02X}:{:02X}.0", device.pci->domain, device.pci->bus, device.pci->device);
        const NvmlStatus status = nvml_->nvmlDeviceGetHandleByPciBusId_v2(bus_id.c_str(), &device_);
        if (status == NvmlStatus::Success) return {};
        return fail(ErrorCode::NotFound, "{} finds no GPU at {}: {}", library, bus_id, nvml_->nvmlErrorString(status));
    }

    /// Quantities that this GPU does not report are left out.
    std::vector<SensorReading> read() override {
        std::vector<SensorReading> readings;
        const auto add = [&](NvmlStatus status, SensorReading reading) {
            if (status == NvmlStatus::Success) readings.push_back(reading);
        };
        unsigned value = 0;
        NvmlStatus status = nvml_->nvmlDeviceGetClockInfo(device_, NvmlClock::Sm, &value);
        add(status, {"clock", "MHz", static_cast<double>(value)});
        status = nvml_->nvmlDeviceGetClockInfo(device_, NvmlClock::Memory, &value);
        add(status, {"memory clock", "MHz", static_cast<double>(value)});
        status = nvml_->nvmlDeviceGetPowerUsage(device_, &value);
        add(status, {"power", "W", value * 1e-3});
        status = nvml_->nvmlDeviceGetTemperature(device_, NvmlTemperature::Gpu, &value);
        add(status, {"temperature", "\u00b0C", static_cast<double>(value)});
        NvmlMemory memory{};
        status = nvml_->nvmlDeviceGetMemoryInfo(device_, &memory);
        add(status, {"memory in use", "MiB", static_cast<double>(memory.used) / (1 << 20)});
        return readings;
    }

  private:
    std::unique_ptr<NvmlEntryPoints> nvml_;
    NvmlDevice device_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Sensors>> open_nvml(const DeviceInfo& device, const std::string& library) {
    auto nvml = std::make_unique<NvmlEntryPoints>();
    KG_TRY(const std::string name, gpu::open_library(kLibrary, library, *nvml));
    if (const NvmlStatus status = nvml->nvmlInit_v2(); status != NvmlStatus::Success)
        return fail(ErrorCode::NotFound, "{}: nvmlInit: {}: {}", name, nvml->nvmlErrorString(status), kLibrary.without);
    auto sensors = std::make_unique<NvmlSensors>(std::move(nvml));
    KG_CHECK(sensors->find(device, name));
    return sensors;
}

}  // namespace kinetograph::accel::cuda
