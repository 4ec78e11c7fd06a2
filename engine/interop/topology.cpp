#include <kinetograph/engine/interop/topology.hpp>

#include <fmt/ranges.h>

#include <algorithm>

namespace kinetograph::interop {
namespace {

using graph::Lane;
using graph::MemoryDomain;

using Uuid = std::array<std::uint8_t, 16>;

std::string text_of(const Uuid& uuid) { return fmt::format("{:02x}", fmt::join(uuid, "")); }

bool at_the_same_place(const accel::DeviceInfo& accelerator, const vulkan::DeviceReport& display) {
    return accelerator.pci && display.pci && accelerator.pci->domain == display.pci->domain &&
           accelerator.pci->bus == display.pci->bus && accelerator.pci->device == display.pci->device;
}

/// Why the two are not one GPU, or why the accelerator cannot map Vulkan's memory; empty: the topology is shared.
std::string against_sharing(const accel::DeviceInfo& accelerator, const vulkan::DeviceReport& display,
                            const RuledOut& ruled_out) {
    const bool one_gpu = is_one_gpu(accelerator, display);
    if (!one_gpu && accelerator.uuid == Uuid{})
        return fmt::format("{} is no Vulkan device, frames are drawn by {}", accelerator.name, display.name);
    if (!one_gpu)
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
                            accelerator.kind, kRelayed)};
    const std::string not_mapped = against_mapped(accelerator, ruled_out);
    if (not_mapped.empty())
        return {Topology::Staged, Staging::Mapped, Timelines::Relayed,
                fmt::format("staged: {}; mapped memory of Vulkan is registered with the {} lane, because {}; {}",
                            not_shared, accelerator.kind, not_pinned, kRelayed)};
    return headless(fmt::format("{}; {}; {}", not_shared, not_pinned, not_mapped));
}

/// A semaphore that both sides see costs as much as one between two queues; a relay wakes a thread that calls a driver
/// that wakes another thread.
constexpr Nanoseconds kBetweenQueues{50'000};
constexpr Nanoseconds kThroughARelay{150'000};

void reach_memory_of(graph::LaneTopology& topology, std::uint32_t a, std::span<const Coupling> couplings) {
    const auto& [accelerator, choice] = couplings[a];
    const Lane lane = Lane::accelerator(a);
    topology.let_reach(lane, {MemoryDomain::accelerator(a), MemoryDomain::shared(a)});
    if (couplings.size() > 1) topology.let_reach(lane, {MemoryDomain::Host});
    if (accelerator.is_host()) {  // one address space
        topology.let_reach(lane, {MemoryDomain::Host});
        topology.let_reach(Lane::Host, {MemoryDomain::accelerator(a)});
        if (choice.topology != Topology::Shared) topology.let_reach(Lane::Host, {MemoryDomain::shared(a)});
    }
    if (choice.topology == Topology::Headless) return;
    for (const Lane vulkan : {Lane::Graphics, Lane::AsyncCompute, Lane::Transfer})
        topology.let_reach(vulkan, {MemoryDomain::Graphics, MemoryDomain::shared(a)});
}

bool is_accelerator(Lane lane) { return lane.kind() == graph::LaneKind::Accelerator; }

/// Two lanes of one device see each other's timelines.
bool is_one_device(const accel::DeviceInfo& a, const accel::DeviceInfo& b) {
    return a.kind == b.kind && a.uuid == b.uuid && a.pci == b.pci;
}

bool is_relayed(Lane waiting, Lane signalling, std::span<const Coupling> couplings) {
    if (waiting == Lane::Host || signalling == Lane::Host) return true;
    if (!is_accelerator(waiting)) std::swap(waiting, signalling);
    if (!is_accelerator(waiting)) return false;
    const Coupling& coupling = couplings[waiting.device()];
    if (!is_accelerator(signalling)) return coupling.choice.timelines == Timelines::Relayed;
    return !is_one_device(coupling.accelerator, couplings[signalling.device()].accelerator);
}

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

bool is_one_gpu(const accel::DeviceInfo& accelerator, const vulkan::DeviceReport& display) {
    const bool same_uuid = accelerator.uuid != Uuid{} && accelerator.uuid == display.uuid;
    return same_uuid || at_the_same_place(accelerator, display);
}

TopologyChoice in_one_device(const vulkan::DeviceReport& display) {
    return {Topology::Shared, Staging::None, Timelines::Own,
            fmt::format("shared: {} computes and draws in one Vulkan device; nothing is exported or imported",
                        display.name)};
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

graph::LaneTopology lane_topology(std::span<const Coupling> couplings) {
    graph::LaneTopology topology;
    topology.accelerators = static_cast<std::uint32_t>(couplings.size());
    topology.let_reach(Lane::Host, {MemoryDomain::Host});
    for (std::uint32_t a = 0; a < couplings.size(); ++a) {
        if (couplings.size() > 1) topology.devices.push_back(couplings[a].accelerator.name);
        reach_memory_of(topology, a, couplings);
    }
    for (const Lane waiting : topology.lanes())
        for (const Lane signalling : topology.lanes())
            topology.waits[waiting.index()][signalling.index()].hand_over =
                is_relayed(waiting, signalling, couplings) ? kThroughARelay : kBetweenQueues;
    return topology;
}

graph::LaneTopology lane_topology(const accel::DeviceInfo& accelerator, const TopologyChoice& choice) {
    const Coupling coupling{accelerator, choice};
    return lane_topology({&coupling, 1});
}

}  // namespace kinetograph::interop
