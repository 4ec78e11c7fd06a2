#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_epilogue_steps.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_steps.hpp>

/// Where warpgroups take turns, one thread stores their results and brings their residuals: a ring of staging buffers
/// goes from block to block, and with raw and normed results from one to the other. Epilogues wait for residuals; they
/// are not loaded one use earlier, because the energy of a tile is the limit, and that was slower
/// (docs/kernels-sm90.md).
///
///   warpgroup    ready --> sums + bias ... + residual, rounded, in place of the residual  --> staged
///                ready --> the same normed, if that is stored too                         --> staged
///   store warp   staged --> store --> once it is read: load the residual of the next use but two --> ready
namespace kinetograph::sm90 {

/// How often the results of a tile of `outputs` frames use a staging buffer.
template <WinogradConfig kConfig>
KG_DEVICE uint32_t staging_uses(const ConvParams& p, uint32_t outputs) {
    const bool both = (p.flags & kConvOutput) != 0 && (p.flags & kConvNorm) != 0;
    return outputs * blocks(share(kConfig)) * (both ? 2 : 1);
}

template <WinogradConfig kConfig, ConvFault kFault>
class StoreRole {
  public:
    using Smem = WinogradSmem<kConfig>;
    static constexpr WinogradConfig c = kConfig;

    /// Called by one thread.
    KG_DEVICE static void run(const WinogradParams& params, Smem& smem) { StoreRole(params, smem).run(); }

  private:
    using Steps = EpilogueSteps<share(kConfig), kFault>;
    static constexpr uint32_t kBuffers = staging_buffers(c);

    /// One use of a staging buffer: a block of a frame of a tile, raw or normed.
    struct Use {
        uint32_t index;  ///< of the tile
        uint32_t consumer = 0, frame = 0, block = 0, buffer = 0;
        bool normed;
    };

    KG_DEVICE StoreRole(const WinogradParams& params, Smem& smem)
        : params_(params), p_(params.conv), smem_(smem), both_(has(kConvOutput) && has(kConvNorm)) {}

    KG_DEVICE void run() {
        Use use{.index = isa::block_index().x, .normed = !has(kConvOutput)};
        Use next = use;
        for (uint32_t i = 0; i < kBuffers; ++i) prepare(next);
        SlotParities staged;
        for (bool first = true; exists(use); first = false) {
            const uint32_t parity = staged.take(use.consumer * kBuffers + use.buffer);
            if constexpr (kFault != ConvFault::NoStagingBarrier)
                isa::mbarrier::wait(smem_.staged[use.consumer][use.buffer], parity);
            const ConvTile tile = tile_of(use);
            Steps::store(use.normed ? p_.normed[tile.frame] : p_.output[tile.frame], tile, use.block,
                         smem_.staging[use.buffer]);
            advance(use);
            if (first) continue;
            if constexpr (kFault != ConvFault::NoStoreWait) isa::tma::wait_stores_read<1>();
            prepare(next);  // the buffer of the use before this one
        }
        isa::tma::wait_stores_read<0>();
    }

    KG_DEVICE bool has(uint32_t flag) const { return (p_.flags & flag) != 0; }
    KG_DEVICE bool exists(const Use& use) const { return use.index < tile_count<kClusterCtas>(p_); }
    KG_DEVICE ConvTile tile_of(const Use& use) const {
        ConvTile tile = share_of<kConfig>(p_, use.index, 0);
        tile.frame += use.frame;
        return tile;
    }

    /// Hands a buffer over for `use`, with its residual if raw results want one, and goes on to the next use.
    KG_DEVICE void prepare(Use& use) {
        if (!exists(use)) return;
        isa::mbarrier::Barrier& ready = smem_.staging_ready[use.consumer][use.buffer];
        if (has(kConvResidual) && !(both_ && use.normed)) {
            const ConvTile tile = tile_of(use);
            isa::mbarrier::arrive_expect(ready, staging_bytes(share(c)));
            Steps::load(p_.residual[tile.frame], tile, use.block, smem_.staging[use.buffer], ready);
        } else {
            isa::mbarrier::arrive(ready);
        }
        advance(use);
    }

    KG_DEVICE void advance(Use& use) const {
        if (++use.buffer == kBuffers) use.buffer = 0;
        if (both_) use.normed = !use.normed;
        if ((both_ && use.normed) || ++use.block < blocks(share(c))) return;
        use.block = 0;
        if (++use.frame < params_.pairs[tile_at<whole(c), kClusterCtas>(p_, use.index).frame].outputs) return;
        use.frame = 0;
        use.index += isa::grid_size().x;
        use.consumer ^= 1u;
    }

    const WinogradParams& params_;
    const ConvParams& p_;
    Smem& smem_;
    bool both_;
};

}  // namespace kinetograph::sm90
