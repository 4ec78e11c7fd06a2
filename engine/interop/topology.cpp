#include <kinetograph/engine/interop/topology.hpp>

#include <fmt/ranges.h>

#include <algorithm>

namespace kinetograph::interop {
namespace {

using Uuid = std::array<std::uint8_t, 16>;

std::string text_of(const Uuid& uuid) { return fmt::format("{:02x}", fmt::join(uuid, "")); }

bool at_the_same_place(const accel::DeviceInfo& accelerator, const vulkan::DeviceReport& display) {
    return accelerator.pci && display.pci && accelerator.pci->domain == display.pci->domain &&
           accelerator.pci->bus == display.pci->bus && accelerator.pci->device == display.pci->device;
}

/// Why the accelerator is not the GPU that displays, or cannot map its memory; empty: shared it is.
std::string against_sharing(const accel::DeviceInfo& accelerator, const vulkan::DeviceReport& display,
                            const RuledOut& ruled_out) {
    const bool same_place = at_the_same_place(accelerator, display);
    if (accelerator.uuid == Uuid{} && !same_place)
        return fmt::format("{} is no Vulkan device, frames are drawn by {}", accelerator.name, display.name);
    if (accelerator.uuid != display.uuid && !same_place)
        return fmt::format("{} (uuid {}) is not {} (uuid {}), which draws", accelerator.name, text_of(accelerator.uuid),
                           display.name, text_of(display.uuid));
    if (!display.extensions.external_memory_fd)
        return fmt::format("{} cannot export memory: VK_KHR_external_memory_fd is not enabled", display.name);
    if (!accelerator.can_import_memory)
        return fmt::format("{} cannot map memory of Vulkan: {}", accelerator.name,
                           accelerator.can_import_memory.reason);
    return ruled_out.shared_memory;
}

std::string against_pinned(const vulkan::DeviceReport& display, const RuledOut& ruled_out) {
    if (!display.extensions.external_memory_host)
        return fmt::format("{} cannot import pinned memory: VK_EXT_external_memory_host is not enabled", display.name);
    return ruled_out.pinned;
}

std::string against_mapped(const accel::DeviceInfo& accelerator, const RuledOut& ruled_out) {
    if (!accelerator.can_import_host)
        return fmt::format("{} cannot address mapped memory of Vulkan: {}", accelerator.name,
                           accelerator.can_import_host.reason);
    return ruled_out.mapped;
}

TopologyChoice headless(std::string_view why) {
    return {Topology::Headless, Staging::None, Timelines::None, fmt::format("headless: {}", why)};
}

TopologyChoice shared(const accel::DeviceInfo& accelerator, const vulkan::DeviceReport& display) {
    TopologyChoice choice{Topology::Shared, Staging::None, Timelines::Shared, {}};
    const std::string identity =
        accelerator.uuid == display.uuid
            ? fmt::format("uuid {}", text_of(accelerator.uuid))
            : fmt::format("pci {:04x}:{:02x}:{:02x}", display.pci->domain, display.pci->bus, display.pci->device);
    std::string timelines = "it waits for and signals Vulkan's timelines itself";
    if (!display.extensions.external_semaphore_fd) {
        choice.timelines = Timelines::Relayed;
        timelines = "timelines are relayed by threads: VK_KHR_external_semaphore_fd is not enabled";
    } else if (!accelerator.can_import_timeline) {
        choice.timelines = Timelines::Relayed;
        timelines = fmt::format("timelines are relayed by threads: {}", accelerator.can_import_timeline.reason);
    }
    choice.reason = fmt::format("shared: {} computes and draws ({}) and maps the memory that Vulkan exports; {}",
                                accelerator.name, identity, timelines);
    return choice;
}

TopologyChoice staged(const accel::DeviceInfo& accelerator, std::string_view not_shared,
                      const vulkan::DeviceReport& display, const RuledOut& ruled_out) {
    constexpr std::string_view kRelayed = "timelines are relayed by threads";
    const std::string not_pinned = against_pinned(display, ruled_out);
    if (not_pinned.empty())
        return {Topology::Staged, Staging::Pinned, Timelines::Relayed,
                fmt::format("staged: {}; pinned memory of the {} lane is imported by Vulkan; {}", not_shared,
                            accel::to_string(accelerator.kind), kRelayed)};
    const std::string not_mapped = against_mapped(accelerator, ruled_out);
    if (not_mapped.empty())
        return {Topology::Staged, Staging::Mapped, Timelines::Relayed,
                fmt::format("staged: {}; mapped memory of Vulkan is registered with the {} lane, because {}; {}",
                            not_shared, accel::to_string(accelerator.kind), not_pinned, kRelayed)};
    return headless(fmt::format("{}; {}; {}", not_shared, not_pinned, not_mapped));
}

constexpr std::size_t at(graph::Lane lane) { return static_cast<std::size_t>(lane); }

/// A semaphore that both sides see costs what one between two queues costs; a relay wakes a thread, which calls a
/// driver that wakes another.
constexpr Nanoseconds kBetweenQueues{50'000};
constexpr Nanoseconds kThroughARelay{150'000};

}  // namespace

std::string_view to_string(Topology topology) {
    switch (topology) {
        case Topology::Shared:
            return "shared";
        case Topology::Staged:
            return "staged";
        case Topology::Headless:
            return "headless";
    }
    return "?";
}

TopologyChoice choose_topology(const accel::DeviceInfo& accelerator, const vulkan::DeviceReport* display,
                               Topology closest, const RuledOut& ruled_out) {
    if (display == nullptr) return headless("there is no Vulkan device");
    if (closest == Topology::Headless) return headless("nothing closer was asked for");
    const std::string not_shared = closest == Topology::Staged ? "nothing closer was asked for"
                                                               : against_sharing(accelerator, *display, ruled_out);
    if (not_shared.empty()) return shared(accelerator, *display);
    return staged(accelerator, not_shared, *display, ruled_out);
}

graph::LaneTopology lane_topology(const accel::DeviceInfo& accelerator, const TopologyChoice& choice) {
    using graph::Lane;
    using graph::MemoryDomain;
    graph::LaneTopology topology;
    const auto reaches = [&](Lane lane, std::initializer_list<MemoryDomain> domains) {
        topology.present[at(lane)] = true;
        for (MemoryDomain domain : domains) topology.reaches[at(lane)][static_cast<std::size_t>(domain)] = true;
    };
    reaches(Lane::Accelerator, {MemoryDomain::Accelerator, MemoryDomain::Shared});
    reaches(Lane::Host, {MemoryDomain::Host});
    if (accelerator.kind == accel::Kind::Cpu) {  // one address space
        reaches(Lane::Accelerator, {MemoryDomain::Host});
        reaches(Lane::Host, {MemoryDomain::Accelerator});
        if (choice.topology != Topology::Shared) reaches(Lane::Host, {MemoryDomain::Shared});
    }
    if (choice.topology != Topology::Headless)
        for (Lane lane : {Lane::Graphics, Lane::AsyncCompute, Lane::Transfer})
            reaches(lane, {MemoryDomain::Graphics, MemoryDomain::Shared});
    for (Lane waiting : graph::kLanes)
        for (Lane signalling : graph::kLanes) {
            const bool host = waiting == Lane::Host || signalling == Lane::Host;
            const bool across = (waiting == Lane::Accelerator) != (signalling == Lane::Accelerator);
            const bool relayed = host || (across && choice.timelines != Timelines::Shared);
            topology.waits[at(waiting)][at(signalling)].hand_over = relayed ? kThroughARelay : kBetweenQueues;
        }
    return topology;
}

}  // namespace kinetograph::interop
