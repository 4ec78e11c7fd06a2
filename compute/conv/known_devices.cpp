#include <kinetograph/compute/conv/known_devices.hpp>

#include <algorithm>
#include <array>

namespace kinetograph::conv {
namespace {

using accel::Kind;

constexpr std::uint64_t kGiB = 1ULL << 30U;

constexpr std::array kDevices = std::to_array<KnownDevice>({
    {"sm_80", "NVIDIA A100", Kind::Cuda, 80 * kGiB, 108, 163 << 10U, 1.41e9, 2.0e12},
    {"sm_86", "NVIDIA GeForce RTX 3090", Kind::Cuda, 24 * kGiB, 82, 99 << 10U, 1.7e9, 0.94e12},
    {"sm_89", "NVIDIA GeForce RTX 4090", Kind::Cuda, 24 * kGiB, 128, 99 << 10U, 2.52e9, 1.01e12},
    {"sm_90", "NVIDIA H200", Kind::Cuda, 141 * kGiB, 132, 227 << 10U, 1.8e9, 4.8e12},
    {"sm_100", "NVIDIA B200", Kind::Cuda, 180 * kGiB, 148, 227 << 10U, 1.86e9, 8e12},
    {"sm_120", "NVIDIA GeForce RTX 5090", Kind::Cuda, 32 * kGiB, 170, 99 << 10U, 2.41e9, 1.79e12},
    {"gfx950", "AMD Instinct MI355X", Kind::Hip, 288 * kGiB, 256, 160 << 10U, 2.0e9, 8e12},
});

}  // namespace

std::span<const KnownDevice> known_devices() { return kDevices; }

std::optional<accel::DeviceInfo> describe_known_device(std::string_view architecture) {
    const auto* const known = std::ranges::find(kDevices, architecture, &KnownDevice::architecture);
    if (known == kDevices.end()) return std::nullopt;
    accel::DeviceInfo info;
    info.kind = known->kind;
    info.name = known->name;
    info.driver = "none: described, not opened";
    info.features = info.architecture = known->architecture;
    info.memory_bytes = known->memory_bytes;
    info.compute_units = known->compute_units;
    info.shared_bytes_per_block = known->shared_bytes_per_block;
    info.wave_size = known->kind == Kind::Hip ? 64 : 32;
    return info;
}

Chip chip_of(const accel::DeviceInfo& device) {
    const auto* known = std::ranges::find(kDevices, std::string_view(device.architecture), &KnownDevice::architecture);
    if (known == kDevices.end())
        known = std::ranges::find(kDevices, std::string_view("sm_90"), &KnownDevice::architecture);
    return {.kind = std::string(accel::to_string(device.kind)),
            .architecture = device.architecture,
            .features = device.features,
            .compute_units = std::max(device.compute_units, 1U),
            .shared_bytes_per_block = device.shared_bytes_per_block,
            .clocks_per_second = known->clocks_per_second,
            .memory_bytes_per_second = known->memory_bytes_per_second};
}

}  // namespace kinetograph::conv
