#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/cluster.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <vector>

#include "model_run.hpp"

namespace kinetograph::isa {
namespace {

TEST(Threads, EveryThreadOfTheGridRunsOnceAndKnowsItsPlace) {
    const Launch launch{.grid = {4, 3, 2}, .cluster = {2, 1, 1}, .threads = 64};
    std::vector<int> runs(4 * 3 * 2 * 64);
    expect_runs(
        launch,
        [&] {
            const Index3 block = block_index();
            EXPECT_EQ(grid_size().x, 4u);
            EXPECT_EQ(cluster_rank(), block.x % 2);
            EXPECT_EQ(cluster_size(), 2u);
            ++runs[((block.z * 3 + block.y) * 4 + block.x) * 64 + warp_index() * 32 + lane_index()];
        },
        [&] {
            EXPECT_EQ(runs, std::vector<int>(runs.size(), 1));
            runs.assign(runs.size(), 0);
        });
}

TEST(Threads, OneLaneIsElectedAndAlwaysTheSame) {
    std::vector<uint32_t> elected;
    expect_runs(
        {.threads = 96},
        [&] {
            for (int turn = 0; turn < 3; ++turn) {
                if (elect_one()) elected.push_back(lane_index());
            }
        },
        [&] {
            EXPECT_EQ(elected, std::vector<uint32_t>(9, elected.front()));
            elected.clear();
        });
}

TEST(Threads, BroadcastGivesEveryLaneTheSourcesValue) {
    expect_runs({.threads = 64}, [] {
        EXPECT_EQ(broadcast(thread_index() * 10, 7), (warp_index() * 32 + 7) * 10);
        sync_warp();
        EXPECT_EQ(broadcast(lane_index(), 31), 31u);
    });
}

TEST(Threads, ABarrierOfTheCtaHoldsEveryThreadUntilTheLastHasCome) {
    int before = 0;
    expect_runs(
        {.threads = 128},
        [&] {
            ++before;
            sync_cta();
            EXPECT_EQ(before, 128);
        },
        [&] { before = 0; });
}

TEST(Threads, NamedBarriersJoinSomeOfTheWarpsAndAnArrivalDoesNotWait) {
    int arrived = 0;
    expect_runs(
        {.threads = 128},
        [&] {
            if (warp_index() == 0) {
                ++arrived;
                arrive_named(3, 64);
            } else if (warp_index() == 1) {
                sync_named(3, 64);
                EXPECT_EQ(arrived, 32);
            }
        },
        [&] { arrived = 0; });
}

TEST(Threads, AClusterBarrierHoldsThreadsOfAllItsCtas) {
    int before = 0;
    expect_runs(
        {.grid = {4}, .cluster = {4}, .threads = 32},
        [&] {
            for (int lap = 1; lap <= 2; ++lap) {
                ++before;
                sync_cluster();
                EXPECT_GE(before, lap * 128);
            }
        },
        [&] { before = 0; });
}

TEST(Threads, RegistersMoveBetweenWarpgroupsWithinThePool) {
    expect_runs({.threads = 384, .registers = 168}, [] {
        if (warp_index() < 4) {
            lower_registers<40>();
        } else {
            raise_registers<232>();
        }
    });
}

TEST(ThreadFaults, RaisingRegistersBeyondThePoolNeverReturns) {
    expect_fault({.threads = 384, .registers = 168}, "would bring the CTA to 68608 of 65536 registers", [] {
        if (warp_index() < 4) {
            lower_registers<56>();
        } else {
            raise_registers<240>();
        }
    });
}

TEST(ThreadFaults, LanesOfAWarpMustMeetInTheSameInstruction) {
    expect_fault({.threads = 32}, "threads of one warp part", [] {
        if (lane_index() < 16) {
            sync_warp();
        } else {
            elect_one();
        }
    });
}

TEST(ThreadFaults, ADeadlockNamesWhoWaitsForWhatAndAtWhichLine) {
    uint32_t line = 0;
    const Outcome outcome = host_model::run({.threads = 64}, [&] {
        line = __LINE__ + 1;
        if (warp_index() == 0) sync_cta();
    });
    EXPECT_EQ(outcome.fault.value_or(""),
              "deadlock: every thread waits and nothing asynchronous is under way\n"
              "  CTA (0,0,0) warp 0 lanes 0-31, bar.sync 0 at threads_test.cpp:" +
                  std::to_string(line) + ": 32 of 64 threads have not come");
}

TEST(ThreadFaults, AMessageNamesCtaWarpLaneInstructionAndLine) {
    uint32_t line = 0;
    const Outcome outcome = host_model::run({.grid = {2}, .threads = 64}, [&] {
        line = __LINE__ + 1;
        if (block_index().x == 1 && thread_index() == 37) sync_named(99, 32);
    });
    EXPECT_EQ(outcome.fault.value_or(""), "CTA (1,0,0) warp 1 lane 5, bar.sync at threads_test.cpp:" +
                                              std::to_string(line) + ": barrier 99 is outside 0..15");
}

TEST(ThreadFaults, ANamedBarrierTakesOneNumberOfThreads) {
    expect_fault({.threads = 128}, "barrier 2 takes ", [] { sync_named(2, warp_index() < 2 ? 64 : 128); });
}

TEST(ThreadFaults, AClusterBarrierIsLeftBeforeItIsEnteredAgain) {
    expect_fault({.grid = {2}, .cluster = {2}, .threads = 32}, "arrives twice without barrier.cluster.wait", [] {
        arrive_cluster();
        arrive_cluster();
    });
}

TEST(ThreadFaults, AGridThatIsNoMultipleOfItsClusterIsRefused) {
    expect_fault({.grid = {3}, .cluster = {2}}, "the grid is not a multiple of the cluster", [] {});
}

}  // namespace
}  // namespace kinetograph::isa
