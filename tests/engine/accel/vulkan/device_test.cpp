// Vulkan devices as accelerators: how they describe themselves, their memory, and the host's.
#include "vulkan_accel_fixture.hpp"

#include <algorithm>

namespace kinetograph::accel::vulkan {
namespace {

using VulkanDevices = VulkanAccelTest;

std::vector<std::byte> pattern(std::size_t bytes) {
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7 + 3);
    return made;
}

TEST_F(VulkanDevices, DescribeThemselvesToGates) {
    const DeviceInfo& info = device->info();
    EXPECT_EQ(info.kind, "vulkan");
    EXPECT_EQ(info.architecture, "vulkan1.3");
    EXPECT_EQ(info.name, engine->report().name);
    EXPECT_EQ(info.uuid, engine->report().uuid);
    EXPECT_TRUE(info.features.starts_with("subgroup-")) << info.features;
    EXPECT_EQ(info.features.find("float16") != std::string::npos,
              engine->report().compute.float16 && engine->report().compute.storage16);
    EXPECT_GE(info.shared_bytes_per_block, 16U << 10U);
    EXPECT_TRUE(info.can_load && info.can_capture && info.can_time_graphs);
    EXPECT_EQ(device_of(*device), engine.get());
    EXPECT_EQ(device_of(*open("cpu").value()), nullptr);
}

TEST(VulkanDevicesByName, OpenByOrdinalAndByUuid) {
    const auto all = inspect_devices();
    ASSERT_TRUE(all) << message_of(all);
    const auto device = open("vulkan:0");
    ASSERT_TRUE(device) << message_of(device);
    EXPECT_EQ((*device)->info().name, all->front().name);
    EXPECT_EQ((*device)->info().features, all->front().features);
    EXPECT_TRUE(open("vulkan:" + uuid_text(all->front())));
    const std::size_t count = all->size();
    EXPECT_EQ(message_of(open(fmt::format("vulkan:{}", count))),
              fmt::format("Vulkan device {}: {} can compute, counted from 0", count, count));
    const auto stream = (*device)->create_stream("test").value();
    const auto memory = (*device)->allocate("memory", 100'000).value();
    const auto given = pattern(100'000);
    std::vector<std::byte> got(given.size());
    ASSERT_TRUE(stream->upload(memory->data(), given));
    ASSERT_TRUE(stream->read_back(got, memory->data()));
    EXPECT_EQ(got, given);
}

TEST_F(VulkanDevices, MemoryIsCountedAndItsBufferIsKnown) {
    const std::uint64_t before = device->bytes_allocated();
    {
        const auto weights = device->allocate("weights", 10'000).value();
        EXPECT_EQ(weights->host_data(), nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weights->data()) % 256, 0U);
        EXPECT_EQ(device->bytes_allocated(), before + 10'000);
        const auto place = buffer_at(*device, weights->data() + 100, 9'900);
        ASSERT_TRUE(place) << message_of(place);
        EXPECT_NE(place->buffer, VK_NULL_HANDLE);
        EXPECT_EQ(place->offset, 100U);
        EXPECT_FALSE(buffer_at(*device, weights->data() + 100, 9'901));
        EXPECT_TRUE(device->check_address(weights->data() + 9'999));
        EXPECT_FALSE(device->check_address(weights->data() + 10'000));
    }
    EXPECT_EQ(device->bytes_allocated(), before);
}

TEST_F(VulkanDevices, RefuseMoreThanIsFreeNamingWhatWasAskedAndWhatIsFree) {
    const auto refused = device->allocate("transient arena", 1ULL << 45U);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_TRUE(refused.error().message.starts_with("\"transient arena\" needs 35184372088832 bytes, "));
    EXPECT_TRUE(refused.error().message.ends_with(" bytes are free on " + device->info().name +
                                                  ": vkAllocateMemory: VK_ERROR_OUT_OF_DEVICE_MEMORY"))
        << message_of(refused);
}

TEST_F(VulkanDevices, HandOutNoMoreThanTheirBudgetAndAskForRoomFirst) {
    const std::uint64_t held = device->bytes_allocated();
    std::unique_ptr<Memory> cache = device->allocate("cache", 10'000).value();
    device->set_budget({.bytes = held + 16'000, .on_pressure = [&](const MemoryPressure& pressure) {
                            EXPECT_EQ(pressure.free, 6'000U);
                            return std::exchange(cache, nullptr) != nullptr;
                        }});
    const auto arena = device->allocate("arena", 8'000);
    ASSERT_TRUE(arena) << message_of(arena);
    device->set_budget({.bytes = held + 16'000});
    EXPECT_EQ(message_of(device->allocate("more", 8'001)),
              fmt::format("\"more\" needs 8001 bytes, the budget of {} bytes on {} leaves 8000", held + 16'000,
                          device->info().name));
}

TEST_F(VulkanDevices, MemoryMayOutliveADeviceThatWasOpened) {
    auto opened = open("vulkan").value();
    const auto memory = opened->allocate("kept", 4096).value();
    const auto timeline = opened->create_timeline().value();
    opened.reset();
    timeline->signal(3);
    EXPECT_EQ(timeline->value(), 3U);
}

TEST_F(VulkanDevices, ReadBackMoreThanTheStagingMemoryHolds) {
    constexpr std::size_t kBytes = (17U << 20U) + 5;
    const auto memory = device->allocate("weights", kBytes).value();
    const auto given = pattern(kBytes);
    std::vector<std::byte> got(kBytes);
    ASSERT_TRUE(stream->upload(memory->data(), given));
    ASSERT_TRUE(stream->read_back(got, memory->data()));
    EXPECT_EQ(got, given);
}

TEST_F(VulkanDevices, PinnedMemoryIsSeenFromBothSides) {
    const std::uint64_t held = device->bytes_allocated();
    const auto pinned = device->allocate_pinned("staging", 5000).value();
    EXPECT_EQ(pinned->bytes(), 8192U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pinned->host_data()) % 4096, 0U);
    EXPECT_EQ(device->bytes_allocated(), held);
    const auto memory = device->allocate("frame", 5000).value();
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

TEST_F(VulkanDevices, AddressTheCallersHostMemory) {
    ASSERT_TRUE(device->info().can_import_host) << device->info().can_import_host.reason;
    constexpr std::size_t kBytes = 1U << 20U;
    auto* const pages = static_cast<std::byte*>(std::aligned_alloc(4096, kBytes));
    {
        const auto imported = device->import_host("frame", {pages, kBytes});
        ASSERT_TRUE(imported) << message_of(imported);
        stream->fill((*imported)->data() + 100, std::byte{9}, 50);
        ASSERT_TRUE(stream->synchronize());
        EXPECT_EQ(pages[149], std::byte{9});
    }
    const auto ragged = device->import_host("frame", {pages + 1, 100});
    ASSERT_FALSE(ragged);
    EXPECT_EQ(ragged.error().code, ErrorCode::InvalidArgument);
    std::free(pages);
}

}  // namespace
}  // namespace kinetograph::accel::vulkan
