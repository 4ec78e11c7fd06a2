#pragma once

#include <kinetograph/kernels/cuda/sm100/halo_tiles.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/math.hpp>
#include <kinetograph/kernels/isa/tcgen05.hpp>

/// Four epilogue warps: tensor memory -> + bias -> SiLU -> + beta * residual -> ReLU -> round -> store, and the RMS
/// norm of the rounded values -> SiLU -> store. A lane holds one pixel, 32 channels at a time; the rounded values of
/// all channels stay in its registers as packed words, so the norm is a second sweep over registers. If two pairs share
/// pixels, each has half of a pixel's filters, and they exchange sums of squares for the norm.
namespace kinetograph::sm100 {

template <HaloConfig kConfig, HaloFault kFault>
class HaloEpilogueRole {
  public:
    using Smem = HaloSmem<kConfig>;
    using Walk = HaloWalk<kConfig>;
    static constexpr HaloConfig c = kConfig;

    KG_DEVICE HaloEpilogueRole(const HaloParams& params, Smem& smem)
        : params_(params), p_(params.conv), smem_(smem), warp_(isa::warp_index()), lane_(isa::lane_index()) {}

    KG_DEVICE void run(uint32_t tensor) {
        if (lane_ == 0) prefetch_maps();
        Ring<kHaloSumStages> sums;
        for (Walk walk(p_); walk.more(); walk.advance(), sums.advance()) {
            if constexpr (kFault != HaloFault::NoAccumulatedWait)
                isa::mbarrier::wait(smem_.accumulated[sums.slot], sums.parity);
            isa::tcgen05::fence_after_sync();
            const HaloTile tile = walk.tile();
            // A warp can read only its quarter of the lanes: 32.
            const uint32_t first = (warp_ * 32 << 16) | (tensor + sums.slot * c.blocks * block_columns(c));
            for (uint32_t block = 0; block < c.blocks; ++block) {
                const uint32_t address = first + block * block_columns(c);
                if constexpr (c.store == HaloStore::Pixels) {
                    store_pixels(tile, block, address, sums.slot);
                } else {
                    finish_block(tile, block, address, sums.slot);
                }
            }
        }
        if (lane_ == 0) isa::tma::wait_stores_read<0>();
        allow_deallocation();
    }

  private:
    static constexpr uint32_t kPieces = (c.bn + kPieceChannels - 1) / kPieceChannels;
    static constexpr uint32_t kWords = kPieceChannels / 2;
    using Piece = uint32_t[kWords];  ///< 32 channels, two a word
    using Values = float[kPieceChannels];

    KG_DEVICE bool has(uint32_t flag) const { return (p_.flags & flag) != 0; }

    KG_DEVICE void prefetch_maps() const {
        if constexpr (c.store == HaloStore::Pieces) {
            for (uint32_t frame = 0; frame < p_.frames; ++frame) {
                if (has(sm90::kConvOutput)) isa::tma::prefetch(p_.output[frame]);
                if (has(sm90::kConvNorm)) isa::tma::prefetch(p_.normed[frame]);
            }
        }
    }

    KG_DEVICE void finish_block(const HaloTile& tile, uint32_t block, uint32_t address, uint32_t slot) {
        const uint32_t pieces = pieces_of<kConfig>(params_, tile);
        Piece rounded[kPieces];
        float squares = 0;
        KG_UNROLL
        for (uint32_t piece = 0; piece < kPieces; ++piece) {
            if (piece >= pieces) break;
            Values values;
            load_sums(values, address + piece * kPieceChannels);
            if (block + 1 == c.blocks && piece + 1 == pieces) hand_back(slot);
            finish(values, tile.n + piece * kPieceChannels);
            const float of_piece = pack(values, rounded[piece]);
            if (kFault != HaloFault::NormOfFirstPiece || piece == 0) squares += of_piece;
            if (has(sm90::kConvOutput)) store(p_.output[tile.frame], tile, block, piece, rounded[piece]);
        }
        if (!has(sm90::kConvNorm)) return;
        if constexpr (c.sharing == HaloSharing::Pixels && kFault != HaloFault::NormOfOnePair)
            squares += squares_of_other_pair(squares);
        const float scale = isa::norm_scale(squares, p_.sqrt_c_out);
        KG_UNROLL
        for (uint32_t piece = 0; piece < kPieces; ++piece) {
            if (piece >= pieces) break;
            norm(rounded[piece], scale, tile.n + (kFault == HaloFault::GammaOfFirstPiece ? 0 : piece * kPieceChannels));
            store(p_.normed[tile.frame], tile, block, piece, rounded[piece]);
        }
    }

    KG_DEVICE static void load_sums(Values& values, uint32_t address) {
        uint32_t sums[kPieceChannels];
        isa::sync_warp();  // the load takes the whole warp, and its lanes have waited separately
        isa::tcgen05::read(sums, address);
        KG_UNROLL
        for (uint32_t i = 0; i < kPieceChannels; ++i) values[i] = isa::float_of(sums[i]);
    }

    /// Bias, activation and residual: all that precedes the rounding.
    KG_DEVICE void finish(Values& values, uint32_t channel) {
        if (has(sm90::kConvBias)) {
            KG_UNROLL
            for (uint32_t i = 0; i < kPieceChannels; i += 4) {
                const Four bias = isa::load_global<Four>(p_.bias + channel + i);
                KG_UNROLL
                for (uint32_t j = 0; j < 4; ++j) values[i + j] += bias.at[j];
            }
        }
        if (has(sm90::kConvSilu)) activate(values);
        if (has(sm90::kConvResidual)) add_residual(values);
        if (has(sm90::kConvRelu)) {
            KG_UNROLL
            for (float& value : values) value = isa::leaky_relu(value, p_.negative_slope);
        }
    }

    KG_DEVICE static void activate(Values& values) {
        KG_UNROLL
        for (float& value : values) value = isa::silu(value);
    }

    KG_DEVICE void add_residual(Values& values) {
        if constexpr (kFault != HaloFault::NoSourceWait)
            isa::mbarrier::wait(smem_.source_full[source_.slot], source_.parity);
        const uint8_t* rows = smem_.source[source_.slot][warp_];
        KG_UNROLL
        for (uint32_t i = 0; i < kPieceChannels; i += 8) {
            const auto words = isa::load_shared(reinterpret_cast<const isa::Words<4>*>(rows + chunk_offset(i / 8)));
            KG_UNROLL
            for (uint32_t j = 0; j < 4; ++j) {
                float residual[2];
                isa::unpack_word<c.element>(words.at[j], residual);
                values[i + 2 * j] += p_.beta * residual[0];
                values[i + 2 * j + 1] += p_.beta * residual[1];
            }
        }
        isa::sync_warp();
        if (lane_ == 0) isa::mbarrier::arrive(smem_.source_empty[source_.slot]);
        source_.advance();
    }

    /// Rounds the values; returns the sum of the squares of the rounded values.
    KG_DEVICE static float pack(const Values& values, Piece& piece) {
        float squares = 0;
        KG_UNROLL
        for (uint32_t i = 0; i < kWords; ++i) {
            piece[i] = isa::pack_word<c.element>(values + 2 * i);
            float rounded[2];
            isa::unpack_word<c.element>(piece[i], rounded);
            squares += rounded[0] * rounded[0] + rounded[1] * rounded[1];
        }
        return squares;
    }

    /// Sends this pixel's sum of squares to the other pair and returns the other's. Two slots need no barrier to say
    /// that they are free. The other pair's warp writes tile t + 2 into the slot of tile t only after it has received
    /// this warp's squares of tile t + 1, which this warp sends after it has read tile t.
    KG_DEVICE float squares_of_other_pair(float squares) {
        const uint32_t slot = kFault == HaloFault::OneSlotOfSquares ? 0 : exchange_.slot;
        const uint32_t other = Walk::counterpart();
        isa::store_cluster(isa::map_to_rank(&smem_.squares[slot][warp_][lane_], other), isa::bits_of(squares));
        isa::sync_warp();
        if (lane_ == 0) {
            const isa::ClusterAddress full = isa::map_to_rank(&smem_.squares_full[exchange_.slot], other);
            if constexpr (kFault == HaloFault::NoSquaresRelease) {
                isa::mbarrier::arrive(full);
            } else {
                isa::mbarrier::arrive_release(full);
            }
        }
        if constexpr (kFault != HaloFault::NoSquaresWait)
            isa::mbarrier::wait_acquire(smem_.squares_full[exchange_.slot], exchange_.parity);
        exchange_.advance();
        return isa::load_shared(&smem_.squares[slot][warp_][lane_]);
    }

    KG_DEVICE void norm(Piece& piece, float scale, uint32_t channel) {
        Values values;
        KG_UNROLL
        for (uint32_t i = 0; i < kWords; ++i) isa::unpack_word<c.element>(piece[i], values + 2 * i);
        KG_UNROLL
        for (uint32_t i = 0; i < kPieceChannels; i += 4) {
            const Four gamma = isa::load_global<Four>(p_.gamma + channel + i);
            KG_UNROLL
            for (uint32_t j = 0; j < 4; ++j) values[i + j] *= scale * gamma.at[j];
        }
        if (has(sm90::kConvNormSilu)) activate(values);
        pack(values, piece);
    }

    /// One piece through this warp's next staging slot.
    KG_DEVICE void store(const isa::TensorMap& map, const HaloTile& tile, uint32_t block, uint32_t piece,
                         const Piece& words) {
        uint8_t* staged = smem_.output[warp_][staging_.slot];
        if constexpr (kFault != HaloFault::NoStagingWait) {
            if (lane_ == 0) isa::tma::wait_stores_read<kHaloOutputSlots - 1>();
        }
        isa::sync_warp();
        KG_UNROLL
        for (uint32_t i = 0; i < kWords; i += 4) {
            isa::store_shared(reinterpret_cast<isa::Words<4>*>(staged + chunk_offset(i / 4)),
                              isa::Words<4>{{words[i], words[i + 1], words[i + 2], words[i + 3]}});
        }
        if constexpr (kFault != HaloFault::NoStagingFence) isa::fence_async_shared();
        isa::sync_warp();
        if (lane_ == 0) {
            isa::tma::store_tiled<5>(map, piece_place(tile, block, warp_, piece), staged);
            isa::tma::commit_stores();
        }
        staging_.advance();
    }

    /// Offset of a 16-byte chunk of this lane's row in a piece, under the 64-byte swizzle.
    KG_DEVICE uint32_t chunk_offset(uint32_t chunk) const {
        return isa::swizzled(isa::Swizzle::Span64, lane_ * kPieceChannels * 2 + chunk * 16);
    }

    /// Stores a pixel's few channels directly to global memory.
    KG_DEVICE void store_pixels(const HaloTile& tile, uint32_t block, uint32_t address, uint32_t slot) {
        uint32_t sums[16];
        isa::sync_warp();
        isa::tcgen05::read(sums, address);
        if (block + 1 == c.blocks) hand_back(slot);
        const auto x = static_cast<uint32_t>(tile.x) + lane_ % kHaloBlockColumns;
        const uint32_t rows_above = kFault == HaloFault::PixelsOfFirstBlock ? 0 : block * kHaloBlockRows;
        const auto y = static_cast<uint32_t>(tile.y) + rows_above + warp_ * kPieceRows + lane_ / kHaloBlockColumns;
        if (x >= params_.w_out || y >= params_.h_out) return;
        const uint32_t value_bytes = has(sm90::kConvFloat32) ? 4 : 2;
        std::byte* pixel =
            params_.pixels[tile.frame] + (static_cast<size_t>(y) * params_.w_out + x) * params_.c_out * value_bytes;
        KG_UNROLL
        for (uint32_t i = 0; i < 16; ++i) {
            if (i >= params_.c_out) break;
            float value = isa::float_of(sums[i]);
            if (has(sm90::kConvBias))
                value += isa::load_global<float>(p_.bias + (kFault == HaloFault::BiasOfFirstChannel ? 0 : i));
            if (has(sm90::kConvSilu)) value = isa::silu(value);
            if (has(sm90::kConvRelu)) value = isa::leaky_relu(value, p_.negative_slope);
            if (value_bytes == 4) {
                isa::store_global(pixel + i * 4, value);
            } else {
                const float alone[2] = {value, 0};
                isa::store_global(pixel + i * 2, static_cast<uint16_t>(isa::pack_word<c.element>(alone)));
            }
        }
    }

    /// Releases the sums: all of this warp's loads of them are complete.
    KG_DEVICE void hand_back(uint32_t slot) { arrive_at_leader(smem_.drained[slot]); }

    /// Signals to the MMA warps of the pair that this warp reads no more tensor memory.
    KG_DEVICE void allow_deallocation() {
        isa::sync_warp();
        if (lane_ != 0) return;
        if constexpr (c.cta_group == 1) {
            isa::mbarrier::arrive(smem_.deallocate);
        } else {
            isa::mbarrier::arrive(isa::map_to_rank(&smem_.deallocate, Walk::leader()));
            isa::mbarrier::arrive(isa::map_to_rank(&smem_.deallocate, Walk::leader() + 1));
        }
    }

    KG_DEVICE void arrive_at_leader(isa::mbarrier::Barrier& barrier) {
        isa::tcgen05::fence_before_sync();
        isa::sync_warp();
        if (lane_ != 0) return;
        if constexpr (c.cta_group == 1) {
            isa::mbarrier::arrive(barrier);
        } else {
            isa::mbarrier::arrive(isa::map_to_rank(&barrier, Walk::leader()));
        }
    }

    struct alignas(16) Four {
        float at[4];
    };

    const HaloParams& params_;
    const sm90::ConvParams& p_;
    Smem& smem_;
    uint32_t warp_, lane_;
    Ring<kHaloOutputSlots> staging_;
    Ring<kHaloSourceSlots> source_;
    Ring<kHaloSquareSlots> exchange_;
};

}  // namespace kinetograph::sm100
