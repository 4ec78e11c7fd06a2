// Random graphs executed on real memory, many executions at once, in every order that the waits happen to allow.
#include <gtest/gtest.h>

#include "random_graph.hpp"
#include "shuffled_lanes.hpp"

namespace kinetograph::graph {
namespace {

constexpr std::uint64_t kRuns = random_graphs(600);
constexpr std::uint64_t kImports = 8;

class RandomExecutions : public ::testing::Test {
  protected:
    ExecutorDesc describe(const ShuffledLanes& lanes) {
        ExecutorDesc desc{.lanes = lanes.lanes(), .memory = {}, .compile = options_, .plans_kept = 2};
        for (MemoryDomain domain : kDomains) desc.memory.emplace_back(domain, &memory_);
        return desc;
    }
    RandomGraphMemory imports_of(std::vector<std::byte>& storage) {
        storage.assign(RandomGraphMemory::kImportBytes * kImports, std::byte{0});
        return {.imports = reinterpret_cast<std::uintptr_t>(storage.data()), .executed = true};
    }
    HostMemory memory_;
    CompileOptions options_{.topology = every_lane(RandomGraphMemory::kAccelerators)};
};

TEST_F(RandomExecutions, SeeTheSameContentsInAnyLegalOrder) {
    std::size_t compared = 0;
    for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
        ShuffledLanes lanes(seed);
        std::vector<std::byte> storage;
        auto executor = Executor::create(describe(lanes)).value();
        // Two graphs over the same imports: executions of the one and of the other must not get into each other's way.
        const RandomGraphMemory memory = imports_of(storage);
        RandomGraph graphs[] = {RandomGraph(seed * 2, memory), RandomGraph(seed * 2 + 1, memory)};
        if (!compile(graphs[0].frame, options_) || !compile(graphs[1].frame, options_)) continue;  // a cycle
        Reference reference;
        Sightings expected;
        for (const int which : {0, 0, 0, 1, 1, 0, 1, 1, 1, 0}) {
            RandomGraph& graph = graphs[which];
            graph.declare();
            const auto execution = executor->execute(graph.frame);
            ASSERT_TRUE(execution) << "seed " << seed << ": " << execution.error().message;
            reference.execute(graph.frame, *executor->plan(), execution->number, expected);
            lanes.run_some(seed % 4);
        }
        ASSERT_TRUE(lanes.run_all()) << "seed " << seed << ": some lanes wait for ever";
        ASSERT_TRUE(lanes.torn.empty()) << "seed " << seed << ": mixed contents in " << lanes.torn.front();
        ASSERT_EQ(lanes.sightings, expected) << "seed " << seed;
        compared += expected.size();
    }
    EXPECT_GT(compared, kRuns * 20);
}

TEST_F(RandomExecutions, SeeTheSameContentsWhenImportsTradePlaces) {
    for (std::uint64_t seed = 0; seed < kRuns / 4; ++seed) {
        ShuffledLanes lanes(seed);
        std::vector<std::byte> storage(RandomGraphMemory::kImportBytes * 3);
        auto executor = Executor::create(describe(lanes)).value();
        Reference reference;
        Sightings expected;
        for (std::uint64_t i = 0; i < 9; ++i) {
            // The frame before and the frame after change places every time, or every third time.
            const std::uint64_t shift = seed % 2 == 0 ? i : i / 3;
            const auto at = [&](std::uint64_t n) {
                return Physical{.object = reinterpret_cast<std::uintptr_t>(storage.data()) +
                                          RandomGraphMemory::kImportBytes * ((n + shift) % 3),
                                .bytes = RandomGraphMemory::kImportBytes};
            };
            Scene scene;
            const BufferDesc desc{.bytes = kKiB, .domain = MemoryDomain::Shared};
            const Buffer before = scene.frame.import_buffer("before", desc, at(0));
            Buffer after = scene.frame.import_buffer("after", desc, at(1));
            scene.pass("make", Lane::Accelerator, {.reads = {before}, .writes = {&after}});
            scene.consume("show", Lane::Graphics, {before});
            scene.frame.export_contents(after);
            const auto execution = executor->execute(scene.frame);
            ASSERT_TRUE(execution) << execution.error().message;
            EXPECT_EQ(execution->reused_plan, i > 0);
            reference.execute(scene.frame, *executor->plan(), execution->number, expected);
        }
        ASSERT_TRUE(lanes.run_all()) << "seed " << seed;
        ASSERT_EQ(lanes.sightings, expected) << "seed " << seed;
    }
}

}  // namespace
}  // namespace kinetograph::graph
