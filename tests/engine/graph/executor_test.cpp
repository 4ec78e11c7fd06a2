#include <kinetograph/engine/graph/host_lane.hpp>

#include <gtest/gtest.h>
#include <cstring>

#include "host_memory.hpp"
#include "recording_lane.hpp"
#include "scene.hpp"

namespace kinetograph::graph {
namespace {

using Lines = std::vector<std::string>;

/// An executor of two lanes that run nothing.
class Executors : public ::testing::Test {
  protected:
    ExecutorDesc describe() {
        ExecutorDesc desc{.lanes = {&accelerator, &graphics}, .memory = {}, .compile = {}};
        for (MemoryDomain domain : kDomains) desc.memory.emplace_back(domain, &memory);
        return desc;
    }
    /// A hand-over from the accelerator to graphics, through a transient of that many bytes.
    static void declare(Scene& scene, std::string_view name, std::uint64_t bytes = kKiB) {
        scene.frame.clear();
        const Buffer made = scene.make(name, Lane::Accelerator, {}, bytes);
        scene.consume("show", Lane::Graphics, {made});
    }
    RecordingLane accelerator{Lane::Accelerator}, graphics{Lane::Graphics};
    HostMemory memory;
    std::unique_ptr<Executor> executor = Executor::create(describe()).value();
    Scene scene;
};

TEST_F(Executors, ResolveWaitsToTimelineValuesAndNeverBlockTheHost) {
    for (int i = 0; i < 3; ++i) {
        declare(scene, "make");
        const auto execution = executor->execute(scene.frame);
        ASSERT_TRUE(execution) << execution.error().message;
        EXPECT_EQ(execution->number, static_cast<std::uint64_t>(i));
        EXPECT_EQ(execution->reused_plan, i > 0);
        EXPECT_EQ(execution->done[Lane::Graphics.index()], static_cast<std::uint64_t>(i + 1));
        EXPECT_EQ(execution->done[Lane::Host.index()], 0U);
    }
    EXPECT_EQ(accelerator.submitted, (Lines{"1: make", "2: make after graphics 1", "3: make after graphics 2"}));
    EXPECT_EQ(graphics.submitted,
              (Lines{"1: show after accelerator 1", "2: show after accelerator 2", "3: show after accelerator 3"}));
    EXPECT_TRUE(accelerator.waited.empty());
    EXPECT_TRUE(graphics.waited.empty());
}

TEST_F(Executors, JoinAllLanesWhereOnePlanFollowsAnother) {
    for (const char* name : {"one", "two", "two", "one"}) {
        declare(scene, name);
        ASSERT_TRUE(executor->execute(scene.frame));
    }
    EXPECT_EQ(accelerator.submitted, (Lines{"1: one", "2: two after graphics 1 after accelerator 1",
                                            "3: two after graphics 2", "4: one after graphics 3 after accelerator 3"}));
    EXPECT_EQ(
        graphics.submitted,
        (Lines{"1: show after accelerator 1", "2: show after graphics 1 after accelerator 1 after accelerator 2",
               "3: show after accelerator 3", "4: show after graphics 3 after accelerator 3 after accelerator 4"}));
}

TEST_F(Executors, StayUsableAfterALaneHasRefusedABatch) {
    HistoryStorage* ring = executor->create_history("ring", {.value_bytes = 8, .slots = 4}).value();
    const auto declare_push = [&] {
        declare(scene, "make");
        const History history = scene.frame.import_history(*ring, {.keep = 1, .push = 1});
        scene.frame.add_pass<NoData>(
            "push", Lane::Accelerator, [&](PassBuilder& pass, NoData&) { pass.push(history, Access::KernelWrite); },
            [](const NoData&, TestContext&) {});
    };
    declare_push();
    ASSERT_TRUE(executor->execute(scene.frame));
    EXPECT_EQ(ring->cursor(), 1U);
    graphics.fail_in = 0;
    declare_push();
    const auto refused = executor->execute(scene.frame);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(refused.error().message, "execution 1, lane graphics: the device is gone");
    EXPECT_EQ(ring->cursor(), 1U);
    declare_push();
    ASSERT_TRUE(executor->execute(scene.frame));
    EXPECT_EQ(ring->cursor(), 2U);
    EXPECT_EQ(accelerator.submitted.back(), "3: make push after graphics 1 after accelerator 2");
    EXPECT_EQ(graphics.submitted.back(), "2: show after graphics 1 after accelerator 2 after accelerator 3");
}

TEST_F(Executors, TakeAnImportsOtherStorageWithoutANewDeclaration) {
    const Buffer target = scene.import("target");
    scene.consume("read", Lane::Accelerator, {target});
    for (const std::uintptr_t place : {std::uintptr_t{4096}, std::uintptr_t{8192}, std::uintptr_t{12288}}) {
        scene.frame.rebind(target, {.object = place, .bytes = kKiB});
        const auto execution = executor->execute(scene.frame);
        ASSERT_TRUE(execution) << execution.error().message;
        EXPECT_EQ(execution->reused_plan, place != 4096);
        EXPECT_EQ(executor->physical(target).object, place);
    }
}

TEST_F(Executors, HoldBackTheFirstBatchOfEveryLaneThatUsesAnImportUntilItIsReady) {
    const auto gate = std::make_shared<HostTimeline>();
    const Buffer source = scene.import("source");
    const Buffer first = scene.make("first", Lane::Accelerator, {});
    const Buffer second = scene.make("second", Lane::Graphics, {first});
    const Buffer third = scene.make("third", Lane::Accelerator, {second, source});
    scene.consume("last", Lane::Graphics, {third, source});
    scene.frame.rebind(source, {.object = 4096, .bytes = kKiB}, {gate, 7});
    ASSERT_TRUE(executor->execute(scene.frame));
    EXPECT_EQ(accelerator.submitted, (Lines{"1: first", "2: third after graphics 1 after point 7"}));
    EXPECT_EQ(graphics.submitted,
              (Lines{"1: second after accelerator 1", "2: last after accelerator 2 after point 7"}));
    EXPECT_EQ(executor->ready(first).timeline, graphics.timeline()) << "read there last";
    EXPECT_EQ(executor->ready(first).value, 1U);
    EXPECT_EQ(executor->ready(third).value, 2U);
    gate->signal(7);
    ASSERT_TRUE(executor->execute(scene.frame));
    EXPECT_EQ(accelerator.submitted.back().find("point"), std::string::npos) << accelerator.submitted.back();
    EXPECT_EQ(graphics.submitted.back().find("point"), std::string::npos) << graphics.submitted.back();
    EXPECT_EQ(executor->ready(third).value, 4U);
}

TEST_F(Executors, TellWhichImportHasNoOrTooLittleStorage) {
    const auto error = [&](const Physical& storage) {
        scene.frame.clear();
        const Buffer target = scene.frame.import_buffer("target", {.bytes = kKiB}, storage);
        scene.consume("read", Lane::Accelerator, {target});
        return executor->execute(scene.frame).error().message;
    };
    EXPECT_EQ(error({}), "import \"target\" has no storage in this execution");
    EXPECT_EQ(error({.object = 4096, .bytes = 1000}),
              "import \"target\" is declared with 1024 bytes, but its storage has 1000");
}

TEST_F(Executors, TellWhenAHistoryIsAnothersOrCannotBeMade) {
    const auto other = Executor::create(describe()).value();
    HistoryStorage* ring = other->create_history("ring", {.value_bytes = 8, .slots = 2}).value();
    const History history = scene.frame.import_history(*ring, {.keep = 1, .push = 1});
    scene.frame.add_pass<NoData>(
        "push", Lane::Accelerator, [&](PassBuilder& pass, NoData&) { pass.push(history, Access::KernelWrite); },
        [](const NoData&, TestContext&) {});
    EXPECT_EQ(executor->execute(scene.frame).error().message, "history \"ring\" belongs to another executor");
    EXPECT_EQ(executor->create_history("empty", {.value_bytes = 0, .slots = 2}).error().message,
              "history \"empty\" needs bytes and slots, got 2 slots of 0 bytes");
}

TEST_F(Executors, TellWhatIsMissingOrThereTwice) {
    ExecutorDesc desc = describe();
    desc.lanes.push_back(&graphics);
    EXPECT_EQ(Executor::create(desc).error().message, "lane graphics has two back ends");
    desc = describe();
    desc.memory.emplace_back(MemoryDomain::Host, &memory);
    EXPECT_EQ(Executor::create(desc).error().message, "memory domain host has two back ends");
    desc = describe();
    desc.memory.clear();
    const auto poor = Executor::create(desc).value();
    declare(scene, "make");
    EXPECT_EQ(poor->execute(scene.frame).error().message,
              "no memory back end for domain shared, which needs 1024 bytes");
    scene.consume("print", Lane::Host, {});
    EXPECT_EQ(poor->execute(scene.frame).error().message,
              "pass \"print\" runs on lane host, which is not present (present: graphics, accelerator)");
}

TEST_F(Executors, KeepAFewPlansAndFreeTheOldestOnesMemoryAfterItsLastUse) {
    for (std::uint64_t i = 1; i <= 4; ++i) {
        declare(scene, "make", i * kKiB);
        ASSERT_TRUE(executor->execute(scene.frame));
    }
    EXPECT_EQ(memory.bytes_now, 10 * kKiB);
    EXPECT_EQ(executor->bytes_held()[MemoryDomain::Shared.index()], 10 * kKiB);
    EXPECT_TRUE(graphics.waited.empty());
    declare(scene, "make", kKiB);
    EXPECT_TRUE(executor->execute(scene.frame)->reused_plan);
    declare(scene, "make", 5 * kKiB);
    ASSERT_TRUE(executor->execute(scene.frame));
    EXPECT_EQ(memory.bytes_now, (1 + 3 + 4 + 5) * kKiB);
    EXPECT_EQ(accelerator.waited, std::vector<std::uint64_t>{2});
    EXPECT_EQ(graphics.waited, std::vector<std::uint64_t>{2});
}

TEST_F(Executors, GiveUpOldPlansWhenMemoryRunsOut) {
    memory.limit = 5 * kKiB;
    for (std::uint64_t i : {2, 3, 4}) {
        declare(scene, "make", i * kKiB);
        ASSERT_TRUE(executor->execute(scene.frame));
    }
    EXPECT_EQ(memory.bytes_now, 4 * kKiB);
    declare(scene, "make", 6 * kKiB);
    const auto refused = executor->execute(scene.frame);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    declare(scene, "make", 3 * kKiB);
    EXPECT_TRUE(executor->execute(scene.frame));
}

TEST_F(Executors, WaitForAllLanesAtTheEndAndReturnAllMemory) {
    executor->create_history("ring", {.value_bytes = 8, .slots = 2}).value();
    declare(scene, "make");
    ASSERT_TRUE(executor->execute(scene.frame));
    EXPECT_NE(executor->plan(), nullptr);
    executor.reset();
    EXPECT_EQ(accelerator.waited, std::vector<std::uint64_t>{1});
    EXPECT_EQ(graphics.waited, std::vector<std::uint64_t>{1});
    EXPECT_EQ(memory.bytes_now, 0U);
    EXPECT_EQ(memory.rings_now, 0U);
}

TEST_F(Executors, ShowWhereExportedContentsLie) {
    declare(scene, "make");
    const Buffer made = scene.make("result", Lane::Accelerator, {}, 2 * kKiB);
    scene.frame.export_contents(made);
    ASSERT_TRUE(executor->execute(scene.frame));
    EXPECT_NE(executor->physical(made).object, 0U);
    EXPECT_EQ(executor->physical(made).bytes, 2 * kKiB);
}

struct Sum {
    History history;
    Buffer result;
};

/// Fibonacci numbers out of a ring: what one execution pushes, the next two read.
class Fibonacci {
    HostLane host_;
    HostMemory memory_;

  public:
    int next() {
        int number = 0;
        frame_.clear();
        const History kept = frame_.import_history(*ring_, {.keep = 2, .push = 1});
        const Buffer out =
            frame_.import_buffer("out", {.bytes = sizeof number, .domain = MemoryDomain::Host},
                                 {.object = reinterpret_cast<std::uintptr_t>(&number), .bytes = sizeof number});
        const Sum& sum = frame_.add_pass<Sum>(
            "sum", Lane::Host,
            [&](PassBuilder& pass, Sum& data) {
                pass.read(kept, Access::HostRead);
                data.history = pass.push(kept, Access::HostWrite);
                data.result = pass.write(out, Access::HostWrite);
            },
            [](const Sum& data, HostContext& context) {
                const RingView& ring = context.ring(data.history);
                const auto at = [&](std::int32_t index) {
                    return reinterpret_cast<int*>(ring.storage.object + ring.offset_of(index));
                };
                *at(0) = std::max(1, *at(-1) + *at(-2));
                std::memcpy(context.address(data.result), at(0), sizeof(int));
            });
        frame_.export_contents(sum.result);
        const auto execution = executor->execute(frame_);
        EXPECT_TRUE(execution && executor->wait(*execution));
        return number;
    }

    std::unique_ptr<Executor> executor = Executor::create({.lanes = {&host_},
                                                           .memory = {{MemoryDomain::Host, &memory_}},
                                                           .compile = {.topology = LaneTopology::cpu_only()}})
                                             .value();

  private:
    HistoryStorage* ring_ =
        executor->create_history("ring", {.value_bytes = sizeof(int), .slots = 3, .domain = MemoryDomain::Host})
            .value();
    FrameGraph frame_;
};

TEST(Executor, AHistoryCarriesValuesFromOneExecutionToTheNext) {
    Fibonacci fibonacci;
    std::vector<int> numbers;
    for (int i = 0; i < 8; ++i) numbers.push_back(fibonacci.next());
    EXPECT_EQ(numbers, (std::vector<int>{1, 1, 2, 3, 5, 8, 13, 21}));
}

TEST(Executor, ResettingHistoriesForgetsTheirValues) {
    Fibonacci fibonacci;
    for (int i = 0; i < 5; ++i) fibonacci.next();
    ASSERT_TRUE(fibonacci.executor->reset_histories());
    std::vector<int> numbers;
    for (int i = 0; i < 5; ++i) numbers.push_back(fibonacci.next());
    EXPECT_EQ(numbers, (std::vector<int>{1, 1, 2, 3, 5}));
}

}  // namespace
}  // namespace kinetograph::graph
