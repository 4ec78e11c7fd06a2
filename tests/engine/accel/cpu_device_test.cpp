#include <gtest/gtest.h>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace kinetograph::accel::cpu {
namespace {

TEST(CpuDevice, DescribesTheProcessor) {
    const auto device = create_device();
    EXPECT_EQ(device->info().kind, "cpu");
    EXPECT_FALSE(device->info().name.empty());
    EXPECT_GT(device->info().memory_bytes, 1U << 20U);
    EXPECT_GE(device->info().compute_units, 1U);
}

TEST(CpuDevice, MemoryIsZeroedPageAlignedAndCounted) {
    const auto device = create_device();
    {
        const auto memory = *device->allocate("weights", 10'000);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % 4096, 0U);
        EXPECT_GE(memory->bytes(), 10'000U);
        EXPECT_TRUE(
            std::all_of(memory->data(), memory->data() + 10'000, [](std::byte b) { return b == std::byte{0}; }));
        EXPECT_EQ(device->bytes_allocated(), memory->bytes());
    }
    EXPECT_EQ(device->bytes_allocated(), 0U);
    EXPECT_GE(device->peak_bytes(), 10'000U);
}

TEST(CpuDevice, RefusesMoreThanItsBudgetNamingWhatWasAskedAndWhatIsLeft) {
    const auto device = create_device({.budget = {.bytes = 1U << 20U}});
    const auto kept = *device->allocate("kept", 512U << 10U);
    const auto refused = device->allocate("transient arena", 600U << 10U);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_EQ(refused.error().message, "\"transient arena\" needs 614400 bytes, the budget of 1048576 bytes on " +
                                           device->info().name + " leaves 524288");
    EXPECT_EQ(device->bytes_allocated(), 512U << 10U);
    EXPECT_EQ(device->bytes_free(), 512U << 10U);
    device->set_budget({});
    EXPECT_TRUE(device->allocate("transient arena", 600U << 10U));
    EXPECT_GT(device->bytes_free(), 512U << 10U);
}

TEST(CpuDevice, AsksTheApplicationToMakeRoomOnceBeforeItRefuses) {
    std::unique_ptr<Memory> cache;
    std::vector<MemoryPressure> asked;
    const auto device =
        create_device({.budget = {.bytes = 1U << 20U, .on_pressure = [&](const MemoryPressure& pressure) {
                                      asked.push_back(pressure);
                                      return std::exchange(cache, nullptr) != nullptr;
                                  }}});
    cache = *device->allocate("cache", 512U << 10U);
    const auto arena = device->allocate("arena", 600U << 10U);
    EXPECT_TRUE(arena) << arena.error().message;
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].bytes, 600U << 10U);
    EXPECT_EQ(asked[0].free, 512U << 10U);
    EXPECT_EQ(asked[0].budget, 1U << 20U);
    EXPECT_FALSE(device->allocate("another arena", 600U << 10U)) << "nothing is left to release";
    EXPECT_EQ(asked.size(), 2U);
}

TEST(CpuDevice, TakesMemoryFromTheApplicationsAllocatorAndGivesItBack) {
    std::size_t held = 0;
    bool refuses = false;
    const auto device = create_device({.host = {.allocate = [&](std::size_t bytes, std::size_t alignment) -> void* {
                                                    if (refuses) return nullptr;
                                                    held += bytes;
                                                    void* memory = std::aligned_alloc(alignment, bytes);
                                                    std::memset(memory, 1, bytes);
                                                    return memory;
                                                },
                                                .release =
                                                    [&](void* memory, std::size_t bytes) {
                                                        held -= bytes;
                                                        std::free(memory);
                                                    }}});
    auto memory = device->allocate("arena", 10'000);
    ASSERT_TRUE(memory);
    EXPECT_EQ(held, 12'288U);
    EXPECT_EQ((*memory)->data()[9'999], std::byte{0}) << "a CPU device's memory is zero at first";
    memory->reset();
    EXPECT_EQ(held, 0U);
    refuses = true;
    const auto refused = device->allocate("arena", 10'000);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "\"arena\" needs 10000 bytes, which the application's allocator refused");
    EXPECT_EQ(device->bytes_allocated(), 0U);
}

TEST(CpuDevice, DeclinesDeviceCodeCaptureAndForeignMemorySayingWhy) {
    const auto device = create_device();
    const DeviceInfo& info = device->info();
    EXPECT_FALSE(info.can_load);
    const auto loaded = device->load("conv2d", {});
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(loaded.error().message, "loading \"conv2d\" on " + info.name +
                                          ": the CPU runs host functions (Stream::enqueue), not device code");
    const auto memory = device->import_memory("frame", {.fd = 3, .bytes = 4096});
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.error().code, ErrorCode::Unsupported);
    EXPECT_NE(memory.error().message.find(info.can_import_memory.reason), std::string::npos);
    const auto timeline = device->import_timeline(3, std::make_shared<graph::HostTimeline>());
    ASSERT_FALSE(timeline);
    EXPECT_EQ(timeline.error().code, ErrorCode::Unsupported);
    EXPECT_NE(timeline.error().message.find(info.can_import_timeline.reason), std::string::npos);
}

TEST(CpuDevice, AddressesPinnedAndImportedHostMemoryAsItIs) {
    const auto device = create_device();
    const auto pinned = *device->allocate_pinned("staging", 4096);
    EXPECT_EQ(pinned->data(), pinned->host_data());
    EXPECT_EQ(device->bytes_allocated(), 4096U);
    const auto imported = device->import_host("frame", {pinned->host_data(), 4096});
    ASSERT_TRUE(imported) << imported.error().message;
    EXPECT_EQ((*imported)->data(), pinned->data());
    EXPECT_EQ(device->bytes_allocated(), 4096U) << "the caller's memory is not the device's";
    const auto ragged = device->import_host("frame", {pinned->host_data() + 1, 100});
    ASSERT_FALSE(ragged);
    EXPECT_EQ(ragged.error().code, ErrorCode::InvalidArgument);
}

TEST(CpuDevice, RefusesASizeThatOverflows) { EXPECT_FALSE(create_device()->allocate("absurd", ~std::uint64_t{0})); }

TEST(CpuDevice, MemoryMayOutliveItsDevice) {
    auto device = create_device();
    auto memory = std::move(*device->allocate("kept", 4096));
    device.reset();
    memory->data()[4095] = std::byte{1};
}

}  // namespace
}  // namespace kinetograph::accel::cpu
