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
    info.kind = known->kind == "hip" ? accel::Kind::Hip : accel::Kind::Cuda;
    info.name = known->name;
    info.driver = "none: described, not opened";
    info.features = info.architecture = known->architecture;
    info.memory_bytes = known->memory_bytes;
    info.compute_units = known->compute_units;
    info.shared_bytes_per_block = known->shared_bytes_per_block;
    info.wave_size = info.kind == accel::Kind::Hip ? 64 : 32;
    return info;
}

Chip chip_of(const accel::DeviceInfo& device) {
    KnownDevice rates = find("sm_90").value();
    if (const auto known = find(device.architecture)) rates = *known;
    return {.kind = std::string(accel::to_string(device.kind)),
            .architecture = device.architecture,
            .features = device.features,
            .compute_units = std::max(device.compute_units, 1U),
            .shared_bytes_per_block = device.shared_bytes_per_block,
            .clocks_per_second = rates.clocks_per_second,
            .memory_bytes_per_second = rates.memory_bytes_per_second};
}

}  // namespace kinetograph::conv
