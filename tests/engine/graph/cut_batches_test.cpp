#include <gtest/gtest.h>

#include "scene.hpp"

namespace kinetograph::graph {
namespace {

TEST(CutBatches, TwoAcceleratorsHandOverToEachOtherAndNeverJoin) {
    Scene scene;
    const auto host = [](std::string name) {
        return Scene::Pass{.creates = {std::move(name)}, .domain = MemoryDomain::Host};
    };
    const Buffer a = scene.pass("a", Lane::Accelerator, host("a.out")).front();
    Scene::Pass second = host("b.out");
    second.reads = {a};
    const Buffer b = scene.pass("b", Lane::accelerator(1), second).front();
    scene.consume("c", Lane::Accelerator, {b});
    CompileOptions options{.topology = LaneTopology::all(2)};
    options.topology.waits[Lane::accelerator(1).index()][Lane::Accelerator.index()].hand_over = Nanoseconds{7'000};
    const Plan plan = compile(scene.frame, options).value();
    EXPECT_EQ(batches_of(plan), "a | b | c");
    EXPECT_EQ(waits_of(plan), "accelerator1 0 after accelerator 0, accelerator 1 after accelerator1 0");
    EXPECT_EQ(plan.hand_over_cost, Nanoseconds{57'000});
    EXPECT_EQ(plan.batches_on_lane[Lane::accelerator(1).index()], 1U);
    options.topology.waits[Lane::accelerator(1).index()][Lane::Accelerator.index()].can_wait = false;
    EXPECT_EQ(batches_of(compile(scene.frame, options).value()), "a | (relay) | b | c");
}

TEST(CutBatches, OneLaneIsOneBatchWithoutWaits) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer b = scene.make("b", Lane::Accelerator, {a});
    scene.consume("c", Lane::Accelerator, {b});
    const auto plan = compile(scene.frame);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(batches_of(*plan), "a b c");
    EXPECT_EQ(waits_of(*plan), "");
    EXPECT_EQ(plan->hand_over_cost, Nanoseconds{0});
}

TEST(CutBatches, AHandOverEndsTheBatchThatIsWaitedFor) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer b = scene.make("b", Lane::Graphics, {a});
    scene.consume("c", Lane::Accelerator, {b});
    const auto plan = compile(scene.frame);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(batches_of(*plan), "a | b | c");
    EXPECT_EQ(waits_of(*plan), "graphics 0 after accelerator 0, accelerator 1 after graphics 0");
    EXPECT_EQ(plan->hand_over_cost, Nanoseconds{100'000});
}

TEST(CutBatches, OneWaitServesAllThatWasHandedOverBefore) {
    Scene scene;
    std::vector<Buffer> made;
    for (const char* name : {"a1", "a2", "a3"}) made.push_back(scene.make(name, Lane::Accelerator));
    for (int i = 0; i < 3; ++i) scene.consume(fmt::format("g{}", i + 1), Lane::Graphics, {made[i]});
    const auto plan = compile(scene.frame);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(batches_of(*plan), "a1 a2 a3 | g1 g2 g3");
    EXPECT_EQ(waits_of(*plan), "accelerator 0 after graphics 0 of the last execution, graphics 0 after accelerator 0");
}

TEST(CutBatches, AWaitIsLeftOutWhenAnotherLaneHasWaitedAlready) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer b = scene.make("b", Lane::AsyncCompute, {a});
    scene.consume("c", Lane::Graphics, {a, b});
    const auto plan = compile(scene.frame);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(batches_of(*plan), "a | b | c");
    EXPECT_EQ(waits_of(*plan),
              "accelerator 0 after graphics 0 of the last execution, async_compute 0 after accelerator 0, "
              "graphics 0 after async_compute 0");
}

TEST(CutBatches, TheHostLaneRelaysBetweenLanesThatCannotWaitForEachOther) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    scene.consume("g", Lane::Graphics, {a});
    CompileOptions options;
    const auto accelerator = Lane::Accelerator.index();
    const auto graphics = Lane::Graphics.index();
    options.topology.waits[graphics][accelerator].can_wait = false;
    const auto one_way = compile(scene.frame, options);
    ASSERT_TRUE(one_way) << one_way.error().message;
    EXPECT_EQ(batches_of(*one_way), "a | (relay) | g");
    EXPECT_EQ(waits_of(*one_way),
              "accelerator 0 after graphics 0 of the last execution, host 0 after accelerator 0, "
              "graphics 0 after host 0");

    options.topology.waits[accelerator][graphics].can_wait = false;
    const auto neither = compile(scene.frame, options);
    ASSERT_TRUE(neither) << neither.error().message;
    EXPECT_EQ(batches_of(*neither), "a | (relay) | g | (relay)");
    EXPECT_EQ(waits_of(*neither),
              "accelerator 0 after host 1 of the last execution, host 0 after accelerator 0, graphics 0 after host 0, "
              "host 1 after graphics 0");
}

/// A pass that reads `in`, makes a buffer, and may have to run anew every time. Only what is called "store" makes it
/// where other lanes see it.
Buffer step(Scene& scene, std::string_view name, Buffer in, bool anew, Lane lane = Lane::Accelerator) {
    struct Data {
        Buffer out;
    };
    const MemoryDomain hidden = lane == Lane::Accelerator ? MemoryDomain::Accelerator : MemoryDomain::Graphics;
    return scene.frame
        .add_pass<Data>(
            name, lane,
            [&](PassBuilder& pass, Data& data) {
                pass.read(in, Scene::read_access(lane));
                data.out =
                    pass.create("made", {.bytes = kKiB, .domain = name == "store" ? MemoryDomain::Shared : hidden},
                                Scene::write_access(lane));
                if (anew) pass.run_anew();
            },
            [](const Data&, TestContext&) {})
        .out;
}

TEST(CutBatches, PassesThatRunAnewAreSubmittedApartFromThoseThatCanBeReplayed) {
    Scene scene;
    Buffer x = step(scene, "unpack", scene.import("latents"), true);
    for (const char* name : {"conv", "head"}) x = step(scene, name, x, false);
    x = step(scene, "store", x, true);
    scene.consume("show", Lane::Graphics, {x});
    const auto plan = compile(scene.frame);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(batches_of(*plan), "unpack | conv head | store | show");
    // Only what writes for the other lane waits for it.
    EXPECT_EQ(waits_of(*plan), "accelerator 2 after graphics 0 of the last execution, graphics 0 after accelerator 2");
}

TEST(CutBatches, OnVulkansLanesEverythingIsRecordedAnewAnyway) {
    Scene scene;
    const Buffer x = step(scene, "a", scene.import("x"), true, Lane::Graphics);
    scene.consume("b", Lane::Graphics, {step(scene, "c", x, false, Lane::Graphics)});
    const auto plan = compile(scene.frame);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(batches_of(*plan), "a c b");
}

TEST(CutBatches, RunningAnewIsPartOfTheFingerprint) {
    Scene once, anew;
    step(once, "a", once.import("x"), false);
    step(anew, "a", anew.import("x"), true);
    EXPECT_NE(once.frame.topology(), anew.frame.topology());
}

}  // namespace
}  // namespace kinetograph::graph
