#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_epilogue_steps.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_steps.hpp>

/// Where warpgroups share a tile, no products hide their epilogue. So they leave rounded results in staging buffers,
/// and four warps norm and store them while the next tile is computed, and bring the residuals for it:
///
///   warpgroups 1, 2   ready --> sums + bias ... + residual, rounded, in place of the residual             --> staged
///   finish warps      staged --> store --> norm in place --> store --> load the next tile's residual      --> ready
///
/// Each of the warps has one buffer to itself, of one warpgroup and one frame of a pair.
namespace kinetograph::sm90 {

template <WinogradConfig kConfig, ConvFault kFault>
class FinishRole {
  public:
    using Smem = WinogradSmem<kConfig>;
    static constexpr WinogradConfig c = kConfig;
    static constexpr ConvConfig kShare = share(c);

    /// Called by all four warps.
    KG_DEVICE static void run(const WinogradParams& params, Smem& smem) { FinishRole(params, smem).run(); }

  private:
    using Steps = EpilogueSteps<kShare, kFault>;

    KG_DEVICE FinishRole(const WinogradParams& params, Smem& smem) : params_(params), p_(params.conv), smem_(smem) {}

    /// This warp's buffer, whose results and when. Recomputed, because few registers are left for these warps.
    KG_DEVICE static uint32_t buffer() { return isa::recomputed(isa::thread_index()) / 32 % (kConsumers * kSums); }
    KG_DEVICE static uint32_t consumer() { return buffer() / kSums; }
    KG_DEVICE static uint32_t frame() { return buffer() % kSums; }
    KG_DEVICE uint8_t* staging() const { return smem_.staging[buffer()]; }
    KG_DEVICE isa::mbarrier::Barrier& ready() const { return smem_.staging_ready[consumer()][buffer()]; }

    KG_DEVICE void run() {
        uint32_t index = next_from(isa::block_index().x);
        prepare(index);
        for (uint32_t turn = 0; index < tile_count<kClusterCtas>(p_); ++turn) {
            if constexpr (kFault != ConvFault::NoStagingBarrier)
                isa::mbarrier::wait(smem_.staged[consumer()][buffer()], turn & 1u);
            finish(index);
            index = next_from(index + isa::grid_size().x);
            prepare(index);
        }
    }

    KG_DEVICE bool has(uint32_t flag) const { return (p_.flags & flag) != 0; }
    KG_DEVICE static bool issues() { return isa::lane_index() == 0; }

    /// The first of this CTA's tiles from `index` on whose pair has the frame.
    KG_DEVICE uint32_t next_from(uint32_t index) const {
        while (index < tile_count<kClusterCtas>(p_) &&
               params_.pairs[tile_at<whole(c), kClusterCtas>(p_, index).frame].outputs <= frame())
            index += isa::grid_size().x;
        return index;
    }
    KG_DEVICE ConvTile tile_of(uint32_t index) const {
        ConvTile tile = share_of<kConfig>(p_, index, consumer());
        tile.frame += frame();
        return tile;
    }

    /// Hands the buffer to its warpgroup, with the residual of the tile, if there is one.
    KG_DEVICE void prepare(uint32_t index) {
        if (!issues() || index >= tile_count<kClusterCtas>(p_)) return;
        if (!has(kConvResidual)) return isa::mbarrier::arrive(ready());
        const ConvTile tile = tile_of(index);
        isa::mbarrier::arrive_expect(ready(), staging_bytes(kShare));
        Steps::load(p_.residual[tile.frame], tile, 0, staging(), ready());
    }

    KG_DEVICE void finish(uint32_t index) {
        if (has(kConvOutput)) store(p_.output, index);
        if (has(kConvNorm)) {
            if (issues()) isa::tma::wait_stores_read<0>();
            isa::sync_warp();
            norm();
            isa::fence_async_shared();
            isa::sync_warp();
            store(p_.normed, isa::recomputed(index));
        }
        if (kFault != ConvFault::NoStoreWait && issues()) isa::tma::wait_stores_read<0>();
    }

    KG_DEVICE void store(const isa::TensorMap* frames, uint32_t index) {
        if (!issues()) return;
        const ConvTile tile = tile_of(index);
        Steps::store(frames[tile.frame], tile, 0, staging());
    }

    /// RMS norm [-> SiLU] of the buffer's pixels, of which a tile that norms has all channels. A lane has a word of
    /// each piece of a pixel: more would not fit the registers.
    KG_DEVICE void norm() {
        constexpr uint32_t kPieces = staging_pieces(kShare), kLanes = piece_channels(kShare) / 2;
        const uint32_t lane = isa::recomputed(isa::lane_index()), word = lane % kLanes;
        uint8_t* const first = staging();
        KG_ROLLED
        for (uint32_t pixel = lane / kLanes; pixel < kBlockPixels; pixel += 32 / kLanes) {
            const auto at = [&](uint32_t piece) {
                const uint32_t offset = isa::swizzled(staging_swizzle(kShare), (pixel * kLanes + word) * 4);
                return reinterpret_cast<uint32_t*>(first + piece * kBlockPixels * kLanes * 4 + offset);
            };
            uint32_t words[kPieces];
            float values[2], sum = 0;
            KG_UNROLL
            for (uint32_t piece = 0; piece < kPieces; ++piece) {
                words[piece] = isa::load_shared(at(piece));
                isa::unpack_word<c.element>(words[piece], values);
                sum += values[0] * values[0] + values[1] * values[1];
            }
            KG_UNROLL
            for (uint32_t mask = 1; mask < kLanes; mask *= 2) sum += isa::shuffle_xor(sum, mask);
            const float scale = isa::norm_scale(sum, p_.sqrt_c_out);
            KG_UNROLL
            for (uint32_t piece = 0; piece < kPieces; ++piece) {
                const auto gamma = isa::load_global<Pair>(p_.gamma + (piece * kLanes + word) * 2);
                isa::unpack_word<c.element>(words[piece], values);
                KG_UNROLL
                for (uint32_t i = 0; i < 2; ++i) {
                    values[i] *= scale * gamma.at[i];
                    if (has(kConvNormSilu)) values[i] = isa::silu(values[i]);
                }
                isa::store_shared(at(piece), isa::pack_word<c.element>(values));
            }
        }
    }

    struct alignas(8) Pair {
        float at[2];
    };
    const WinogradParams& params_;
    const ConvParams& p_;
    Smem& smem_;
};

}  // namespace kinetograph::sm90
