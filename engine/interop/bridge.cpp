#include <kinetograph/engine/interop/bridge.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <unistd.h>

#include <algorithm>

namespace kinetograph::interop {
namespace {

/// Where a failure of this choice is noted; null for headless, which relies on nothing.
std::string* place_of(const TopologyChoice& choice, RuledOut& ruled_out) {
    if (choice.topology == Topology::Shared) return &ruled_out.shared_memory;
    if (choice.staging == Staging::Pinned) return &ruled_out.pinned;
    if (choice.staging == Staging::Mapped) return &ruled_out.mapped;
    return nullptr;
}

}  // namespace

Result<std::unique_ptr<Bridge>> Bridge::create(accel::Device& accelerator, const vulkan::Device* display,
                                               const BridgeOptions& options) {
    const vulkan::DeviceReport* report = display != nullptr ? &display->report() : nullptr;
    RuledOut ruled_out;
    for (;;) {
        TopologyChoice choice = choose_topology(accelerator.info(), report, options.closest, ruled_out);
        auto page = SharedBuffer::create(accelerator, display, choice, "a page to try", vulkan::kPageBytes);
        if (page)
            return std::unique_ptr<Bridge>(
                new Bridge(accelerator, choice.topology == Topology::Headless ? nullptr : display, choice));
        std::string* place = place_of(choice, ruled_out);
        if (place == nullptr) return fail(std::move(page.error()));
        *place = fmt::format("tried in vain: {}", page.error().message);
    }
}

Bridge::Bridge(accel::Device& accelerator, const vulkan::Device* display, TopologyChoice choice)
    : accelerator_(accelerator),
      display_(display),
      choice_(std::move(choice)),
      memory_(accelerator, display, choice_) {}

Bridge::~Bridge() {
    close();
    relay_.reset();
    for (const SharedTimeline& shared : shared_timelines_) display_->retire(shared.semaphore);
}

Result<std::shared_ptr<accel::Timeline>> Bridge::import_timeline(VkSemaphore semaphore, std::string_view name) const {
    KG_TRY(const auto fd, vulkan::export_timeline_fd(*display_, semaphore, name));
    auto timeline = accelerator_.import_timeline(fd);
    if (!timeline) {
        ::close(fd);
        return fail(std::move(timeline.error()), name);
    }
    return timeline;
}

/// The semaphore that the lane signals too, made at the first call.
Result<VkSemaphore> Bridge::share_timeline(accel::AcceleratorLane& lane) {
    const auto known = std::find_if(shared_timelines_.begin(), shared_timelines_.end(),
                                    [&](const SharedTimeline& shared) { return shared.own == lane.timeline(); });
    if (known != shared_timelines_.end()) return known->semaphore;
    KG_TRY(const auto semaphore, vulkan::create_timeline(*display_, "the accelerator", vulkan::Sharing::Exportable));
    shared_timelines_.push_back({lane.timeline(), semaphore});
    KG_TRY(auto timeline, import_timeline(semaphore, "the accelerator"));
    lane.signal_too(std::move(timeline));
    return semaphore;
}

Result<void> Bridge::connect(accel::AcceleratorLane& accelerator, vulkan::VulkanLane& display) {
    if (choice_.timelines != Timelines::Shared) return {};
    std::lock_guard lock(mutex_);
    KG_TRY(auto of_display, import_timeline(display.exported_timeline(), graph::to_string(display.lane())));
    KG_TRY(const auto of_accelerator, share_timeline(accelerator));
    accelerator.can_see(display, std::move(of_display));
    display.can_see(accelerator, of_accelerator);
    return {};
}

Result<void> Bridge::connect(accel::AcceleratorLane& accelerator) {
    if (choice_.timelines != Timelines::Shared) return {};
    std::lock_guard lock(mutex_);
    KG_CHECK(share_timeline(accelerator));
    return {};
}

Result<TimelinePoint> Bridge::point_of(graph::LaneBackend& lane, std::uint64_t value) {
    if (value == 0) return TimelinePoint{};
    if (const auto* vulkan_lane = dynamic_cast<const vulkan::VulkanLane*>(&lane))
        return TimelinePoint{vulkan_lane->timeline(), nullptr, value};
    const auto* accelerator = dynamic_cast<const accel::AcceleratorLane*>(&lane);
    if (accelerator == nullptr)
        return fail(ErrorCode::Unsupported, "the {} lane has no timeline that could be seen across the bridge",
                    graph::to_string(lane.lane()));
    if (display_ == nullptr) return TimelinePoint{VK_NULL_HANDLE, accelerator->timeline(), value};
    std::lock_guard lock(mutex_);
    for (const SharedTimeline& shared : shared_timelines_)
        if (shared.own == accelerator->timeline()) return TimelinePoint{shared.semaphore, nullptr, value};
    if (!relay_) {
        KG_TRY(relay_, vulkan::Relay::create(*display_));
    }
    const graph::ResolvedWait wait{&followed(*accelerator), value};
    return TimelinePoint{relay_->semaphore(), nullptr, relay_->promise({&wait, 1})};
}

FollowedLane& Bridge::followed(const accel::AcceleratorLane& lane) {
    for (const auto& known : followed_)
        if (known->follows(lane.progress())) return *known;
    return *followed_.emplace_back(std::make_unique<FollowedLane>(lane.progress()));
}

ForeignTimeline& Bridge::foreign(const TimelinePoint& point) {
    std::lock_guard lock(mutex_);
    for (const auto& timeline : foreign_)
        if (timeline->is(point)) return *timeline;
    return *foreign_.emplace_back(std::make_unique<ForeignTimeline>(display_, point, closing_));
}

/// A point of the accelerator's progress on its own timeline: a driver notices slowly what another API has signalled
/// (ten milliseconds on an H200), and the accelerator needs no relay for its own.
TimelinePoint Bridge::as_accelerators(const TimelinePoint& point) {
    std::lock_guard lock(mutex_);
    for (const SharedTimeline& shared : shared_timelines_)
        if (point.semaphore != VK_NULL_HANDLE && shared.semaphore == point.semaphore)
            return {VK_NULL_HANDLE, shared.own, point.value};
    return point;
}

bool Bridge::has_reached(const TimelinePoint& point) {
    return point.is_past() || foreign(as_accelerators(point)).has_reached(point.value);
}

Result<void> Bridge::wait(const TimelinePoint& point) {
    if (point.is_past()) return {};
    return foreign(as_accelerators(point)).wait(point.value);
}

Result<bool> Bridge::wait(const TimelinePoint& point, Nanoseconds timeout) {
    if (point.is_past()) return true;
    return foreign(as_accelerators(point)).wait(point.value, timeout);
}

void Bridge::wait_before_next(accel::AcceleratorLane& lane, const TimelinePoint& point) {
    if (has_reached(point)) return;
    const TimelinePoint own = as_accelerators(point);
    if (own.semaphore == VK_NULL_HANDLE)
        lane.wait_before_next(own.timeline, own.value);
    else
        lane.wait_before_next({&foreign(own), own.value});
}

void Bridge::wait_before_next(vulkan::VulkanLane& lane, const TimelinePoint& point) {
    if (has_reached(point)) return;
    if (point.semaphore != VK_NULL_HANDLE)
        lane.wait_before_next(vulkan::ExternalSemaphore{point.semaphore, point.value});
    else
        lane.wait_before_next(graph::ResolvedWait{&foreign(point), point.value});
}

}  // namespace kinetograph::interop
