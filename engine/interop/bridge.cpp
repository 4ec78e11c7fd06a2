#include <kinetograph/engine/interop/bridge.hpp>

#include <kinetograph/engine/accel/backend.hpp>
#include <kinetograph/engine/base/host_pages.hpp>

#include <unistd.h>

#include <algorithm>

namespace kinetograph::interop {
namespace {

bool computes_in(const vulkan::Display* display, const accel::Device& accelerator) {
    const accel::Backend* backend = accel::find_backend(accelerator.info().kind);
    return display != nullptr && backend != nullptr && backend->in_vulkan != nullptr &&
           backend->in_vulkan->display_of(accelerator) == display;
}

/// Where a failure of this choice is noted; null for those that have no alternative.
std::string* place_of(const TopologyChoice& choice, RuledOut& ruled_out) {
    if (choice.timelines == Timelines::Own) return nullptr;
    if (choice.topology == Topology::Shared) return &ruled_out.shared_memory;
    if (choice.staging == Staging::Pinned) return &ruled_out.pinned;
    if (choice.staging == Staging::Mapped) return &ruled_out.mapped;
    return nullptr;
}

}  // namespace

Result<std::unique_ptr<Bridge>> Bridge::create(accel::Device& accelerator, const vulkan::Display* display,
                                               const BridgeOptions& options) {
    const vulkan::DeviceReport* report = display != nullptr ? &display->report() : nullptr;
    const bool in_display = options.closest == Topology::Shared && computes_in(display, accelerator);
    RuledOut ruled_out;
    for (;;) {
        TopologyChoice choice = in_display ? in_one_device(*report)
                                           : choose_topology(accelerator.info(), report, options.closest, ruled_out);
        auto page = SharedBuffer::create(accelerator, display, choice, "a page to try", kHostPageBytes);
        if (page)
            return std::unique_ptr<Bridge>(
                new Bridge(accelerator, choice.topology == Topology::Headless ? nullptr : display, choice));
        std::string* place = place_of(choice, ruled_out);
        if (place == nullptr) return fail(std::move(page.error()));
        *place = fmt::format("tried in vain: {}", page.error().message);
    }
}

Bridge::Bridge(accel::Device& accelerator, const vulkan::Display* display, TopologyChoice choice)
    : accelerator_(accelerator),
      display_(display),
      choice_(std::move(choice)),
      memory_(accelerator, display, choice_) {}

Bridge::~Bridge() { close(); }

Result<std::shared_ptr<accel::Timeline>> Bridge::import_timeline(const vulkan::SemaphoreTimeline& exported) const {
    KG_TRY(const auto fd, display_->export_timeline(exported));
    auto timeline = accelerator_.import_timeline(fd, exported.timeline);
    if (!timeline) ::close(fd);
    KG_CHECK_IN(exported.timeline->name(), timeline);
    return timeline;
}

bool Bridge::is_connected(const graph::Timeline& timeline) {
    std::erase_if(connected_, [](const Connected& known) { return known.timeline.expired(); });
    return std::ranges::any_of(connected_,
                               [&](const Connected& known) { return known.timeline.lock().get() == &timeline; });
}

/// Adds two views to the lane's timeline: a semaphore, and its import, through which the lane's stream signals it. A
/// timeline of the Vulkan device is a semaphore already.
Result<void> Bridge::share_timeline(accel::AcceleratorLane& lane) {
    const auto timeline = lane.timeline();
    if (is_connected(*timeline)) return {};
    if (choice_.timelines == Timelines::Own) {
        connected_.push_back({timeline, display_->semaphore_of(*timeline), true});
        return {};
    }
    KG_TRY(const auto exported,
           display_->create_timeline(timeline->name() + ", exported", vulkan::Sharing::Exportable));
    KG_TRY(auto imported, import_timeline(exported));
    timeline->add_view(std::move(imported));
    timeline->add_view(exported.timeline);
    connected_.push_back({timeline, exported.semaphore, true});
    return {};
}

void Bridge::share_gpu_with(accel::AcceleratorLane& lane) const {
    if (display_ != nullptr && is_one_gpu(accelerator_.info(), display_->report()))
        display_->share_gpu_with(*lane.timeline());
}

Result<void> Bridge::connect(accel::AcceleratorLane& accelerator, vulkan::DisplayLane& display) {
    share_gpu_with(accelerator);
    const Lock lock(mutex_);
    const bool is_new = !is_connected(*display.timeline());
    if (is_new) connected_.push_back({display.timeline(), display.own().semaphore, false});
    if (choice_.timelines == Timelines::Relayed) return {};
    if (is_new && choice_.timelines == Timelines::Shared) {
        KG_TRY(auto of_display, import_timeline(display.exported()));
        display.timeline()->add_view(std::move(of_display));
    }
    return share_timeline(accelerator);
}

Result<void> Bridge::connect(accel::AcceleratorLane& accelerator) {
    share_gpu_with(accelerator);
    if (choice_.timelines != Timelines::Own && choice_.timelines != Timelines::Shared) return {};
    const Lock lock(mutex_);
    return share_timeline(accelerator);
}

/// In the shared topology the host waits for the accelerator's own timeline: a driver takes long to notice a signal of
/// another API (ten milliseconds on an H200).
Result<TimelinePoint> Bridge::export_point(const graph::Point& point) {
    if (point.value == 0 || point.timeline == nullptr) return TimelinePoint{};
    if (display_ == nullptr) return TimelinePoint{nullptr, point.timeline, point.value};
    const Lock lock(mutex_);
    for (const Connected& known : connected_)
        if (known.timeline.lock() == point.timeline)
            return TimelinePoint{known.semaphore, known.is_accelerators ? point.timeline : nullptr, point.value};
    if (!relay_) {
        KG_TRY(auto target, display_->create_timeline("points of lanes", vulkan::Sharing::Private));
        relay_semaphore_ = target.semaphore;
        relay_ = std::make_unique<graph::Relay>(std::move(target.timeline));
    }
    return TimelinePoint{relay_semaphore_, nullptr, relay_->promise({&point, 1})};
}

graph::Point Bridge::import_point(const TimelinePoint& point) const {
    if (point.is_past()) return {};
    std::shared_ptr<graph::Timeline> semaphore;
    if (point.semaphore != nullptr) semaphore = display_->borrow_timeline(point.semaphore);
    auto timeline =
        std::make_shared<ApplicationTimeline>(point.timeline != nullptr ? point.timeline : semaphore, closing_);
    if (point.timeline) timeline->add_view(point.timeline);
    if (semaphore) timeline->add_view(std::move(semaphore));
    return {std::move(timeline), point.value};
}

/// The timeline through which the host reads the point and waits for it.
std::shared_ptr<graph::Timeline> Bridge::timeline_of(const TimelinePoint& point) const {
    if (point.semaphore == nullptr || point.timeline != nullptr) return point.timeline;
    return std::make_shared<ApplicationTimeline>(display_->borrow_timeline(point.semaphore), closing_);
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

}  // namespace kinetograph::interop
