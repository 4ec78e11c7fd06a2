#include <gtest/gtest.h>

#include "scene.hpp"

namespace kinetograph::graph {
namespace {

TEST(Order, KeepsDeclarationOrderWhereNoOtherLaneIsWaiting) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer b = scene.make("b", Lane::Accelerator);
    scene.consume("c", Lane::Accelerator, {b});
    scene.consume("d", Lane::Accelerator, {a});
    EXPECT_EQ(batches_of(compile(scene.frame).value()), "a b c d");
}

TEST(Order, PutsWorkThatAnotherLaneNeedsFirst) {
    Scene scene;
    std::vector<Buffer> own;
    for (const char* name : {"a1", "a2", "a3", "a4"}) own.push_back(scene.make(name, Lane::Accelerator));
    const Buffer shared = scene.make("a5", Lane::Accelerator);
    scene.consume("g", Lane::Graphics, {shared});
    scene.consume("a6", Lane::Accelerator, own);
    // g can start a hand-over of 50 us after a5, by when a1 to a3 have begun: they share its batch and its signal.
    EXPECT_EQ(batches_of(compile(scene.frame).value()), "a5 a1 a2 a3 | g | a4 a6");
}

TEST(Order, AReaderOfWhatOtherLanesWaitForDoesNotKeepItInMemory) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer b = scene.make("b", Lane::Accelerator, {a});
    scene.consume("keep a", Lane::Accelerator, {a});
    const Buffer c = scene.make("c", Lane::Accelerator, {b});
    const Buffer kept = scene.make("copy b", Lane::Accelerator, {b});
    scene.consume("keep b", Lane::Accelerator, {kept});
    const Buffer d = scene.make("d", Lane::Accelerator, {c});
    scene.consume("g", Lane::Graphics, {d});
    EXPECT_EQ(batches_of(compile(scene.frame).value()), "a b keep a c copy b keep b d | g");
}

TEST(Order, WorkForOneHandOverKeepsItsDeclarationOrderHoweverManyPassesAreLeft) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer b = scene.make("b", Lane::Accelerator, {a});
    const Buffer shortcut = scene.make("shortcut", Lane::Accelerator, {a});
    const Buffer c = scene.make("c", Lane::Accelerator, {b});
    const Buffer sum = scene.make("sum", Lane::Accelerator, {c, shortcut});
    scene.consume("g", Lane::Graphics, {sum});
    const Buffer early = scene.make("early", Lane::Accelerator);
    scene.consume("h", Lane::Graphics, {early});
    EXPECT_EQ(batches_of(compile(scene.frame).value()), "early a b shortcut | h | c sum | g");
}

TEST(Order, WorksOnWhileAnotherLaneIsBusyWithWhatItNeedsLater) {
    Scene scene;
    const Buffer a = scene.make("a", Lane::Accelerator);
    const Buffer g = scene.make("g", Lane::Graphics, {a});
    scene.consume("last", Lane::Accelerator, {g});
    for (const char* name : {"x1", "x2", "x3"}) scene.consume(name, Lane::Accelerator, {a});
    EXPECT_EQ(batches_of(compile(scene.frame).value()), "a x1 x2 x3 | g | last");
}

TEST(Order, MoreWorkSharesAHandOverThatCostsMore) {
    Scene scene;
    for (const char* name : {"1", "2", "3"}) {
        const Buffer made = scene.make(fmt::format("a{}", name), Lane::Accelerator);
        scene.consume(fmt::format("h{}", name), Lane::Host, {made});
    }
    CompileOptions options;
    for (auto& waiting : options.topology.waits)
        for (auto& pair : waiting) pair.hand_over = Nanoseconds{0};
    EXPECT_EQ(batches_of(compile(scene.frame, options).value()), "a1 a2 | h1 h2 | a3 | h3");
    EXPECT_EQ(batches_of(compile(scene.frame).value()), "a1 a2 a3 | h1 h2 h3");
}

TEST(Order, ALaneRunsWhatItCanBeginSoonestNotWhatIsDeclaredFirst) {
    Scene scene;
    std::vector<Buffer> chain{scene.make("a0", Lane::Accelerator)};
    for (int i = 1; i < 8; ++i) chain.push_back(scene.make(fmt::format("a{}", i), Lane::Accelerator, {chain.back()}));
    for (std::size_t i = chain.size(); i-- > 0;) scene.consume(fmt::format("g{}", i), Lane::Graphics, {chain[i]});
    EXPECT_EQ(batches_of(compile(scene.frame).value()), "a0 a1 a2 a3 | g0 g1 g2 g3 | a4 a5 a6 a7 | g4 g5 g6 g7");
}

TEST(Order, AReaderOfOldContentsRunsBeforeTheyAreOverwritten) {
    Scene scene;
    Buffer x = scene.make("make", Lane::Accelerator);
    const Buffer old = x;
    scene.pass("overwrite", Lane::Accelerator, {.writes = {&x}});
    scene.consume("new", Lane::Accelerator, {x});
    scene.consume("old", Lane::Accelerator, {old});
    EXPECT_EQ(batches_of(compile(scene.frame).value()), "make old overwrite new");
}

}  // namespace
}  // namespace kinetograph::graph
