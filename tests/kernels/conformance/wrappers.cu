#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/tma.hpp>
#if KINETOGRAPH_CHIP == 90
#include <kinetograph/kernels/isa/wgmma.hpp>
#else
#include <kinetograph/kernels/isa/clc.hpp>
#include <kinetograph/kernels/isa/tcgen05.hpp>
#endif

/// Every wrapper of kernels/isa in every form, for ptxas to compile. Never run.
namespace kinetograph::conformance {

using namespace isa;

struct Shared {
    alignas(1024) uint8_t tile[1024];
    mbarrier::Barrier barrier;
    uint32_t word;
#if KINETOGRAPH_CHIP == 100
    clc::Response response;
#endif
};

template <int kRank>
__device__ void copies(Shared& shared, const TensorMap& map, uint16_t ranks) {
    tma::Coordinates<kRank> c{};
    c.at[0] = static_cast<int32_t>(thread_index());
    tma::prefetch(map);
    tma::load_tiled(shared.tile, map, c, shared.barrier);
    tma::load_tiled_multicast(shared.tile, map, c, shared.barrier, ranks);
    tma::store_tiled(map, c, shared.tile);
    if constexpr (kRank >= 3) tma::load_im2col<kRank>(shared.tile, map, c, {}, shared.barrier);
    if constexpr (kRank >= 4) tma::load_im2col_multicast<kRank>(shared.tile, map, c, {}, shared.barrier, ranks);
#if KINETOGRAPH_CHIP == 100
    tma::load_tiled_pair(shared.tile, map, c, shared.barrier);
    if constexpr (kRank >= 4) tma::load_im2col_pair<kRank>(shared.tile, map, c, {}, shared.barrier);
    tma::load_tiled_pair_multicast(shared.tile, map, c, shared.barrier, ranks);
    if constexpr (kRank >= 4) tma::load_im2col_pair_multicast<kRank>(shared.tile, map, c, {}, shared.barrier, ranks);
#endif
}

__device__ uint32_t barriers(Shared& shared) {
    if (elect_one()) {
        mbarrier::init(shared.barrier, 1);
        fence_barrier_init();
    }
    sync_cluster();
    sync_cta();
    sync_named(1, 64);
    arrive_named(2, 64);
    sync_warp();
    mbarrier::arrive(shared.barrier);
    mbarrier::arrive_expect(shared.barrier, 16);
    mbarrier::expect(shared.barrier, 16);
    mbarrier::arrive(map_to_rank(&shared.barrier, 1));
    mbarrier::arrive_expect(map_to_rank(&shared.barrier, 1), 16);
    mbarrier::arrive_release(map_to_rank(&shared.barrier, 1));
    mbarrier::wait_acquire(shared.barrier, 1);
    mbarrier::wait(shared.barrier, 0);
    mbarrier::wait(shared.barrier, 1);
    if (mbarrier::test(shared.barrier, 1)) mbarrier::arrive(shared.barrier);
    mbarrier::invalidate(shared.barrier);
    store_cluster(map_to_rank(&shared.word, 1), 3);
    store_shared(&shared.word, thread_index());
    fence_async_shared();
    return load_cluster(map_to_rank(&shared.word, 0)) + load_shared(&shared.word) + broadcast(lane_index(), 3) +
           warp_index() + cluster_rank() + cluster_size() + block_index().x + grid_size().y;
}

#if KINETOGRAPH_CHIP == 90
template <int kN, Element kElement>
__device__ void products(uint64_t a, uint64_t b, float* out) {
    float d[kN / 2];
    const uint32_t fragment[4] = {thread_index(), 1, 2, 3};
    wgmma::pin(d);
    wgmma::fence();
    wgmma::mma<kN, kElement>(d, a, b, false);
    wgmma::mma<kN, kElement, Major::MN>(d, a, b, true);
    wgmma::mma<kN, kElement>(d, fragment, b, true);
    wgmma::commit();
    wgmma::pin(d);
    wgmma::wait<0>();
    wgmma::take(d);
    for (int i = 0; i < kN / 2; ++i) out[i * 128 + thread_index()] = d[i];
}

template <int kN>
__global__ void __launch_bounds__(128, 1) wgmma_forms(uint64_t a, uint64_t b, float* out) {
    products<kN, Element::BF16>(a, b, out);
    products<kN, Element::F16>(a, b, out + 32768);
}
template __global__ void wgmma_forms<16>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<32>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<48>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<64>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<80>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<96>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<112>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<128>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<144>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<160>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<176>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<192>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<208>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<224>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<240>(uint64_t, uint64_t, float*);
template __global__ void wgmma_forms<256>(uint64_t, uint64_t, float*);
#else
template <int kColumns>
__device__ void loads(uint32_t address, uint32_t* out) {
    uint32_t values[kColumns];
    tcgen05::read(values, address);
    for (int i = 0; i < kColumns; ++i) out[i * 32 + thread_index()] = values[i];
}

template <int kGroup>
__global__ void __launch_bounds__(128, 1) tcgen05_forms(uint64_t a, uint64_t b, uint32_t* out) {
    auto& shared = shared_as<Shared>();
    tcgen05::alloc<kGroup>(&shared.word, 512);
    tcgen05::relinquish<kGroup>();
    tcgen05::fence_after_sync();
    if (elect_one()) {
        tcgen05::mma<kGroup, Element::BF16>(shared.word, a, b, 3, false);
        tcgen05::mma<kGroup, Element::F8E4M3>(shared.word, a, b, 3, true);
        tcgen05::commit<kGroup>(shared.barrier);
        tcgen05::commit_multicast<kGroup>(shared.barrier, 3);
    }
    loads<8>(shared.word, out);
    loads<16>(shared.word, out);
    loads<32>(shared.word, out);
    loads<64>(shared.word, out);
    loads<128>(shared.word, out);
    tcgen05::fence_before_sync();
    tcgen05::dealloc<kGroup>(shared.word, 512);
}
template __global__ void tcgen05_forms<1>(uint64_t, uint64_t, uint32_t*);
template __global__ void tcgen05_forms<2>(uint64_t, uint64_t, uint32_t*);

__global__ void launch_control_forms(uint32_t* out) {
    auto& shared = shared_as<Shared>();
    clc::try_cancel(shared.response, shared.barrier);
    clc::try_cancel_multicast(shared.response, shared.barrier);
    const clc::NextWork next = clc::query(shared.response);
    if (next.valid) out[0] = next.first_cta.x + next.first_cta.y + next.first_cta.z;
}
#endif

__global__ void __launch_bounds__(128, 1)
    common_forms(const __grid_constant__ TensorMap map, uint16_t ranks, uint32_t* out) {
    auto& shared = shared_as<Shared>();
    out[thread_index()] = barriers(shared);
    lower_registers<40>();
    raise_registers<64>();
    copies<2>(shared, map, ranks);
    copies<3>(shared, map, ranks);
    copies<4>(shared, map, ranks);
    copies<5>(shared, map, ranks);
    tma::commit_stores();
    tma::wait_stores_read<1>();
    tma::wait_stores<0>();
}

}  // namespace kinetograph::conformance
