#include <kinetograph/engine/interop/timeline_point.hpp>

namespace kinetograph::interop {
namespace {

constexpr Nanoseconds kClosingPoll = std::chrono::milliseconds(20);    // how soon a wait notices that all is over
constexpr Nanoseconds kProgressPoll = std::chrono::milliseconds(100);  // that a lane has ended or lost its device

Result<void> refuse(const graph::BatchRecord& record) {
    return fail(ErrorCode::Unsupported, "batch {} was given to what only waits for a timeline, and runs nothing",
                record.batch->ordinal);
}

}  // namespace

Result<bool> wait_for(const vulkan::Device* display, const TimelinePoint& point, Nanoseconds timeout) {
    if (point.is_past()) return true;
    if (point.semaphore != VK_NULL_HANDLE)
        return vulkan::wait_timeline(*display, point.semaphore, point.value, timeout);
    return point.timeline->wait(point.value, timeout);
}

Result<void> wait_for(const vulkan::Device* display, const TimelinePoint& point, const std::atomic<bool>& closing) {
    while (!closing) {
        const auto reached = wait_for(display, point, kClosingPoll);
        if (!reached) return fail(reached.error());
        if (*reached) return {};
    }
    return fail(ErrorCode::Cancelled, "value {} of a timeline was never reached", point.value);
}

Result<void> ForeignTimeline::submit(const graph::BatchRecord& record) { return refuse(record); }

Result<void> ForeignTimeline::wait(std::uint64_t value) {
    return wait_for(display_, {point_.semaphore, point_.timeline, value}, closing_);
}

Result<void> FollowedLane::submit(const graph::BatchRecord& record) { return refuse(record); }

Result<void> FollowedLane::wait(std::uint64_t value) {
    for (;;) {
        const auto reached = progress_->wait(value, kProgressPoll);
        if (!reached) return fail(reached.error());
        if (*reached) return {};
    }
}

}  // namespace kinetograph::interop
