#include <kinetograph/engine/interop/timeline_point.hpp>

namespace kinetograph::interop {
namespace {

constexpr Nanoseconds kClosingPoll = std::chrono::milliseconds(20);  // how soon a wait notices that all is over

Result<void> refuse(const graph::BatchRecord& record) {
    return fail(ErrorCode::Unsupported, "batch {} was given to what only waits for a timeline, and runs nothing",
                record.batch->ordinal);
}

}  // namespace

Result<void> ForeignTimeline::submit(const graph::BatchRecord& record) { return refuse(record); }

Result<bool> ForeignTimeline::wait(std::uint64_t value, Nanoseconds timeout) const {
    if (point_.semaphore != VK_NULL_HANDLE) return vulkan::wait_timeline(*display_, point_.semaphore, value, timeout);
    return point_.timeline->wait(value, timeout);
}

Result<void> ForeignTimeline::wait(std::uint64_t value) {
    while (!closing_) {
        KG_TRY(const auto reached, wait(value, kClosingPoll));
        if (reached) return {};
    }
    return fail(ErrorCode::Cancelled, "value {} of a timeline was never reached", value);
}

bool ForeignTimeline::has_reached(std::uint64_t value) const {
    if (point_.semaphore == VK_NULL_HANDLE) return point_.timeline->value() >= value;
    const auto reached = wait(value, Nanoseconds{});
    return reached && *reached;
}

Result<void> FollowedLane::submit(const graph::BatchRecord& record) { return refuse(record); }

Result<void> FollowedLane::wait(std::uint64_t value) { return progress_->wait(value); }

}  // namespace kinetograph::interop
