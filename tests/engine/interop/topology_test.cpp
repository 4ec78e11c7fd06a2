#include <gtest/gtest.h>
#include <kinetograph/engine/interop/topology.hpp>

namespace kinetograph::interop {
namespace {

constexpr std::array<std::uint8_t, 16> kUuid{0xab, 0xcd, 1, 2, 3};

/// A GPU that can do everything.
accel::DeviceInfo gpu() {
    accel::DeviceInfo info;
    info.kind = "hip";
    info.name = "AMD Instinct MI355X";
    info.uuid = kUuid;
    info.can_import_host.available = true;
    info.can_import_memory.available = true;
    info.can_import_timeline.available = true;
    return info;
}
vulkan::DeviceReport display() {
    vulkan::DeviceReport report;
    report.name = "Radeon";
    report.uuid = kUuid;
    report.extensions.external_memory_fd = true;
    report.extensions.external_semaphore_fd = true;
    report.extensions.external_memory_host = true;
    return report;
}
accel::DeviceInfo cpu() {
    accel::DeviceInfo info;
    info.name = "EPYC";
    info.can_import_host.available = true;
    return info;
}

void expect_choice(const TopologyChoice& choice, Topology topology, Staging staging, Timelines timelines,
                   std::string_view reason) {
    EXPECT_EQ(choice.topology, topology) << choice.reason;
    EXPECT_EQ(choice.staging, staging) << choice.reason;
    EXPECT_EQ(choice.timelines, timelines) << choice.reason;
    EXPECT_EQ(choice.reason, reason);
}

TEST(Topologies, TheSameGpuSharesMemoryAndTimelines) {
    const auto report = display();
    expect_choice(choose_topology(gpu(), &report), Topology::Shared, Staging::None, Timelines::Shared,
                  "shared: AMD Instinct MI355X computes and draws (uuid abcd0102030000000000000000000000) and maps the "
                  "memory that Vulkan exports; it waits for and signals Vulkan's timelines itself");
}

TEST(Topologies, AnAcceleratorThatImportsNoSemaphoresSharesMemoryAndHasTimelinesRelayed) {
    const auto report = display();
    auto info = gpu();
    info.can_import_timeline = {false, "HIP on Linux has no external semaphores"};
    const auto choice = choose_topology(info, &report);
    EXPECT_EQ(choice.topology, Topology::Shared);
    EXPECT_EQ(choice.timelines, Timelines::Relayed);
    EXPECT_NE(choice.reason.find("relayed by threads: HIP on Linux has no external semaphores"), std::string::npos);
}

TEST(Topologies, AVulkanDeviceThatExportsNoSemaphoresHasTimelinesRelayed) {
    auto report = display();
    report.extensions.external_semaphore_fd = false;
    const auto choice = choose_topology(gpu(), &report);
    EXPECT_EQ(choice.topology, Topology::Shared);
    EXPECT_EQ(choice.timelines, Timelines::Relayed);
    EXPECT_NE(choice.reason.find("VK_KHR_external_semaphore_fd is not enabled"), std::string::npos);
}

TEST(Topologies, TwoGpusStageInPinnedMemoryAndBothAreNamedWithTheirUuids) {
    auto report = display();
    report.uuid[0] = 0xff;
    expect_choice(
        choose_topology(gpu(), &report), Topology::Staged, Staging::Pinned, Timelines::Relayed,
        "staged: AMD Instinct MI355X (uuid abcd0102030000000000000000000000) is not Radeon (uuid "
        "ffcd0102030000000000000000000000), which draws; pinned memory of the hip lane is imported by Vulkan; "
        "timelines are relayed by threads");
}

TEST(Topologies, TheSamePlaceOnThePciBusIsTheSameGpuWhateverItsUuidsAre) {
    auto report = display();
    auto info = gpu();
    report.uuid[0] = 0xff;
    info.pci = accel::PciAddress{.domain = 0, .bus = 0xc1, .device = 3};
    EXPECT_EQ(choose_topology(info, &report).topology, Topology::Staged);
    report.pci = vulkan::PciPlace{.domain = 0, .bus = 0xc1, .device = 4};
    EXPECT_EQ(choose_topology(info, &report).topology, Topology::Staged);
    report.pci->device = 3;
    const auto choice = choose_topology(info, &report);
    EXPECT_EQ(choice.topology, Topology::Shared);
    EXPECT_NE(choice.reason.find("computes and draws (pci 0000:c1:03)"), std::string::npos) << choice.reason;
}

TEST(Topologies, AUuidOfZerosMatchesNoDevice) {
    auto report = display();
    report.uuid = {};
    auto info = gpu();
    info.uuid = {};
    EXPECT_EQ(choose_topology(info, &report).topology, Topology::Staged);
    expect_choice(choose_topology(cpu(), &report), Topology::Staged, Staging::Pinned, Timelines::Relayed,
                  "staged: EPYC is no Vulkan device, frames are drawn by Radeon; pinned memory of the cpu lane is "
                  "imported by Vulkan; timelines are relayed by threads");
}

TEST(Topologies, TheSameGpuStagesWhereMemoryCannotCross) {
    auto report = display();
    auto info = gpu();
    info.can_import_memory = {false, "hipImportExternalMemory is missing"};
    auto choice = choose_topology(info, &report);
    EXPECT_EQ(choice.topology, Topology::Staged);
    EXPECT_NE(choice.reason.find("cannot map memory of Vulkan: hipImportExternalMemory is missing"), std::string::npos);
    report.extensions.external_memory_fd = false;
    choice = choose_topology(gpu(), &report);
    EXPECT_EQ(choice.topology, Topology::Staged);
    EXPECT_NE(choice.reason.find("Radeon cannot export memory: VK_KHR_external_memory_fd"), std::string::npos);
}

TEST(Topologies, WithoutHostImportsVulkansMappedMemoryIsRegistered) {
    auto report = display();
    report.extensions.external_memory_host = false;
    expect_choice(choose_topology(cpu(), &report), Topology::Staged, Staging::Mapped, Timelines::Relayed,
                  "staged: EPYC is no Vulkan device, frames are drawn by Radeon; mapped memory of Vulkan is registered "
                  "with the cpu lane, because Radeon cannot import pinned memory: VK_EXT_external_memory_host is not "
                  "enabled; timelines are relayed by threads");
}

TEST(Topologies, WithNothingInCommonItIsHeadlessAndEveryReasonIsGiven) {
    auto report = display();
    report.extensions.external_memory_host = false;
    auto info = cpu();
    info.can_import_host = {false, "hipHostRegister is missing"};
    expect_choice(choose_topology(info, &report), Topology::Headless, Staging::None, Timelines::None,
                  "headless: EPYC is no Vulkan device, frames are drawn by Radeon; Radeon cannot import pinned memory: "
                  "VK_EXT_external_memory_host is not enabled; EPYC cannot address mapped memory of Vulkan: "
                  "hipHostRegister is missing");
}

TEST(Topologies, WithoutVulkanItIsHeadless) {
    expect_choice(choose_topology(gpu(), nullptr), Topology::Headless, Staging::None, Timelines::None,
                  "headless: there is no Vulkan device");
}

TEST(Topologies, ACloserOneThanAskedForIsNotChosen) {
    const auto report = display();
    EXPECT_EQ(choose_topology(gpu(), &report, Topology::Staged).topology, Topology::Staged);
    EXPECT_EQ(choose_topology(gpu(), &report, Topology::Headless).topology, Topology::Headless);
}

TEST(Topologies, WhatWasTriedInVainIsRuledOutWithItsReason) {
    const auto report = display();
    RuledOut ruled_out{.shared_memory = "tried in vain: error 1", .pinned = {}, .mapped = {}};
    auto choice = choose_topology(gpu(), &report, Topology::Shared, ruled_out);
    EXPECT_EQ(choice.staging, Staging::Pinned);
    EXPECT_NE(choice.reason.find("staged: tried in vain: error 1;"), std::string::npos) << choice.reason;
    ruled_out.pinned = "tried in vain: error 2";
    choice = choose_topology(gpu(), &report, Topology::Shared, ruled_out);
    EXPECT_EQ(choice.staging, Staging::Mapped);
    ruled_out.mapped = "tried in vain: error 3";
    choice = choose_topology(gpu(), &report, Topology::Shared, ruled_out);
    EXPECT_EQ(choice.topology, Topology::Headless);
    for (const char* error : {"error 1", "error 2", "error 3"})
        EXPECT_NE(choice.reason.find(error), std::string::npos) << choice.reason;
}

bool reaches(const graph::LaneTopology& lanes, graph::Lane lane, graph::MemoryDomain domain) {
    return lanes.reaches[lane.index()][domain.index()];
}
Nanoseconds hand_over(const graph::LaneTopology& lanes, graph::Lane waiting, graph::Lane signalling) {
    return lanes.waits[waiting.index()][signalling.index()].hand_over;
}

TEST(LaneTopologies, RelayedHandOversCostMoreThanSharedOnes) {
    using graph::Lane;
    const auto report = display();
    const auto shared = lane_topology(gpu(), choose_topology(gpu(), &report));
    const auto staged = lane_topology(gpu(), choose_topology(gpu(), &report, Topology::Staged));
    EXPECT_LT(hand_over(shared, Lane::Graphics, Lane::Accelerator),
              hand_over(staged, Lane::Graphics, Lane::Accelerator));
    EXPECT_EQ(hand_over(shared, Lane::Graphics, Lane::Accelerator), hand_over(staged, Lane::Graphics, Lane::Transfer));
    EXPECT_EQ(hand_over(shared, Lane::Host, Lane::Accelerator), hand_over(staged, Lane::Accelerator, Lane::Graphics));
}

TEST(LaneTopologies, TwoAcceleratorsMeetInHostMemoryAndKeepTheirOwn) {
    using graph::Lane;
    using graph::MemoryDomain;
    const auto report = display();
    accel::DeviceInfo other = gpu();
    other.name = "the other GPU";
    other.uuid[0] ^= 1U;
    const Coupling drawing{gpu(), choose_topology(gpu(), &report)}, computing{other, choose_topology(other, nullptr)};
    const auto lanes = lane_topology(std::array{drawing, computing});
    EXPECT_EQ(lanes.accelerators, 2U);
    EXPECT_EQ(lanes.devices, (std::vector<std::string>{gpu().name, other.name}));
    for (const std::uint32_t a : {0U, 1U}) {
        EXPECT_TRUE(reaches(lanes, Lane::accelerator(a), MemoryDomain::accelerator(a)));
        EXPECT_TRUE(reaches(lanes, Lane::accelerator(a), MemoryDomain::Host));
        EXPECT_FALSE(reaches(lanes, Lane::accelerator(a), MemoryDomain::accelerator(1 - a)));
        EXPECT_EQ(reaches(lanes, Lane::Graphics, MemoryDomain::shared(a)), a == 0);
    }
    EXPECT_GT(hand_over(lanes, Lane::accelerator(1), Lane::Accelerator),
              hand_over(lanes, Lane::Graphics, Lane::Accelerator));
    const auto streams = lane_topology(std::array{drawing, drawing});  // two streams of one device
    EXPECT_EQ(hand_over(streams, Lane::accelerator(1), Lane::Accelerator),
              hand_over(lanes, Lane::Graphics, Lane::Accelerator));
}

TEST(LaneTopologies, TheHostReachesSharedMemoryOnlyWhereKernelsAddressesAreItsOwn) {
    using graph::Lane;
    using graph::MemoryDomain;
    const auto report = display();
    EXPECT_FALSE(reaches(lane_topology(gpu(), choose_topology(gpu(), &report)), Lane::Host, MemoryDomain::Shared));
    EXPECT_TRUE(reaches(lane_topology(cpu(), choose_topology(cpu(), &report)), Lane::Host, MemoryDomain::Shared));
    const auto headless = lane_topology(gpu(), choose_topology(gpu(), nullptr));
    EXPECT_TRUE(reaches(headless, Lane::Accelerator, MemoryDomain::Shared));
    EXPECT_FALSE(headless.present[Lane::Graphics.index()]);
}

}  // namespace
}  // namespace kinetograph::interop
