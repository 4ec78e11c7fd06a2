#include <gtest/gtest.h>

#include "scene.hpp"

namespace kinetograph::graph {
namespace {

std::uint64_t offset(const Plan& plan, Buffer buffer) { return plan.resources[buffer.resource()].offset; }

TEST(Alias, AChainNeedsTheBytesOfTwoNeighbours) {
    Scene scene;
    Buffer last = scene.make("p0", Lane::Accelerator);
    for (int i = 1; i < 20; ++i) last = scene.make(fmt::format("p{}", i), Lane::Accelerator, {last});
    scene.consume("end", Lane::Accelerator, {last});
    const auto plan = compile(scene.frame).value();
    EXPECT_EQ(plan.transient_bytes, 20 * kKiB);
    EXPECT_EQ(plan.arena_bytes[MemoryDomain::Shared.index()], 2 * kKiB);

    const auto separate = compile(scene.frame, {.aliasing = Aliasing::Separate}).value();
    EXPECT_EQ(separate.arena_bytes[MemoryDomain::Shared.index()], 20 * kKiB);
}

TEST(Alias, LanesThatRunBesideEachOtherShareNothingWithoutAWaitBetween) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    scene.consume("a.end", Lane::Accelerator, {a});
    const Buffer g = scene.make("g", Lane::Graphics);
    scene.consume("g.end", Lane::Graphics, {g});
    const auto plan = compile(scene.frame).value();
    EXPECT_EQ(waits_of(plan), "");
    EXPECT_NE(offset(plan, a), offset(plan, g));
}

TEST(Alias, AWaitLetsAnotherLaneReuseBytes) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer b = scene.make("b", Lane::Accelerator, {a});
    const Buffer g = scene.make("g", Lane::Graphics, {b});
    scene.consume("g.end", Lane::Graphics, {g});
    const auto plan = compile(scene.frame).value();
    EXPECT_EQ(offset(plan, a), offset(plan, g));
    EXPECT_NE(offset(plan, b), offset(plan, g));
}

TEST(Alias, ExportedContentsOutliveTheExecution) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer b = scene.make("b", Lane::Accelerator, {a});
    const Buffer c = scene.make("c", Lane::Accelerator, {b});
    scene.consume("end", Lane::Accelerator, {c});
    scene.frame.export_contents(a);
    const auto plan = compile(scene.frame).value();
    EXPECT_NE(offset(plan, a), offset(plan, c));
    EXPECT_EQ(plan.resources[a.resource()].last_pass, 3U);
}

/// a and b, which are read early, leave 8 and 4 KiB free; r takes 5 of the 8.
TEST(Alias, ATransientTakesTheSmallestGapThatHoldsIt) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator, {}, 8 * kKiB);
    const Buffer p = scene.make("p", Lane::Accelerator, {}, 6 * kKiB);
    const Buffer b = scene.make("b", Lane::Accelerator, {}, 4 * kKiB);
    const Buffer q = scene.make("q", Lane::Accelerator, {}, 3 * kKiB);
    scene.consume("early", Lane::Accelerator, {a, b});
    const Buffer r = scene.make("r", Lane::Accelerator, {}, 5 * kKiB);
    const Buffer c = scene.make("c", Lane::Accelerator, {}, 2 * kKiB);
    scene.consume("end", Lane::Accelerator, {p, q, r, c});
    const auto plan = compile(scene.frame).value();
    EXPECT_EQ(offset(plan, b), 14 * kKiB);
    EXPECT_EQ(offset(plan, r), 0U);
    EXPECT_EQ(offset(plan, c), 5 * kKiB);
}

TEST(Alias, OffsetsAreAlignedAndImagesFillWholeGranules) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Graphics, {}, 100);
    const Buffer b = scene.make("b", Lane::Graphics, {}, 100);
    Image image;
    scene.frame.add_pass<NoData>(
        "draw", Lane::Graphics,
        [&](PassBuilder& pass, NoData&) {
            image = pass.create("image", {.width = 10, .height = 10, .domain = MemoryDomain::Shared},
                                Access::ColorAttachment);
        },
        [](const NoData&, TestContext&) {});
    scene.frame.export_contents(image);
    scene.consume("end", Lane::Graphics, {a, b});
    const auto plan = compile(scene.frame).value();
    EXPECT_EQ(plan.resources[image.resource()].offset, 0U);  // the largest goes first
    EXPECT_EQ(offset(plan, a), 64 * kKiB);
    EXPECT_EQ(offset(plan, b), 64 * kKiB + 256);
}

}  // namespace
}  // namespace kinetograph::graph
