#include <kinetograph/engine/interop/lane_ties.hpp>

#include <unistd.h>

#include <algorithm>

namespace kinetograph::interop {

void LaneTies::close() {
    std::lock_guard lock(mutex_);
    closing_ = true;
    for (const auto& tie : ties_) tie->let_go = true;
}

void LaneTies::let_go(graph::LaneBackend& lane) {
    std::lock_guard lock(mutex_);
    tie_of(lane).let_go = true;
}

LaneTies::Tie& LaneTies::tie_of(graph::LaneBackend& lane) {
    const auto known = std::find_if(ties_.begin(), ties_.end(), [&](const auto& tie) { return lane.is(tie->lane); });
    if (known != ties_.end()) return **known;
    forget_ended();
    auto tie = std::make_unique<Tie>();
    tie->lane = lane.identity();
    tie->let_go = closing_.load();
    lane.keep(shared_from_this());
    return *ties_.emplace_back(std::move(tie));
}

/// A lane that has ended has no relay of its own any more, and reaches nothing that ours could still wait for.
void LaneTies::forget_ended() {
    for (const auto& tie : ties_) {
        if (!tie->lane.expired()) continue;
        tie->awaited.clear();
        if (tie->relay) tie->relay->finish();
    }
    std::erase_if(ties_, [](const auto& tie) {
        return tie->lane.expired() && tie->timeline == nullptr && tie->relay == nullptr;
    });
}

Result<std::shared_ptr<accel::Timeline>> LaneTies::import_timeline(VkSemaphore semaphore, std::string_view name) const {
    const auto fd = vulkan::export_timeline_fd(*display_, semaphore, name);
    if (!fd) return fail(fd.error());
    auto timeline = accelerator_.import_timeline(*fd);
    if (!timeline) {
        ::close(*fd);
        return fail(std::move(timeline.error()), name);
    }
    return timeline;
}

Result<VkSemaphore> LaneTies::share_timeline(accel::AcceleratorLane& lane) {
    std::lock_guard lock(mutex_);
    Tie& tie = tie_of(lane);
    if (tie.timeline) return tie.timeline->handle();
    const auto semaphore = vulkan::create_timeline(*display_, "the accelerator", vulkan::Sharing::Exportable);
    if (!semaphore) return fail(semaphore.error());
    auto shared = std::make_shared<vulkan::TimelineSemaphore>(*display_, *semaphore);
    auto imported = import_timeline(*semaphore, "the accelerator");
    if (!imported) return fail(std::move(imported.error()));
    lane.signal_too(std::move(*imported));
    tie.own = lane.timeline();
    tie.timeline = std::move(shared);
    return *semaphore;
}

Result<TimelinePoint> LaneTies::point_of(accel::AcceleratorLane& lane, std::uint64_t value) {
    std::lock_guard lock(mutex_);
    Tie& tie = tie_of(lane);
    if (tie.timeline) return TimelinePoint{tie.timeline->handle(), nullptr, value};
    if (!tie.relay) {
        auto relay = vulkan::Relay::create(*display_);
        if (!relay) return fail(std::move(relay.error()));
        tie.values = std::make_unique<FollowedLane>(lane.progress());
        tie.relay = std::move(*relay);
    }
    const graph::ResolvedWait wait{tie.values.get(), value};
    return TimelinePoint{tie.relay->semaphore(), nullptr, tie.relay->promise({&wait, 1})};
}

TimelinePoint LaneTies::point_of(vulkan::VulkanLane& lane, std::uint64_t value) {
    std::lock_guard lock(mutex_);
    Tie& tie = tie_of(lane);
    tie.timeline = lane.shared_timeline();
    return {tie.timeline->handle(), nullptr, value};
}

TimelinePoint LaneTies::as_accelerators(const TimelinePoint& point) {
    if (point.semaphore == VK_NULL_HANDLE) return point;
    std::lock_guard lock(mutex_);
    for (const auto& tie : ties_)
        if (tie->own && tie->timeline->handle() == point.semaphore) return {VK_NULL_HANDLE, tie->own, point.value};
    return point;
}

ForeignTimeline& LaneTies::awaited_by(graph::LaneBackend& lane, const TimelinePoint& point) {
    std::lock_guard lock(mutex_);
    Tie& tie = tie_of(lane);
    for (const auto& timeline : tie.awaited)
        if (timeline->is(point)) return *timeline;
    return *tie.awaited.emplace_back(std::make_unique<ForeignTimeline>(display_, point, tie.let_go));
}

bool LaneTies::has_reached(const TimelinePoint& point) {
    const auto reached = wait(point, Nanoseconds{});
    return reached && *reached;
}

Result<void> LaneTies::wait(const TimelinePoint& point) {
    if (point.is_past()) return {};
    return wait_for(display_, as_accelerators(point), closing_);
}

Result<bool> LaneTies::wait(const TimelinePoint& point, Nanoseconds timeout) {
    if (point.is_past()) return true;
    return wait_for(display_, as_accelerators(point), timeout);
}

}  // namespace kinetograph::interop
