// Topology: how an accelerator and a Vulkan device come to see the same bytes and the same progress.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/graph/plan.hpp>
#include <kinetograph/engine/vulkan/device_report.hpp>

#include <span>
#include <string>

namespace kinetograph::interop {

enum class Topology : std::uint8_t {
    Shared,    ///< one GPU: both address the same memory; no copy
    Staged,    ///< two devices: host memory that both address
    Headless,  ///< no Vulkan: frames stay with the accelerator
};
std::string_view to_string(Topology topology);

/// Which host memory both sides address, in the staged topology.
enum class Staging : std::uint8_t {
    None,
    Pinned,  ///< the accelerator's pinned memory, imported by Vulkan (VK_EXT_external_memory_host)
    Mapped,  ///< Vulkan's mapped memory, registered with the accelerator
};

/// How one side learns of the other's progress.
enum class Timelines : std::uint8_t {
    None,
    Own,      ///< the accelerator computes in the Vulkan device: every timeline is a semaphore of that
    Shared,   ///< the accelerator waits for and signals Vulkan timeline semaphores on the device
    Relayed,  ///< host threads pass values on, one for each waiting lane
};

struct TopologyChoice {
    Topology topology = Topology::Headless;
    Staging staging = Staging::None;
    Timelines timelines = Timelines::None;
    /// Why, for a person: "staged: ...; pinned memory of ... is imported by Vulkan; ...".
    std::string reason;
};

/// Couplings that were tried on these two devices and failed, each with a sentence that says how; empty: not ruled out.
struct RuledOut {
    std::string shared_memory, pinned, mapped;
};

/// Whether two devices are one GPU: they have the same UUID or the same PCI address, because HIP's UUIDs are not those
/// of every Vulkan driver. A UUID of zeros matches no device.
bool is_one_gpu(const accel::DeviceInfo& accelerator, const vulkan::DeviceReport& display);

/// The closest coupling of `accelerator` and `display` (null: no Vulkan) that is not closer than `closest`. Pure:
/// decided by what the devices report and by `ruled_out`, in which Bridge passes what it found out by trying.
TopologyChoice choose_topology(const accel::DeviceInfo& accelerator, const vulkan::DeviceReport* display,
                               Topology closest = Topology::Shared, const RuledOut& ruled_out = {});
/// The same for an accelerator that computes in the Vulkan device itself (accel::VulkanBackend::display_of).
TopologyChoice in_one_device(const vulkan::DeviceReport& display);

/// One of a graph's accelerators, and how it is coupled to the graph's Vulkan device.
struct Coupling {
    accel::DeviceInfo accelerator;
    TopologyChoice choice;
};

/// Which lanes reach which memory, and what a hand-over costs, for graph::CompileOptions. An accelerator's index in the
/// list is that of its lane and of its memory: graph::Lane::accelerator(0) for the first. Several accelerators exchange
/// data in host memory, which accel::PinnedMemory serves.
graph::LaneTopology lane_topology(std::span<const Coupling> couplings);
/// The same for a graph with one accelerator.
graph::LaneTopology lane_topology(const accel::DeviceInfo& accelerator, const TopologyChoice& choice);

}  // namespace kinetograph::interop
