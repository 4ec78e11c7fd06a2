// CallLimits: when a long call gives up.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/result.hpp>

#include <optional>
#include <stop_token>
#include <string_view>

namespace kinetograph {

/// For calls that read files, upload weights or wait for a device. No limits by default. A call checks them between
/// pieces of its work (16 MiB of a file, a layer's filter, 20 ms of waiting) and returns Cancelled when one is reached.
struct CallLimits {
    std::optional<Nanoseconds> until{};  ///< on the host's axis: host_now() + std::chrono::seconds(5)
    std::stop_token stop{};              ///< of a std::stop_source, which any thread may ask to stop

    /// Errors: Cancelled, once a stop was requested or the deadline has passed; the sentence begins with `doing`.
    Result<void> check(std::string_view doing) const;
    /// How long a call may wait before it checks again: at most 20 ms.
    Nanoseconds next_look() const;
};

}  // namespace kinetograph
