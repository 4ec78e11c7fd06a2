#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

#include "model_run.hpp"
#include "tensor_fixture.hpp"

namespace kinetograph::isa {
namespace {

struct Shared {
    alignas(1024) uint16_t tile[2048];
    alignas(1024) uint16_t other[2048];
    mbarrier::Barrier full;
};
constexpr uint32_t kBox = 2048;  // bytes

void set_up(Shared& shared) {
    if (thread_index() == 0) {
        mbarrier::init(shared.full, 1);
        fence_barrier_init();
    }
    sync_cluster();
}

/// A map of [32][64] words with boxes of 16 rows, and one warp a CTA.
struct TmaFaults : testing::Test {
    TmaFaults() : desc(tensor.map(MapMode::Tiled, Swizzle::Span128)), map(host_model::model_map(desc)) {
        desc.box = {64, 16};
    }

    void expect(const std::string& sentence, const std::function<void(Shared&)>& kernel, uint32_t cluster = 1) const {
        expect_fault(launch(cluster), sentence, [&] {
            auto& shared = shared_as<Shared>();
            set_up(shared);
            kernel(shared);
        });
    }
    static Launch launch(uint32_t cluster) {
        return {.grid = {cluster}, .cluster = {cluster}, .threads = 64, .shared_bytes = sizeof(Shared)};
    }

    CodedTensor tensor{2, {64, 32}};
    TensorMapDesc desc;
    TensorMap map;
};

bool first_thread() { return thread_index() == 0; }

TEST_F(TmaFaults, BytesThatAreExpectedTooFewAreCaught) {
    expect("more bytes arrive than are expected: phase 0", [&](Shared& shared) {
        if (!first_thread()) return;
        mbarrier::arrive_expect(shared.full, kBox - 64);
        tma::load_tiled<2>(shared.tile, map, {{0, 0}}, shared.full);
        mbarrier::wait(shared.full, 0);
    });
}

TEST_F(TmaFaults, BytesThatAreExpectedTooManyAreADeadlockWithTheirNumber) {
    expect("misses 0 of 1 arrivals and 64 of 2112 expected bytes", [&](Shared& shared) {
        if (!first_thread()) return;
        mbarrier::arrive_expect(shared.full, kBox + 64);
        tma::load_tiled<2>(shared.tile, map, {{0, 0}}, shared.full);
        mbarrier::wait(shared.full, 0);
    });
}

TEST_F(TmaFaults, ALoadThatWasNotAnnouncedIsCaughtAtExit) {
    expect("cp.async.bulk.tensor load at tma_faults_test.cpp", [&](Shared& shared) {
        if (first_thread()) tma::load_tiled<2>(shared.tile, map, {{0, 0}}, shared.full);
    });
}

TEST_F(TmaFaults, ReadingATileBeforeItsBarrierWasWaitedForIsCaught) {
    expect("ld.shared at tma_faults_test.cpp", [&](Shared& shared) {
        if (!first_thread()) return;
        mbarrier::arrive_expect(shared.full, kBox);
        tma::load_tiled<2>(shared.tile, map, {{0, 0}}, shared.full);
        load_shared(&shared.tile[5]);
        mbarrier::wait(shared.full, 0);
    });
}

TEST_F(TmaFaults, APlainReadTooEarlyFindsPoison) {
    const Launch late = launch(1);  // seed 0 lands as late as possible
    uint16_t early = 0;
    const Outcome outcome = host_model::run(late, [&] {
        auto& shared = shared_as<Shared>();
        set_up(shared);
        if (!first_thread()) return;
        mbarrier::arrive_expect(shared.full, kBox);
        tma::load_tiled<2>(shared.tile, map, {{0, 0}}, shared.full);
        early = shared.tile[0];
        mbarrier::wait(shared.full, 0);
    });
    EXPECT_EQ(outcome.fault.value_or(""), "");
    EXPECT_EQ(early, 0xffff);
}

TEST_F(TmaFaults, LoadingOverATileBeforeAWaitIsCaught) {
    expect("writes shared memory [0, 2048) of which shared memory [0, 2048) is", [&](Shared& shared) {
        if (!first_thread()) return;
        mbarrier::arrive_expect(shared.full, 2 * kBox);
        tma::load_tiled<2>(shared.tile, map, {{0, 0}}, shared.full);
        tma::load_tiled<2>(shared.tile, map, {{0, 16}}, shared.full);
        mbarrier::wait(shared.full, 0);
    });
}

TEST_F(TmaFaults, AMisalignedDestinationIsCaught) {
    expect("shared+64 is not aligned to 128 bytes", [&](Shared& shared) {
        if (first_thread()) tma::load_tiled<2>(shared.tile + 32, map, {{0, 0}}, shared.full);
    });
}

TEST_F(TmaFaults, ABoxOverABarrierIsCaught) {
    expect("writes over the barrier at shared+8192", [&](Shared& shared) {
        if (!first_thread()) return;
        tma::load_tiled<2>(reinterpret_cast<uint8_t*>(&shared.full) - 1024, map, {{0, 0}}, shared.full);
    });
}

TEST_F(TmaFaults, AnInvalidMapIsCaughtWithTheBrokenLimit) {
    desc.box = {128, 16};
    expect("the tensor map is invalid: the box's innermost row of 256 bytes exceeds the 128 bytes",
           [&](Shared& shared) {
               if (first_thread()) tma::load_tiled<2>(shared.tile, map, {{0, 0}}, shared.full);
           });
}

TEST_F(TmaFaults, AnIm2colMapNeedsTheIm2colInstruction) {
    CodedTensor images(4, {64, 8, 8, 1});
    TensorMapDesc column = images.map(MapMode::Im2col, Swizzle::Span128);
    column.channels_per_pixel = 64;
    column.pixels_per_column = 16;
    const TensorMap column_map = host_model::model_map(column);
    expect("the map is im2col, the instruction tiled", [&](Shared& shared) {
        if (first_thread()) tma::load_tiled<4>(shared.tile, column_map, {{0, 0, 0, 0}}, shared.full);
    });
}

TEST_F(TmaFaults, ABarrierWhoseInitWasNotFencedCannotBeSignalled) {
    expect_fault(launch(1), "was not followed by fence_barrier_init", [&] {
        auto& shared = shared_as<Shared>();
        if (!first_thread()) return;
        mbarrier::init(shared.full, 1);
        tma::load_tiled<2>(shared.tile, map, {{0, 0}}, shared.full);
    });
}

TEST_F(TmaFaults, AMulticastMaskBeyondTheClusterIsCaught) {
    expect(
        "names ranks outside the cluster",
        [&](Shared& shared) {
            if (first_thread()) tma::load_tiled_multicast<2>(shared.tile, map, {{0, 0}}, shared.full, 0x5);
        },
        2);
}

TEST_F(TmaFaults, ACtaMustNotExitWhileAPeersMulticastWritesIntoIt) {
    expect_fault_in_some_schedule(launch(2), "exits while this operation still writes its shared memory", [&] {
        auto& shared = shared_as<Shared>();
        set_up(shared);
        if (!first_thread() || cluster_rank() != 0) return;
        mbarrier::arrive_expect(shared.full, kBox);
        tma::load_tiled_multicast<2>(shared.tile, map, {{0, 0}}, shared.full, 0x3);
        mbarrier::wait(shared.full, 0);
    });
}

void fill(Shared& shared) {
    for (uint32_t i = thread_index(); i < 1024; i += 64) store_shared(&shared.tile[i], static_cast<uint16_t>(i));
}

TEST_F(TmaFaults, AStoreOfBytesThatTheirWritersHaveNotFencedIsCaught) {
    expect("has written without a fence.proxy.async since", [&](Shared& shared) {
        fill(shared);
        sync_cta();
        if (!first_thread()) return;
        fence_async_shared();  // publishes this thread's own writes only
        tma::store_tiled<2>(map, {{0, 0}}, shared.tile);
        tma::commit_stores();
        tma::wait_stores<0>();
    });
}

TEST_F(TmaFaults, AStoreOfBytesThatWereNeverWrittenIsCaught) {
    expect("which neither TMA nor store_shared has written", [&](Shared& shared) {
        if (first_thread()) tma::store_tiled<2>(map, {{0, 0}}, shared.other);
    });
}

TEST_F(TmaFaults, ExitingBeforeTheStoreHasReadItsSourceIsCaught) {
    expect("reads its shared memory", [&](Shared& shared) {
        fill(shared);
        fence_async_shared();
        sync_cta();
        if (!first_thread()) return;
        tma::store_tiled<2>(map, {{0, 0}}, shared.tile);
        tma::commit_stores();
    });
}

TEST_F(TmaFaults, AStoreThatBeginsBeforeTheTensorIsCaught) {
    expect("a store that begins at coordinate -1, before the tensor", [&](Shared& shared) {
        fill(shared);
        fence_async_shared();
        sync_cta();
        if (first_thread()) tma::store_tiled<2>(map, {{0, -1}}, shared.tile);
    });
}

TEST_F(TmaFaults, AStoreThatIsNotCommittedIsCaught) {
    expect("without committing this store to a bulk group", [&](Shared& shared) {
        fill(shared);
        fence_async_shared();
        sync_cta();
        if (!first_thread()) return;
        tma::store_tiled<2>(map, {{0, 0}}, shared.tile);
        tma::wait_stores_read<0>();
    });
}

TEST_F(TmaFaults, WritingIntoStagingThatAStoreStillReadsIsCaught) {
    expect("st.shared at tma_faults_test.cpp", [&](Shared& shared) {
        fill(shared);
        fence_async_shared();
        sync_cta();
        if (first_thread()) {
            tma::store_tiled<2>(map, {{0, 0}}, shared.tile);
            tma::commit_stores();
        }
        sync_cta();
        fill(shared);
        sync_cta();
        if (first_thread()) tma::wait_stores_read<0>();
    });
}

}  // namespace
}  // namespace kinetograph::isa
