#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/clc.hpp>
#include <kinetograph/kernels/isa/cluster.hpp>
#include <kinetograph/kernels/isa/fence.hpp>

#include "model_run.hpp"

namespace kinetograph::isa {
namespace {

struct Shared {
    clc::Response response;
    mbarrier::Barrier full, empty;
};

/// Each cluster works on its own block, then on those it takes over; `work` is called once for each block.
template <class Work>
void persistent(const Work& work, bool fence_readers = true, bool ask_again = false) {
    auto& shared = shared_as<Shared>();
    const uint32_t readers = cluster_size() * 64;
    if (thread_index() == 0) {
        mbarrier::init(shared.full, 1);
        mbarrier::init(shared.empty, readers);
        fence_barrier_init();
    }
    sync_cluster();
    Index3 place = block_index();
    bool exhausted = false;
    for (uint32_t turn = 0; !exhausted || ask_again; ++turn) {
        if (thread_index() == 0) work(place);
        if (warp_index() == 0 && elect_one()) {
            if (cluster_rank() == 0) mbarrier::wait(shared.empty, (turn & 1) ^ 1);
            mbarrier::arrive_expect(shared.full, 16);
            if (cluster_rank() == 0) clc::try_cancel_multicast(shared.response, shared.full);
        }
        mbarrier::wait(shared.full, turn & 1);
        const clc::NextWork next = clc::query(shared.response);
        if (fence_readers) fence_async_shared();
        mbarrier::arrive(map_to_rank(&shared.empty, 0));
        exhausted = !next.valid;
        place = {next.first_cta.x + cluster_rank(), next.first_cta.y, next.first_cta.z};
    }
    sync_cluster();
}

const Launch kGrid{.grid = {12, 3, 1}, .cluster = {2}, .threads = 64, .shared_bytes = sizeof(Shared)};

TEST(ClusterLaunchControl, EveryBlockOfTheGridIsProcessedOnce) {
    std::vector<int> visits(36);
    expect_runs(
        kGrid, [&] { persistent([&](Index3 place) { ++visits[place.y * 12 + place.x]; }); },
        [&] {
            EXPECT_EQ(visits, std::vector<int>(36, 1));
            visits.assign(36, 0);
        });
}

TEST(ClusterLaunchControl, ACtaAloneTakesWorkOverWithoutMulticast) {
    uint32_t visits = 0;
    expect_runs(
        {.grid = {9}, .threads = 32, .shared_bytes = sizeof(Shared), .resident_clusters = 1},
        [&] {
            auto& shared = shared_as<Shared>();
            if (thread_index() != 0) return;
            mbarrier::init(shared.full, 1);
            fence_barrier_init();
            for (uint32_t turn = 0;; ++turn) {
                ++visits;
                mbarrier::arrive_expect(shared.full, 16);
                clc::try_cancel(shared.response, shared.full);
                mbarrier::wait(shared.full, turn & 1);
                const bool valid = clc::query(shared.response).valid;
                fence_async_shared();
                if (!valid) break;
            }
        },
        [&] {
            EXPECT_EQ(visits, 9u);
            visits = 0;
        });
}

TEST(ClusterLaunchControlFaults, ASlotThatAReaderHasNotFencedCannotBeOverwritten) {
    expect_fault(kGrid, "without fence.proxy.async since", [] { persistent([](Index3) {}, false); });
}

TEST(ClusterLaunchControlFaults, AskingAgainAfterTheGridIsExhaustedIsCaught) {
    expect_fault(kGrid, "has seen that the grid is exhausted", [] { persistent([](Index3) {}, true, true); });
}

TEST(ClusterLaunchControlFaults, DecodingAnAnswerThatHasNotArrivedIsCaught) {
    expect_fault(kGrid, "clusterlaunchcontrol.query_cancel at cluster_launch_control_test.cpp", [] {
        auto& shared = shared_as<Shared>();
        if (thread_index() != 0) return;
        mbarrier::init(shared.full, 1);
        fence_barrier_init();
        mbarrier::arrive_expect(shared.full, 16);
        clc::try_cancel(shared.response, shared.full);
        clc::query(shared.response);
    });
}

TEST(ClusterLaunchControlFaults, ACtaThatDoesNotExpectItsOwnBytesIsCaught) {
    expect_fault_in_some_schedule(kGrid, "more bytes arrive than are expected", [] {
        auto& shared = shared_as<Shared>();
        if (thread_index() == 0) {
            mbarrier::init(shared.full, 1);
            fence_barrier_init();
        }
        sync_cluster();
        if (thread_index() != 0) return;
        if (cluster_rank() == 0) {
            mbarrier::arrive_expect(shared.full, 16);
            clc::try_cancel_multicast(shared.response, shared.full);
        } else {
            mbarrier::arrive(shared.full);
        }
        mbarrier::wait(shared.full, 0);
        sync_cluster();
    });
}

}  // namespace
}  // namespace kinetograph::isa
