// Streams of both drivers: launches, timelines, host functions, modules.
#include "driver_under_test.hpp"
#include "scaled_values.hpp"

#include <algorithm>
#include <thread>

namespace kinetograph::accel {
namespace {

using standin::ScaleAddParams;

using DriverStreams = ScaledArrays<DriverTest>;

TEST_P(DriverStreams, KernelsSayWhatTheyNeed) {
    EXPECT_EQ(scale_add->info().name, "standin_scale_add");
    EXPECT_GE(scale_add->info().max_threads, 256U);
    EXPECT_EQ(scale_add->info().static_shared_bytes, 0U);
}

TEST_P(DriverStreams, RunKernelsInOrderOnPackedArguments) {
    enqueue(*stream, "double", params(*a, *b, 2, 1));
    enqueue(*stream, "triple", params(*b, *b, 3, 0));
    const auto values = read(*b);
    for (std::uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], 3 * (2 * static_cast<float>(i) + 1));
    if (!real()) {
        EXPECT_EQ(control->kernels_run(), 2U);
    }
}

TEST_P(DriverStreams, CopyTheArgumentsAtTheCall) {
    auto gate = *device->create_timeline();
    stream->wait(gate, 1);
    {
        ScaleAddParams given = params(*a, *b, 5, 0);
        enqueue(*stream, "times five", given);
        given = {};
    }
    gate->signal(1);
    EXPECT_EQ(read(*b).at(10), 50.F);
}

TEST_P(DriverStreams, RefuseLaunchesThatNoDeviceCanRun) {
    const ScaleAddParams given = params(*a, *b, 1, 0);
    const std::uint32_t limit = scale_add->info().max_threads;
    Launch launch{
        .name = "conv1", .kernel = *scale_add, .grid = {1}, .block = {limit + 1}, .arguments = bytes_of(given)};
    EXPECT_EQ(message_of_launch(launch),
              fmt::format("conv1: launching \"standin_scale_add\": a block of {} threads, the kernel's limit is {}",
                          limit + 1, limit));
    launch.block = {256};
    launch.grid = {4, 0, 1};
    EXPECT_EQ(message_of_launch(launch),
              "conv1: launching \"standin_scale_add\": a grid of 4 x 0 x 1 blocks of 256 x 1 x 1 threads is empty");
    EXPECT_EQ(calls(driver.launch_call()), 0U);
}

TEST_P(DriverStreams, RefuseWhatBelongsToAnotherDevice) {
    const auto other = std::move(*driver.create());
    const auto foreign_kernel = *(*other->load("test kernels", image()))->kernel("standin_spin");
    const standin::SpinParams spin{1};
    EXPECT_EQ(
        message_of_launch(
            {.name = "foreign", .kernel = *foreign_kernel, .grid = {1}, .block = {1}, .arguments = bytes_of(spin)}),
        "foreign: launching \"standin_spin\": the kernel was loaded on another device than stream \"test\"");
    const auto timeline = *other->create_timeline();
    if (stream->sees(*timeline)) return;  // CUDA devices wait for each other's counters
    stream->wait(timeline, 1);
    EXPECT_EQ(message_of(stream->synchronize()), "stream \"test\": the timeline belongs to another device");
}

TEST_P(DriverStreams, HostFunctionsRunInOrderAndTheirErrorsNameThem) {
    std::vector<int> order;
    for (int i = 0; i < 20; ++i)
        stream->enqueue("append", [&order, i]() -> Result<void> {
            order.push_back(i);
            return {};
        });
    stream->enqueue("relay", []() -> Result<void> { return fail(ErrorCode::DeviceLost, "the other side is gone"); });
    stream->enqueue("later", [&order]() -> Result<void> {
        order.push_back(-1);
        return {};
    });
    EXPECT_EQ(message_of(stream->synchronize()), "relay: the other side is gone");
    ASSERT_EQ(order.size(), 20U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    stream->enqueue("throws", []() -> Result<void> { throw std::bad_alloc(); });
    EXPECT_EQ(message_of(stream->synchronize()), "throws: the host is out of memory");
    stream->enqueue("throws", []() -> Result<void> { throw 42; });
    EXPECT_EQ(message_of(stream->synchronize()), "throws: it has thrown what is no std::exception");
}

TEST_P(DriverStreams, EachOthersTimelinesOrderThemInAChain) {
    auto first = *device->create_timeline(), second = *device->create_timeline();
    const auto other = *device->create_stream("other");
    for (std::uint64_t step = 1; step <= 50; ++step) {
        other->wait(first, step);  // waits before its signal has been enqueued
        enqueue(*other, "b to a", params(*b, *a, 1, 1));
        other->signal(second, step);
        enqueue(*stream, "a to b", params(*a, *b, 1, 1));
        stream->signal(first, step);
        stream->wait(second, step);
    }
    EXPECT_TRUE(second->wait(50, std::chrono::seconds(30)));
    ASSERT_TRUE(other->synchronize());
    EXPECT_EQ(read(*a).at(3), 103.F);
    EXPECT_EQ(first->value(), 50U);
}

TEST_P(DriverStreams, TheHostRelaysAValueBetweenStreamsThatDoNotKnowEachOther) {
    auto from = *device->create_timeline(), to = *device->create_timeline();
    const auto other = *device->create_stream("other");
    other->wait(to, 9);
    enqueue(*other, "after the relay", params(*b, *b, 10, 0));
    std::thread relay([&] {
        from->wait(4);
        to->signal(9);
    });
    enqueue(*stream, "before the relay", params(*a, *b, 1, 0));
    stream->signal(from, 4);
    relay.join();
    ASSERT_TRUE(other->synchronize());
    EXPECT_EQ(read(*b).at(3), 30.F);
}

TEST_P(DriverStreams, ASignalComesAfterWhatTheStreamHasWrittenForTheHostToo) {
    const auto pinned = *device->allocate_pinned("seen by the host", kCount * sizeof(float));
    const auto timeline = *device->create_timeline();
    const volatile float* seen = reinterpret_cast<const float*>(pinned->host_data());
    for (std::uint64_t step = 1; step <= 200; ++step) {
        enqueue(*stream, "to the host", params(*a, *pinned, 0, static_cast<float>(step)));
        stream->signal(timeline, step);
        ASSERT_TRUE(timeline->wait(step, std::chrono::seconds(10)));
        ASSERT_EQ(seen[kCount - 1], static_cast<float>(step));
        ASSERT_EQ(seen[0], static_cast<float>(step));
    }
}

TEST_P(DriverStreams, TimelinesNeverGoBackAndWaitingTimesOut) {
    auto timeline = *device->create_timeline();
    EXPECT_EQ(timeline->value(), 0U);
    EXPECT_FALSE(timeline->wait(1, std::chrono::milliseconds(2)));
    timeline->signal(5);
    timeline->signal(3);
    EXPECT_EQ(timeline->value(), 5U);
    EXPECT_TRUE(timeline->wait(4));
}

TEST_P(DriverStreams, EnqueueingReturnsBeforeTheWorkIsDone) {
    auto gate = *device->create_timeline(), done = *device->create_timeline();
    stream->wait(gate, 1);
    enqueue(*stream, "gated", params(*a, *b, 1, 0));
    stream->signal(done, 1);
    EXPECT_FALSE(done->wait(1, std::chrono::milliseconds(2)));
    if (!real()) {
        EXPECT_EQ(control->kernels_run(), 0U);
    }
    gate->signal(1);
    EXPECT_TRUE(done->wait(1, std::chrono::seconds(10)));
    ASSERT_TRUE(stream->synchronize());
    if (!real()) {
        EXPECT_EQ(control->kernels_run(), 1U);
    }
}

TEST_P(DriverStreams, ModulesThatAreNoneAndKernelsThatAreNotThereAreRefusedByName) {
    EXPECT_EQ(message_of(module->kernel("conv9d")),
              "kernel \"conv9d\" of \"test kernels\": " +
                  driver.word("hipModuleGetFunction: hipErrorNotFound", "cuModuleGetFunction: CUDA_ERROR_NOT_FOUND") +
                  " (500)");
    EXPECT_EQ(message_of(device->load("nothing", {})),
              "loading \"nothing\" on " + device_name() + ": the image is empty");
    alignas(64) const std::array<char, 64> text{"this is no device code, whatever its length and padding"};
    const auto refused = device->load("text", std::as_bytes(std::span(text)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Corrupt);
    EXPECT_TRUE(refused.error().message.starts_with("loading \"text\" on " + device_name() + ": " +
                                                    driver.word("hipModuleLoadData", "cuModuleLoadDataEx") + ": "))
        << message_of(refused);
}

TEST_P(DriverStreams, AKernelKeepsItsModuleLoaded) {
    module.reset();
    enqueue(*stream, "copy", params(*a, *b, 1, 0));
    EXPECT_EQ(read(*b).at(7), 7.F);
    if (!real()) {
        EXPECT_EQ(control->live().modules, 1U);
    }
}

INSTANTIATE_TEST_SUITE_P(Of, DriverStreams, testing::Values(kHip, kCuda), name_of);

}  // namespace
}  // namespace kinetograph::accel
