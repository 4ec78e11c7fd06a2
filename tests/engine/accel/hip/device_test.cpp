#include "standin_fixture.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <cerrno>

namespace kinetograph::accel::hip {
namespace {

using HipDevices = Standin;

std::vector<std::byte> pattern(std::size_t bytes) {
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7 + 3);
    return made;
}

TEST_F(HipDevices, DescribeThemselves) {
    const DeviceInfo& info = device->info();
    EXPECT_EQ(info.kind, Kind::Hip);
    EXPECT_EQ(info.name, "Stand-in MI355X");
    EXPECT_EQ(info.driver, kStandin + ", HIP 7.0.51831");
    EXPECT_EQ(info.features, "gfx950:sramecc+:xnack-");
    EXPECT_EQ(info.architecture, "gfx950");
    EXPECT_TRUE(std::ranges::all_of(info.uuid, [](std::uint8_t byte) { return byte == 0x5A; }));
    EXPECT_EQ(info.pci, (PciAddress{.domain = 0, .bus = 0x75, .device = 0}));
    EXPECT_EQ(info.memory_bytes, 4ULL << 30U);
    EXPECT_EQ(info.compute_units, 256U);
    EXPECT_EQ(info.wave_size, 64U);
    EXPECT_EQ(info.shared_bytes_per_block, 160U << 10U);
    EXPECT_TRUE(info.can_load && info.can_capture && info.can_time_graphs && info.can_import_host &&
                info.can_import_memory);
    EXPECT_EQ(info.can_import_timeline.reason, "the device reports timelineSemaphoreInteropSupported 0");
}

TEST_F(HipDevices, MemoryIsNotTheHostsAndIsCounted) {
    {
        const auto weights = *device->allocate("weights", 10'000);
        const auto arena = *device->allocate("arena", 1U << 20U);
        EXPECT_EQ(weights->host_data(), nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weights->data()) % 256, 0U);
        EXPECT_EQ(device->bytes_allocated(), 10'000U + (1U << 20U));
    }
    EXPECT_EQ(device->bytes_allocated(), 0U);
    EXPECT_EQ(device->peak_bytes(), 10'000U + (1U << 20U));
}

TEST_F(HipDevices, MemoryTouchedByTheHostEndsTheProgramSoThatNoTestDoesItUnseen) {
    const auto memory = *device->allocate("weights", 4096);
    EXPECT_DEATH(*memory->data() = std::byte{1}, "");
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

TEST_F(HipDevices, MemoryMayOutliveItsDevice) {
    auto memory = std::move(*device->allocate("kept", 4096));
    device.reset();
    EXPECT_EQ(control.live().device_allocations, 1U);
}

TEST_F(HipDevices, ReadBackWhatWasUploaded) {
    const auto stream = *device->create_stream("test");
    const auto memory = *device->allocate("weights", 100'000);
    const auto given = pattern(100'000);
    std::vector<std::byte> got(given.size());
    ASSERT_TRUE(stream->upload(memory->data(), given));
    ASSERT_TRUE(stream->read_back(got, memory->data()));
    EXPECT_EQ(got, given);
}

TEST_F(HipDevices, PinnedMemoryIsSeenFromBothSidesAtItsOwnAddresses) {
    const auto stream = *device->create_stream("test");
    const auto pinned = *device->allocate_pinned("staging", 5000);
    EXPECT_EQ(pinned->bytes(), 8192U);
    EXPECT_EQ(device->bytes_allocated(), 0U);
    ASSERT_NE(pinned->host_data(), nullptr);
    EXPECT_NE(pinned->data(), pinned->host_data()) << "the stand-in tells the two sides apart";
    const auto memory = *device->allocate("frame", 5000);
    const auto given = pattern(5000);
    std::ranges::copy(given, pinned->host_data());
    stream->copy(memory->data(), pinned->data(), 5000);
    stream->fill(pinned->data(), std::byte{0}, 5000);
    stream->copy(pinned->data(), memory->data(), 4000);
    ASSERT_TRUE(stream->synchronize());
    EXPECT_TRUE(std::equal(given.begin(), given.begin() + 4000, pinned->host_data()));
    EXPECT_TRUE(std::all_of(pinned->host_data() + 4000, pinned->host_data() + 5000,
                            [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_F(HipDevices, AddressTheCallersHostMemory) {
    const auto stream = *device->create_stream("test");
    const auto pages = static_cast<std::byte*>(std::aligned_alloc(4096, 8192));
    {
        const auto imported = device->import_host("frame", {pages, 8192});
        ASSERT_TRUE(imported) << message_of(imported);
        stream->fill((*imported)->data() + 100, std::byte{9}, 50);
        ASSERT_TRUE(stream->synchronize());
        EXPECT_EQ(pages[149], std::byte{9});
        EXPECT_EQ(message_of(device->import_host("frame", {pages, 4096})),
                  "\"frame\": hipHostRegister: hipErrorInvalidValue (1)");
    }
    const auto ragged = device->import_host("frame", {pages + 1, 100});
    ASSERT_FALSE(ragged);
    EXPECT_EQ(ragged.error().code, ErrorCode::InvalidArgument);
    std::free(pages);
}

TEST_F(HipDevices, SayWhenTheDeviceCannotRegisterHostMemory) {
    start({.registers_host_memory = false});
    EXPECT_EQ(message_of(device->import_host("frame", {})),
              "importing \"frame\" into Stand-in MI355X: the device reports hostRegisterSupported 0");
}

TEST_F(HipDevices, MapMemoryOfAnotherApiAndTakeOverItsDescriptor) {
    const int fd = ::memfd_create("exported by another API", 0);
    ASSERT_EQ(::ftruncate(fd, 8192), 0);
    const int mirror = ::dup(fd);
    {
        const auto imported = device->import_memory("frame", {.fd = fd, .bytes = 8192, .dedicated = true});
        ASSERT_TRUE(imported) << message_of(imported);
        EXPECT_EQ(::fcntl(fd, F_GETFD), -1) << "the descriptor is the device's now";
        EXPECT_EQ((*imported)->bytes(), 8192U);
        EXPECT_EQ((*imported)->host_data(), nullptr);
        const auto stream = *device->create_stream("test");
        stream->fill((*imported)->data(), std::byte{0x42}, 8192);
        ASSERT_TRUE(stream->synchronize());
    }
    std::byte last{};
    EXPECT_EQ(::pread(mirror, &last, 1, 8191), 1);
    EXPECT_EQ(last, std::byte{0x42});
    ::close(mirror);
}

TEST_F(HipDevices, LeaveADescriptorThatTheyCannotImportToTheCaller) {
    start({.injections = {{"hipImportExternalMemory", 1, Status::InvalidValue}}});
    const int fd = ::memfd_create("exported by another API", 0);
    EXPECT_EQ(message_of(device->import_memory("frame", {.fd = fd, .bytes = 4096})),
              "\"frame\", 4096 bytes of another API: hipImportExternalMemory: hipErrorInvalidValue (1)");
    EXPECT_EQ(::close(fd), 0);
}

TEST_F(HipDevices, DeclineForeignTimelinesAsTheDriverDoes) {
    const auto declined = device->import_timeline(3);
    ASSERT_FALSE(declined);
    EXPECT_EQ(declined.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(declined.error().message,
              "importing a timeline into Stand-in MI355X: the device reports timelineSemaphoreInteropSupported 0");
    start({.imports_timelines = true});  // a driver that promises what it does not keep
    const auto refused = device->import_timeline(3);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(refused.error().message, "imported timeline: hipImportExternalSemaphore: hipErrorNotSupported (801)");
}

TEST_F(HipDevices, SayWhenStreamsCannotWaitForValues) {
    start({.waits_for_values = false});
    const auto timeline = device->create_timeline();
    ASSERT_FALSE(timeline);
    EXPECT_EQ(timeline.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(timeline.error().message,
              "timeline: streams of Stand-in MI355X cannot wait for values (hipDeviceAttributeCanUseStreamWaitValue is "
              "0)");
}

}  // namespace
}  // namespace kinetograph::accel::hip
