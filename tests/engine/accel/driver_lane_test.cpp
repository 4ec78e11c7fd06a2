// The graph's accelerator lane on drivers whose memory the host cannot touch, eager and replayed: on the stand-ins, and
// on the CUDA driver that KINETOGRAPH_CUDA_LIBRARY names.
#include "driver_under_test.hpp"

#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/graph/host_lane.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>

namespace kinetograph::accel {
namespace {

using standin::ScaleAddParams;
constexpr std::uint32_t kCount = 512;
constexpr std::uint64_t kBytes = kCount * sizeof(float);

struct Data {
    graph::Buffer in, out;
};

struct DriverLanes : DriverTest {
    profile::Recorder recorder;
    std::shared_ptr<Kernel> scale_add;
    std::unique_ptr<Stream> reader;
    std::unique_ptr<Memory> input, state;
    std::array<std::unique_ptr<Memory>, 3> outputs;  ///< taken in turns, as an application takes its frames
    std::unique_ptr<AcceleratorLane> lane;
    std::unique_ptr<graph::HostLane> host_lane;
    std::unique_ptr<AcceleratorMemory> memory;
    std::unique_ptr<graph::Executor> executor;
    bool enqueues_host_function = false;
    std::function<void()> throws{};  ///< called by the first pass, if it is there, instead of what that is to do
    int executions_of_first_pass = 0;
    std::size_t declared = 0;

    /// Calls that look at the thread or ask after the stream, and are not a step's.
    std::vector<std::string_view> asides() const {
        if (driver.kind == "hip") return {"hipSetDevice", "hipStreamQuery"};
        return {"cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuStreamQuery",
                "cuThreadExchangeStreamCaptureMode"};
    }
    std::uint64_t calls_of_steps() const {
        std::uint64_t all = driver.kind == "cuda" ? cuda::driver_calls(*device)->calls() : control->calls();
        for (const std::string_view aside : asides()) all -= calls(aside);
        return all;
    }
    void create(Batches batches, bool timed = true) {
        scale_add = *load_test_kernels()->kernel("standin_scale_add");
        reader = std::move(*device->create_stream("reader"));
        input = std::move(*device->allocate("input", kBytes));
        state = std::move(*device->allocate("state", kBytes));
        for (auto& output : outputs) output = std::move(*device->allocate("output", kBytes));
        lane = std::move(*AcceleratorLane::create(*device, timed ? &recorder : nullptr, batches));
        host_lane = std::make_unique<graph::HostLane>();
        memory = std::make_unique<AcceleratorMemory>(*device);
        executor = std::move(*graph::Executor::create({.lanes = {lane.get(), host_lane.get()},
                                                       .memory = {{graph::MemoryDomain::Accelerator, memory.get()}},
                                                       .compile = {}}));
        write(*input, 0);
        write(*state, 0);
    }
    void release() {
        executor.reset();
        memory.reset();
        host_lane.reset();
        lane.reset();
        for (auto& output : outputs) output.reset();
        state.reset();
        input.reset();
        reader.reset();
        scale_add.reset();
        recorder.clear();
    }
    void TearDown() override {
        release();
        DriverTest::TearDown();
    }

    void write(const Memory& memory_of, float value) {
        const std::vector<float> values(kCount, value);
        ASSERT_TRUE(reader->upload(memory_of.data(), std::as_bytes(std::span(values))));
    }
    Memory& newest_output() { return *outputs[(declared - 1) % outputs.size()]; }
    float read_output() {
        std::vector<float> values(kCount);
        const auto read = reader->read_back(std::as_writable_bytes(std::span(values)), newest_output().data());
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

    /// norm = 2 * input + 1; output = half of what the step before has kept; kept = norm plus 10.
    void declare(graph::FrameGraph& frame) {
        const graph::BufferDesc floats{kBytes, 256, graph::MemoryDomain::Accelerator};
        const auto place = [](const Memory& of) {
            return graph::Physical{reinterpret_cast<std::uintptr_t>(of.data()), 0, kBytes};
        };
        const graph::Buffer in = frame.import_buffer("input", floats, place(*input));
        ++declared;
        const graph::Buffer result = frame.import_buffer("output", floats, place(newest_output()));
        const graph::Buffer before = frame.import_buffer("state", floats, place(*state));
        const Data& norm = frame.add_pass<Data>(
            "norm", graph::Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& data) {
                data.in = pass.read(in, graph::Access::KernelRead);
                data.out = pass.create("norm.out", floats, graph::Access::KernelWrite);
            },
            [this](const Data& data, PassContext& context) {
                if (throws) throws();
                ++executions_of_first_pass;
                enqueue(context, context.address(data.in), context.address(data.out), 2, 1);
                if (enqueues_host_function)
                    context.stream().enqueue(context.pass_name(), []() -> Result<void> { return {}; });
            });
        const Data& head = frame.add_pass<Data>(
            "head", graph::Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& data) {
                data.in = pass.read(before, graph::Access::KernelRead);
                data.out = pass.write(result, graph::Access::KernelWrite);
            },
            [this](const Data& data, PassContext& context) {
                enqueue(context, context.address(data.in), context.address(data.out), 0.5F, 0);
            });
        const Data& keep = frame.add_pass<Data>(
            "keep", graph::Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& data) {
                data.in = pass.read(norm.out, graph::Access::KernelRead);
                data.out = pass.write(before, graph::Access::KernelWrite);
            },
            [this](const Data& data, PassContext& context) {
                enqueue(context, context.address(data.in), context.address(data.out), 1, 10);
            });
        frame.export_contents(head.out);
        frame.export_contents(keep.out);
    }

    /// What each of `steps` executions leaves in the output, for inputs 0, 1, 2, ...
    std::vector<float> run(int steps) {
        std::vector<float> outputs;
        for (int step = 0; step < steps; ++step) {
            write(*input, static_cast<float>(step));
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

TEST_P(DriverLanes, RunAGraphWithStateInMemoryThatTheHostCannotTouch) {
    create(Batches::Eager);
    EXPECT_EQ(run(8), kExpected);
    EXPECT_EQ(lane->batch_counts().eager, 8U);
    EXPECT_EQ(lane->batch_counts().replayed, 0U);
}

TEST_P(DriverLanes, ReplayWhatTheyCapturedOncePerPlaceOfAnImport) {
    create(Batches::Replayed);
    EXPECT_EQ(run(8), kExpected);
    const BatchCounts counts = lane->batch_counts();
    EXPECT_EQ(counts.captured, 3U) << "the output takes three places in turns";
    EXPECT_EQ(counts.replayed, 8U);
    EXPECT_EQ(counts.eager, 0U);
    EXPECT_EQ(counts.declined, "");
    EXPECT_EQ(executions_of_first_pass, 3);
    EXPECT_EQ(calls(driver.launch_call()), 9U);
    if (control != nullptr) {
        EXPECT_EQ(control->kernels_run(), 24U);
    }
    write(*state, 0);
    EXPECT_EQ(run(2), (std::vector<float>{0, 5.5}));
    EXPECT_EQ(lane->batch_counts().captured, 3U) << "a graph reads the state where it lies";
}

TEST_P(DriverLanes, CaptureAgainWhenAnImportLiesElsewhere) {
    create(Batches::Replayed);
    run(3);
    const auto moved = std::move(input);
    input = std::move(*device->allocate("input, moved", kBytes));
    EXPECT_EQ(run(3).back(), 6.5F);
    EXPECT_EQ(lane->batch_counts().captured, 6U);
}

TEST_P(DriverLanes, KeepBatchesWithHostFunctionsEagerAndSayWhy) {
    create(Batches::Replayed);
    enqueues_host_function = true;
    EXPECT_EQ(run(8), kExpected);
    const BatchCounts counts = lane->batch_counts();
    EXPECT_EQ(counts.eager, 8U);
    EXPECT_EQ(counts.replayed, 0U);
    EXPECT_EQ(counts.declined, "host function \"norm\" cannot be captured on stream \"accelerator\"");
    EXPECT_EQ(executions_of_first_pass, 11) << "tried once for each place of the output";
}

TEST_P(DriverLanes, TurnWhatAPassThrowsIntoAnErrorAndGoOnWithTheNextExecution) {
    for (const Batches batches : {Batches::Eager, Batches::Replayed}) {
        create(batches);
        graph::FrameGraph frame;
        declare(frame);
        throws = [] { throw std::runtime_error("its shapes are gone"); };
        EXPECT_EQ(message_of(executor->execute(frame)), "execution 0, lane accelerator: norm: its shapes are gone");
        throws = [] { throw 42; };
        EXPECT_EQ(message_of(executor->execute(frame)),
                  "execution 1, lane accelerator: norm: it has thrown what is no std::exception");
        throws = {};
        EXPECT_EQ(run(8), kExpected);
        release();
    }
}

TEST_P(DriverLanes, TimeEveryPassOfAReplayOnTheHostsAxis) {
    create(Batches::Replayed);
    const Nanoseconds before = host_now();
    run(6);
    const auto spans = recorder.spans();
    ASSERT_EQ(spans.size(), 18U);
    // A stand-in's clock reads a second less than the host's; a loaded machine interrupts the readings.
    constexpr auto kClockError = std::chrono::milliseconds(200);
    for (std::size_t i = 0; i < spans.size(); ++i) {
        EXPECT_EQ(spans[i].name, (std::array{"norm", "head", "keep"}.at(i % 3)));
        EXPECT_EQ(spans[i].track, "accelerator");
        EXPECT_EQ(spans[i].execution, i / 3);
        EXPECT_LE(spans[i].begin, spans[i].end);
        EXPECT_GE(spans[i].begin, (i == 0 ? before : spans[i - 1].begin) - kClockError);
        if (i % 3 != 0) {
            EXPECT_EQ(spans[i].begin, spans[i - 1].end) << "one stamp ends a pass and begins the next";
        }
    }
}

TEST_P(DriverLanes, StampEveryPassOfTheFirstReplaysAndOfOneIn32Later) {
    create(Batches::Replayed);
    run(40);
    std::map<std::uint64_t, std::vector<std::string>> passes;  // [execution]
    for (const auto& span : recorder.spans()) passes[span.execution].emplace_back(span.name);
    ASSERT_EQ(passes.size(), 40U);
    const std::vector<std::string> each{"norm", "head", "keep"}, whole{"3 passes from norm to keep"};
    for (const auto& [execution, names] : passes)
        EXPECT_EQ(names, execution < 16 || execution == 32 ? each : whole) << execution;
    EXPECT_EQ(lane->timed_every(), 32U);
    EXPECT_EQ(lane->batch_counts().replayed, 40U);
    EXPECT_EQ(lane->batch_counts().eager, 0U);
}

TEST_P(DriverLanes, TimeEveryPassOfEveryEagerExecution) {
    create(Batches::Eager);
    run(40);
    EXPECT_EQ(lane->timed_every(), 1U);
    EXPECT_EQ(recorder.spans().size(), 3U * 40U);
}

TEST_P(DriverLanes, ReplaysInFlightKeepTheirOwnTimes) {
    create(Batches::Replayed);
    graph::Execution last;
    for (int step = 0; step < 12; ++step) {  // no times are read in between
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

using UntimedLanes = DriverLanes;

TEST_P(UntimedLanes, TimeABatchAsOneSpanWhereTheRuntimeStampsNothingInsideGraphs) {
    EXPECT_EQ(device->info().can_time_graphs.reason, driver.library + " has no hipStreamUpdateCaptureDependencies");
    create(Batches::Replayed);
    EXPECT_EQ(run(8), kExpected);
    EXPECT_EQ(lane->batch_counts().replayed, 8U);
    const auto spans = recorder.spans();
    ASSERT_EQ(spans.size(), 8U);
    EXPECT_EQ(spans.front().name, "3 passes from norm to keep");
    EXPECT_EQ(lane->timed_every(), 0U);
}

using BareLanes = DriverLanes;

TEST_P(BareLanes, WithoutCaptureRunEagerlyAndSayWhy) {
    create(Batches::Replayed);
    EXPECT_EQ(run(3).back(), 6.5F);
    EXPECT_EQ(lane->batch_counts().eager, 3U);
    EXPECT_EQ(lane->batch_counts().declined, driver.library + " has no hipStreamBeginCapture");
    EXPECT_EQ(lane->timed_every(), 1U);
}

TEST_P(DriverLanes, AStepInTheSteadyStateIsThreeCallsOfTheDriver) {
    create(Batches::Replayed, false);
    run(4);
    std::vector<graph::Execution> executions;
    const std::uint64_t before = calls_of_steps();
    constexpr std::uint64_t kSteps = 6;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
        graph::FrameGraph frame;
        declare(frame);
        executions.push_back(*executor->execute(frame));
    }
    const std::uint64_t after = calls_of_steps();
    EXPECT_LE(after - before, 3 * kSteps) << "wait for the step before, replay, signal";
    ASSERT_TRUE(executor->wait(executions.back()));
}

TEST_P(DriverLanes, AreWaitedForByTheHostAndWaitForItThroughTheRelay) {
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

TEST_P(DriverLanes, ReportALostDeviceInsteadOfWaitingForever) {
    if (control == nullptr) GTEST_SKIP() << "a real device is lost for the whole process";
    std::vector<std::string> logged;  // by the lane's watch, or at its end
    hooks.log = Log([&](LogLevel, std::string_view text) { logged.emplace_back(text); });
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
    EXPECT_NE(message.find(" or a pass before it: "), std::string::npos) << message;
    EXPECT_TRUE(message.ends_with(driver.word(": hipErrorLaunchFailure (719)", ": CUDA_ERROR_LAUNCH_FAILED (719)")))
        << message;
    release();
    EXPECT_EQ(logged, std::vector<std::string>{"lane accelerator: " + message}) << "once";
}

const DriverUnderTest kUntimed{"hip", "Untimed", KINETOGRAPH_STANDIN_HIP_UNTIMED};
const DriverUnderTest kBare{"hip", "Bare", KINETOGRAPH_STANDIN_HIP_BARE};
INSTANTIATE_TEST_SUITE_P(Of, DriverLanes, testing::Values(kHip, kCuda), name_of);
INSTANTIATE_TEST_SUITE_P(Of, UntimedLanes, testing::Values(kUntimed), name_of);
INSTANTIATE_TEST_SUITE_P(Of, BareLanes, testing::Values(kBare), name_of);

}  // namespace
}  // namespace kinetograph::accel
