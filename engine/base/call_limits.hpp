// CallLimits: when a call that lasts gives up.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/result.hpp>

#include <optional>
#include <stop_token>
#include <string_view>

namespace kinetograph {

/// For calls that read files, upload weights or wait for a device. None by default. A call looks at them between pieces
/// of its work, a file's 16 MiB, a layer's filter, 20 ms of waiting, and returns Cancelled.
struct CallLimits {
    std::optional<Nanoseconds> until{};  ///< on the host's axis: host_now() + std::chrono::seconds(5)
    std::stop_token stop{};              ///< of a std::stop_source, which any thread may ask to stop

    /// Errors: Cancelled, once a stop was requested or the deadline has passed; the sentence begins with `doing`.
    Result<void> check(std::string_view doing) const;
    /// How long a call may wait before it looks again.
    Nanoseconds next_look() const;
};

}  // namespace kinetograph
