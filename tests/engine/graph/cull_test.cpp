#include <gtest/gtest.h>

#include "scene.hpp"

namespace kinetograph::graph {
namespace {

TEST(Cull, DropsWhatReachesNoOutputAndNamesIt) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer unused = scene.make("unused", Lane::Accelerator, {a});
    scene.make("unused too", Lane::Accelerator, {unused});
    scene.consume("b", Lane::Accelerator, {a});
    const auto plan = compile(scene.frame).value();
    EXPECT_EQ(batches_of(plan), "a b");
    EXPECT_EQ(plan.culled,
              (std::vector<CulledPass>{{"unused", "\"unused.out\" is for \"unused too\", which is culled too"},
                                       {"unused too", "nothing reads \"unused too.out\""}}));
    EXPECT_FALSE(plan.resources[a.resource()].culled);
    EXPECT_TRUE(plan.resources[unused.resource()].culled);
    EXPECT_EQ(plan.transient_bytes, kKiB);
}

TEST(Cull, KeepsWhatMadeExportedContentsAndAllThatTheyContinue) {
    Scene scene;
    Buffer target = scene.import("target");
    const Buffer a = scene.make("a", Lane::Accelerator);
    scene.pass("first", Lane::Accelerator, {.writes = {&target}});
    scene.pass("second", Lane::Accelerator, {.reads = {a}, .writes = {&target}});
    scene.frame.export_contents(target);
    EXPECT_EQ(batches_of(compile(scene.frame).value()), "a first second");
}

TEST(Cull, AnImportThatIsNotExportedIsNoOutput) {
    Scene scene;
    Buffer scratch = scene.import("scratch");
    scene.pass("fill", Lane::Accelerator, {.writes = {&scratch}});
    scene.pass("fill on", Lane::Accelerator, {.writes = {&scratch}});
    const auto plan = compile(scene.frame).value();
    EXPECT_EQ(batches_of(plan), "");
    EXPECT_EQ(plan.culled, (std::vector<CulledPass>{{"fill", "\"scratch\" is for \"fill on\", which is culled too"},
                                                    {"fill on", "nothing reads \"scratch\""}}));
}

TEST(Cull, AnEmptyGraphIsAnEmptyPlan) {
    const auto plan = compile(FrameGraph{});
    ASSERT_TRUE(plan);
    EXPECT_TRUE(plan->batches.empty());
}

}  // namespace
}  // namespace kinetograph::graph
