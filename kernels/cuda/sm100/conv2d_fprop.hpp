#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_epilogue.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_epilogue_load.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_load.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_mma.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_scheduler.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>

/// The implicit-GEMM forward convolution on sm_100: D[pixels, c_out] = A[pixels, taps * c_in] * B[c_out, taps *
/// c_in]^T, where A is never stored. Warp-specialised and persistent; one source for the chip and for host_model.
///
///   warp 5  A, B  --> full, empty               <--> warp 6  MMA  --> accumulated, drained <--> warps 0-3
///   warp 7  C     --> source_full, source_empty <-------------------------------------------->  epilogue
///   warp 4  next tile --> answered, heard       <--> all of the above, which take the same tiles
namespace kinetograph::sm100 {

enum class Role : uint8_t { Epilogue = 0, Schedule = 4, Load = 5, Mma = 6, EpilogueLoad = 7 };

KG_HOST_DEVICE Role role_of(uint32_t warp) { return warp < kEpilogueWarps ? Role::Epilogue : static_cast<Role>(warp); }

/// Grid: one CTA per tile (grid.x pixels, grid.y filters, grid.z groups), a multiple of the cluster; 256 threads.
template <Conv2dConfig kConfig, class Epilogue = NoEpilogue, Fault kFault = Fault::None>
struct Conv2dFpropKernel {
    using Smem = Conv2dSmem<kConfig>;
    using Params = Conv2dParams<kConfig, Epilogue>;
    using Tiles = TileWalk<kConfig, kFault>;
    static constexpr Conv2dConfig c = kConfig;
    static constexpr uint32_t kThreads = kWarps * isa::kWarpLanes;

    KG_DEVICE static void run(const Params& params) {
        auto& smem = isa::shared_as<Smem>();
        const uint32_t tensor = set_up(smem);
        switch (role_of(isa::warp_index())) {
            case Role::Schedule:
                if (isa::cluster_rank() == 0 && isa::elect_one()) SchedulerRole<kConfig, kFault>::run(smem);
                break;
            case Role::Load:
                if (isa::elect_one()) LoadRole<kConfig, kFault>::run(params, smem);
                break;
            case Role::Mma:
                if (Place<kConfig>().leads() && isa::elect_one()) MmaRole<kConfig, kFault>::run(params, smem, tensor);
                break;
            case Role::EpilogueLoad:
                if constexpr (c.source != Source::None) {
                    if (isa::elect_one()) EpilogueLoadRole<kConfig, kFault>::run(params, smem);
                }
                break;
            case Role::Epilogue:
                EpilogueRole<kConfig, Epilogue, kFault>::run(params, smem, tensor);
                break;
        }
        isa::sync_warp();
        give_back(smem, tensor);
    }

  private:
    /// Initialises barriers and allocates tensor memory; returns the accumulators' address when every CTA of the
    /// cluster is ready.
    KG_DEVICE static uint32_t set_up(Smem& smem) {
        if (isa::thread_index() == 0) initialise_barriers(smem);
        if (role_of(isa::warp_index()) == Role::Mma) {
            isa::tcgen05::alloc<c.cta_group>(&smem.tensor_address, tensor_columns(c));
        }
        isa::tcgen05::fence_before_sync();
        if constexpr (c.cluster.size() == 1 || kFault == Fault::NoClusterSync) {
            isa::sync_cta();
        } else {
            isa::sync_cluster();
        }
        isa::tcgen05::fence_after_sync();
        return isa::load_shared(&smem.tensor_address);
    }

    KG_DEVICE static void initialise_barriers(Smem& smem) {
        constexpr uint32_t kReaders = c.cluster.x / c.cta_group + c.cluster.y - 1;  // MMAs that read what one CTA loads
        constexpr uint32_t kEmpty = kFault == Fault::EmptyCountTooHigh  ? kReaders + 1
                                    : kFault == Fault::EmptyCountTooLow ? kReaders - 1
                                                                        : kReaders;
        for (auto& barrier : smem.full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.empty) isa::mbarrier::init(barrier, kEmpty);
        for (auto& barrier : smem.accumulated) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.drained) isa::mbarrier::init(barrier, c.cta_group * kEpilogueWarps);
        for (auto& barrier : smem.answered) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.heard) isa::mbarrier::init(barrier, Tiles::kListeners);
        for (auto& barrier : smem.source_full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.source_empty) isa::mbarrier::init(barrier, kEpilogueWarps);
        isa::mbarrier::init(smem.throttle, 1);
        isa::mbarrier::init(smem.load_order, 1);
        isa::mbarrier::init(smem.deallocate, c.cta_group * kEpilogueWarps);
        if constexpr (kFault != Fault::NoBarrierInitFence) isa::fence_barrier_init();
    }

    /// Tensor memory is freed when no epilogue warp of the pair reads it any more; no CTA exits while another may still
    /// signal its barriers.
    KG_DEVICE static void give_back(Smem& smem, uint32_t tensor) {
        if (role_of(isa::warp_index()) == Role::Mma) {
            if constexpr (kFault != Fault::DeallocatesUnasked) isa::mbarrier::wait(smem.deallocate, 0);
            isa::sync_warp();
            isa::tcgen05::fence_after_sync();
            isa::tcgen05::relinquish<c.cta_group>();
            if constexpr (kFault != Fault::NoDeallocation) {
                isa::tcgen05::dealloc<c.cta_group>(tensor, tensor_columns(c));
            }
        }
        if constexpr (c.cluster.size() > 1) isa::sync_cluster();
    }
};

}  // namespace kinetograph::sm100
