#include <kinetograph/engine/accel/sysfs_sensors.hpp>

#include <algorithm>
#include <fstream>
#include <initializer_list>

namespace kinetograph::accel {
namespace {

using Path = std::filesystem::path;

std::optional<double> number_in(const Path& file) {
    double number = 0.0;
    if (std::ifstream(file) >> number) return number;
    return std::nullopt;
}

/// The entries of `folder` whose names begin with `prefix`, sorted; none if there is no such folder.
std::vector<Path> entries(const Path& folder, std::string_view prefix) {
    std::vector<Path> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none))
        if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
}

/// The first of these files that holds a number.
std::vector<Path> first_of(const Path& folder, std::initializer_list<const char*> names) {
    for (const char* name : names)
        if (number_in(folder / name)) return {folder / name};
    return {};
}

/// The mean of the numbers in `files`, times `scale`.
struct Gauge {
    const char* quantity;
    const char* unit;
    double scale;
    std::vector<Path> files;
};

/// A counter of microjoules that wraps around at `range`.
struct EnergyCounter {
    Path file;
    double range = 0.0;
    std::optional<double> last{};
};

class SysfsSensors final : public Sensors {
  public:
    SysfsSensors(std::vector<Gauge> gauges, std::vector<EnergyCounter> energy)
        : gauges_(std::move(gauges)), energy_(std::move(energy)) {}

    std::vector<SensorReading> read() override {
        std::vector<SensorReading> readings;
        for (const Gauge& gauge : gauges_) {
            double sum = 0.0;
            std::size_t count = 0;
            for (const Path& file : gauge.files)
                if (const auto value = number_in(file)) {
                    sum += *value;
                    ++count;
                }
            if (count > 0)
                readings.push_back({gauge.quantity, gauge.unit, gauge.scale * sum / static_cast<double>(count)});
        }
        if (const auto power = watts()) readings.push_back({"power", "W", *power});
        return readings;
    }

  private:
    /// The mean since the last call.
    std::optional<double> watts() {
        const Nanoseconds now = host_now(), since = now - std::exchange(read_, now);
        double microjoules = 0.0;
        bool known = false;
        for (EnergyCounter& counter : energy_) {
            const auto value = number_in(counter.file);
            if (value && counter.last) {
                known = true;
                microjoules += *value - *counter.last + (*value < *counter.last ? counter.range : 0.0);
            }
            counter.last = value;
        }
        if (!known || since <= Nanoseconds{}) return std::nullopt;
        return microjoules * 1e3 / static_cast<double>(since.count());  // 1e-6 J over 1e-9 s
    }

    std::vector<Gauge> gauges_;
    std::vector<EnergyCounter> energy_;
    Nanoseconds read_{};
};

std::unique_ptr<Sensors> make(std::vector<Gauge> gauges, std::vector<EnergyCounter> energy = {}) {
    std::erase_if(gauges, [](const Gauge& gauge) { return gauge.files.empty(); });
    if (gauges.empty() && energy.empty()) return nullptr;
    return std::make_unique<SysfsSensors>(std::move(gauges), std::move(energy));
}

}  // namespace

Result<std::unique_ptr<Sensors>> open_amdgpu_sensors(const DeviceInfo& device, const Path& sysfs) {
    if (!device.pci) return fail(ErrorCode::NotFound, "{}: its place on the PCI bus is not known", device.name);
    const Path folder = sysfs / "bus/pci/devices" /
                        fmt::format("{:04x}:{:02x}:{:02x}.0", device.pci->domain, device.pci->bus, device.pci->device);
    const std::vector<Path> monitors = entries(folder / "hwmon", "hwmon");
    const Path monitor = monitors.empty() ? folder : monitors.front();
    // Which of the names exist depends on the chip and on the kernel: a chip without an edge sensor has a junction's.
    auto sensors = make({{"clock", "MHz", 1e-6, first_of(monitor, {"freq1_input"})},
                         {"memory clock", "MHz", 1e-6, first_of(monitor, {"freq2_input"})},
                         {"power", "W", 1e-6, first_of(monitor, {"power1_average", "power1_input"})},
                         {"temperature", "\u00b0C", 1e-3, first_of(monitor, {"temp1_input", "temp2_input"})},
                         {"memory in use", "MiB", 1.0 / (1 << 20), first_of(folder, {"mem_info_vram_used"})}});
    if (sensors) return sensors;
    return fail(ErrorCode::NotFound, "{}: no sensors of {}", (folder / "hwmon").string(), device.name);
}

Result<std::unique_ptr<Sensors>> open_cpu_sensors(const Path& sysfs) {
    constexpr std::size_t kCores = 16;
    const Path cpufreq = sysfs / "devices/system/cpu/cpufreq", powercap = sysfs / "class/powercap";
    Gauge clock{"clock", "MHz", 1e-3, {}};
    const std::vector<Path> policies = entries(cpufreq, "policy");
    for (std::size_t i = 0; i < policies.size(); i += std::max<std::size_t>(policies.size() / kCores, 1))
        for (Path& file : first_of(policies[i], {"scaling_cur_freq"})) clock.files.push_back(std::move(file));
    std::vector<EnergyCounter> energy;
    for (const Path& zone : entries(powercap, "intel-rapl:"))
        if (const std::string name = zone.filename().string();
            name.find(':') == name.rfind(':') && number_in(zone / "energy_uj"))  // a package, not a part of one
            energy.push_back({zone / "energy_uj", number_in(zone / "max_energy_range_uj").value_or(0.0)});
    auto sensors = make({std::move(clock)}, std::move(energy));
    if (sensors) return sensors;
    return fail(ErrorCode::NotFound, "{}, {}: no sensors of the CPU", cpufreq.string(), powercap.string());
}

}  // namespace kinetograph::accel
