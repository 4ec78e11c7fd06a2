#include <kinetograph/engine/accel/open.hpp>

#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/engine/accel/gpu/context.hpp>
#include <kinetograph/engine/accel/hip/device.hpp>
#include <kinetograph/engine/base/processor.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <span>

namespace kinetograph::accel {
namespace {

constexpr std::array kKinds{Kind::Cpu, Kind::Cuda, Kind::Hip};

Result<std::vector<DeviceInfo>> inspect(Kind kind) {
    switch (kind) {
        case Kind::Cpu:
            KG_CHECK(check_processor_cap());
            return std::vector{cpu::create_device()->info()};
        case Kind::Cuda:
            return cuda::inspect_devices();
        case Kind::Hip:
            return hip::inspect_devices();
    }
    return fail(ErrorCode::InvalidArgument, "there is no such kind of accelerator");
}

/// The sixteen bytes as hexadecimal digits, without "GPU-" and hyphens; empty if `uuid` is not a UUID.
std::string digits_of(std::string_view uuid) {
    if (uuid.starts_with("GPU-")) uuid.remove_prefix(4);
    std::string digits;
    for (const char c : uuid) {
        if (c == '-') continue;
        if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return {};
        digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return digits.size() == 2 * sizeof(DeviceInfo::uuid) ? digits : std::string();
}

Result<std::uint32_t> find(Kind kind, std::string_view uuid) {
    KG_TRY(const auto devices, inspect(kind));
    std::vector<std::string> known;
    for (std::uint32_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
        known.push_back(uuid_text(devices[ordinal]));
        if (digits_of(known.back()) == digits_of(uuid)) return ordinal;
    }
    return fail(ErrorCode::NotFound, "no {} device has the UUID {}; there is: {}", to_string(kind), uuid,
                fmt::join(known, ", "));
}

/// What follows the colon: a number, or a UUID.
Result<std::uint32_t> ordinal_of(Kind kind, std::string_view which) {
    std::uint32_t ordinal = 0;
    const auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), ordinal);
    if (error == std::errc() && end == which.data() + which.size()) return ordinal;
    if (!digits_of(which).empty()) return find(kind, which);
    return fail(ErrorCode::InvalidArgument, "lane {}:{}: after the colon comes a number from 0 or a UUID",
                to_string(kind), which);
}

}  // namespace

std::string uuid_text(const DeviceInfo& device) {
    const std::span<const std::uint8_t> bytes(device.uuid);
    const auto part = [&](std::size_t first, std::size_t count) {
        return fmt::format("{:02x}", fmt::join(bytes.subspan(first, count), ""));
    };
    return fmt::format("GPU-{}-{}-{}-{}-{}", part(0, 4), part(4, 2), part(6, 2), part(8, 2), part(10, 6));
}

std::string Availability::name() const { return fmt::format("{}:{}", to_string(kind), ordinal); }

Result<std::unique_ptr<Device>> open(Kind kind, std::uint32_t ordinal, const DeviceHooks& hooks) {
    switch (kind) {
        case Kind::Cpu:
            if (ordinal > 0) return fail(ErrorCode::OutOfRange, "CPU device {}: there is one, counted from 0", ordinal);
            KG_CHECK(check_processor_cap());
            return cpu::create_device(hooks);
        case Kind::Hip:
            return hip::create_device({.library = {}, .ordinal = ordinal, .hooks = hooks});
        case Kind::Cuda:
            return cuda::create_device({.library = {}, .ordinal = ordinal, .hooks = hooks});
    }
    return fail(ErrorCode::InvalidArgument, "there is no such kind of accelerator");
}

Result<std::unique_ptr<Device>> open(std::string_view device, const DeviceHooks& hooks) {
    const std::size_t colon = device.find(':');
    const std::string_view kind = device.substr(0, colon);
    const auto known = std::ranges::find(kKinds, kind, [](Kind of) { return to_string(of); });
    if (known == kKinds.end()) return fail(ErrorCode::InvalidArgument, "lane {}: there are cpu, cuda and hip", kind);
    if (colon == std::string_view::npos) return open(*known, 0, hooks);
    KG_TRY(const auto ordinal, ordinal_of(*known, device.substr(colon + 1)));
    return open(*known, ordinal, hooks);
}

Result<std::unique_ptr<Stream>> adopt_stream(Device& device, std::string_view name, void* stream) {
    switch (device.info().kind) {
        case Kind::Cpu:
            break;
        case Kind::Cuda:
            return cuda::adopt_stream(device, name, stream);
        case Kind::Hip:
            return hip::adopt_stream(device, name, stream);
    }
    return fail(ErrorCode::InvalidArgument, "adopting stream \"{}\": {} has no streams of a caller's", name,
                device.info().name);
}

Result<void> check_address(Device& device, const std::byte* address) {
    const std::shared_ptr<gpu::Context> context = device.gpu_context();
    return context == nullptr ? Result<void>{} : context->check_address(address);
}

Result<bool> is_capturing(Device& device, void* stream) {
    const std::shared_ptr<gpu::Context> context = device.gpu_context();
    if (context == nullptr) return false;
    return context->is_capturing(static_cast<gpu::StreamHandle>(stream));
}

void enter_thread(Device& device) {
    if (const std::shared_ptr<gpu::Context> context = device.gpu_context()) context->enter_thread();
}

std::vector<Availability> inspect_accelerators() {
    std::vector<Availability> all;
    for (const Kind kind : kKinds) {
        auto devices = inspect(kind);
        if (!devices) {
            all.push_back({kind, 0, std::nullopt, std::move(devices.error().message)});
            continue;
        }
        for (DeviceInfo& info : *devices) {
            const auto ordinal = static_cast<std::uint32_t>(&info - devices->data());
            std::string situation = fmt::format("{}; {}", info.driver, info.features);
            all.push_back({kind, ordinal, std::move(info), std::move(situation)});
        }
    }
    return all;
}

}  // namespace kinetograph::accel
