// What HIP devices say of themselves; the rest is in driver_device_test.cpp.
#include "standin_fixture.hpp"

#include <algorithm>

namespace kinetograph::accel::hip {
namespace {

using HipDevices = Standin;

TEST_F(HipDevices, DescribeThemselves) {
    const DeviceInfo& info = device->info();
    EXPECT_EQ(info.kind, "hip");
    EXPECT_EQ(info.name, "Stand-in MI355X");
    EXPECT_EQ(info.driver, kStandin + ", HIP 7.0.51831");
    EXPECT_EQ(info.features, "gfx950:sramecc+:xnack-");
    EXPECT_EQ(info.architecture, "gfx950");
    EXPECT_TRUE(std::ranges::all_of(info.uuid, [](std::uint8_t byte) { return byte == 0x5A; }));
    EXPECT_EQ(info.pci, (PciAddress{.domain = 0, .bus = 0x75, .device = 0}));
    EXPECT_EQ(info.memory_bytes, 4ULL << 30U);
    EXPECT_EQ(info.compute_units, 256U);
    EXPECT_EQ(info.shared_bytes_per_block, 160U << 10U);
    EXPECT_TRUE(info.can_load && info.can_capture && info.can_time_graphs && info.can_import_host &&
                info.can_import_memory);
    EXPECT_EQ(info.can_import_timeline.reason, "the device reports timelineSemaphoreInteropSupported 0");
}

TEST_F(HipDevices, RefuseMoreThanIsFreeNamingWhatWasAskedAndWhatIsFree) {
    start({.memory_bytes = 1U << 20U});
    const auto kept = *device->allocate("kept", 512U << 10U);
    const auto refused = device->allocate("transient arena", 600U << 10U);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_EQ(refused.error().message,
              "\"transient arena\" needs 614400 bytes, 524288 of 1048576 bytes are free on Stand-in MI355X: hipMalloc: "
              "hipErrorOutOfMemory (2)");
    EXPECT_EQ(device->bytes_allocated(), 512U << 10U);
}

TEST_F(HipDevices, SayWhenTheDriverPromisesTimelinesAndRefusesThem) {
    start({.imports_timelines = true});  // a driver that promises what it does not keep
    const auto refused = device->import_timeline(3, std::make_shared<graph::HostTimeline>());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(refused.error().message, "imported timeline: hipImportExternalSemaphore: hipErrorNotSupported (801)");
}

}  // namespace
}  // namespace kinetograph::accel::hip
