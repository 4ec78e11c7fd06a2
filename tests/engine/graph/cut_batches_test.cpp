#include "scene.hpp"

#include <gtest/gtest.h>

namespace kinetograph::graph {
namespace {

TEST(CutBatches, OneLaneIsOneBatchWithoutWaits) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer b = scene.make("b", Lane::Accelerator, {a});
    scene.consume("c", Lane::Accelerator, {b});
    const auto plan = compile(scene.frame);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(batches_of(*plan), "a b c");
    EXPECT_EQ(waits_of(*plan), "");
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
}

}  // namespace
}  // namespace kinetograph::graph
