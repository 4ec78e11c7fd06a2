#include <kinetograph/engine/graph/host_lane.hpp>

#include <gtest/gtest.h>
#include <array>
#include <cstring>
#include <utility>

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
    declare(scene, "make");
    ASSERT_TRUE(executor->execute(scene.frame));
    graphics.fail_in = 0;
    const auto refused = executor->execute(scene.frame);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(refused.error().message, "execution 1, lane graphics: the device is gone");
    ASSERT_TRUE(executor->execute(scene.frame));
    EXPECT_EQ(accelerator.submitted.back(), "3: make after graphics 1 after accelerator 2");
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
    declare(scene, "make");
    ASSERT_TRUE(executor->execute(scene.frame));
    EXPECT_NE(executor->plan(), nullptr);
    executor.reset();
    EXPECT_EQ(accelerator.waited, std::vector<std::uint64_t>{1});
    EXPECT_EQ(graphics.waited, std::vector<std::uint64_t>{1});
    EXPECT_EQ(memory.bytes_now, 0U);
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
    Buffer state, result;
};

TEST(Executor, AnImportThatIsReadAndWrittenCarriesValuesFromOneExecutionToTheNext) {
    HostLane host;
    HostMemory memory;
    const auto executor = Executor::create({.lanes = {&host},
                                            .memory = {{MemoryDomain::Host, &memory}},
                                            .compile = {.topology = LaneTopology::without_vulkan()}})
                              .value();
    std::array<int, 2> newest{0, 1};  // Fibonacci numbers
    std::array<int, 8> results{};
    FrameGraph frame;
    const auto import = [&](const char* name, void* storage, std::uint64_t bytes) {
        return frame.import_buffer(name, {.bytes = bytes, .domain = MemoryDomain::Host},
                                   {.object = reinterpret_cast<std::uintptr_t>(storage), .bytes = bytes});
    };
    const Buffer kept = import("state", newest.data(), sizeof newest);
    const Buffer out = import("result", results.data(), sizeof(int));
    const Sum& sum = frame.add_pass<Sum>(
        "sum", Lane::Host,
        [&](PassBuilder& pass, Sum& data) {
            data.state = pass.write(pass.read(kept, Access::HostRead), Access::HostWrite);
            data.result = pass.write(out, Access::HostWrite);
        },
        [](const Sum& data, HostContext& context) {
            auto* last = reinterpret_cast<int*>(context.address(data.state));
            std::memcpy(context.address(data.result), &last[1], sizeof(int));
            last[0] = std::exchange(last[1], last[0] + last[1]);
        });
    frame.export_contents(sum.state);
    frame.export_contents(sum.result);
    Execution execution;
    for (int& result : results) {
        frame.rebind(out, {.object = reinterpret_cast<std::uintptr_t>(&result), .bytes = sizeof result});
        execution = executor->execute(frame).value();
    }
    ASSERT_TRUE(executor->wait(execution));
    EXPECT_EQ(results, (std::array{1, 1, 2, 3, 5, 8, 13, 21}));
}

}  // namespace
}  // namespace kinetograph::graph
