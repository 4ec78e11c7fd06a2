// Devices of both drivers: their memory, the host's, and another API's.
#include "driver_under_test.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>

namespace kinetograph::accel {
namespace {

using DriverDevices = DriverTest;

std::vector<std::byte> pattern(std::size_t bytes) {
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7 + 3);
    return made;
}

TEST_P(DriverDevices, MemoryIsNotTheHostsAndIsCounted) {
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

TEST_P(DriverDevices, RefuseMoreThanIsFreeNamingWhatWasAskedAndWhatIsFree) {
    const auto refused = device->allocate("transient arena", 1ULL << 45U);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_TRUE(refused.error().message.starts_with("\"transient arena\" needs 35184372088832 bytes, "));
    EXPECT_TRUE(refused.error().message.ends_with(
        " bytes are free on " + device_name() + ": " +
        driver.word("hipMalloc: hipErrorOutOfMemory", "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY") + " (2)"))
        << message_of(refused);
    EXPECT_EQ(device->bytes_allocated(), 0U);
}

TEST_P(DriverDevices, HandOutNoMoreThanTheirBudgetAndAskForRoomFirst) {
    std::unique_ptr<Memory> cache = *device->allocate("cache", 10'000);
    const std::uint64_t unbound = device->bytes_free();
    EXPECT_GT(unbound, 1U << 20U) << "what the driver says";
    device->set_budget({.bytes = 16'000, .on_pressure = [&](const MemoryPressure& pressure) {
                            EXPECT_EQ(pressure.name, "arena");
                            EXPECT_EQ(pressure.bytes, 8'000U);
                            EXPECT_EQ(pressure.free, 6'000U);
                            EXPECT_EQ(pressure.budget, 16'000U);
                            return std::exchange(cache, nullptr) != nullptr;
                        }});
    EXPECT_EQ(device->bytes_free(), 6'000U);
    const auto arena = device->allocate("arena", 8'000);
    ASSERT_TRUE(arena) << message_of(arena);
    device->set_budget({.bytes = 16'000});
    const auto refused = device->allocate("more", 8'001);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_EQ(refused.error().message,
              "\"more\" needs 8001 bytes, the budget of 16000 bytes on " + device_name() + " leaves 8000");
    EXPECT_EQ(device->bytes_allocated(), 8'000U);
}

TEST_P(DriverDevices, FreeMemoryIsWhatTheDriverReports) {
    if (real()) GTEST_SKIP() << "other programs allocate too";
    const std::uint64_t before = device->bytes_free();
    const auto other = driver.create();
    ASSERT_TRUE(other);
    const auto theirs = (*other)->allocate("another's", 1U << 20U);
    ASSERT_TRUE(theirs);
    EXPECT_EQ(device->bytes_free(), before - (1U << 20U));
    EXPECT_EQ(device->bytes_allocated(), 0U);
}

TEST_P(DriverDevices, MemoryTouchedByTheHostEndsTheProgramSoThatNoTestDoesItUnseen) {
    if (real()) GTEST_SKIP() << "only stand-ins promise it";
    const auto memory = *device->allocate("weights", 4096);
    EXPECT_DEATH(*memory->data() = std::byte{1}, "");
}

TEST_P(DriverDevices, MemoryMayOutliveItsDevice) {
    auto memory = std::move(*device->allocate("kept", 4096));
    device.reset();
    if (control != nullptr) {
        EXPECT_EQ(control->live().device_allocations, 1U);
    }
}

TEST_P(DriverDevices, ReadBackWhatWasUploaded) {
    const auto stream = *device->create_stream("test");
    const auto memory = *device->allocate("weights", 100'000);
    const auto given = pattern(100'000);
    std::vector<std::byte> got(given.size());
    ASSERT_TRUE(stream->upload(memory->data(), given));
    ASSERT_TRUE(stream->read_back(got, memory->data()));
    EXPECT_EQ(got, given);
}

TEST_P(DriverDevices, PinnedMemoryIsSeenFromBothSides) {
    const auto stream = *device->create_stream("test");
    const auto pinned = *device->allocate_pinned("staging", 5000);
    EXPECT_EQ(pinned->bytes(), 8192U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pinned->host_data()) % 4096, 0U);
    EXPECT_EQ(device->bytes_allocated(), 0U);
    ASSERT_NE(pinned->host_data(), nullptr);
    if (!real()) {
        EXPECT_NE(pinned->data(), pinned->host_data()) << "stand-ins tell the two sides apart";
    }
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

TEST_P(DriverDevices, AddressTheCallersHostMemory) {
    const auto stream = *device->create_stream("test");
    const auto pages = static_cast<std::byte*>(std::aligned_alloc(4096, 8192));
    {
        const auto imported = device->import_host("frame", {pages, 8192});
        ASSERT_TRUE(imported) << message_of(imported);
        stream->fill((*imported)->data() + 100, std::byte{9}, 50);
        ASSERT_TRUE(stream->synchronize());
        EXPECT_EQ(pages[149], std::byte{9});
        for (const std::size_t bytes : {4096, 8192})
            EXPECT_EQ(
                message_of(device->import_host("frame", {pages, bytes})),
                "\"frame\": " + driver.word("hipHostRegister: hipErrorInvalidValue (1)",
                                            "cuMemHostRegister: CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED (712)"));
    }
    const auto ragged = device->import_host("frame", {pages + 1, 100});
    ASSERT_FALSE(ragged);
    EXPECT_EQ(ragged.error().code, ErrorCode::InvalidArgument);
    std::free(pages);
}

TEST_P(DriverDevices, MapMemoryOfAnotherApiAndTakeOverItsDescriptor) {
    if (real()) GTEST_SKIP() << "a real driver imports from Vulkan";
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

INSTANTIATE_TEST_SUITE_P(Of, DriverDevices, testing::Values(kHip, kCuda), name_of);

}  // namespace
}  // namespace kinetograph::accel
