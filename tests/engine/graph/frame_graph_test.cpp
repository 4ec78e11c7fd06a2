#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "scene.hpp"

namespace kinetograph::graph {
namespace {

struct Choices {
    std::string pass = "pass", buffer = "buffer";
    Lane lane = Lane::Accelerator;
    std::uint64_t bytes = kKiB;
    std::uint32_t alignment = 256, width = 16, height = 16, version = 1;
    Footprint footprint{.bytes = kKiB, .alignment = 64};
    MemoryDomain domain = MemoryDomain::Shared;
    PixelFormat format = PixelFormat::Rgba8Unorm;
    Access access = Access::KernelRead;
    bool side_effect = false, anew = false, exported = false, exported_other = false, exported_import = false;
    bool misused = false, misused_later = false, reads_other = false, writes_other = false, writes_by_copy = false;
    std::uintptr_t storage = 4096;
};

Fingerprint declared(const Choices& choices) {
    FrameGraph frame({.image_footprint = [&](const ImageDesc&) { return choices.footprint; }});
    const auto imported = [&](const char* name) {
        return frame.import_buffer(name, {.bytes = kKiB, .domain = MemoryDomain::Shared},
                                   {.object = choices.storage, .bytes = kKiB});
    };
    const Buffer import = imported("import"), other = imported("other");
    frame.import_image("image", {.width = choices.width, .height = choices.height, .format = choices.format}, {});
    frame.add_pass<NoData>(
        choices.pass, choices.lane,
        [&](PassBuilder& pass, NoData&) {
            Buffer made = pass.create(
                choices.buffer, {.bytes = choices.bytes, .alignment = choices.alignment, .domain = choices.domain},
                Access::KernelWrite);
            pass.read(choices.misused ? Buffer{} : choices.reads_other ? other : import, choices.access);
            if (choices.side_effect) pass.has_side_effect();
            if (choices.anew) pass.run_anew();
            if (choices.exported) frame.export_contents(made);
            if (choices.exported_other) frame.export_contents(other);
            if (choices.exported_import) frame.export_contents(import);
        },
        [](const NoData&, TestContext&) {});
    Buffer target = import;
    frame.add_pass<NoData>(
        "write", Lane::Accelerator,
        [&](PassBuilder& pass, NoData&) {
            target = pass.write(choices.writes_other ? other : import,
                                choices.writes_by_copy ? Access::TransferWrite : Access::KernelWrite);
            if (choices.misused_later) pass.read(Buffer{}, Access::KernelRead);
        },
        [](const NoData&, TestContext&) {});
    frame.add_pass<NoData>(
        "read", Lane::Accelerator,
        [&](PassBuilder& pass, NoData&) { pass.read(choices.version == 1 ? target : import, Access::KernelRead); },
        [](const NoData&, TestContext&) {});
    return frame.topology();
}

TEST(FrameGraph, TheFingerprintTellsEveryDeclarationApart) {
    const std::vector<std::function<void(Choices&)>> changes{
        [](Choices&) {},
        [](Choices& c) { c.pass = "passe"; },
        [](Choices& c) { c.buffer = "buffe"; },
        [](Choices& c) { c.lane = Lane::Host; },
        [](Choices& c) { c.bytes = kKiB + 1; },
        [](Choices& c) { c.alignment = 512; },
        [](Choices& c) { c.width = 17; },
        [](Choices& c) { c.height = 17; },
        [](Choices& c) { c.footprint.bytes = 2 * kKiB; },
        [](Choices& c) { c.footprint.alignment = 128; },
        [](Choices& c) { c.version = 0; },
        [](Choices& c) { c.domain = MemoryDomain::Accelerator; },
        [](Choices& c) { c.format = PixelFormat::Bgra8Unorm; },
        [](Choices& c) { c.access = Access::TransferRead; },
        [](Choices& c) { c.side_effect = true; },
        [](Choices& c) { c.anew = true; },
        [](Choices& c) { c.exported = true; },
        [](Choices& c) { c.exported_other = true; },
        [](Choices& c) { c.exported_import = true; },
        [](Choices& c) { c.misused = true; },
        [](Choices& c) { c.misused = true, c.access = Access::TransferRead; },
        [](Choices& c) { c.misused_later = true; },
        [](Choices& c) { c.reads_other = true; },
        [](Choices& c) { c.version = 0, c.writes_other = true; },
        [](Choices& c) { c.writes_by_copy = true; },
    };
    std::set<std::pair<std::uint64_t, std::uint64_t>> prints;
    for (const auto& change : changes) {
        Choices choices;
        change(choices);
        const Fingerprint print = declared(choices);
        EXPECT_EQ(print, declared(choices));
        prints.emplace(print.low, print.high);
    }
    EXPECT_EQ(prints.size(), changes.size());
}

TEST(FrameGraph, TheFingerprintLeavesStorageOut) {
    Choices here, there;
    there.storage = 1U << 20U;
    EXPECT_EQ(declared(here), declared(there));
}

TEST(FrameGraph, TheFingerprintOfAPlanAlsoTellsOptionsApart) {
    FrameGraph frame;
    std::set<std::pair<std::uint64_t, std::uint64_t>> prints;
    std::size_t count = 0;
    const auto add = [&](const CompileOptions& options) {
        const Fingerprint print = fingerprint(frame, options);
        prints.emplace(print.low, print.high);
        ++count;
    };
    add({});
    add({.aliasing = Aliasing::Separate});
    for (const std::uint32_t accelerators : {1U, 3U}) {
        const CompileOptions all{.topology = LaneTopology::all(accelerators)};
        if (accelerators > 1) add(all);
        for (const Lane a : all.topology.lanes()) {
            CompileOptions absent = all;
            absent.topology.present[a.index()] = false;
            if (all.topology.present[a.index()]) add(absent);
            for (const MemoryDomain d : all.topology.domains()) {
                CompileOptions reach = all;
                reach.topology.reaches[a.index()][d.index()] = !reach.topology.reaches[a.index()][d.index()];
                add(reach);
            }
            for (const Lane b : all.topology.lanes()) {
                CompileOptions mute = all, costly = all;
                mute.topology.waits[a.index()][b.index()].can_wait = false;
                costly.topology.waits[a.index()][b.index()].hand_over += Nanoseconds{1};
                add(mute);
                add(costly);
            }
        }
    }
    EXPECT_EQ(prints.size(), count);
}

TEST(FrameGraph, ClearForgetsTheFrameAndLetsItBeDeclaredAgain) {
    const auto declare = [](Scene& scene) {
        const Buffer a = scene.make("a", Lane::Accelerator);
        scene.consume("b", Lane::Accelerator, {a});
        scene.frame.export_contents(a);
    };
    Scene scene;
    const Fingerprint empty = scene.frame.topology();
    declare(scene);
    const Fingerprint full = scene.frame.topology();
    const std::string plan = compile(scene.frame).value().to_json();
    scene.frame.clear();
    EXPECT_EQ(scene.frame.topology(), empty);
    EXPECT_TRUE(scene.frame.passes().empty());
    EXPECT_TRUE(scene.frame.resources().empty());
    declare(scene);
    EXPECT_EQ(scene.frame.topology(), full);
    EXPECT_EQ(compile(scene.frame).value().to_json(), plan);
}

TEST(FrameGraph, ClearReleasesWhatPassesHaveCaptured) {
    const auto captured = std::make_shared<int>(1);
    FrameGraph frame;
    frame.add_pass<NoData>(
        "pass", Lane::Host, [](PassBuilder& pass, NoData&) { pass.has_side_effect(); },
        [captured](const NoData&, TestContext&) { EXPECT_EQ(*captured, 1); });
    EXPECT_GT(captured.use_count(), 1);
    frame.clear();
    EXPECT_EQ(captured.use_count(), 1);
}

TEST(FrameGraph, WritingReturnsTheNextVersionAndReadingTheSame) {
    Scene scene;
    const Buffer import = scene.import("x");
    Buffer x = import;
    EXPECT_EQ(x.version(), 0U);
    scene.pass("w", Lane::Accelerator, {.writes = {&x}});
    EXPECT_EQ(x.version(), 1U);
    EXPECT_EQ(x.resource(), import.resource());
    EXPECT_EQ(scene.make("m", Lane::Accelerator).version(), 1U);
}

}  // namespace
}  // namespace kinetograph::graph
