#include "standin_fixture.hpp"

#include <atomic>
#include <numeric>
#include <thread>

namespace kinetograph::accel::hip {
namespace {

using standin::ScaleAddParams;
constexpr std::uint32_t kCount = 1000;

struct HipStreams : Standin {
    std::shared_ptr<Module> module;
    std::shared_ptr<Kernel> scale_add;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Memory> a, b;

    void SetUp() override {
        Standin::SetUp();
        prepare();
    }
    void prepare() {
        module = *device->load("test kernels", standin::placeholder_image());
        scale_add = *module->kernel("standin_scale_add");
        stream = std::move(*device->create_stream("test"));
        a = std::move(*device->allocate("a", kCount * sizeof(float)));
        b = std::move(*device->allocate("b", kCount * sizeof(float)));
        std::vector<float> numbers(kCount);
        std::iota(numbers.begin(), numbers.end(), 0.F);
        ASSERT_TRUE(stream->upload(a->data(), std::as_bytes(std::span(numbers))));
    }
    void release() {
        stream.reset();
        scale_add.reset();
        module.reset();
        a.reset();
        b.reset();
    }
    /// The stand-in with faults from here on.
    void restart(const standin::Options& chosen) {
        release();
        start(chosen);
        prepare();
    }
    void TearDown() override {
        release();
        Standin::TearDown();
    }

    ScaleAddParams params(const Memory& in, const Memory& out, float scale, float offset) const {
        return {reinterpret_cast<const float*>(in.data()), reinterpret_cast<float*>(out.data()), kCount, scale, offset};
    }
    void enqueue(Stream& on, std::string_view pass, const ScaleAddParams& params) {
        on.launch({.name = pass,
                   .kernel = *scale_add,
                   .grid = {(kCount + 255) / 256},
                   .block = {256},
                   .arguments = bytes_of(params)});
    }
    std::vector<float> read(const Memory& memory) {
        std::vector<float> values(kCount);
        const auto done = stream->read_back(std::as_writable_bytes(std::span(values)), memory.data());
        EXPECT_TRUE(done) << message_of(done);
        return values;
    }
};

TEST_F(HipStreams, KernelsSayWhatTheyNeed) {
    EXPECT_EQ(scale_add->info().name, "standin_scale_add");
    EXPECT_EQ(scale_add->info().max_threads, 256U);
    EXPECT_EQ(scale_add->info().static_shared_bytes, 0U);
    EXPECT_FALSE(scale_add->info().registers) << "the placeholder does not tell";
}

TEST_F(HipStreams, RunKernelsInOrderOnPackedArguments) {
    enqueue(*stream, "double", params(*a, *b, 2, 1));
    enqueue(*stream, "triple", params(*b, *b, 3, 0));
    const auto values = read(*b);
    for (std::uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], 3 * (2 * static_cast<float>(i) + 1));
    EXPECT_EQ(control.kernels_run(), 2U);
}

TEST_F(HipStreams, CopyTheArgumentsAtTheCall) {
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

TEST_F(HipStreams, RefuseArgumentsOfAnotherSizeThanTheKernels) {
    const std::uint64_t wrong = 0;
    stream->launch({.name = "wrong", .kernel = *scale_add, .grid = {1}, .block = {256}, .arguments = bytes_of(wrong)});
    EXPECT_EQ(message_of(stream->synchronize()),
              "wrong: launching \"standin_scale_add\": hipModuleLaunchKernel: hipErrorInvalidValue (1)");
    ASSERT_EQ(control.complaints().size(), 1U);
    EXPECT_EQ(control.complaints().front(), "standin_scale_add launched with 8 bytes of arguments, it takes 32");
    release();
    start({});
    prepare();
}

TEST_F(HipStreams, RefuseLaunchesThatNoDeviceCanRun) {
    const ScaleAddParams given = params(*a, *b, 1, 0);
    const auto try_launch = [&](Launch launch) {
        stream->launch(launch);
        return message_of(stream->synchronize());
    };
    Launch launch{.name = "conv1", .kernel = *scale_add, .grid = {1}, .block = {512}, .arguments = bytes_of(given)};
    EXPECT_EQ(try_launch(launch),
              "conv1: launching \"standin_scale_add\": a block of 512 threads, the kernel's limit is 256");
    launch.block = {256};
    launch.grid = {4, 0, 1};
    EXPECT_EQ(try_launch(launch),
              "conv1: launching \"standin_scale_add\": a grid of 4 x 0 x 1 blocks of 256 x 1 x 1 threads is empty");
    launch.grid = {4};
    launch.cluster = {2};
    EXPECT_EQ(try_launch(launch),
              "conv1: launching \"standin_scale_add\": a cluster of 2 x 1 x 1 blocks: HIP devices have no clusters");
    EXPECT_EQ(control.calls("hipModuleLaunchKernel"), 0U);
}

TEST_F(HipStreams, RefuseWhatBelongsToAnotherDevice) {
    const auto other = std::move(*create_device({.library = kStandin}));
    const auto foreign_kernel = *(*other->load("test kernels", standin::placeholder_image()))->kernel("standin_spin");
    const standin::SpinParams spin{1};
    stream->launch(
        {.name = "foreign", .kernel = *foreign_kernel, .grid = {1}, .block = {1}, .arguments = bytes_of(spin)});
    EXPECT_EQ(message_of(stream->synchronize()),
              "foreign: launching \"standin_spin\": the kernel was loaded on another device than stream \"test\"");
    stream->wait(*other->create_timeline(), 1);
    EXPECT_EQ(message_of(stream->synchronize()), "stream \"test\": the timeline belongs to another device");
}

TEST_F(HipStreams, AnErrorOfALaunchNamesPassKernelCallAndErrorAndSkipsLaterWork) {
    restart({.injections = {{"hipModuleLaunchKernel", 2, Status::OutOfMemory}}});
    auto timeline = *device->create_timeline();
    enqueue(*stream, "up2.res1.conv1", params(*a, *b, 2, 0));
    enqueue(*stream, "up2.res1.conv2", params(*a, *b, 3, 0));
    enqueue(*stream, "up2.res1.conv3", params(*a, *b, 4, 0));
    stream->fill(b->data(), std::byte{0}, kCount * sizeof(float));
    stream->signal(timeline, 1);
    EXPECT_TRUE(timeline->wait(1, std::chrono::seconds(10))) << "nobody hangs";
    const std::string sentence =
        "up2.res1.conv2: launching \"standin_scale_add\": hipModuleLaunchKernel: hipErrorOutOfMemory (2)";
    EXPECT_EQ(message_of(stream->status()), sentence);
    const auto result = stream->synchronize();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::OutOfMemory);
    EXPECT_EQ(result.error().message, sentence);
    EXPECT_TRUE(stream->synchronize()) << "a reported error is forgotten";
    EXPECT_EQ(read(*b).at(10), 20.F) << "what came after the error was skipped";
}

TEST_F(HipStreams, AnErrorThatAppearsLateNamesWhoMayBeMeantAndLetsNobodyWaitForEver) {
    restart({.faulting_launch = 2});
    auto timeline = *device->create_timeline();
    enqueue(*stream, "conv1", params(*a, *b, 2, 0));
    enqueue(*stream, "conv2", params(*a, *b, 3, 0));
    Result<void> status;
    for (int i = 0; i < 10'000 && status; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        status = stream->status();
    }
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(status.error().message, "conv2 or a pass before it: hipStreamQuery: hipErrorLaunchFailure (719)");
    stream->signal(timeline, 7);
    EXPECT_TRUE(timeline->wait(7, std::chrono::seconds(10))) << "a lost device signals through the host";
    EXPECT_FALSE(stream->synchronize());
}

TEST_F(HipStreams, ErrorsOfFillsAndCopiesSayHowMuch) {
    stream->fill(a->data() + 1000, std::byte{0}, 1U << 20U);
    EXPECT_EQ(message_of(stream->synchronize()), "filling 1048576 bytes: hipMemsetAsync: hipErrorInvalidValue (1)");
    stream->copy(b->data(), a->data(), 1U << 20U);
    EXPECT_EQ(message_of(stream->synchronize()), "copying 1048576 bytes: hipMemcpyAsync: hipErrorInvalidValue (1)");
}

TEST_F(HipStreams, HostFunctionsRunInOrderAndTheirErrorsNameThem) {
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
}

TEST_F(HipStreams, AHostFunctionThatIsRefusedIsReleasedAndReported) {
    restart({.injections = {{"hipLaunchHostFunc", 1, Status::OutOfMemory}}});
    const auto witness = std::make_shared<int>(1);
    stream->enqueue("relay", [witness]() -> Result<void> { return {}; });
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_EQ(message_of(stream->synchronize()), "relay: hipLaunchHostFunc: hipErrorOutOfMemory (2)");
}

TEST_F(HipStreams, EachOthersTimelinesOrderThemInAChain) {
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

TEST_F(HipStreams, TheHostRelaysAValueBetweenStreamsThatDoNotKnowEachOther) {
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

TEST_F(HipStreams, TimelinesNeverGoBackAndWaitingTimesOut) {
    auto timeline = *device->create_timeline();
    EXPECT_EQ(timeline->value(), 0U);
    EXPECT_FALSE(timeline->wait(1, std::chrono::milliseconds(2)));
    timeline->signal(5);
    timeline->signal(3);
    EXPECT_EQ(timeline->value(), 5U);
    EXPECT_TRUE(timeline->wait(4));
}

TEST_F(HipStreams, EnqueueingReturnsBeforeTheWorkIsDone) {
    auto gate = *device->create_timeline();
    stream->wait(gate, 1);
    enqueue(*stream, "gated", params(*a, *b, 1, 0));
    EXPECT_EQ(control.kernels_run(), 0U);
    gate->signal(1);
    ASSERT_TRUE(stream->synchronize());
    EXPECT_EQ(control.kernels_run(), 1U);
}

TEST_F(HipStreams, ModulesOfAnotherArchitectureOrNoneAreRefusedByName) {
    EXPECT_EQ(message_of(module->kernel("conv9d")),
              "kernel \"conv9d\" of \"test kernels\": hipModuleGetFunction: hipErrorNotFound (500)");
    EXPECT_EQ(message_of(device->load("nothing", {})), "loading \"nothing\" on Stand-in MI355X: the image is empty");
    const std::string text = "this is no code object, whatever its length and padding";
    EXPECT_EQ(message_of(device->load("text", std::as_bytes(std::span(text)))),
              "loading \"text\" on Stand-in MI355X: hipModuleLoadData: hipErrorInvalidImage (200)");
}

TEST_F(HipStreams, AKernelKeepsItsModuleLoaded) {
    module.reset();
    enqueue(*stream, "copy", params(*a, *b, 1, 0));
    EXPECT_EQ(read(*b).at(7), 7.F);
    EXPECT_EQ(control.live().modules, 1U);
}

}  // namespace
}  // namespace kinetograph::accel::hip
