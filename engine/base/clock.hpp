// The one time axis: nanoseconds of the host's steady clock. Device clocks are mapped onto it.
#pragma once

#include <chrono>
#include <cstdint>

namespace kinetograph {

using Nanoseconds = std::chrono::nanoseconds;

/// Nanoseconds since the steady clock's own epoch; CLOCK_MONOTONIC on Linux, so also VK_TIME_DOMAIN_CLOCK_MONOTONIC.
inline Nanoseconds host_now() {
    return std::chrono::duration_cast<Nanoseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace kinetograph
