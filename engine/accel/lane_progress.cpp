#include <kinetograph/engine/accel/lane_progress.hpp>

namespace kinetograph::accel {

Result<void> LaneProgress::wait(std::uint64_t value) const {
    constexpr auto kLook = std::chrono::milliseconds(100);
    while (!timeline_->wait(value, kLook)) KG_CHECK(may_come(value));
    return {};
}

/// Work that a lost device does not do signals nothing, nor does a lane that is gone.
Result<void> LaneProgress::may_come(std::uint64_t value) const {
    std::lock_guard lock(mutex_);
    if (stream_ != nullptr) {
        auto status = stream_->status();
        if (!status && status.error().code == ErrorCode::DeviceLost) return status;
        return {};
    }
    if (timeline_->value() >= value) return {};  // since it was waited for
    return fail(ErrorCode::Cancelled, "the accelerator lane has ended at value {}, before value {}", timeline_->value(),
                value);
}

void LaneProgress::end() {
    std::lock_guard lock(mutex_);
    stream_ = nullptr;
}

}  // namespace kinetograph::accel
