#include <gtest/gtest.h>
#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/graph/fingerprint.hpp>

#include <algorithm>
#include <numeric>

namespace kinetograph::accel {
namespace {

constexpr std::uint64_t kInts = 1024;

struct Data {
    graph::Buffer in, out;
};

/// Two chained passes: out = in + 1, then out = in * 2, on a graph's transient memory.
void declare(graph::FrameGraph& frame, const graph::Physical& result) {
    const graph::BufferDesc ints{kInts * sizeof(int), 64, graph::MemoryDomain::Accelerator};
    const graph::Buffer output = frame.import_buffer("result", ints, result);
    const Data& count = frame.add_pass<Data>(
        "count", graph::Lane::Accelerator,
        [&](graph::PassBuilder& pass, Data& data) {
            data.out = pass.create("numbers", ints, graph::Access::KernelWrite);
        },
        [](const Data& data, PassContext& lane) {
            auto* out = reinterpret_cast<int*>(lane.address(data.out));
            lane.stream().enqueue("count", [out]() -> Result<void> {
                std::iota(out, out + kInts, 0);
                return {};
            });
        });
    const Data& twice = frame.add_pass<Data>(
        "double", graph::Lane::Accelerator,
        [&](graph::PassBuilder& pass, Data& data) {
            data.in = pass.read(count.out, graph::Access::KernelRead);
            data.out = pass.write(output, graph::Access::KernelWrite);
        },
        [](const Data& data, PassContext& lane) {
            const auto* in = reinterpret_cast<const int*>(lane.address(data.in));
            auto* out = reinterpret_cast<int*>(lane.address(data.out));
            lane.stream().enqueue("double", [in, out]() -> Result<void> {
                std::transform(in, in + kInts, out, [](int value) { return 2 * value; });
                return {};
            });
        });
    frame.export_contents(twice.out);
}

struct AcceleratorLanes : testing::Test {
    profile::Recorder recorder;
    std::unique_ptr<Device> device = cpu::create_device();
    std::unique_ptr<AcceleratorLane> lane = std::move(*AcceleratorLane::create(*device, &recorder));
    AcceleratorMemory memory{*device};
    std::unique_ptr<graph::Executor> executor =
        std::move(*graph::Executor::create({.lanes = {lane.get()},
                                            .memory = {{graph::MemoryDomain::Accelerator, &memory}},
                                            .compile = {.topology = graph::LaneTopology::without_vulkan()}}));
    std::vector<int> numbers = std::vector<int>(kInts, -1);
    graph::Physical result{reinterpret_cast<std::uintptr_t>(numbers.data()), 0, kInts * sizeof(int)};
};

TEST_F(AcceleratorLanes, RunAGraphsPassesInItsMemory) {
    graph::FrameGraph frame;
    declare(frame, result);
    const auto execution = executor->execute(frame);
    ASSERT_TRUE(execution) << execution.error().message;
    ASSERT_TRUE(executor->wait(*execution));
    for (std::size_t i = 0; i < kInts; ++i) ASSERT_EQ(numbers[i], static_cast<int>(2 * i));
}

TEST_F(AcceleratorLanes, RecordOneSpanAPassInOrderOnTheHostAxis) {
    graph::FrameGraph frame;
    declare(frame, result);
    const auto before = host_now();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(executor->wait(*executor->execute(frame)));
    const auto spans = recorder.spans();
    ASSERT_EQ(spans.size(), 6U);
    for (std::size_t i = 0; i < spans.size(); ++i) {
        EXPECT_EQ(spans[i].name, i % 2 == 0 ? "count" : "double");
        EXPECT_EQ(spans[i].track, "accelerator");
        EXPECT_EQ(spans[i].execution, i / 2);
        EXPECT_LE(spans[i].begin, spans[i].end);
        EXPECT_GE(spans[i].begin, i == 0 ? before : spans[i - 1].end);
    }
    EXPECT_LE(spans.back().end, host_now());
}

TEST_F(AcceleratorLanes, OfTwoStreamsRecordOnTracksOfTheirOwnAndAsPlansOfTheirOwn) {
    const auto other_lane = std::move(*AcceleratorLane::create(*device, &recorder));
    const auto other =
        std::move(*graph::Executor::create({.lanes = {other_lane.get()},
                                            .memory = {{graph::MemoryDomain::Accelerator, &memory}},
                                            .compile = {.topology = graph::LaneTopology::without_vulkan()}}));
    graph::FrameGraph frame;
    declare(frame, result);
    for (graph::Executor* each : {executor.get(), other.get()}) ASSERT_TRUE(each->wait(*each->execute(frame)));
    EXPECT_NE(executor->id(), other->id());
    const auto spans = recorder.spans();
    ASSERT_EQ(spans.size(), 4U);
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const graph::Executor& of = i < 2 ? *executor : *other;
        EXPECT_EQ(spans[i].track, i < 2 ? "accelerator" : "accelerator #2");
        EXPECT_EQ(spans[i].plan, recorder.plans().id_of(of.plan()->fingerprint, of.id()));
        EXPECT_EQ(spans[i].execution, 0U);
    }
    EXPECT_NE(spans.front().plan, spans.back().plan);
}

TEST_F(AcceleratorLanes, AllocateNothingOnceTheArenaIsReserved) {
    graph::FrameGraph frame;
    declare(frame, result);
    ASSERT_TRUE(memory.reserve(1U << 20U));
    const std::uint64_t held = device->bytes_allocated();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(executor->wait(*executor->execute(frame)));
    EXPECT_EQ(device->bytes_allocated(), held);
    EXPECT_EQ(device->peak_bytes(), held);
}

TEST_F(AcceleratorLanes, ReportAKernelsErrorWhenTheExecutionIsWaitedFor) {
    graph::FrameGraph frame;
    frame.add_pass<Data>(
        "broken", graph::Lane::Accelerator, [](graph::PassBuilder& pass, Data&) { pass.has_side_effect(); },
        [](const Data&, PassContext& context) {
            context.stream().enqueue(context.pass_name(), []() -> Result<void> {
                return fail(ErrorCode::Unsupported, "no kernel for this shape");
            });
        });
    const auto execution = executor->execute(frame);
    ASSERT_TRUE(execution);
    const auto waited = executor->wait(*execution);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().message, "broken: no kernel for this shape");
}

/// A timeline of the application's that throws when a stream asks whose it is.
struct ThrowingTimeline final : graph::HostTimeline {
    const void* owner() const override { throw std::bad_alloc(); }
};

TEST_F(AcceleratorLanes, AreNotOwedWhatWasToFollowAnException) {
    graph::FrameGraph frame;
    const graph::BufferDesc ints{kInts * sizeof(int), 64, graph::MemoryDomain::Accelerator};
    const graph::Buffer given = frame.import_buffer("given", ints, result, {std::make_shared<ThrowingTimeline>(), 1});
    frame.add_pass<Data>(
        "look", graph::Lane::Accelerator,
        [&](graph::PassBuilder& pass, Data&) {
            pass.read(given, graph::Access::KernelRead);
            pass.has_side_effect();
        },
        [](const Data&, PassContext&) {});
    const auto refused = executor->execute(frame);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_EQ(refused.error().message, "execution 0, lane accelerator: lane accelerator: the host is out of memory");
    EXPECT_EQ(lane->state().submitted, 0U);
    const Nanoseconds begin = host_now();
    executor.reset();
    lane.reset();
    EXPECT_LT(host_now() - begin, graph::kWorkPatience / 2);
}

TEST(BatchKeys, DifferWhereverAResourceOfTheBatchDiffers) {
    const auto key = [](const graph::Physical& physical, std::uint32_t resource = 3, std::uint32_t ordinal = 1,
                        std::uint64_t plan = 7) {
        graph::Plan planned;
        mix(planned.fingerprint, plan);
        graph::Batch batch;
        batch.ordinal = ordinal;
        const graph::PassContext::Entry entries[] = {{.resource = resource, .physical = physical}};
        const graph::PassRecord pass{.entries = entries};
        graph::BatchRecord record;
        record.plan = &planned;
        record.batch = &batch;
        record.passes = {&pass, 1};
        return batch_key(record);
    };
    const graph::Physical place{.object = 4096, .offset = 64, .mapped = 8192};
    std::vector<graph::Fingerprint> keys{key(place), key(place, 4), key(place, 3, 2), key(place, 3, 1, 8)};
    for (std::uint64_t graph::Physical::*part :
         {&graph::Physical::object, &graph::Physical::offset, &graph::Physical::mapped}) {
        graph::Physical other = place;
        other.*part += 64;
        keys.push_back(key(other));
    }
    EXPECT_EQ(key(place), keys.front());
    for (std::size_t i = 0; i < keys.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) EXPECT_NE(keys[i], keys[j]) << i << " and " << j;
}

TEST(BatchGraphs, StayWhileTheTimesOfAReplayAreUnread) {
    const auto key = [](std::uint64_t number) {
        graph::Fingerprint made{};
        mix(made, number);
        return made;
    };
    BatchGraphs graphs;
    auto graph = std::make_unique<BatchGraph>();
    graph->unread_replays = 1;
    graphs.find(key(0), 0).graphs.push_back(std::move(graph));
    for (std::uint64_t i = 1; i < BatchGraphs::kBatches; ++i) graphs.find(key(i), 0);
    graphs.find(key(1000), 10);
    EXPECT_EQ(graphs.entries().size(), BatchGraphs::kBatches + 1);
    graphs.entries().front()->graphs.front()->unread_replays = 0;
    graphs.find(key(1001), 10);
    EXPECT_EQ(graphs.entries().size(), BatchGraphs::kBatches + 1);
}

TEST_F(AcceleratorLanes, RefuseAnArenaLargerThanTheDevice) {
    const auto small = cpu::create_device({.budget = {.bytes = 1U << 16U}});
    AcceleratorMemory arena(*small);
    const auto refused = arena.reserve(1U << 20U);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
}

}  // namespace
}  // namespace kinetograph::accel
