#include <kinetograph/engine/ui/human_units.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace kinetograph::ui {

std::string human_time(Nanoseconds time) {
    const double us = static_cast<double>(time.count()) / 1e3;
    if (us < 0) return fmt::format("-{}", human_time(-std::max(time, -Nanoseconds::max())));
    if (us < 0.9995) return fmt::format("{} ns", time.count());
    if (us < 9.995) return fmt::format("{:.2f} us", us);
    if (us < 999.5) return fmt::format("{:.0f} us", us);
    if (us < 9'995.0) return fmt::format("{:.2f} ms", us / 1e3);
    if (us < 99'950.0) return fmt::format("{:.1f} ms", us / 1e3);
    if (us < 999'500.0) return fmt::format("{:.0f} ms", us / 1e3);
    return fmt::format("{:.2f} s", us / 1e6);
}

std::string human_bytes(std::uint64_t bytes) {
    static constexpr std::array<const char*, 4> kUnits{"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) return fmt::format("{} B", bytes);
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
    return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, kUnits[unit]);
}

std::string human_value(double value, std::string_view unit) {
    if (unit == "MiB") return human_bytes(static_cast<std::uint64_t>(value * (1 << 20)));
    if (unit.empty()) return fmt::format("{:.0f}", value);
    return fmt::format("{:.{}f} {}", value, value < 100 ? 1 : 0, unit);
}

}  // namespace kinetograph::ui
