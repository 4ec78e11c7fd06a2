#pragma once

#include <kinetograph/kernels/cuda/sm100/halo_epilogue.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_load.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_mma.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>

/// The implicit-GEMM forward convolution of a decoder's layers on sm_100: as Conv2dFpropKernel, but for each
/// block of K, TMA loads a tile's pixels with their halo once for all taps of the image: tap (r, s) is the same shared
/// memory read r rows and s pixels later, by its matrix descriptor. Persistent and warp-specialised; one source for the
/// chip and for host_model. Chetlur et al. 2014, arXiv 1410.0759; PTX ISA, tcgen05, Matrix descriptor.
///
///   warp 4  halos      --> input_full, input_empty   <--> warp 6  MMA  --> accumulated, drained <--> warps 0-3
///   warp 5  filters    --> filter_full, filter_empty <-->                                            epilogue
///   warp 7  residuals  --> source_full, source_empty <----------------------------------------------->
///                                       squares_full <-- warps 0-3 of the other pair, where pairs share pixels
namespace kinetograph::sm100 {

/// Grid: any number of CTAs along x, in clusters of `cluster`; 256 threads.
template <HaloConfig kConfig, HaloFault kFault = HaloFault::None>
struct HaloKernel {
    static constexpr HaloConfig c = kConfig;
    using Smem = HaloSmem<kConfig>;
    using Load = HaloLoadRole<kConfig, kFault>;
    using Walk = HaloWalk<kConfig>;

    KG_DEVICE static void run(const HaloParams& params) {
        auto& smem = isa::shared_as<Smem>();
        const uint32_t tensor = set_up(smem);
        const uint32_t warp = isa::warp_index();
        if (warp < kEpilogueWarps) {
            HaloEpilogueRole<kConfig, kFault>(params, smem).run(tensor);
        } else if (warp == kHalos) {
            if (isa::elect_one()) Load::input(params, smem);
        } else if (warp == kFilters) {
            if (isa::elect_one()) Load::filter(params, smem);
        } else if (warp == kMma) {
            if (Walk::leads() && isa::elect_one()) HaloMmaRole<kConfig, kFault>::run(params, smem, tensor);
        } else if constexpr (c.store == HaloStore::Pieces) {
            if ((params.conv.flags & sm90::kConvResidual) != 0 && isa::elect_one()) Load::residual(params, smem);
        }
        isa::sync_warp();
        give_back(smem, tensor);
    }

  private:
    static constexpr uint32_t kHalos = 4, kFilters = 5, kMma = 6;

    /// Initialises barriers and allocates tensor memory; returns its address when all CTAs of the cluster are ready.
    KG_DEVICE static uint32_t set_up(Smem& smem) {
        if (isa::thread_index() == 0) initialise_barriers(smem);
        if (isa::warp_index() == kMma) isa::tcgen05::alloc<c.cta_group>(&smem.tensor_address, tensor_columns(c));
        isa::tcgen05::fence_before_sync();
        sync();
        isa::tcgen05::fence_after_sync();
        return isa::load_shared(&smem.tensor_address);
    }

    KG_DEVICE static void initialise_barriers(Smem& smem) {
        for (auto& barrier : smem.input_full) isa::mbarrier::init(barrier, 1);
        constexpr uint32_t kReadHalo =
            kFault != HaloFault::OneReaderOfHalos && c.sharing == HaloSharing::Pixels ? 2 : 1;
        for (auto& barrier : smem.input_empty) isa::mbarrier::init(barrier, kReadHalo);  // MMAs
        for (auto& barrier : smem.filter_full) isa::mbarrier::init(barrier, 1);
        constexpr uint32_t kReadFilters =
            kFault != HaloFault::OneReaderOfFilters && c.sharing == HaloSharing::Filters ? 2 : 1;
        for (auto& barrier : smem.filter_empty) isa::mbarrier::init(barrier, kReadFilters);
        for (auto& barrier : smem.accumulated) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.drained) isa::mbarrier::init(barrier, c.cta_group * kEpilogueWarps);
        for (auto& barrier : smem.source_full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.source_empty) isa::mbarrier::init(barrier, kEpilogueWarps);
        for (auto& barrier : smem.squares_full) isa::mbarrier::init(barrier, kEpilogueWarps);
        isa::mbarrier::init(smem.deallocate, c.cta_group * kEpilogueWarps);
        if constexpr (kFault != HaloFault::NoBarrierInitFence) isa::fence_barrier_init();
    }

    /// Tensor memory is freed when no epilogue warp of the pair reads it any more; no CTA exits while another may
    /// still signal its barriers.
    KG_DEVICE static void give_back(Smem& smem, uint32_t tensor) {
        if (isa::warp_index() == kMma) {
            isa::mbarrier::wait(smem.deallocate, 0);
            isa::sync_warp();
            isa::tcgen05::fence_after_sync();
            isa::tcgen05::relinquish<c.cta_group>();
            isa::tcgen05::dealloc<c.cta_group>(tensor, tensor_columns(c));
        }
        if constexpr (c.cluster > 1) isa::sync_cluster();
    }

    KG_DEVICE static void sync() {
        if constexpr (c.cluster == 1) {
            isa::sync_cta();
        } else {
            isa::sync_cluster();
        }
    }
};

}  // namespace kinetograph::sm100
