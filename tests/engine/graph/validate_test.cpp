// What a person reads who has declared something that cannot be: all of it at once, each sentence with its names.
#include <gtest/gtest.h>

#include "scene.hpp"

namespace kinetograph::graph {
namespace {

const auto kNothing = [](const NoData&, TestContext&) {};

std::string errors(const FrameGraph& frame, const CompileOptions& options = {}) {
    const auto plan = compile(frame, options);
    if (plan) return "no error";
    EXPECT_EQ(plan.error().code, ErrorCode::InvalidArgument);
    return plan.error().message;
}

template <class Setup>
void add(FrameGraph& frame, std::string_view name, Lane lane, Setup&& setup) {
    frame.add_pass<NoData>(
        name, lane, [&](PassBuilder& pass, NoData&) { setup(pass); }, kNothing);
}

TEST(Validate, AReadOfAVersionThatNothingWrites) {
    Scene earlier;
    Buffer x = earlier.make("up2.res1.norm1", Lane::Accelerator);
    earlier.pass("again", Lane::Accelerator, {.writes = {&x}});
    Scene scene;
    scene.make("up2.res1.norm1", Lane::Accelerator);
    scene.consume("up2.res1.conv1", Lane::Accelerator, {x});  // kept from a frame in which it was written twice
    EXPECT_EQ(errors(scene.frame),
              "pass \"up2.res1.conv1\" reads \"up2.res1.norm1.out\" version 2, but nothing writes that version "
              "(newest: version 1, by \"up2.res1.norm1\")");
}

TEST(Validate, AWriteToAnOutdatedVersion) {
    Scene scene;
    Buffer x = scene.make("make", Lane::Accelerator);
    Buffer old = x;
    scene.pass("first", Lane::Accelerator, {.writes = {&x}});
    scene.pass("second", Lane::Accelerator, {.writes = {&old}});
    EXPECT_EQ(errors(scene.frame),
              "pass \"second\" writes \"make.out\" version 1, which is outdated (newest: version 2, by \"first\")");
}

TEST(Validate, HandlesThatNameNothingHere) {
    Scene other;
    other.make("a", Lane::Accelerator);
    const Buffer foreign = other.make("b", Lane::Accelerator);
    Scene scene;
    scene.consume("empty", Lane::Accelerator, {Buffer{}});
    scene.consume("foreign", Lane::Accelerator, {foreign});
    scene.frame.import_image("picture", {.width = 1, .height = 1}, {});
    scene.frame.import_image("poster", {.width = 1, .height = 1}, {});
    scene.consume("wrong type", Lane::Accelerator, {foreign});
    scene.frame.export_contents(Image{});
    EXPECT_EQ(
        errors(scene.frame),
        "pass \"empty\" reads a buffer handle that names nothing: it was default-constructed\n"
        "pass \"foreign\" reads buffer 1, but the graph had 0 resources then: the handle is of another graph, or from "
        "before clear()\n"
        "pass \"wrong type\" reads buffer 1, but resource 1 here is image \"poster\": the handle is of another "
        "graph, or from before clear()\n"
        "export_contents() takes an image handle that names nothing: it was default-constructed");
}

TEST(Validate, ALaneThatIsNotThere) {
    Scene scene;
    scene.consume("draw", Lane::Graphics, {});
    EXPECT_EQ(errors(scene.frame, {.topology = LaneTopology::without_vulkan()}),
              "pass \"draw\" runs on lane graphics, which is not present (present: accelerator, host, copies)");
}

TEST(Validate, ALaneThatCannotReachTheMemory) {
    Scene scene;
    const Buffer x =
        scene.pass("conv", Lane::Accelerator, {.creates = {"x"}, .domain = MemoryDomain::Accelerator}).front();
    scene.consume("print", Lane::Host, {x});
    EXPECT_EQ(errors(scene.frame),
              "pass \"print\" reads \"x\" in accelerator memory, which lane host cannot reach (lanes that can: "
              "accelerator)");
}

TEST(Validate, AnAccessThatItsLaneCannotMake) {
    Scene scene;
    const Buffer x = scene.import("x");
    add(scene.frame, "sample", Lane::Accelerator, [&](PassBuilder& pass) { pass.read(x, Access::SampledRead); });
    add(scene.frame, "store", Lane::Host, [&](PassBuilder& pass) { pass.write(x, Access::HostRead); });
    EXPECT_EQ(
        errors(scene.frame),
        "pass \"store\" writes \"x\" with access host_read, which is a read\n"
        "pass \"sample\" on lane accelerator uses \"x\" with access sampled_read, which belongs to lanes graphics, "
        "async_compute");
}

TEST(Validate, ImagesInTwoLayoutsOrOnLanesThatKnowNone) {
    Scene scene;
    const Image image =
        scene.frame.import_image("image", {.width = 4, .height = 4, .domain = MemoryDomain::Shared}, {});
    add(scene.frame, "feedback", Lane::Graphics, [&](PassBuilder& pass) {
        pass.read(image, Access::SampledRead);
        pass.write(image, Access::ColorAttachment);
    });
    add(scene.frame, "kernel", Lane::Accelerator, [&](PassBuilder& pass) { pass.read(image, Access::KernelRead); });
    EXPECT_EQ(
        errors(scene.frame),
        "pass \"feedback\" uses image \"image\" with access sampled_read and color_attachment: one pass sees an "
        "image in one layout\n"
        "pass \"kernel\" on lane accelerator uses image \"image\": only Vulkan lanes change image layouts; copy to "
        "a buffer");
}

TEST(Validate, OnePassThatSeesTwoVersions) {
    Scene scene;
    Buffer x = scene.make("make", Lane::Accelerator);
    const Buffer old = x;
    scene.pass("overwrite", Lane::Accelerator, {.writes = {&x}});
    Buffer newest = x;
    scene.pass("both", Lane::Accelerator, {.reads = {old, x}});
    scene.pass("late", Lane::Accelerator, {.reads = {old}, .writes = {&newest}});
    scene.pass("twice", Lane::Accelerator, {.writes = {&newest, &newest}});
    EXPECT_EQ(
        errors(scene.frame),
        "pass \"twice\" writes \"make.out\" twice: one pass makes one version\n"
        "pass \"both\" reads \"make.out\" version 1 and version 2: one pass sees one version\n"
        "pass \"late\" reads \"make.out\" version 1 while it writes version 3: it can only continue version 2\n"
        "a cycle: \"overwrite\" waits for \"late\" because it overwrites contents to make \"make.out\" version 2; "
        "\"late\" waits for \"overwrite\" because it overwrites contents to make \"make.out\" version 3");
}

TEST(Validate, ACycleWithItsEdges) {
    Scene scene;
    Buffer x = scene.make("make", Lane::Accelerator);
    const Buffer old = x;
    const Buffer y = scene.pass("overwrite", Lane::Accelerator, {.writes = {&x}, .creates = {"y"}}).front();
    scene.consume("compare", Lane::Accelerator, {old, y});
    EXPECT_EQ(
        errors(scene.frame),
        "a cycle: \"overwrite\" waits for \"compare\" because it overwrites contents to make \"make.out\" version "
        "2; \"compare\" waits for \"overwrite\" because it reads \"y\" version 1");
}

TEST(Validate, ResourcesWithoutBytesOrWithOddAlignment) {
    Scene scene;
    scene.frame.import_buffer("nothing", {.bytes = 0}, {});
    scene.frame.import_image("flat", {.width = 16, .height = 0}, {});
    scene.pass("make", Lane::Accelerator, {.creates = {"empty"}, .bytes = 0});
    scene.frame.import_buffer("odd", {.bytes = 8, .alignment = 48}, {});
    EXPECT_EQ(errors(scene.frame),
              "buffer \"nothing\" is imported with zero bytes\n"
              "image \"flat\" is imported with zero bytes\n"
              "buffer \"empty\" is created with zero bytes\n"
              "buffer \"odd\" is imported with alignment 48, which is not a power of two");
}

TEST(Validate, ExportedContentsThatAreOverwritten) {
    Scene scene;
    Buffer x = scene.make("make", Lane::Accelerator);
    scene.frame.export_contents(x);
    scene.pass("overwrite", Lane::Accelerator, {.writes = {&x}});
    EXPECT_EQ(errors(scene.frame),
              "\"make.out\" is exported as version 1, but pass \"overwrite\" overwrites it to make version 2");
}

TEST(Validate, MemoryOfAnotherAccelerator) {
    Scene scene;
    const Buffer sharp =
        scene.pass("sharpen", Lane::Accelerator, {.creates = {"sharp"}, .domain = MemoryDomain::Accelerator}).front();
    scene.consume("blur", Lane::accelerator(1), {sharp});
    CompileOptions options{.topology = LaneTopology::all(2)};
    EXPECT_EQ(errors(scene.frame, options),
              "pass \"blur\" reads \"sharp\" in accelerator memory, which lane accelerator1 cannot reach (lanes that "
              "can: accelerator)");
    options.topology.devices = {"NVIDIA H200", "AMD Instinct MI355X"};
    EXPECT_EQ(
        errors(scene.frame, options),
        "pass \"blur\" reads \"sharp\" in accelerator memory (NVIDIA H200), which lane accelerator1 (AMD Instinct "
        "MI355X) cannot reach (lanes that can: accelerator)");
    EXPECT_EQ(errors(scene.frame),
              "pass \"blur\" runs on lane accelerator1, which is not present (present: graphics, async_compute, "
              "transfer, accelerator, host)");
}

TEST(Validate, LanesThatCannotHandOver) {
    Scene scene;
    const Buffer x = scene.make("make", Lane::Accelerator);
    scene.consume("draw", Lane::Graphics, {x});
    CompileOptions options;
    options.topology.waits[Lane::Graphics.index()][Lane::Accelerator.index()].can_wait = false;
    options.topology.present[Lane::Host.index()] = false;
    EXPECT_EQ(
        errors(scene.frame, options),
        "lane graphics can wait for lane accelerator neither directly nor through the host lane, but pass \"draw\" "
        "and pass \"make\" share \"make.out\"");
}

}  // namespace
}  // namespace kinetograph::graph
