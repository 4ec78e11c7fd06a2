// The engine's device as an accelerator beside its Vulkan lanes: kernels and drawing in one graph on one VkDevice, and
// memory and timelines of other devices.
#include "vulkan_accel_fixture.hpp"

#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>
#include <kinetograph/tests/engine/vulkan/blocked_queue.hpp>

#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <atomic>

namespace kinetograph::accel::vulkan {
namespace {

using VulkanLanes = VulkanAccelTest;
constexpr std::uint64_t kBytes = VulkanAccelTest::kCount * sizeof(float);

struct Copied {
    graph::Buffer from, to;
};

TEST_F(VulkanLanes, ComputeAndCopyInOneGraphWithoutTheHost) {
    auto shared = vk::Buffer::create(*engine, "shared", kBytes, {.addressed = true}).value();
    auto result = vk::Buffer::create(*engine, "result", kBytes, {.memory = vk::MemoryUse::Readback}).value();
    const auto seen = share_buffer(*device, *shared);
    ASSERT_TRUE(seen) << message_of(seen);
    std::vector<std::unique_ptr<graph::LaneBackend>> lanes;
    for (const graph::Lane lane : {graph::Lane::Graphics, graph::Lane::AsyncCompute, graph::Lane::Transfer})
        lanes.push_back(vk::VulkanLane::create(*engine, lane).value());
    lanes.push_back(AcceleratorLane::create(*device).value());
    vk::VulkanMemory graphics(*engine);
    AcceleratorMemory own{*device};
    graph::ExecutorDesc desc;
    for (const auto& lane : lanes) desc.lanes.push_back(lane.get());
    desc.memory = {{graph::MemoryDomain::Graphics, &graphics},
                   {graph::MemoryDomain::Shared, &graphics},
                   {graph::MemoryDomain::Accelerator, &own}};
    auto executor = graph::Executor::create(std::move(desc)).value();
    const auto import_shared = [&](graph::FrameGraph& frame, const vk::Buffer& buffer, std::byte* address) {
        graph::Physical physical = vk::physical_of(buffer);
        physical.mapped = reinterpret_cast<std::uintptr_t>(address);
        return frame.import_buffer(buffer.name(), {kBytes, 256, graph::MemoryDomain::Shared}, physical);
    };
    for (int step = 1; step <= 20; ++step) {
        graph::FrameGraph frame;
        const graph::Buffer picture = import_shared(frame, *shared, (*seen)->data());
        const Copied& decoded = frame.add_pass<Copied>(
            "decode", graph::Lane::Accelerator,
            [&](graph::PassBuilder& pass, Copied& data) { data.to = pass.write(picture, graph::Access::KernelWrite); },
            [this, step](const Copied& data, accel::PassContext& lane) {
                ScaleAddParams given = params(*a, *b, 1, static_cast<float>(step));
                given.to = lane.address(data.to);
                enqueue(lane.stream(), "decode", given);
            });
        const graph::Buffer place = import_shared(frame, *result, nullptr);
        const Copied& drawn = frame.add_pass<Copied>(
            "draw", graph::Lane::Graphics,
            [&](graph::PassBuilder& pass, Copied& data) {
                data.from = pass.read(decoded.to, graph::Access::TransferRead);
                data.to = pass.write(place, graph::Access::TransferWrite);
            },
            [](const Copied& data, vk::PassContext& lane) {
                const vk::BufferRange from = lane.range(data.from), to = lane.range(data.to);
                const VkBufferCopy region{from.offset, to.offset, kBytes};
                lane.table().vkCmdCopyBuffer(lane.commands(), from.buffer, to.buffer, 1, &region);
            });
        frame.export_contents(drawn.to);
        const auto execution = executor->execute(frame);
        ASSERT_TRUE(execution) << message_of(execution);
        const auto done = executor->wait(*execution);
        ASSERT_TRUE(done) << message_of(done);
        EXPECT_EQ(reinterpret_cast<const float*>(result->mapped())[7], 7.F + static_cast<float>(step));
    }
    executor.reset();
}

TEST_F(VulkanLanes, MayWaitOnTheirQueueForWorkThatStillWaitsForTheHost) {
    const auto lane = vk::VulkanLane::create(*engine, graph::Lane::AsyncCompute).value();
    const auto gate = device->create_timeline().value(), done = device->create_timeline().value();
    std::atomic<bool> ran = false;
    stream->wait(gate, 1);
    add(1, 1);
    stream->enqueue("between", [&]() -> Result<void> {
        ran = true;
        return {};
    });
    add(2, 1);
    stream->signal(done, 1);
    vk::testing::block(*engine, graph::Lane::AsyncCompute, static_cast<const vk::TimelineSemaphore&>(*done));
    EXPECT_FALSE(ran);
    gate->signal(1);
    const auto idle = engine->wait_idle(std::chrono::seconds(10));
    EXPECT_TRUE(idle) << message_of(idle);
    EXPECT_TRUE(ran);
    EXPECT_EQ(read(*b).front(), 3.F);
}

TEST_F(VulkanLanes, ReplayTheirBatchesAndStampTheirPasses) {
    profile::Recorder recorder;
    auto lane = AcceleratorLane::create(*device, &recorder, Batches::Replayed).value();
    AcceleratorMemory own{*device};
    auto executor = graph::Executor::create({.lanes = {lane.get()},
                                             .memory = {{graph::MemoryDomain::Accelerator, &own}},
                                             .compile = {.topology = graph::LaneTopology::without_vulkan()}})
                        .value();
    graph::FrameGraph frame;
    const graph::Buffer numbers = frame.import_buffer("numbers", {kBytes, 256, graph::MemoryDomain::Accelerator},
                                                      {reinterpret_cast<std::uintptr_t>(b->data()), 0, kBytes});
    const Copied& counted = frame.add_pass<Copied>(
        "count", graph::Lane::Accelerator,
        [&](graph::PassBuilder& pass, Copied& data) {
            data.from = pass.read(numbers, graph::Access::KernelRead);
            data.to = pass.write(numbers, graph::Access::KernelWrite);
        },
        [this](const Copied& data, accel::PassContext& context) {
            ScaleAddParams given = params(*b, *b, 1, 1);
            given.from = given.to = context.address(data.to);
            enqueue(context.stream(), "count", given);
        });
    frame.export_contents(counted.to);
    for (int step = 0; step < 20; ++step) {
        const auto execution = executor->execute(frame);
        ASSERT_TRUE(execution) << message_of(execution);
        const auto done = executor->wait(*execution);
        ASSERT_TRUE(done) << message_of(done);
    }
    EXPECT_EQ(read(*b).front(), 20.F);
    EXPECT_EQ(lane->batch_counts().declined, "");
    EXPECT_GE(lane->batch_counts().replayed, 10U);
    executor.reset();
    lane.reset();
    EXPECT_GE(std::ranges::count(recorder.spans(), "count", &profile::Span::name), 5);
}

TEST_F(VulkanLanes, ComputeInAnApplicationsDeviceIfItHasEnabledWhatThatNeeds) {
    vk::RequiredFeatures features;
    features.require_all();
    features.enable(engine->report().compute);
    const float priority = 1.0F;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = engine->queue(graph::Lane::Graphics).family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = features.chain();
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    VkDevice application = VK_NULL_HANDLE;
    ASSERT_EQ(instance->table().vkCreateDevice(engine->physical(), &info, nullptr, &application), VK_SUCCESS);
    const auto function = [&](const char* name) { return instance->table().vkGetDeviceProcAddr(application, name); };
    vk::AdoptedDevice given;
    given.physical = engine->physical();
    given.device = application;
    given.graphics.family = queue.queueFamilyIndex;
    reinterpret_cast<PFN_vkGetDeviceQueue>(function("vkGetDeviceQueue"))(application, queue.queueFamilyIndex, 0,
                                                                         &given.graphics.handle);
    {
        const auto unknown = vk::Device::adopt(*instance, given).value();
        const CallersDevice callers{unknown.get()};
        EXPECT_EQ(message_of(adopt("vulkan", &callers)),
                  device->info().name +
                      " cannot compute: feature bufferDeviceAddress is missing, or not known to be enabled, feature "
                      "subgroupSizeControl or computeFullSubgroups is missing, or not known to be enabled");
    }
    given.create_chain = features.chain();
    {
        const auto known = vk::Device::adopt(*instance, given).value();
        EXPECT_EQ(known->report().compute.float16, engine->report().compute.float16);
        const CallersDevice callers{known.get()};
        const auto theirs = adopt("vulkan", &callers).value();
        const auto work = theirs->create_stream("theirs").value();
        const auto memory = theirs->allocate("memory", 4096).value();
        work->fill(memory->data(), std::byte{3}, 4096);
        std::vector<std::byte> got(4096);
        ASSERT_TRUE(work->read_back(got, memory->data()));
        EXPECT_EQ(got.back(), std::byte{3});
    }
    reinterpret_cast<PFN_vkDestroyDevice>(function("vkDestroyDevice"))(application, nullptr);
}

TEST_F(VulkanLanes, WaitForAndSignalTimelinesOfTheEnginesDevice) {
    const auto theirs = vk::TimelineSemaphore::create(*engine, "theirs").value();
    const auto ours = device->create_timeline().value();
    EXPECT_TRUE(stream->sees(*theirs));
    EXPECT_EQ(ours->owner(), theirs->owner());
    theirs->signal(2);
    stream->wait(theirs, 2);
    add(1, 1);
    stream->signal(theirs, 3);
    EXPECT_TRUE(graph::wait_for({theirs, 3}));
    EXPECT_EQ(read(*b).front(), 1.F);
    ASSERT_TRUE(stream->synchronize());
}

TEST_F(VulkanLanes, ShareOnlyBuffersWithAddresses) {
    const auto plain = vk::Buffer::create(*engine, "plain", kBytes).value();
    EXPECT_EQ(message_of(share_buffer(*device, *plain)),
              "sharing buffer \"plain\": it was not made to have an address (BufferOptions::addressed)");
    const auto cpu = open("cpu").value();
    EXPECT_EQ(message_of(share_buffer(*cpu, *plain)),
              "sharing buffer \"plain\": " + cpu->info().name + " is no device of Vulkan's");
    const CallersDevice none;
    EXPECT_EQ(message_of(adopt("vulkan", &none)), "computing in the caller's device: it is null");
}

TEST_F(VulkanLanes, ImportMemoryByItsDescriptor) {
    if (!device->info().can_import_memory) GTEST_SKIP() << device->info().can_import_memory.reason;
    constexpr std::uint64_t kLarge = 1U << 20U;
    const auto theirs = vk::Buffer::create(*engine, "theirs", kLarge, {.exportable = true}).value();
    const int fd = theirs->export_fd().value();
    {
        const auto imported = device->import_memory(
            "frame", {.fd = fd, .bytes = theirs->allocation().bytes(), .dedicated = theirs->allocation().dedicated()});
        ASSERT_TRUE(imported) << message_of(imported);
        EXPECT_EQ(::fcntl(fd, F_GETFD), -1) << "the descriptor is the device's now";
        stream->fill((*imported)->data(), std::byte{0x42}, kLarge);
        ASSERT_TRUE(stream->synchronize());
        const auto seen = vk::Buffer::create(*engine, "seen", kLarge, {.memory = vk::MemoryUse::Readback}).value();
        ASSERT_TRUE(engine->run_once("copying", [&](VkCommandBuffer commands) {
            const VkBufferCopy region{0, 0, kLarge};
            engine->table().vkCmdCopyBuffer(commands, theirs->handle(), seen->handle(), 1, &region);
        }));
        EXPECT_EQ(seen->mapped()[kLarge - 1], std::byte{0x42});
    }
    EXPECT_FALSE(device->import_memory("frame", {.fd = -1, .bytes = kLarge}));
}

TEST_F(VulkanLanes, ImportTimelinesByTheirDescriptor) {
    if (!device->info().can_import_timeline) {
        EXPECT_EQ(message_of(device->import_timeline(3, std::make_shared<graph::HostTimeline>())),
                  "importing a timeline into " + device->info().name + ": it has no VK_KHR_external_semaphore_fd");
        return;
    }
    const auto theirs = vk::TimelineSemaphore::create(*engine, "theirs", vk::Sharing::Exportable).value();
    const int fd = vk::export_timeline_fd(*engine, theirs->handle(), "theirs").value();
    const auto imported = device->import_timeline(fd, theirs);
    ASSERT_TRUE(imported) << message_of(imported);
    stream->wait(*imported, 1);
    add(1, 1);
    stream->signal(*imported, 2);
    EXPECT_FALSE(theirs->wait(2, std::chrono::milliseconds(20)));
    theirs->signal(1);
    EXPECT_TRUE(theirs->wait(2, std::chrono::seconds(10)));
    EXPECT_EQ(read(*b).front(), 1.F);
}

}  // namespace
}  // namespace kinetograph::accel::vulkan
