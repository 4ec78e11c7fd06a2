// Graphs of a Vulkan device: capture and replay.
#include "vulkan_accel_fixture.hpp"

#include <thread>

namespace kinetograph::accel::vulkan {
namespace {

using namespace std::chrono_literals;
using VulkanGraphs = VulkanAccelTest;

TEST_F(VulkanGraphs, CaptureDoesNothingAndEveryReplayDoesItAll) {
    const auto scratch = device->allocate("scratch", kCount * sizeof(float)).value();
    ASSERT_TRUE(stream->begin_capture());
    add(1, 3);
    stream->copy(scratch->data(), b->data(), kCount * sizeof(float));
    stream->fill(b->data(), std::byte{0}, 4 * sizeof(float));
    stream->copy(b->data(), scratch->data(), kCount * sizeof(float));
    add(2, 0);
    const auto graph = stream->end_capture();
    ASSERT_TRUE(graph) << message_of(graph);
    EXPECT_EQ((*graph)->nodes(), 5U);
    EXPECT_EQ(read(*b).front(), 0.F);
    for (int i = 0; i < 3; ++i) stream->replay(**graph);
    EXPECT_EQ(read(*b).front(), 42.F);  // ((0 + 3) * 2 + 3) * 2 + 3) * 2
}

TEST_F(VulkanGraphs, ReplayAndEagerWorkKeepTheirOrder) {
    ASSERT_TRUE(stream->begin_capture());
    add(10, 0);
    const auto graph = stream->end_capture().value();
    add(1, 1);
    stream->replay(*graph);
    add(1, 2);
    stream->replay(*graph);
    EXPECT_EQ(read(*b).front(), 120.F);
}

TEST_F(VulkanGraphs, HoldMoreThanOneSubmission) {
    ASSERT_TRUE(stream->begin_capture());
    for (int i = 0; i < 300; ++i) add(1, 1);
    const auto graph = stream->end_capture().value();
    EXPECT_EQ(graph->nodes(), 300U);
    add(1, 5);
    for (int i = 0; i < 20; ++i) stream->replay(*graph);
    EXPECT_EQ(read(*b).back(), 6005.F);
}

TEST_F(VulkanGraphs, OneReplayAtATimeOnWhicheverStream) {
    const auto gate = device->create_timeline().value(), done = device->create_timeline().value();
    const auto other = device->create_stream("other").value();
    ASSERT_TRUE(stream->begin_capture());
    add(2, 1);
    const auto graph = stream->end_capture().value();
    stream->wait(gate, 1);
    stream->replay(*graph);
    other->replay(*graph);
    other->signal(done, 1);
    EXPECT_FALSE(done->wait(1, 20ms)) << "the other stream's replay comes first";
    gate->signal(1);
    ASSERT_TRUE(other->synchronize());
    EXPECT_EQ(read(*b).front(), 3.F);
}

TEST_F(VulkanGraphs, RefuseHostFunctionsTimelinesAndReplaysByName) {
    const auto timeline = device->create_timeline().value();
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    const auto inner = stream->end_capture().value();
    const auto capture = [&](const auto& call) {
        EXPECT_TRUE(stream->begin_capture());
        add(1, 1);
        call();
        add(1, 1);
        return message_of(stream->end_capture());
    };
    EXPECT_EQ(capture([&] { stream->enqueue("head", []() -> Result<void> { return {}; }); }),
              "host function \"head\" cannot be captured on stream \"test\"");
    EXPECT_EQ(capture([&] { stream->wait(timeline, 3); }),
              "waiting for a timeline's value 3 cannot be captured on stream \"test\"");
    EXPECT_EQ(capture([&] { stream->signal(timeline, 4); }),
              "signalling a timeline's value 4 cannot be captured on stream \"test\"");
    EXPECT_EQ(capture([&] { stream->replay(*inner); }), "the replay of a graph cannot be captured on stream \"test\"");
    EXPECT_EQ(capture([&] { EXPECT_FALSE(stream->upload(b->data(), {})); }),
              "an upload cannot be captured on stream \"test\"");
    EXPECT_EQ(capture([&] { EXPECT_FALSE(stream->synchronize()); }),
              "waiting for the stream cannot be captured on stream \"test\"");
    EXPECT_EQ(read(*b).front(), 0.F) << "nothing of a capture that failed happens";
    EXPECT_EQ(timeline->value(), 0U);
}

TEST_F(VulkanGraphs, EventsInAGraphAreStampedAnewByEveryReplay) {
    const auto begin = device->create_event().value(), end = device->create_event().value();
    ASSERT_TRUE(stream->begin_capture());
    stream->record(begin);
    spend(1U << 20U);
    stream->record(end);
    const auto graph = stream->end_capture();
    ASSERT_TRUE(graph) << message_of(graph);
    EXPECT_EQ((*graph)->nodes(), 3U);
    EXPECT_FALSE(begin->time()) << "capturing stamps nothing";
    Nanoseconds last{};
    for (int i = 0; i < 3; ++i) {
        const Nanoseconds before = host_now();
        stream->replay(**graph);
        ASSERT_TRUE(stream->synchronize());
        const auto first = begin->time(), second = end->time();
        ASSERT_TRUE(first && second);
        EXPECT_GT(*second, *first);
        EXPECT_GT(*first, last);
        EXPECT_GE(*first, before - 1ms);
        EXPECT_LE(*second, host_now() + 1ms);
        last = *second;
    }
}

TEST_F(VulkanGraphs, StatusMayBeAskedByAnotherThreadDuringACapture) {
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    std::thread([&] { EXPECT_TRUE(stream->status()); }).join();
    add(1, 1);
    const auto graph = stream->end_capture();
    ASSERT_TRUE(graph) << message_of(graph);
    stream->replay(**graph);
    EXPECT_EQ(read(*b).front(), 2.F);
}

TEST_F(VulkanGraphs, AStreamDestroyedInACaptureLeavesNothingBehind) {
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    stream.reset();
}

}  // namespace
}  // namespace kinetograph::accel::vulkan
