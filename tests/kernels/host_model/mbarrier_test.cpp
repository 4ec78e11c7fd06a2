#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/cluster.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/mbarrier.hpp>
#include <kinetograph/kernels/isa/thread.hpp>

#include "model_run.hpp"

namespace kinetograph::isa {
namespace {

struct Shared {
    mbarrier::Barrier full[2], empty[2];
    uint32_t data[2];
};

/// Initialises every barrier with its count and synchronises the cluster.
void set_up(Shared& shared, uint32_t full, uint32_t empty) {
    if (thread_index() == 0) {
        for (auto& barrier : shared.full) mbarrier::init(barrier, full);
        for (auto& barrier : shared.empty) mbarrier::init(barrier, empty);
        fence_barrier_init();
    }
    sync_cluster();
}

constexpr Launch kTwoWarps{.threads = 64, .shared_bytes = sizeof(Shared)};
constexpr Launch kTwoCtas{.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = sizeof(Shared)};

TEST(MBarrier, ARingOfTwoStagesHandsEveryValueOverInOrder) {
    expect_runs(kTwoWarps, [] {
        auto& shared = shared_as<Shared>();
        set_up(shared, 32, 32);
        for (uint32_t turn = 0; turn < 9; ++turn) {
            const uint32_t stage = turn % 2, lap = turn / 2 % 2;
            if (warp_index() == 0) {
                mbarrier::wait(shared.empty[stage], lap ^ 1);
                if (lane_index() == 0) store_shared(&shared.data[stage], turn * 3);
                mbarrier::arrive(shared.full[stage]);
            } else {
                mbarrier::wait(shared.full[stage], lap);
                EXPECT_EQ(load_shared(&shared.data[stage]), turn * 3);
                mbarrier::arrive(shared.empty[stage]);
            }
        }
    });
}

TEST(MBarrier, ArrivalsAndDataReachTheOtherCtaOfTheCluster) {
    expect_runs(kTwoCtas, [] {
        auto& shared = shared_as<Shared>();
        set_up(shared, 32, 1);
        const uint32_t peer = cluster_rank() ^ 1;
        if (lane_index() == 0) store_cluster(map_to_rank(&shared.data[0], peer), 100 + cluster_rank());
        mbarrier::arrive_release(map_to_rank(&shared.full[0], peer));
        mbarrier::wait_acquire(shared.full[0], 0);
        EXPECT_EQ(load_shared(&shared.data[0]), 100 + peer);
        sync_cluster();
        EXPECT_EQ(load_cluster(map_to_rank(&shared.data[0], peer)), 100 + cluster_rank());
        sync_cluster();
    });
}

TEST(MBarrier, DataReachTheOtherCtaWhenTheyAreReleasedToTheClusterAndNotBefore) {
    expect_runs(kTwoCtas, [] {
        auto& shared = shared_as<Shared>();
        set_up(shared, 1, 1);
        const uint32_t lane = lane_index();
        if (lane < 2) store_shared(&shared.data[lane], 0U);
        sync_cluster();
        if (cluster_rank() == 0) {
            mbarrier::wait(shared.full[0], 0);
            EXPECT_EQ(load_shared(&shared.data[1]), 0U);
            sync_warp();
            if (lane == 0) mbarrier::arrive(map_to_rank(&shared.full[0], 1));
            mbarrier::wait_acquire(shared.empty[0], 0);
            EXPECT_EQ(load_shared(&shared.data[1]), 7U);
        } else {
            const auto other = map_to_rank(&shared.data[1], 0);
            if (lane == 5) {
                store_cluster(other, 7U);
                EXPECT_EQ(load_cluster(other), 7U);
            }
            sync_warp();
            if (lane == 0) mbarrier::arrive(map_to_rank(&shared.full[0], 0));
            mbarrier::wait(shared.full[0], 0);
            if (lane == 0) mbarrier::arrive_release(map_to_rank(&shared.empty[0], 0));
        }
        sync_cluster();
    });
}

TEST(MBarrier, ItsBytesMayBeABarrierAgainAfterInvalidation) {
    expect_runs({.threads = 32, .shared_bytes = sizeof(Shared)}, [] {
        auto& shared = shared_as<Shared>();
        for (uint32_t life = 0; life < 2; ++life) {
            if (lane_index() == 0) mbarrier::init(shared.full[0], 32);
            sync_warp();
            mbarrier::arrive(shared.full[0]);
            mbarrier::wait(shared.full[0], 0);
            sync_warp();
            if (lane_index() == 0) mbarrier::invalidate(shared.full[0]);
            sync_warp();
        }
    });
}

TEST(MBarrierFaults, AMissingArrivalIsADeadlockThatSaysHowManyAreMissing) {
    expect_fault(kTwoWarps, "misses 1 of 33 arrivals", [] {
        auto& shared = shared_as<Shared>();
        set_up(shared, 33, 1);
        if (warp_index() == 0) {
            mbarrier::arrive(shared.full[0]);
        } else {
            mbarrier::wait(shared.full[0], 0);
        }
    });
}

TEST(MBarrierFaults, ExpectedBytesThatNeverComeAreADeadlockThatSaysHowMany) {
    expect_fault(kTwoWarps, "misses 0 of 32 arrivals and 512 of 512 expected bytes", [] {
        auto& shared = shared_as<Shared>();
        set_up(shared, 32, 1);
        if (warp_index() == 0) {
            mbarrier::arrive_expect(shared.full[0], 16);
            sync_cta();
        } else {
            sync_cta();
            mbarrier::wait(shared.full[0], 0);
        }
    });
}

TEST(MBarrierFaults, AWholeWarpArrivingOnABarrierOfOneIsCaught) {
    expect_fault(kTwoWarps, "although no thread has waited for phase 0", [] {
        auto& shared = shared_as<Shared>();
        set_up(shared, 1, 1);
        if (warp_index() == 0) mbarrier::arrive(shared.full[0]);
        sync_cta();
    });
}

TEST(MBarrierFaults, AnArrivalMoreThanTheCountWhileBytesAreOutstandingIsCaught) {
    expect_fault(kTwoWarps, "arrives once too often while bytes are outstanding", [] {
        auto& shared = shared_as<Shared>();
        set_up(shared, 1, 1);
        if (thread_index() == 0) {
            mbarrier::arrive_expect(shared.full[0], 16);
            mbarrier::arrive(shared.full[0]);
        }
    });
}

TEST(MBarrierFaults, APhaseBitThatIsNotFlippedIsCaughtOnTheSecondLap) {
    expect_fault(kTwoWarps, "waits a second time for phase 0 (parity 0)", [] {
        auto& shared = shared_as<Shared>();
        set_up(shared, 32, 32);
        for (uint32_t lap = 0; lap < 2; ++lap) {
            if (warp_index() == 0) {
                mbarrier::wait(shared.empty[0], (lap & 1) ^ 1);
                mbarrier::arrive(shared.full[0]);
            } else {
                mbarrier::wait(shared.full[0], 0);
                mbarrier::arrive(shared.empty[0]);
            }
        }
    });
}

TEST(MBarrierFaults, AProducerThatStartsWithParityZeroDeadlocks) {
    expect_fault(kTwoWarps, "misses 32 of 32 arrivals", [] {
        auto& shared = shared_as<Shared>();
        set_up(shared, 32, 32);
        if (warp_index() == 0) {
            mbarrier::wait(shared.empty[0], 0);
            mbarrier::arrive(shared.full[0]);
        } else {
            mbarrier::wait(shared.full[0], 0);
            mbarrier::arrive(shared.empty[0]);
        }
    });
}

TEST(MBarrierFaults, UseBeforeTheInitWasSynchronisedIsCaught) {
    expect_fault_in_some_schedule(kTwoWarps, "without having synchronised after its mbarrier.init", [] {
        auto& shared = shared_as<Shared>();
        if (thread_index() == 0) mbarrier::init(shared.full[0], 32);
        if (warp_index() == 1) mbarrier::arrive(shared.full[0]);
    });
}

TEST(MBarrierFaults, ARemoteArrivalNeedsTheInitFence) {
    expect_fault(kTwoCtas, "(fence_barrier_init and a cluster barrier)", [] {
        auto& shared = shared_as<Shared>();
        if (lane_index() == 0) mbarrier::init(shared.full[0], 32);
        sync_cluster();
        mbarrier::arrive(map_to_rank(&shared.full[0], cluster_rank() ^ 1));
        sync_cluster();
    });
}

TEST(MBarrierFaults, AnUninitialisedBarrierIsNamedByItsPlace) {
    expect_fault(kTwoWarps, "there is no initialised barrier at CTA (0,0,0) shared+8",
                 [] { mbarrier::arrive(shared_as<Shared>().full[1]); });
}

TEST(MBarrierFaults, InitialisingTwiceIsCaught) {
    expect_fault(kTwoWarps, "is already initialised", [] {
        if (thread_index() != 0) return;
        mbarrier::init(shared_as<Shared>().full[0], 1);
        mbarrier::init(shared_as<Shared>().full[0], 1);
    });
}

TEST(MBarrierFaults, AStoreOverALiveBarrierIsCaught) {
    expect_fault(kTwoWarps, "overwrites the barrier at shared+0", [] {
        if (thread_index() != 0) return;
        auto& shared = shared_as<Shared>();
        mbarrier::init(shared.full[0], 1);
        store_shared(reinterpret_cast<uint32_t*>(&shared.full[0]) + 1, 7u);
    });
}

TEST(MBarrierFaults, APlainWriteOverALiveBarrierIsCaughtAtItsNextUse) {
    expect_fault(kTwoWarps, "have been overwritten", [] {
        if (thread_index() != 0) return;
        auto& shared = shared_as<Shared>();
        mbarrier::init(shared.full[0], 1);
        shared.full[0].bits = 0;
        mbarrier::arrive(shared.full[0]);
    });
}

TEST(MBarrierFaults, ACtaThatHasExitedCannotBeSignalled) {
    expect_fault_in_some_schedule(kTwoCtas, "whose shared memory this touches, has exited", [] {
        auto& shared = shared_as<Shared>();
        set_up(shared, 32, 1);
        if (cluster_rank() == 0) mbarrier::arrive(map_to_rank(&shared.full[0], 1));
    });
}

TEST(MBarrier, ATestSaysWhichPhaseIsOverWithoutWaiting) {
    expect_runs({.threads = 32, .shared_bytes = sizeof(Shared)}, [] {
        auto& shared = shared_as<Shared>();
        if (lane_index() != 0) return;
        mbarrier::init(shared.full[0], 2);
        EXPECT_TRUE(mbarrier::test(shared.full[0], 1));  // the phase before the first counts as over
        mbarrier::arrive(shared.full[0]);
        EXPECT_FALSE(mbarrier::test(shared.full[0], 0));
        mbarrier::arrive(shared.full[0]);
        EXPECT_TRUE(mbarrier::test(shared.full[0], 0));
        EXPECT_FALSE(mbarrier::test(shared.full[0], 1));
    });
}

TEST(MBarrier, APromisedPhaseThatIsOverCostsNothing) {
    expect_runs(kTwoWarps, [] {
        auto& shared = shared_as<Shared>();
        set_up(shared, 32, 1);
        if (warp_index() == 0) return mbarrier::arrive(shared.full[0]);
        mbarrier::wait(shared.full[0], 0);
        mbarrier::promise_over(shared.full[0], 0, "warp 0 has been here");
    });
}

TEST(MBarrierFaults, ABrokenPromiseIsCaughtInItsOwnWords) {
    expect_fault(kTwoWarps, "warp 0 has been here at mbarrier_test.cpp", [] {
        auto& shared = shared_as<Shared>();
        set_up(shared, 33, 1);
        if (warp_index() == 0) return mbarrier::arrive(shared.full[0]);
        mbarrier::promise_over(shared.full[0], 0, "warp 0 has been here");
    });
}

TEST(SharedMemoryFaults, AddressesOutsideTheCtasMemoryAreCaught) {
    static uint32_t elsewhere = 0;
    expect_fault(kTwoWarps, "does not lie in this CTA's dynamic shared memory", [] { store_shared(&elsewhere, 1u); });
}

TEST(SharedMemoryFaults, AKernelMayNotUseMoreThanTheLaunchGives) {
    expect_fault({.threads = 32, .shared_bytes = 8}, "the kernel's shared memory is 40 bytes, the launch gives 8",
                 [] { shared_as<Shared>(); });
}

}  // namespace
}  // namespace kinetograph::isa
