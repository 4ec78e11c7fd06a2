#include <gtest/gtest.h>

#include "scene.hpp"

namespace kinetograph::graph {
namespace {

std::string waits(const Scene& scene) { return waits_of(compile(scene.frame).value()); }

TEST(CarryOver, AnExecutionThatSharesNothingWithThePreviousOneWaitsForNothing) {
    Scene scene;
    const Buffer latents = scene.import("latents");
    scene.consume("a", Lane::Accelerator, {latents});
    scene.consume("g", Lane::Graphics, {latents});
    EXPECT_EQ(waits(scene), "");
}

TEST(CarryOver, AnImportIsWrittenOnceThePreviousExecutionsReadersAreDone) {
    Scene scene;
    Buffer target = scene.import("target");
    scene.pass("make", Lane::Accelerator, {.writes = {&target}});
    scene.consume("show", Lane::Graphics, {target});
    scene.consume("copy", Lane::Transfer, {target});
    EXPECT_EQ(waits(scene),
              "accelerator 0 after graphics 0 of the last execution, accelerator 0 after transfer 0 of the last "
              "execution, graphics 0 after accelerator 0, transfer 0 after accelerator 0");
}

TEST(CarryOver, AnImportIsReadOnceThePreviousExecutionHasWrittenIt) {
    Scene scene;
    Buffer state = scene.import("state");
    scene.consume("read", Lane::Graphics, {state});
    scene.pass("advance", Lane::Accelerator, {.writes = {&state}});
    scene.frame.export_contents(state);
    EXPECT_EQ(waits(scene), "graphics 0 after accelerator 0 of the last execution, accelerator 0 after graphics 0");
}

TEST(CarryOver, TransientsStartAfterThePreviousExecutionsUseOfTheirBytes) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer b = scene.make("b", Lane::Graphics, {a});
    scene.consume("c", Lane::Transfer, {b});
    EXPECT_EQ(waits(scene),
              "accelerator 0 after graphics 0 of the last execution, graphics 0 after accelerator 0, "
              "graphics 0 after transfer 0 of the last execution, transfer 0 after graphics 0");
}

}  // namespace
}  // namespace kinetograph::graph
