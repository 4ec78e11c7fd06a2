#include <kinetograph/engine/accel/open.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <span>

namespace kinetograph::accel {
namespace {

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

Result<std::uint32_t> find(const Backend& backend, std::string_view uuid) {
    KG_TRY(const auto devices, backend.inspect());
    std::vector<std::string> known;
    for (std::uint32_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
        known.push_back(uuid_text(devices[ordinal]));
        if (digits_of(known.back()) == digits_of(uuid)) return ordinal;
    }
    return fail(ErrorCode::NotFound, "no {} device has the UUID {}; there is: {}", backend.name, uuid,
                fmt::join(known, ", "));
}

/// What follows the colon: a number, or a UUID.
Result<std::uint32_t> ordinal_of(const Backend& backend, std::string_view which) {
    std::uint32_t ordinal = 0;
    const auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), ordinal);
    if (error == std::errc() && end == which.data() + which.size()) return ordinal;
    if (!digits_of(which).empty()) return find(backend, which);
    return fail(ErrorCode::InvalidArgument, "lane {}:{}: after the colon comes a number from 0 or a UUID", backend.name,
                which);
}

Result<const Backend*> backend_of(std::string_view kind) {
    if (const Backend* backend = find_backend(kind)) return backend;
    std::vector<std::string_view> names;
    for (const Backend& backend : backends()) names.push_back(backend.name);
    const std::string_view last = names.back();
    names.pop_back();
    return fail(ErrorCode::InvalidArgument, "lane {}: there are {} and {}", kind, fmt::join(names, ", "), last);
}

}  // namespace

std::string uuid_text(const DeviceInfo& device) {
    const std::span<const std::uint8_t> bytes(device.uuid);
    const auto part = [&](std::size_t first, std::size_t count) {
        return fmt::format("{:02x}", fmt::join(bytes.subspan(first, count), ""));
    };
    return fmt::format("GPU-{}-{}-{}-{}-{}", part(0, 4), part(4, 2), part(6, 2), part(8, 2), part(10, 6));
}

const Backend* find_backend(std::string_view name) {
    const auto found = std::ranges::find(backends(), name, &Backend::name);
    return found == backends().end() ? nullptr : &*found;
}

std::string Availability::name() const { return fmt::format("{}:{}", kind, ordinal); }

static Result<std::unique_ptr<Device>> open_one(std::string_view device, const DeviceHooks& hooks) {
    const std::size_t colon = device.find(':');
    KG_TRY(const Backend* const backend, backend_of(device.substr(0, colon)));
    if (colon == std::string_view::npos) return backend->open(0, hooks);
    KG_TRY(const auto ordinal, ordinal_of(*backend, device.substr(colon + 1)));
    return backend->open(ordinal, hooks);
}

Result<std::unique_ptr<Device>> open(std::string_view device, const DeviceHooks& hooks) {
    std::size_t plus = device.find('+');
    if (plus == std::string_view::npos) return open_one(device, hooks);
    KG_TRY_IN(device.substr(0, plus), auto first, open_one(device.substr(0, plus), hooks));
    while (plus != std::string_view::npos) {
        device.remove_prefix(plus + 1);
        plus = device.find('+');
        KG_TRY_IN(device.substr(0, plus), auto next, open_one(device.substr(0, plus), hooks));
        first->add_companion(std::move(next));
    }
    return first;
}

Result<std::unique_ptr<Device>> adopt(std::string_view kind, const void* callers, const DeviceHooks& hooks) {
    KG_TRY(const Backend* const backend, backend_of(kind));
    if (backend->adopt == nullptr)
        return fail(ErrorCode::Unsupported, "lane {}: its devices are opened by name; none can be the caller's", kind);
    return backend->adopt(callers, hooks);
}

Result<std::unique_ptr<Sensors>> open_sensors(const DeviceInfo& device, const SensorSources& sources) {
    KG_TRY(const Backend* const backend, backend_of(device.kind));
    return backend->open_sensors(device, sources);
}

std::vector<Availability> inspect_accelerators() {
    std::vector<Availability> all;
    for (const Backend& backend : backends()) {
        auto devices = backend.inspect();
        if (!devices) {
            all.push_back({backend.name, 0, std::nullopt, std::move(devices.error().message)});
            continue;
        }
        for (DeviceInfo& info : *devices) {
            const auto ordinal = static_cast<std::uint32_t>(&info - devices->data());
            std::string situation = fmt::format("{}; {}", info.driver, info.features);
            all.push_back({backend.name, ordinal, std::move(info), std::move(situation)});
        }
    }
    return all;
}

}  // namespace kinetograph::accel
