// Streams of a Vulkan device: launches, timelines, host functions, modules.
#include "vulkan_accel_fixture.hpp"

#include <algorithm>
#include <thread>

namespace kinetograph::accel::vulkan {
namespace {

using namespace std::chrono_literals;
using VulkanStreams = VulkanAccelTest;

TEST_F(VulkanStreams, RunKernelsInOrderOnArgumentsByTheirAddress) {
    enqueue(*stream, "double", params(*a, *b, 2, 1));
    enqueue(*stream, "triple", params(*b, *b, 3, 0));
    const auto values = read(*b);
    for (std::uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], 3 * (2 * static_cast<float>(i) + 1));
}

TEST_F(VulkanStreams, CopyTheArgumentsAtTheCall) {
    const auto gate = device->create_timeline().value();
    stream->wait(gate, 1);
    {
        ScaleAddParams given = params(*a, *b, 5, 0);
        enqueue(*stream, "times five", given);
        given = {};
    }
    gate->signal(1);
    EXPECT_EQ(read(*b).at(10), 50.F);
}

TEST_F(VulkanStreams, SpecializeKernelsByTheirNames) {
    EXPECT_EQ(scale_add->info().name, "scale_add:256,1");
    EXPECT_EQ(scale_add->info().max_threads, 256U);
    const auto plain = module->kernel("scale_add").value();
    EXPECT_EQ(plain->info().max_threads, 64U) << "the image's own";
    const auto thrice = module->kernel("scale_add:32,3").value();
    EXPECT_EQ(thrice->info().max_threads, 32U);
    const auto run = [&](Kernel& kernel) {
        const ScaleAddParams given = params(*a, *b, 2, 1);
        const std::uint32_t threads = kernel.info().max_threads;
        stream->launch({.name = "once or thrice",
                        .kernel = kernel,
                        .grid = {(kCount + threads - 1) / threads},
                        .block = {threads},
                        .arguments = bytes_of(given)});
        return read(*b).at(kCount - 1);
    };
    EXPECT_EQ(run(*plain), 2 * 999.F + 1);
    EXPECT_EQ(run(*thrice), 8 * 999.F + 7);
}

TEST_F(VulkanStreams, RefuseKernelsThatAnImageDoesNotHave) {
    EXPECT_EQ(message_of(module->kernel("conv:64")),
              "kernel \"conv:64\" of \"scale_add\": its one kernel is \"scale_add\", with constants "
              "\"scale_add:64,2,...\"");
    EXPECT_EQ(message_of(module->kernel("scale_add:64;2")),
              "kernel \"scale_add:64;2\" of \"scale_add\": after the colon come 32-bit integers with commas between "
              "them");
    EXPECT_TRUE(message_of(module->kernel("scale_add:1000000"))
                    .starts_with("kernel \"scale_add:1000000\" of \"scale_add\": workgroups of 1000000 threads, " +
                                 device->info().name + " has at most "));
    const auto fixed = device->load("spin", std::as_bytes(std::span(kSpinWords))).value();
    EXPECT_EQ(message_of(fixed->kernel("spin:16")),
              "kernel \"spin:16\" of \"spin\": constant 0 is 16, but the image's workgroups have 8 threads");
    EXPECT_TRUE(fixed->kernel("spin:8"));
}

TEST_F(VulkanStreams, RefuseImagesThatTheDeviceCannotRun) {
    const std::string loading = "loading \"text\" on " + device->info().name + ": ";
    const std::string_view text = "this is no device code, whatever its length.";
    const auto refused = device->load("text", std::as_bytes(std::span(text)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Corrupt);
    EXPECT_EQ(message_of(refused), loading + "it does not begin with SPIR-V's number 0x7230203");
    EXPECT_EQ(message_of(device->load("text", std::as_bytes(std::span(text)).first(7))),
              loading + "its 7 bytes are no whole words of SPIR-V");
    std::vector<std::uint32_t> words(std::begin(kScaleAddWords), std::end(kScaleAddWords));
    words.pop_back();
    EXPECT_EQ(message_of(device->load("text", std::as_bytes(std::span(words)))),
              loading + "it does not end with the end of a function");
    words.back() += 9U << 16U;
    EXPECT_EQ(
        message_of(device->load("text", std::as_bytes(std::span(words)))),
        fmt::format("{}the instruction at word {} has 10 of the 1 words that are left", loading, words.size() - 1));
    words.assign(std::begin(kScaleAddWords), std::end(kScaleAddWords));
    words.insert(words.begin() + 5, {2U << 16U | 17U, 6022});  // OpCapability CooperativeMatrixKHR
    EXPECT_EQ(message_of(device->load("text", std::as_bytes(std::span(words)))),
              loading + "it declares SPIR-V's capability CooperativeMatrixKHR, which the device lacks");
    words[6] = 4423;
    EXPECT_EQ(message_of(device->load("text", std::as_bytes(std::span(words)))),
              loading + "it declares SPIR-V's capability 4423, which no kernel here may");
    words.resize(5);
    words.push_back(1U << 16U | 56U);  // OpFunctionEnd
    EXPECT_EQ(message_of(device->load("text", std::as_bytes(std::span(words)))),
              loading + "it has 0 entry points for compute, not one");
}

TEST_F(VulkanStreams, RefuseLaunchesThatNoDeviceCanRun) {
    const ScaleAddParams given = params(*a, *b, 1, 0);
    const std::string launching = "conv1: launching \"scale_add:256,1\": ";
    const std::vector<std::byte> long_arguments(4100);
    const auto say = [&](Extent3 grid, Extent3 block, Extent3 cluster, std::uint32_t shared,
                         std::span<const std::byte> arguments) {
        return message_of_launch({.name = "conv1",
                                  .kernel = *scale_add,
                                  .grid = grid,
                                  .block = block,
                                  .cluster = cluster,
                                  .dynamic_shared_bytes = shared,
                                  .arguments = arguments});
    };
    EXPECT_EQ(say({1}, {257}, {}, 0, bytes_of(given)), launching + "a block of 257 threads, the kernel's limit is 256");
    EXPECT_EQ(say({1}, {64, 4}, {}, 0, bytes_of(given)),
              launching + "a block of 64 x 4 x 1 threads, the kernel was made for 256");
    EXPECT_EQ(say({4, 0, 1}, {256}, {}, 0, bytes_of(given)),
              launching + "a grid of 4 x 0 x 1 blocks of 256 x 1 x 1 threads is empty");
    EXPECT_TRUE(
        say({1, 1, 1U << 31U}, {256}, {}, 0, bytes_of(given))
            .starts_with(launching + "a grid of 1 x 1 x 2147483648 blocks, " + device->info().name + " has at most "));
    EXPECT_EQ(say({2}, {256}, {2}, 0, bytes_of(given)),
              launching + "a cluster of 2 x 1 x 1 blocks: Vulkan has no clusters");
    EXPECT_EQ(say({1}, {256}, {}, 64, bytes_of(given)),
              launching + "64 bytes of dynamic shared memory: in Vulkan its size is the kernel's, by its constants");
    EXPECT_EQ(say({1}, {256}, {}, 0, long_arguments),
              launching + "4100 bytes of arguments, Vulkan's launches take 4096");
}

TEST_F(VulkanStreams, RefuseWhatBelongsToAnotherDevice) {
    const CallersDevice callers{engine.get()};
    const auto other = adopt("vulkan", &callers).value();
    const auto foreign = other->load("spin", std::as_bytes(std::span(kSpinWords))).value()->kernel("spin").value();
    const SpinParams given{a->data(), 1};
    EXPECT_EQ(message_of_launch(
                  {.name = "foreign", .kernel = *foreign, .grid = {1}, .block = {8}, .arguments = bytes_of(given)}),
              "foreign: launching \"spin\": the kernel was loaded on another device than stream \"test\"");
    const auto cpu = open("cpu").value();
    stream->wait(cpu->create_timeline().value(), 1);
    EXPECT_EQ(message_of(stream->synchronize()), "stream \"test\": the timeline belongs to another device");
}

TEST_F(VulkanStreams, HostFunctionsRunInOrderAndTheirErrorsNameThem) {
    std::vector<int> order;
    for (int i = 0; i < 20; ++i) {
        add(1, 1);
        stream->enqueue("append", [&order, i]() -> Result<void> {
            order.push_back(i);
            return {};
        });
    }
    EXPECT_EQ(read(*b).at(5), 20.F);
    stream->enqueue("relay", []() -> Result<void> { return fail(ErrorCode::DeviceLost, "the other side is gone"); });
    stream->enqueue("later", [&order]() -> Result<void> {
        order.push_back(-1);
        return {};
    });
    EXPECT_EQ(message_of(stream->synchronize()), "relay: the other side is gone");
    ASSERT_EQ(order.size(), 20U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(VulkanStreams, EachOthersTimelinesOrderThemInAChain) {
    const auto first = device->create_timeline().value(), second = device->create_timeline().value();
    const auto other = device->create_stream("other").value();
    for (std::uint64_t step = 1; step <= 50; ++step) {
        other->wait(first, step);  // waits before its signal has been enqueued, on the same queue perhaps
        enqueue(*other, "b to a", params(*b, *a, 1, 1));
        other->signal(second, step);
        enqueue(*stream, "a to b", params(*a, *b, 1, 1));
        stream->signal(first, step);
        stream->wait(second, step);
    }
    EXPECT_TRUE(second->wait(50, 30s));
    ASSERT_TRUE(other->synchronize());
    EXPECT_EQ(read(*a).at(3), 103.F);
    EXPECT_EQ(first->value(), 50U);
}

TEST_F(VulkanStreams, TheHostRelaysAValueBetweenThem) {
    const auto from = device->create_timeline().value(), to = device->create_timeline().value();
    const auto other = device->create_stream("other").value();
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

TEST_F(VulkanStreams, ASignalComesAfterWhatTheStreamHasWrittenForTheHostToo) {
    const auto pinned = device->allocate_pinned("seen by the host", kCount * sizeof(float)).value();
    const auto timeline = device->create_timeline().value();
    const volatile float* seen = reinterpret_cast<const float*>(pinned->host_data());
    for (std::uint64_t step = 1; step <= 200; ++step) {
        enqueue(*stream, "to the host", params(*a, *pinned, 0, static_cast<float>(step)));
        stream->signal(timeline, step);
        ASSERT_TRUE(timeline->wait(step, 10s));
        ASSERT_EQ(seen[kCount - 1], static_cast<float>(step));
        ASSERT_EQ(seen[0], static_cast<float>(step));
    }
}

TEST_F(VulkanStreams, EnqueueingReturnsBeforeTheWorkIsDone) {
    const auto gate = device->create_timeline().value(), done = device->create_timeline().value();
    stream->wait(gate, 1);
    enqueue(*stream, "gated", params(*a, *b, 1, 0));
    stream->signal(done, 1);
    EXPECT_FALSE(done->wait(1, 20ms));
    EXPECT_TRUE(stream->status());
    gate->signal(1);
    EXPECT_TRUE(done->wait(1, 10s));
    ASSERT_TRUE(stream->synchronize());
}

TEST_F(VulkanStreams, TakeMoreWorkThanOneSubmissionHolds) {
    for (int i = 0; i < 5000; ++i) add(1, 1);
    EXPECT_EQ(read(*b).at(kCount - 1), 5000.F);
}

TEST_F(VulkanStreams, AKernelKeepsItsModuleLoaded) {
    module.reset();
    enqueue(*stream, "copy", params(*a, *b, 1, 0));
    EXPECT_EQ(read(*b).at(7), 7.F);
}

TEST_F(VulkanStreams, FillAndCopyAnyBytes) {
    const auto memory = device->allocate("bytes", 64).value(), other = device->allocate("others", 64).value();
    for (std::uint64_t from = 0; from < 6; ++from)
        for (std::uint64_t bytes = 1; bytes < 14; ++bytes) {
            stream->fill(memory->data(), std::byte{7}, 64);
            stream->fill(memory->data() + from, std::byte{9}, bytes);
            stream->copy(other->data() + 1, memory->data() + from, bytes);
            std::vector<std::byte> got(64), copied(bytes);
            ASSERT_TRUE(stream->read_back(got, memory->data()));
            ASSERT_TRUE(stream->read_back(copied, other->data() + 1));
            EXPECT_EQ(std::ranges::count(got, std::byte{9}), bytes) << from;
            EXPECT_EQ(got[from], std::byte{9});
            EXPECT_EQ(got[from + bytes - 1], std::byte{9});
            EXPECT_EQ(copied, std::vector<std::byte>(bytes, std::byte{9}));
        }
    stream->fill(memory->data() + 60, std::byte{0}, 5);
    EXPECT_TRUE(message_of(stream->synchronize()).ends_with(" on end after its allocation, of which 4 are left"));
    std::byte mine{};
    stream->copy(memory->data(), &mine, 1);
    EXPECT_TRUE(message_of(stream->synchronize())
                    .ends_with(" is no memory that " + device->info().name +
                               " addresses: its own, pinned and imported memory are within its reach"));
}

TEST_F(VulkanStreams, StampEventsOnTheHostsAxis) {
    const auto first = device->create_event().value(), second = device->create_event().value();
    const auto gate = device->create_timeline().value();
    EXPECT_FALSE(first->time()) << "never recorded";
    ASSERT_TRUE(device->clock_quality());
    const Nanoseconds before = host_now();
    stream->wait(gate, 1);
    stream->record(first);
    stream->enqueue("pause", []() -> Result<void> {
        std::this_thread::sleep_for(5ms);
        return {};
    });
    stream->record(second);
    EXPECT_FALSE(first->time()) << "not passed";
    gate->signal(1);
    ASSERT_TRUE(stream->synchronize());
    const Nanoseconds after = host_now();
    ASSERT_TRUE(first->time() && second->time());
    EXPECT_GE(*second->time() - *first->time(), 4900us);
    EXPECT_GE(*first->time(), before - 1ms);
    EXPECT_LE(*second->time(), after + 1ms);
    stream->record(device->create_event().value());  // destroyed before it is passed
    EXPECT_TRUE(stream->synchronize());
}

}  // namespace
}  // namespace kinetograph::accel::vulkan
