#include <kinetograph/engine/base/call_limits.hpp>

#include <algorithm>

namespace kinetograph {

Result<void> CallLimits::check(std::string_view doing) const {
    if (stop.stop_requested()) return fail(ErrorCode::Cancelled, "{}: a stop was requested", doing);
    if (until && host_now() >= *until) return fail(ErrorCode::Cancelled, "{}: the deadline has passed", doing);
    return {};
}

Nanoseconds CallLimits::next_look() const {
    constexpr Nanoseconds kLook = std::chrono::milliseconds(20);
    if (!until) return kLook;
    return std::clamp(*until - host_now(), Nanoseconds{}, kLook);
}

}  // namespace kinetograph
