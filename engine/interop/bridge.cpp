#include <kinetograph/engine/interop/bridge.hpp>

#include <kinetograph/engine/vulkan/device.hpp>

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
      memory_(accelerator, display, choice_),
      ties_(std::make_shared<LaneTies>(accelerator, display)) {}

Result<void> Bridge::connect(accel::AcceleratorLane& accelerator, vulkan::VulkanLane& display) {
    if (choice_.timelines != Timelines::Shared) return {};
    auto of_display = ties_->import_timeline(display.exported_timeline(), graph::to_string(display.lane()));
    if (!of_display) return fail(std::move(of_display.error()));
    const auto of_accelerator = ties_->share_timeline(accelerator);
    if (!of_accelerator) return fail(of_accelerator.error());
    accelerator.can_see(display, std::move(*of_display));
    display.keep(ties_);
    display.can_see(accelerator, *of_accelerator);
    return {};
}

Result<void> Bridge::connect(accel::AcceleratorLane& accelerator) {
    if (choice_.timelines != Timelines::Shared) return {};
    const auto shared = ties_->share_timeline(accelerator);
    if (!shared) return fail(shared.error());
    return {};
}

Result<TimelinePoint> Bridge::point_of(graph::LaneBackend& lane, std::uint64_t value) {
    if (value == 0) return TimelinePoint{};
    if (auto* vulkan_lane = dynamic_cast<vulkan::VulkanLane*>(&lane)) return ties_->point_of(*vulkan_lane, value);
    auto* accelerator = dynamic_cast<accel::AcceleratorLane*>(&lane);
    if (accelerator == nullptr)
        return fail(ErrorCode::Unsupported, "the {} lane has no timeline that could be seen across the bridge",
                    graph::to_string(lane.lane()));
    if (display_ == nullptr) return TimelinePoint{VK_NULL_HANDLE, accelerator->timeline(), value};
    return ties_->point_of(*accelerator, value);
}

void Bridge::wait_before_next(accel::AcceleratorLane& lane, const TimelinePoint& point) {
    if (has_reached(point)) return;
    const TimelinePoint own = ties_->as_accelerators(point);
    if (own.semaphore == VK_NULL_HANDLE)
        lane.wait_before_next(own.timeline, own.value);
    else
        lane.wait_before_next({&ties_->awaited_by(lane, own), own.value});
}

void Bridge::wait_before_next(vulkan::VulkanLane& lane, const TimelinePoint& point) {
    if (has_reached(point)) return;
    lane.keep(ties_);  // the semaphore may be one of theirs
    if (point.semaphore != VK_NULL_HANDLE)
        lane.wait_before_next(vulkan::ExternalSemaphore{point.semaphore, point.value});
    else
        lane.wait_before_next(graph::ResolvedWait{&ties_->awaited_by(lane, point), point.value});
}

}  // namespace kinetograph::interop
