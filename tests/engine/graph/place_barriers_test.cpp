#include <gtest/gtest.h>

#include "scene.hpp"

namespace kinetograph::graph {
namespace {

std::string barriers(const Scene& scene) { return barriers_of(compile(scene.frame).value()); }

TEST(PlaceBarriers, OneBarrierServesAllReadersOfOneKind) {
    Scene scene;
    Buffer x = scene.import("x");
    scene.pass("write", Lane::Accelerator, {.writes = {&x}});
    scene.consume("read1", Lane::Accelerator, {x});
    scene.consume("read2", Lane::Accelerator, {x});
    EXPECT_EQ(barriers(scene), "write: x kernel_read > kernel_write, read1: x kernel_write > kernel_read");
}

TEST(PlaceBarriers, AWriteAfterReadersNeedsNoBarrierAgainstTheEarlierWrite) {
    Scene scene;
    Buffer x = scene.import("x");
    scene.pass("write", Lane::Accelerator, {.writes = {&x}});
    scene.consume("read", Lane::Accelerator, {x});
    scene.pass("again", Lane::Accelerator, {.writes = {&x}});
    scene.frame.export_contents(x);
    EXPECT_EQ(barriers(scene),
              "write: x kernel_write > kernel_write, read: x kernel_write > kernel_read, "
              "again: x kernel_read > kernel_write");
}

TEST(PlaceBarriers, AConflictAcrossLanesIsLeftToTheWait) {
    Scene scene;
    Buffer x = scene.import("x");
    scene.pass("write", Lane::Accelerator, {.writes = {&x}});
    scene.consume("read", Lane::Graphics, {x});
    EXPECT_EQ(barriers(scene), "");
    EXPECT_EQ(waits_of(compile(scene.frame).value()),
              "accelerator 0 after graphics 0 of the last execution, graphics 0 after accelerator 0");
}

TEST(PlaceBarriers, BytesThatChangeHandsAreFencedWhereTheNewOwnerStarts) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer b = scene.make("b", Lane::Accelerator, {a});
    const Buffer c = scene.make("c", Lane::Accelerator, {b});
    scene.consume("end", Lane::Accelerator, {c});
    // a and c share bytes, so a begins where the last execution's c was read.
    EXPECT_EQ(barriers(scene),
              "a: a.out takes over kernel_read > kernel_write discard, "
              "b: b.out takes over kernel_read > kernel_write discard, b: a.out kernel_write > kernel_read, "
              "c: c.out takes over kernel_read > kernel_write discard, c: b.out kernel_write > kernel_read, "
              "end: c.out kernel_write > kernel_read");
}

TEST(PlaceBarriers, AnImageChangesItsLayoutOnceForAllReadersOfALayout) {
    Scene scene;
    Image image;
    const auto nothing = [](const NoData&, TestContext&) {};
    scene.frame.add_pass<NoData>(
        "draw", Lane::Graphics,
        [&](PassBuilder& pass, NoData&) {
            image = pass.create("image", {.width = 16, .height = 16}, Access::ColorAttachment);
        },
        nothing);
    for (const char* name : {"sample1", "sample2"})
        scene.frame.add_pass<NoData>(
            name, Lane::Graphics,
            [&](PassBuilder& pass, NoData&) {
                pass.read(image, Access::SampledRead);
                pass.has_side_effect();
            },
            nothing);
    scene.frame.add_pass<NoData>(
        "copy", Lane::Graphics,
        [&](PassBuilder& pass, NoData&) {
            pass.read(image, Access::TransferRead);
            pass.has_side_effect();
        },
        nothing);
    EXPECT_EQ(barriers(scene),
              "draw: image takes over transfer_read > color_attachment discard, "
              "sample1: image color_attachment > sampled_read, copy: image sampled_read > transfer_read");
}

TEST(PlaceBarriers, ReadersInTwoLayoutsOnTwoLanesWaitForEachOther) {
    Scene scene;
    Image image;
    const auto nothing = [](const NoData&, TestContext&) {};
    scene.frame.add_pass<NoData>(
        "draw", Lane::Graphics,
        [&](PassBuilder& pass, NoData&) {
            image = pass.create("image", {.width = 16, .height = 16}, Access::ColorAttachment);
        },
        nothing);
    const auto reader = [&](const char* name, Lane lane, Access access) {
        scene.frame.add_pass<NoData>(
            name, lane,
            [&](PassBuilder& pass, NoData&) {
                pass.read(image, access);
                pass.has_side_effect();
            },
            nothing);
    };
    reader("sample", Lane::Graphics, Access::SampledRead);
    reader("copy", Lane::Transfer, Access::TransferRead);
    const auto plan = compile(scene.frame).value();
    EXPECT_EQ(batches_of(plan), "draw sample | copy");
    EXPECT_EQ(waits_of(plan), "graphics 0 after transfer 0 of the last execution, transfer 0 after graphics 0");
    EXPECT_EQ(barriers_of(plan),
              "draw: image color_attachment > color_attachment discard, sample: image color_attachment > sampled_read, "
              "copy: image sampled_read > transfer_read");
}

TEST(PlaceBarriers, StateIsFencedBetweenItsWriteAndTheReadsOfTheNextExecution) {
    Scene scene;
    Buffer state = scene.import("state");
    scene.consume("read", Lane::Accelerator, {state});
    scene.pass("advance", Lane::Accelerator, {.writes = {&state}});
    scene.frame.export_contents(state);
    EXPECT_EQ(barriers(scene), "read: state kernel_write > kernel_read, advance: state kernel_read > kernel_write");
}

}  // namespace
}  // namespace kinetograph::graph
