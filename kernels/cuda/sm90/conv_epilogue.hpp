#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_multiply.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/math.hpp>
#include <kinetograph/kernels/isa/shuffle.hpp>
#include <kinetograph/kernels/isa/tma.hpp>
#include <kinetograph/kernels/isa/warp_matrix.hpp>

/// From one warpgroup's accumulators to memory: [+ fp32 sums of earlier launches] + bias -> SiLU -> + beta * residual
/// -> ReLU -> round -> store, and the RMS norm of the rounded values -> SiLU -> store. Block by block through shared
/// memory; TMA moves residuals in and results out, and clips them at the edges of the image.
///
/// Staging buffers pass from tile to tile: once TMA has read a tile's results from them, the next tile's residual is
/// loaded into them. Block i of 4 uses buffer i. If raw and normed results are both stored, normed ones use another:
///
///   buffer      0        1        2        3        4
///   raw         block 0  block 1  block 2  block 3
///   normed      block 1  block 2  block 3           block 0     raw block i - 1 has been read by the time i is normed
namespace kinetograph::sm90 {

template <ConvConfig kConfig, ConvFault kFault>
class EpilogueRole {
  public:
    using Staging = uint8_t[staging_buffers(kConfig)][staging_bytes(kConfig)];
    static constexpr ConvConfig c = kConfig;
    static constexpr Element kValue = c.element;

    /// `ready` completes a phase when warpgroup `consumer` may use the buffers.
    KG_DEVICE EpilogueRole(const ConvParams& params, Staging& staging, isa::mbarrier::Barrier& ready, uint32_t consumer)
        : p_(params), staging_(staging), ready_(ready), consumer_(consumer) {}

    /// Hands the staging buffers to the warpgroup that waits for `ready`, and starts the load of the residual of
    /// `tile`, if there is one. Called by one thread.
    KG_DEVICE void prepare(isa::mbarrier::Barrier& ready, const ConvTile& tile) {
        if (!has(kConvResidual)) return isa::mbarrier::arrive(ready);
        isa::mbarrier::arrive_expect(ready, blocks(c) * staging_bytes(c));
        for (uint32_t block = 0; block < blocks(c); ++block) {
            for (uint32_t piece = 0; piece < staging_pieces(c); ++piece) {
                isa::tma::load_tiled<5>(staging_[block] + piece * kPieceBytes, p_.residual[tile.frame],
                                        place(tile, block, piece), ready);
            }
        }
    }

    /// `turn`: how many tiles this warpgroup has stored before. `next(tile)`, called by one thread, sets the tile that
    /// uses the buffers next and returns what its warpgroup waits for, null if there is none.
    template <class Next>
    KG_DEVICE void run(Accumulators<kConfig>& sums, const ConvTile& tile, uint32_t turn, const Next& next) {
        if constexpr (kFault != ConvFault::NoStagingWait) isa::mbarrier::wait(ready_, turn & 1u);
        KG_UNROLL
        for (uint32_t block = 0; block < blocks(c); ++block) finish_block(sums[block], tile, block);
        if (!stores()) return;
        ConvTile next_tile;  // known by the time that the buffers are free again
        isa::mbarrier::Barrier* ready = next(next_tile);
        if constexpr (kFault != ConvFault::NoStoreWait) isa::tma::wait_stores_read<0>();
        if (ready != nullptr) prepare(*ready, next_tile);
    }

    /// The one thread of the warpgroup that issues its stores.
    KG_DEVICE static bool stores() { return isa::thread_index() % 128 == 0; }

  private:
    static constexpr uint32_t kPieceRow = piece_channels(c) * 2, kPieceBytes = kBlockPixels * kPieceRow;
    static constexpr uint32_t kStaged = staging_pieces(c) * piece_channels(c);  ///< channels; TMA clips those past bn
    static constexpr uint32_t kGroups = c.bn / 8;  ///< groups of 8 channels: four accumulators of a thread
    static constexpr uint32_t kLoadGroups = 4;     ///< whose bias, gamma or residual is loaded at once
    static constexpr uint32_t kSpare = blocks(c);
    using Sums = float[c.bn / 2];

    KG_DEVICE bool has(uint32_t flag) const { return (p_.flags & flag) != 0; }
    KG_DEVICE void sync() {
        if (consumer_ == 0) {
            isa::sync_named(1, 128);
        } else {
            isa::sync_named(2, 128);
        }
    }

    KG_DEVICE static isa::tma::Coordinates<5> place(const ConvTile& tile, uint32_t block, uint32_t piece) {
        return {{static_cast<int32_t>(tile.n + piece * piece_channels(c)), tile.px(),
                 tile.x + static_cast<int32_t>(block % c.blocks_x * kBlockSide), tile.py(),
                 tile.y + static_cast<int32_t>(block / c.blocks_x * kBlockSide)}};
    }

    /// Offset in a piece of this lane's row of the four matrices of groups 0 and 1: 16 bytes of a pixel, one of its
    /// warp's 16. staged() derives the others: the swizzle repeats every 8 rows, and a group is a 16-byte chunk, whose
    /// index is XORed in.
    KG_DEVICE static uint32_t first_chunk() {
        const uint32_t thread = isa::thread_index() % 128, lane = thread % 32;
        const uint32_t row = thread / 32 * 16 + lane % 16;
        return isa::recomputed(isa::swizzled(staging_swizzle(c), row * kPieceRow + lane / 16 * 16));
    }
    /// Shared-memory address of this lane's row of the matrices of groups `group` and group + 1: of the first group,
    /// pixels 0 to 7 and 8 to 15 of the warp's, then of the second. Recomputed, because no address may stay in a
    /// register.
    KG_DEVICE uint32_t staged(uint32_t buffer, uint32_t first, uint32_t group) {
        const uint32_t chunk = group * 16 % kPieceRow, piece = group * 16 / kPieceRow;
        return isa::shared_address(staging_[buffer]) + (isa::recomputed(first) ^ chunk) + piece * kPieceBytes;
    }

    /// Every step goes over all of the block's values without a branch between them, so that the latencies of its loads
    /// and functions overlap.
    KG_DEVICE void finish_block(Sums& sums, const ConvTile& tile, uint32_t block) {
        const bool raw = has(kConvOutput), norm = has(kConvNorm);
        if (raw && norm && block > 0) {  // until the previous raw block, whose buffer normed results take, is read
            if (stores()) isa::tma::wait_stores_read<1>();
            sync();
        }
        if constexpr (c.fp32_sums) {
            if (has(kConvAddend) && kFault != ConvFault::NoAddend) add_sums(sums, tile, block);
            if (has(kConvFloat32)) {
                store_sums(sums, tile, block);
                return sync();  // all threads have waited for ready_ before the buffers are handed on
            }
        }
        if (has(kConvBias)) add_bias(sums, tile.n);
        if (has(kConvSilu)) activate(sums);
        const uint32_t first = first_chunk();
        if (has(kConvResidual)) add_residual(sums, block, first);
        if (has(kConvRelu)) scale_below_zero(sums);
        round(sums);
        if (raw) stage(sums, block, first);
        const uint32_t normed = !raw ? block : block == 0 ? kSpare : block - 1;
        if (norm) {
            scale_to_norm(sums, tile.n);
            if (has(kConvNormSilu)) activate(sums);
            stage(sums, normed, first);
        }
        if constexpr (kFault != ConvFault::NoStagingFence) isa::fence_async_shared();
        if constexpr (kFault != ConvFault::NoStagingBarrier) sync();
        if (!stores()) return;
        if (raw) store(p_.output[tile.frame], tile, block, block);
        if (norm) store(p_.normed[tile.frame], tile, block, normed);
    }

    /// Directly between registers and global memory: four lanes have 32 contiguous bytes of a pixel.
    KG_DEVICE void add_sums(Sums& sums, const ConvTile& tile, uint32_t block) {
        KG_UNROLL
        for (uint32_t half = 0; half < 2; ++half) {
            const float* at = stored_sums(tile, block, half);
            KG_UNROLL
            for (uint32_t group = 0; group < kGroups; ++group) {
                if (group % kLoadGroups == 0) isa::limit_loads_in_flight();
                if (!exist(at, tile, group)) continue;
                const Pair before = isa::load_global<Pair>(at + group * 8);
                KG_UNROLL
                for (uint32_t i = 0; i < 2; ++i) sums[group * 4 + half * 2 + i] += before.at[i];
            }
        }
    }
    KG_DEVICE void store_sums(const Sums& sums, const ConvTile& tile, uint32_t block) {
        KG_UNROLL
        for (uint32_t half = 0; half < 2; ++half) {
            float* at = stored_sums(tile, block, half);
            KG_UNROLL
            for (uint32_t group = 0; group < kGroups; ++group) {
                if (!exist(at, tile, group)) continue;
                const uint32_t first = group * 4 + half * 2;
                isa::store_global(at + group * 8, Pair{{sums[first], sums[first + 1]}});
            }
        }
    }
    /// This thread's two channels of group 0 of one of its two pixels of a block; null outside the image.
    KG_DEVICE float* stored_sums(const ConvTile& tile, uint32_t block, uint32_t half) const {
        const auto& p = static_cast<const SumConvParams&>(p_);
        const uint32_t row = block / c.blocks_x * kBlockSide + isa::thread_index() % 128 / 32 * 2 + half;
        const uint32_t y = static_cast<uint32_t>(tile.y) + row;
        const uint32_t x = static_cast<uint32_t>(tile.x) + block % c.blocks_x * kBlockSide + isa::lane_index() / 4;
        if (y >= p.h || x >= p.w) return nullptr;
        return p.sums[tile.frame] + (static_cast<size_t>(y) * p.w + x) * p.c_out + tile.n + isa::lane_index() % 4 * 2;
    }
    KG_DEVICE bool exist(const float* at, const ConvTile& tile, uint32_t group) const {
        return at != nullptr && tile.n + group * 8 < static_cast<const SumConvParams&>(p_).c_out;
    }

    KG_DEVICE void add_bias(Sums& sums, uint32_t n) {
        KG_UNROLL
        for (uint32_t group = 0; group < kGroups; ++group) {
            if (group % kLoadGroups == 0) isa::limit_loads_in_flight();
            const Pair bias = channels(p_.bias, n, group);
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i) sums[group * 4 + i] += bias.at[i % 2];
        }
    }

    KG_DEVICE static void activate(Sums& sums) {
        KG_UNROLL
        for (uint32_t i = 0; i < c.bn / 2; ++i) sums[i] = isa::silu(sums[i]);
    }

    KG_DEVICE void scale_below_zero(Sums& sums) {
        KG_UNROLL
        for (uint32_t i = 0; i < c.bn / 2; ++i) sums[i] = isa::leaky_relu(sums[i], p_.negative_slope);
    }

    KG_DEVICE void add_residual(Sums& sums, uint32_t block, uint32_t first) {
        KG_UNROLL
        for (uint32_t group = 0; group < kGroups; group += 2) {
            if (group % kLoadGroups == 0) isa::limit_loads_in_flight();
            uint32_t words[4];
            isa::load_matrices(words, staged(block, first, group));
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i) {
                float residual[2];
                isa::unpack_word<kValue>(words[i], residual);
                sums[group * 4 + i * 2] += p_.beta * residual[0];
                sums[group * 4 + i * 2 + 1] += p_.beta * residual[1];
            }
        }
    }

    /// Rounds as stage() will, so that the norm is that of the stored values.
    KG_DEVICE static void round(Sums& sums) {
        KG_UNROLL
        for (uint32_t i = 0; i < c.bn / 2; i += 2) isa::unpack_word<kValue>(isa::pack_word<kValue>(sums + i), sums + i);
    }

    KG_DEVICE void stage(const Sums& sums, uint32_t buffer, uint32_t first) {
        KG_UNROLL
        for (uint32_t group = 0; group < kStaged / 8; group += 2) {
            uint32_t words[4] = {0, 0, 0, 0};
            KG_UNROLL
            for (uint32_t i = 0; i < 4 && group < kGroups; ++i)
                words[i] = isa::pack_word<kValue>(sums + group * 4 + i * 2);
            isa::store_matrices(staged(buffer, first, group), words);
        }
    }

    /// A pixel's channels lie in the four lanes that share lane / 4.
    KG_DEVICE void scale_to_norm(Sums& sums, uint32_t n) {
        float scale[2] = {0, 0};
        KG_UNROLL
        for (uint32_t i = 0; i < c.bn / 2; ++i) scale[i / 2 % 2] += sums[i] * sums[i];
        KG_UNROLL
        for (float& sum : scale) {
            sum += isa::shuffle_xor(sum, 1);
            sum += isa::shuffle_xor(sum, 2);
            const float length = isa::square_root(sum);
            sum = p_.sqrt_c_out / (length > 1e-12f ? length : 1e-12f);
        }
        KG_UNROLL
        for (uint32_t group = 0; group < kGroups; ++group) {
            if (group % kLoadGroups == 0) isa::limit_loads_in_flight();
            const Pair gamma = channels(p_.gamma, n, group);
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i) sums[group * 4 + i] *= scale[i / 2] * gamma.at[i % 2];
        }
    }

    struct alignas(8) Pair {
        float at[2];
    };
    /// This thread's two channels of a group.
    KG_DEVICE static Pair channels(const float* values, uint32_t n, uint32_t group) {
        return isa::load_global<Pair>(values + n + group * 8 + isa::lane_index() % 4 * 2);
    }

    KG_DEVICE void store(const isa::TensorMap& map, const ConvTile& tile, uint32_t block, uint32_t buffer) {
        KG_UNROLL
        for (uint32_t piece = 0; piece < staging_pieces(c); ++piece)
            isa::tma::store_tiled<5>(map, place(tile, block, piece), staging_[buffer] + piece * kPieceBytes);
        isa::tma::commit_stores();
    }

    const ConvParams& p_;
    Staging& staging_;
    isa::mbarrier::Barrier& ready_;
    uint32_t consumer_;
};

}  // namespace kinetograph::sm90
