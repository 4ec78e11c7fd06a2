// The graph's accelerator lane on a device whose memory the host cannot touch: eager and replayed.
#include "standin_fixture.hpp"

#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/graph/host_lane.hpp>

#include <cstring>

namespace kinetograph::accel::hip {
namespace {

using standin::ScaleAddParams;
constexpr std::uint32_t kCount = 512;
constexpr std::uint64_t kBytes = kCount * sizeof(float);

struct Data {
    graph::Buffer in, out;
    graph::History history;
};

struct HipLanes : Standin {
    profile::Recorder recorder;
    std::shared_ptr<Kernel> scale_add;
    std::unique_ptr<Stream> reader;
    std::unique_ptr<Memory> input, output;
    std::unique_ptr<AcceleratorLane> lane;
    std::unique_ptr<graph::HostLane> host_lane;
    std::unique_ptr<AcceleratorMemory> memory;
    std::unique_ptr<graph::Executor> executor;
    graph::HistoryStorage* history = nullptr;
    bool enqueues_host_function = false;
    int executions_of_first_pass = 0;

    void create(Batches batches, bool timed = true) {
        scale_add = *(*device->load("test kernels", standin::placeholder_image()))->kernel("standin_scale_add");
        reader = std::move(*device->create_stream("reader"));
        input = std::move(*device->allocate("input", kBytes));
        output = std::move(*device->allocate("output", kBytes));
        lane = std::move(*AcceleratorLane::create(*device, timed ? &recorder : nullptr, batches));
        host_lane = std::make_unique<graph::HostLane>();
        memory = std::make_unique<AcceleratorMemory>(*device);
        executor = std::move(*graph::Executor::create({.lanes = {lane.get(), host_lane.get()},
                                                       .memory = {{graph::MemoryDomain::Accelerator, memory.get()}},
                                                       .compile = {}}));
        history = *executor->create_history("sums", {.value_bytes = kBytes, .slots = 3});
        write_input(0);
    }
    void release() {
        executor.reset();
        memory.reset();
        host_lane.reset();
        lane.reset();
        output.reset();
        input.reset();
        reader.reset();
        scale_add.reset();
        recorder.clear();
    }
    void TearDown() override {
        release();
        Standin::TearDown();
    }

    void write_input(float value) {
        const std::vector<float> values(kCount, value);
        ASSERT_TRUE(reader->upload(input->data(), std::as_bytes(std::span(values))));
    }
    float read_output() {
        std::vector<float> values(kCount);
        const auto read = reader->read_back(std::as_writable_bytes(std::span(values)), output->data());
        EXPECT_TRUE(read) << message_of(read);
        for (const float value : values) EXPECT_EQ(value, values.front());
        return values.front();
    }

    void enqueue(PassContext& lane_context, const std::byte* in, std::byte* out, float scale, float offset) {
        const ScaleAddParams params{reinterpret_cast<const float*>(in), reinterpret_cast<float*>(out), kCount, scale,
                                    offset};
        lane_context.stream().launch({.name = lane_context.pass_name(),
                                      .kernel = *scale_add,
                                      .grid = {2},
                                      .block = {256},
                                      .arguments = bytes_of(params)});
    }

    /// norm = 2 * input + 1; sum = history pushed, norm plus 10; output = half the history's value before that.
    void declare(graph::FrameGraph& frame) {
        const graph::BufferDesc floats{kBytes, 256, graph::MemoryDomain::Accelerator};
        const auto place = [](const Memory& of) {
            return graph::Physical{reinterpret_cast<std::uintptr_t>(of.data()), 0, kBytes};
        };
        const graph::Buffer in = frame.import_buffer("input", floats, place(*input));
        const graph::Buffer result = frame.import_buffer("output", floats, place(*output));
        const graph::History sums = frame.import_history(*history, {.keep = 1, .push = 1});
        const Data& norm = frame.add_pass<Data>(
            "norm", graph::Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& data) {
                data.in = pass.read(in, graph::Access::KernelRead);
                data.out = pass.create("norm.out", floats, graph::Access::KernelWrite);
            },
            [this](const Data& data, PassContext& context) {
                ++executions_of_first_pass;
                enqueue(context, context.address(data.in), context.address(data.out), 2, 1);
                if (enqueues_host_function)
                    context.stream().enqueue(context.pass_name(), []() -> Result<void> { return {}; });
            });
        const Data& conv = frame.add_pass<Data>(
            "conv", graph::Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& data) {
                data.in = pass.read(norm.out, graph::Access::KernelRead);
                data.history = pass.push(sums, graph::Access::KernelWrite);
            },
            [this](const Data& data, PassContext& context) {
                enqueue(context, context.address(data.in), context.address(data.history, 0), 1, 10);
            });
        const Data& head = frame.add_pass<Data>(
            "head", graph::Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& data) {
                data.history = pass.read(conv.history, graph::Access::KernelRead);
                data.out = pass.write(result, graph::Access::KernelWrite);
            },
            [this](const Data& data, PassContext& context) {
                enqueue(context, context.address(data.history, -1), context.address(data.out), 0.5F, 0);
            });
        frame.export_contents(head.out);
    }

    /// What each of `steps` executions leaves in the output, for inputs 0, 1, 2, ...
    std::vector<float> run(int steps) {
        std::vector<float> outputs;
        for (int step = 0; step < steps; ++step) {
            write_input(static_cast<float>(step));
            graph::FrameGraph frame;
            declare(frame);
            const auto execution = executor->execute(frame);
            EXPECT_TRUE(execution) << message_of(execution);
            const auto waited = executor->wait(*execution);
            EXPECT_TRUE(waited) << message_of(waited);
            outputs.push_back(read_output());
        }
        return outputs;
    }
};

const std::vector<float> kExpected{0, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5};  // the value before: (2 * (k - 1) + 11) / 2

TEST_F(HipLanes, RunAGraphWithHistoriesInMemoryThatTheHostCannotTouch) {
    create(Batches::Eager);
    EXPECT_EQ(run(8), kExpected);
    EXPECT_EQ(lane->batch_counts().eager, 8U);
    EXPECT_EQ(lane->batch_counts().replayed, 0U);
    ASSERT_TRUE(executor->reset_histories());
    EXPECT_EQ(run(2), (std::vector<float>{0, 5.5}));
}

TEST_F(HipLanes, ReplayWhatTheyCapturedOncePerPlaceOfTheRing) {
    create(Batches::Replayed);
    EXPECT_EQ(run(8), kExpected);
    const BatchCounts counts = lane->batch_counts();
    EXPECT_EQ(counts.captured, 3U) << "the ring has three slots";
    EXPECT_EQ(counts.replayed, 8U);
    EXPECT_EQ(counts.eager, 0U);
    EXPECT_EQ(counts.declined, "");
    EXPECT_EQ(executions_of_first_pass, 3);
    EXPECT_EQ(control.calls("hipModuleLaunchKernel"), 9U);
    EXPECT_EQ(control.kernels_run(), 24U);
    ASSERT_TRUE(executor->reset_histories());
    EXPECT_EQ(run(2), (std::vector<float>{0, 5.5})) << "the ring starts over where a graph stands ready";
}

TEST_F(HipLanes, CaptureAgainWhenAnImportLiesElsewhere) {
    create(Batches::Replayed);
    run(3);
    const auto moved = std::move(input);
    input = std::move(*device->allocate("input, moved", kBytes));
    EXPECT_EQ(run(3).back(), 6.5F);
    EXPECT_EQ(lane->batch_counts().captured, 6U);
}

TEST_F(HipLanes, KeepBatchesWithHostFunctionsEagerAndSayWhy) {
    create(Batches::Replayed);
    enqueues_host_function = true;
    EXPECT_EQ(run(8), kExpected);
    const BatchCounts counts = lane->batch_counts();
    EXPECT_EQ(counts.eager, 8U);
    EXPECT_EQ(counts.replayed, 0U);
    EXPECT_EQ(counts.declined, "host function \"norm\" cannot be captured on stream \"accelerator\"");
    EXPECT_EQ(executions_of_first_pass, 11) << "tried once for each place of the ring";
}

TEST_F(HipLanes, TimeEveryPassOfAReplayOnTheHostsAxis) {
    create(Batches::Replayed);
    const Nanoseconds before = host_now();
    run(6);
    const auto spans = recorder.spans();
    ASSERT_EQ(spans.size(), 18U);
    constexpr auto kClockError = std::chrono::milliseconds(5);
    for (std::size_t i = 0; i < spans.size(); ++i) {
        EXPECT_EQ(spans[i].name, (std::array{"norm", "conv", "head"}.at(i % 3)));
        EXPECT_EQ(spans[i].track, "accelerator");
        EXPECT_EQ(spans[i].execution, i / 3);
        EXPECT_LE(spans[i].begin, spans[i].end);
        EXPECT_GE(spans[i].begin, (i == 0 ? before : spans[i - 1].begin) - kClockError);
    }
}

TEST_F(HipLanes, ReplaysInFlightKeepTheirOwnTimes) {
    create(Batches::Replayed);
    graph::Execution last;
    for (int step = 0; step < 12; ++step) {  // nobody reads times in between
        graph::FrameGraph frame;
        declare(frame);
        last = *executor->execute(frame);
    }
    ASSERT_TRUE(executor->wait(last));
    const auto spans = recorder.spans();
    ASSERT_EQ(spans.size(), 36U);
    for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_EQ(spans[i].execution, i / 3);
    EXPECT_LE(lane->batch_counts().captured, 3 * BatchGraphs::kGraphsPerBatch);
}

TEST_F(HipLanes, TimeABatchAsOneSpanWhereTheRuntimeStampsNothingInsideGraphs) {
    device.reset();
    standin::Control& other = control_of(KINETOGRAPH_STANDIN_HIP_UNTIMED);
    auto untimed = create_device({.library = KINETOGRAPH_STANDIN_HIP_UNTIMED});
    ASSERT_TRUE(untimed) << message_of(untimed);
    device = std::move(*untimed);
    EXPECT_EQ(device->info().can_time_graphs.reason,
              std::string(KINETOGRAPH_STANDIN_HIP_UNTIMED) + " has no hipStreamUpdateCaptureDependencies");
    create(Batches::Replayed);
    EXPECT_EQ(run(8), kExpected);
    for (const std::string& complaint : other.complaints()) ADD_FAILURE() << complaint;
    EXPECT_EQ(lane->batch_counts().replayed, 8U);
    const auto spans = recorder.spans();
    ASSERT_EQ(spans.size(), 8U);
    EXPECT_EQ(spans.front().name, "3 passes from norm to head");
    release();
    device.reset();
    EXPECT_EQ(other.live(), standin::Live{});
    for (const std::string& complaint : other.complaints()) ADD_FAILURE() << complaint;
}

TEST_F(HipLanes, WithoutCaptureRunEagerlyAndSayWhy) {
    device.reset();
    auto bare = create_device({.library = KINETOGRAPH_STANDIN_HIP_BARE});
    ASSERT_TRUE(bare) << message_of(bare);
    device = std::move(*bare);
    create(Batches::Replayed);
    EXPECT_EQ(run(3).back(), 6.5F);
    EXPECT_EQ(lane->batch_counts().eager, 3U);
    EXPECT_EQ(lane->batch_counts().declined,
              std::string(KINETOGRAPH_STANDIN_HIP_BARE) + " has no hipStreamBeginCapture");
    release();
}

TEST_F(HipLanes, AStepInTheSteadyStateIsThreeCallsOfTheRuntime) {
    create(Batches::Replayed, false);
    run(4);
    std::vector<graph::Execution> executions;
    const std::uint64_t choices = control.calls("hipSetDevice");  // a store to a variable of the thread
    const std::uint64_t queries = control.calls("hipStreamQuery");
    const std::uint64_t before = control.calls() - choices - queries;
    constexpr std::uint64_t kSteps = 6;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
        graph::FrameGraph frame;
        declare(frame);
        executions.push_back(*executor->execute(frame));
    }
    const std::uint64_t after = control.calls() - control.calls("hipSetDevice") - control.calls("hipStreamQuery");
    EXPECT_LE(after - before, 3 * kSteps) << "wait for the step before, replay, signal";
    ASSERT_TRUE(executor->wait(executions.back()));
}

TEST_F(HipLanes, AreWaitedForByTheHostAndWaitForItThroughTheRelay) {
    create(Batches::Replayed);
    auto* page = static_cast<std::byte*>(std::aligned_alloc(4096, 4096));
    auto shared = std::move(*device->import_host("shared page", {page, 4096}));
    const graph::BufferDesc desc{4096, 4096, graph::MemoryDomain::Shared};
    std::vector<float> seen;
    for (int step = 0; step < 5; ++step) {
        graph::FrameGraph frame;
        const graph::Buffer buffer =
            frame.import_buffer("page", desc, {reinterpret_cast<std::uintptr_t>(page), 0, 4096});
        const Data& prepare = frame.add_pass<Data>(
            "prepare", graph::Lane::Host,
            [&](graph::PassBuilder& pass, Data& data) { data.out = pass.write(buffer, graph::Access::HostWrite); },
            [step](const Data& data, graph::HostContext& context) {
                const std::vector<float> values(kCount, static_cast<float>(step));
                std::memcpy(context.address(data.out), values.data(), kBytes);
            });
        const Data& scale = frame.add_pass<Data>(
            "scale", graph::Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& data) {
                data.in = pass.read(prepare.out, graph::Access::KernelRead);
                data.out = pass.write(data.in, graph::Access::KernelWrite);
            },
            [this](const Data& data, PassContext& context) {
                enqueue(context, context.address(data.in), context.address(data.in) + kBytes, 3, 1);
            });
        frame.add_pass<Data>(
            "look", graph::Lane::Host,
            [&](graph::PassBuilder& pass, Data& data) {
                data.in = pass.read(scale.out, graph::Access::HostRead);
                pass.has_side_effect();
            },
            [&seen](const Data& data, graph::HostContext& context) {
                float value = 0;
                std::memcpy(&value, context.address(data.in) + kBytes, sizeof(value));
                seen.push_back(value);
            });
        const auto execution = executor->execute(frame);
        ASSERT_TRUE(execution) << message_of(execution);
        ASSERT_TRUE(executor->wait(*execution));
    }
    EXPECT_EQ(seen, (std::vector<float>{1, 4, 7, 10, 13}));
    EXPECT_EQ(lane->batch_counts().replayed, 5U);
    EXPECT_EQ(lane->batch_counts().captured, 1U);
    release();
    shared.reset();
    std::free(page);
}

TEST_F(HipLanes, ReportALostDeviceInsteadOfWaitingForItForEver) {
    start({.faulting_launch = 5});
    create(Batches::Eager);
    Result<void> waited;
    for (int step = 0; step < 4 && waited; ++step) {
        graph::FrameGraph frame;
        declare(frame);
        const auto execution = executor->execute(frame);
        ASSERT_TRUE(execution) << message_of(execution);
        waited = executor->wait(*execution);
    }
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::DeviceLost);
    const std::string& message = waited.error().message;  // the call that notices it first is a matter of luck
    EXPECT_NE(message.find(" or a pass before it: hip"), std::string::npos) << message;
    EXPECT_TRUE(message.ends_with(": hipErrorLaunchFailure (719)")) << message;
}

}  // namespace
}  // namespace kinetograph::accel::hip
