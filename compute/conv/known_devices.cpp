#include <kinetograph/compute/conv/known_devices.hpp>

#include <algorithm>
#include <array>

namespace kinetograph::conv {
namespace {

using accel::Kind;

constexpr std::uint64_t kGiB = 1ULL << 30U;

constexpr std::array kDevices = std::to_array<KnownDevice>({
    {"sm_80", "NVIDIA A100", Kind::Cuda, 80 * kGiB, 108, 163 << 10U},
    {"sm_86", "NVIDIA GeForce RTX 3090", Kind::Cuda, 24 * kGiB, 82, 99 << 10U},
    {"sm_89", "NVIDIA GeForce RTX 4090", Kind::Cuda, 24 * kGiB, 128, 99 << 10U},
    {"sm_90", "NVIDIA H200", Kind::Cuda, 141 * kGiB, 132, 227 << 10U},
    {"sm_100", "NVIDIA B200", Kind::Cuda, 180 * kGiB, 148, 227 << 10U},
    {"sm_120", "NVIDIA GeForce RTX 5090", Kind::Cuda, 32 * kGiB, 170, 99 << 10U},
    {"gfx950", "AMD Instinct MI355X", Kind::Hip, 288 * kGiB, 256, 160 << 10U},
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

}  // namespace kinetograph::conv
