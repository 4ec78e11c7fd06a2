#include <gtest/gtest.h>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <atomic>
#include <thread>

namespace kinetograph::accel::cpu {
namespace {

struct CpuStreams : testing::Test {
    std::unique_ptr<Device> device = create_device();
    std::unique_ptr<Stream> stream = std::move(*device->create_stream("test"));
};

TEST_F(CpuStreams, RunsWorkInTheOrderItWasEnqueued) {
    std::vector<int> order;
    for (int i = 0; i < 100; ++i)
        stream->enqueue("append", [&order, i]() -> Result<void> {
            order.push_back(i);
            return {};
        });
    ASSERT_TRUE(stream->synchronize());
    ASSERT_EQ(order.size(), 100U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(CpuStreams, EnqueueReturnsBeforeTheWorkIsDone) {
    auto gate = *device->create_timeline();
    std::atomic<bool> ran = false;
    stream->wait(gate, 1);
    stream->enqueue("work", [&ran]() -> Result<void> {
        ran = true;
        return {};
    });
    EXPECT_FALSE(ran);
    gate->signal(1);
    ASSERT_TRUE(stream->synchronize());
    EXPECT_TRUE(ran);
}

TEST_F(CpuStreams, StreamsWaitForEachOthersTimelines) {
    auto other = std::move(*device->create_stream("other"));
    auto timeline = *device->create_timeline();
    int value = 0;
    other->wait(timeline, 7);
    other->enqueue("read", [&value]() -> Result<void> {
        if (value != 42) return fail(ErrorCode::Corrupt, "read {} before the write", value);
        return {};
    });
    stream->enqueue("write", [&value]() -> Result<void> {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        value = 42;
        return {};
    });
    stream->signal(timeline, 7);
    EXPECT_TRUE(other->synchronize());
    EXPECT_EQ(timeline->value(), 7U);
}

TEST_F(CpuStreams, AnErrorNamesItsPassSkipsLaterWorkAndStillSignals) {
    auto timeline = *device->create_timeline();
    bool later = false;
    stream->enqueue("up2.res1.conv1", []() -> Result<void> { return fail(ErrorCode::Unsupported, "no kernel"); });
    stream->enqueue("up2.res1.conv2", [&later]() -> Result<void> {
        later = true;
        return {};
    });
    stream->signal(timeline, 1);
    EXPECT_TRUE(timeline->wait(1, std::chrono::seconds(10)));
    EXPECT_FALSE(stream->status());
    const auto result = stream->synchronize();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(result.error().message, "up2.res1.conv1: no kernel");
    EXPECT_FALSE(later);
    EXPECT_TRUE(stream->synchronize()) << "a reported error is forgotten";
}

TEST_F(CpuStreams, FillAndCopyInOrderAndReadBackWhatWasUploaded) {
    const auto a = *device->allocate("a", 64), b = *device->allocate("b", 64);
    std::vector<std::byte> given(64), got(64);
    for (std::size_t i = 0; i < given.size(); ++i) given[i] = static_cast<std::byte>(i);
    ASSERT_TRUE(stream->upload(a->data(), given));
    stream->copy(b->data(), a->data(), 64);
    stream->fill(b->data() + 16, std::byte{0xAB}, 8);
    ASSERT_TRUE(stream->read_back(got, b->data()));
    std::fill_n(given.begin() + 16, 8, std::byte{0xAB});
    EXPECT_EQ(got, given);
}

TEST_F(CpuStreams, MoveNothingFromNowhere) {
    stream->fill(nullptr, std::byte{1}, 0);
    stream->copy(nullptr, nullptr, 0);
    EXPECT_TRUE(stream->upload(nullptr, {}));
    EXPECT_TRUE(stream->read_back({}, nullptr));
}

TEST_F(CpuStreams, ReplaysAndCapturesAreDeclinedWithAReason) {
    const auto begun = stream->begin_capture();
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(begun.error().message, "the CPU runs host functions, which are not captured");
    EXPECT_FALSE(stream->end_capture());
}

TEST_F(CpuStreams, AnExceptionOfAKernelBecomesAnError) {
    stream->enqueue("throws", []() -> Result<void> { throw std::bad_alloc(); });
    const auto result = stream->synchronize();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::OutOfMemory);
}

TEST_F(CpuStreams, WhatAKernelThrowsThatIsNoExceptionBecomesAnErrorToo) {
    stream->enqueue("throws", []() -> Result<void> { throw 42; });
    const auto done = stream->synchronize();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "throws: it has thrown what is no std::exception");
}

TEST_F(CpuStreams, EventsTellWhenTheStreamPassedThemOnTheHostAxis) {
    auto begin = *device->create_event();
    auto end = *device->create_event();
    auto gate = *device->create_timeline();
    const auto before = host_now();
    stream->wait(gate, 1);
    stream->record(begin);
    stream->enqueue("sleep", []() -> Result<void> {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return {};
    });
    stream->record(end);
    EXPECT_FALSE(begin->time());
    gate->signal(1);
    ASSERT_TRUE(stream->synchronize());
    EXPECT_GE(*begin->time(), before);
    EXPECT_GE(*end->time() - *begin->time(), std::chrono::milliseconds(5));
    EXPECT_LE(*end->time(), host_now());
}

TEST_F(CpuStreams, AnEventOfAnotherDeviceIsAnError) {
    struct OtherEvent final : Event {
        std::optional<Nanoseconds> time() const override { return {}; }
        const void* owner() const override { return this; }
    };
    stream->record(std::make_shared<OtherEvent>());
    const auto done = stream->synchronize();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "the event belongs to another device than the CPU");
}

TEST_F(CpuStreams, AStreamThatWaitsForASignalThatNeverComesCanStillBeDestroyed) {
    stream->wait(*device->create_timeline(), 1);
    stream.reset();
}

TEST(CpuTimelines, WaitingTimesOutWithoutASignalAndValuesNeverGoBack) {
    auto device = create_device();
    auto timeline = *device->create_timeline();
    EXPECT_FALSE(timeline->wait(1, std::chrono::milliseconds(1)));
    timeline->signal(5);
    timeline->signal(3);
    EXPECT_EQ(timeline->value(), 5U);
    EXPECT_TRUE(timeline->wait(4));
}

}  // namespace
}  // namespace kinetograph::accel::cpu
