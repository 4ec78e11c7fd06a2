#include <kinetograph/compute/conv/known_devices.hpp>

#include <algorithm>

namespace kinetograph::conv {
namespace {

std::optional<KnownDevice> find(std::string_view architecture) {
    for (const ChipKernels& chip : chips())
        for (const KnownDevice& device : chip.devices())
            if (device.architecture == architecture) return device;
    return std::nullopt;
}

/// The known device of the same family: all but the last digit of the architecture agree, as sm_87 and sm_86 do. Of
/// several the newest that is older, else the oldest.
std::optional<KnownDevice> find_relative(std::string_view kind, std::string_view architecture) {
    std::optional<KnownDevice> found;
    for (const ChipKernels& chip : chips())
        for (const KnownDevice& device : chip.devices()) {
            const std::string_view its = device.architecture;
            if (device.kind != kind || its.size() != architecture.size() ||
                its.substr(0, its.size() - 1) != architecture.substr(0, its.size() - 1))
                continue;
            const bool nearer =
                !found || (its < architecture ? its > found->architecture || found->architecture > architecture
                                              : its < found->architecture);
            if (nearer) found = device;
        }
    return found;
}

}  // namespace

std::vector<KnownDevice> known_devices() {
    std::vector<KnownDevice> all;
    for (const ChipKernels& chip : chips()) all.insert(all.end(), chip.devices().begin(), chip.devices().end());
    return all;
}

std::optional<accel::DeviceInfo> describe_known_device(std::string_view architecture) {
    const auto known = find(architecture);
    if (!known) return std::nullopt;
    accel::DeviceInfo info;
    info.kind = known->kind;
    info.name = known->name;
    info.driver = "none: described, not opened";
    info.features = info.architecture = known->architecture;
    info.memory_bytes = known->memory_bytes;
    info.compute_units = known->compute_units;
    info.shared_bytes_per_block = known->shared_bytes_per_block;
    return info;
}

Chip chip_of(const accel::DeviceInfo& device) {
    Chip chip{.kind = std::string(device.kind),
              .architecture = device.architecture,
              .features = device.features,
              .compute_units = std::max(device.compute_units, 1U),
              .shared_bytes_per_block = device.shared_bytes_per_block,
              .clocks_per_second = 1e9,
              .memory_bytes_per_second = 1e12,
              .rated = false,
              .clusters = {device.resident_clusters}};
    auto rates = find(device.architecture);
    if (!rates) rates = find_relative(device.kind, device.architecture);
    if (!rates) return chip;
    chip.clocks_per_second = rates->clocks_per_second;
    chip.memory_bytes_per_second = rates->memory_bytes_per_second;
    chip.rated = true;
    return chip;
}

}  // namespace kinetograph::conv
