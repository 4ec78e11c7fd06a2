// Times and sizes as people read them.
#pragma once

#include <kinetograph/engine/base/clock.hpp>

#include <string>
#include <string_view>

namespace kinetograph::ui {

/// "417 ns", "42 us", "16.7 ms", "1.25 s": two or three significant digits, and hundredths from a second on.
std::string human_time(Nanoseconds time);

/// The same of nanoseconds in a plot.
inline std::string human_level(float nanoseconds) {
    return human_time(Nanoseconds(static_cast<std::int64_t>(nanoseconds)));
}

/// "812 B", "3.42 MiB"
std::string human_bytes(std::uint64_t bytes);

/// "1980 MHz", "54.2 W", "3.42 GiB" of MiB, "3" without a unit.
std::string human_value(double value, std::string_view unit);

}  // namespace kinetograph::ui
