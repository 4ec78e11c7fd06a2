#include <kinetograph/engine/interop/bridge.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <unistd.h>

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

Bridge::~Bridge() { close(); }

Result<std::shared_ptr<accel::Timeline>> Bridge::import_timeline(
    const std::shared_ptr<vulkan::TimelineSemaphore>& semaphore) const {
    KG_TRY(const auto fd, vulkan::export_timeline_fd(*display_, semaphore->handle(), semaphore->name()));
    auto timeline = accelerator_.import_timeline(fd, semaphore);
    if (!timeline) {
        ::close(fd);
        return fail(std::move(timeline.error()), semaphore->name());
    }
    return timeline;
}

/// The semaphore that the lane signals too, made at the first call.
Result<std::shared_ptr<vulkan::TimelineSemaphore>> Bridge::share_timeline(accel::AcceleratorLane& lane) {
    std::erase_if(shared_timelines_, [](const SharedTimeline& shared) { return shared.semaphore.expired(); });
    for (const SharedTimeline& shared : shared_timelines_)
        if (shared.own.lock() == lane.timeline()) return shared.semaphore.lock();
    KG_TRY(auto semaphore, vulkan::TimelineSemaphore::create(*display_, lane.timeline()->name() + ", exported",
                                                             vulkan::Sharing::Exportable));
    KG_TRY(auto imported, import_timeline(semaphore));
    lane.signal_too(std::move(imported));
    shared_timelines_.push_back({lane.timeline(), semaphore});
    return semaphore;
}

Result<void> Bridge::connect(accel::AcceleratorLane& accelerator, vulkan::VulkanLane& display) {
    if (choice_.timelines != Timelines::Shared) return {};
    std::lock_guard lock(mutex_);
    KG_TRY(auto of_display, import_timeline(display.exported_timeline()));
    KG_TRY(auto of_accelerator, share_timeline(accelerator));
    accelerator.can_see(display.timeline(), std::move(of_display));
    display.can_see(accelerator.timeline(), std::move(of_accelerator));
    return {};
}

Result<void> Bridge::connect(accel::AcceleratorLane& accelerator) {
    if (choice_.timelines != Timelines::Shared) return {};
    std::lock_guard lock(mutex_);
    KG_CHECK(share_timeline(accelerator));
    return {};
}

/// In the shared topology the host waits for the accelerator's own timeline: a driver notices slowly what another API
/// has signalled (ten milliseconds on an H200).
Result<TimelinePoint> Bridge::point_of(graph::LaneBackend& lane, std::uint64_t value) {
    if (value == 0) return TimelinePoint{};
    const auto timeline = lane.timeline();
    if (const auto* own = dynamic_cast<const vulkan::TimelineSemaphore*>(timeline.get()))
        return TimelinePoint{own->handle(), nullptr, value};
    if (display_ == nullptr) return TimelinePoint{VK_NULL_HANDLE, timeline, value};
    std::lock_guard lock(mutex_);
    for (const SharedTimeline& shared : shared_timelines_)
        if (const auto semaphore = shared.semaphore.lock(); semaphore && shared.own.lock() == timeline)
            return TimelinePoint{semaphore->handle(), timeline, value};
    if (!relay_) {
        KG_TRY(auto target, vulkan::TimelineSemaphore::create(*display_, "points of lanes"));
        relay_semaphore_ = target->handle();
        relay_ = std::make_unique<graph::Relay>(std::move(target));
    }
    const graph::Point point{timeline, value};
    return TimelinePoint{relay_semaphore_, nullptr, relay_->promise({&point, 1})};
}

/// How the host sees the point.
std::shared_ptr<graph::Timeline> Bridge::timeline_of(const TimelinePoint& point) const {
    if (point.semaphore == VK_NULL_HANDLE || point.timeline != nullptr) return point.timeline;
    return std::make_shared<ApplicationTimeline>(vulkan::TimelineSemaphore::borrow(*display_, point.semaphore),
                                                 closing_);
}

bool Bridge::has_reached(const TimelinePoint& point) {
    return point.is_past() || timeline_of(point)->value() >= point.value;
}

Result<void> Bridge::wait(const TimelinePoint& point) {
    for (;;) {
        KG_TRY(const bool reached, wait(point, graph::kLook));
        if (reached) return {};
        if (*closing_) return fail(ErrorCode::Cancelled, "the bridge was closed before value {} came", point.value);
    }
}

Result<bool> Bridge::wait(const TimelinePoint& point, Nanoseconds timeout) {
    if (point.is_past()) return true;
    return graph::wait_for({timeline_of(point), point.value}, timeout);
}

void Bridge::wait_before_next(accel::AcceleratorLane& lane, const TimelinePoint& point) {
    if (!has_reached(point)) lane.wait_before_next({timeline_of(point), point.value});
}

void Bridge::wait_before_next(vulkan::VulkanLane& lane, const TimelinePoint& point) {
    if (has_reached(point)) return;
    if (point.semaphore != VK_NULL_HANDLE)
        lane.wait_before_next(vulkan::ExternalSemaphore{point.semaphore, point.value});
    else
        lane.wait_before_next(
            graph::Point{std::make_shared<ApplicationTimeline>(point.timeline, closing_), point.value});
}

}  // namespace kinetograph::interop
