// What streams of a Vulkan device do when the device is lost, refuses, or is given work that does not end.
#include "vulkan_accel_fixture.hpp"

#include <kinetograph/tests/engine/vulkan/blocked_queue.hpp>
#include <kinetograph/tests/engine/vulkan/faults.hpp>

#include <thread>

namespace kinetograph::accel::vulkan {
namespace {

using namespace std::chrono_literals;

struct VulkanLosses : VulkanAccelTest {
    Result<vk::Loader> open_loader() const override {
        vk::testing::faults().reset();
        return vk::testing::faulty_loader();
    }
    void TearDown() override {
        VulkanAccelTest::TearDown();
        vk::testing::faults().reset();
    }
};

TEST_F(VulkanLosses, NameThePassesInQuestionAndReleaseEveryWait) {
    const auto later = device->create_timeline().value();
    enqueue(*stream, "conv1", params(*a, *b, 1, 0));
    enqueue(*stream, "conv2", params(*a, *b, 1, 0));
    vk::testing::faults().device_lost = true;
    const auto status = stream->status();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(message_of(status), "conv2 or a pass before it: " + device->info().name +
                                      " was lost while vkQueueSubmit2: nothing it was asked for will be finished");
    stream->signal(later, 7);
    EXPECT_EQ(message_of(later->status()), message_of(status)) << "the timeline says why it is at its value";
    EXPECT_FALSE(graph::wait_for({later, 7}));
    EXPECT_FALSE(stream->synchronize());
}

TEST_F(VulkanLosses, EndWaitsThatAreHeldBack) {
    const auto gate = device->create_timeline().value(), done = device->create_timeline().value();
    stream->wait(gate, 1);
    add(1, 1);
    stream->signal(done, 1);
    EXPECT_TRUE(stream->status());
    vk::testing::faults().device_lost = true;
    for (int i = 0; i < 1000 && stream->status(); ++i) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(stream->status().error().code, ErrorCode::DeviceLost);
    EXPECT_FALSE(graph::wait_for({done, 1}));
    EXPECT_FALSE(stream->synchronize());
}

TEST_F(VulkanLosses, OfAnotherDeviceDoNotHoldAStreamBack) {
    const auto gate = device->create_timeline().value();
    stream->wait(gate, 1);
    add(1, 1);
    EXPECT_TRUE(stream->status());
    gate->report({ErrorCode::DeviceLost, "the device that was to signal it is lost"});
    EXPECT_EQ(read(*b).front(), 1.F);
}

TEST_F(VulkanLosses, OfCommandBuffersNamePassKernelAndCall) {
    const auto gate = device->create_timeline().value();
    stream->wait(gate, 1);  // so that no recording is free
    add(1, 1);
    stream->wait(gate, 1);
    vk::testing::faults().no_command_buffers = true;
    for (int i = 0; i < 100; ++i) enqueue(*stream, "conv1", params(*a, *b, 1, 0));
    vk::testing::faults().no_command_buffers = false;
    EXPECT_EQ(message_of(stream->status()), "conv1: launching \"scale_add:256,1\": " + device->info().name +
                                                ": allocating a command buffer: VK_ERROR_OUT_OF_HOST_MEMORY");
    gate->signal(1);
    EXPECT_EQ(stream->synchronize().error().code, ErrorCode::OutOfMemory);
    EXPECT_EQ(read(*b).front(), 1.F) << "what was enqueued before";
}

TEST_F(VulkanLosses, WorkThatIsGivenUpIsDroppedIfItHasNotReachedTheDevice) {
    const auto gate = device->create_timeline().value();
    add(1, 1);
    stream->wait(gate, 1);
    add(1, 1);
    EXPECT_TRUE(stream->status());
    stream.release()->give_up();
    ASSERT_TRUE(engine->wait_idle());
    const std::uint64_t held = device->bytes_allocated();
    device->allocate("released", 1000).value().reset();
    EXPECT_EQ(device->bytes_allocated(), held) << "the rest has ended";
}

TEST_F(VulkanLosses, WorkThatDoesNotEndKeepsTheMemoryThatItMayUse) {
    const auto gate = vk::TimelineSemaphore::create(*engine, "gate").value();
    vk::testing::block(*engine, graph::Lane::AsyncCompute, *gate);
    add(1, 1);
    EXPECT_TRUE(stream->status());
    stream.release()->give_up();
    const std::uint64_t held = device->bytes_allocated();
    device->allocate("leaked", 1000).value().reset();
    EXPECT_EQ(device->bytes_allocated(), held + 1000);
    gate->signal(1);
    ASSERT_TRUE(engine->wait_idle());
    device->allocate("released", 1000).value().reset();
    EXPECT_EQ(device->bytes_allocated(), held + 1000) << "the work has ended";
}

TEST_F(VulkanLosses, WorkThatEndsAfterItsAcceleratorIsReleasedWithTheEnginesDevice) {
    const auto gate = vk::TimelineSemaphore::create(*engine, "gate").value();
    vk::testing::block(*engine, graph::Lane::AsyncCompute, *gate);
    add(1, 1);
    EXPECT_TRUE(stream->status());
    stream.release()->give_up();
    release();
    device.reset();
    gate->signal(1);
}

}  // namespace
}  // namespace kinetograph::accel::vulkan
