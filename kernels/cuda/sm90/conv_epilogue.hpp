#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_epilogue_steps.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_multiply.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>

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
class EpilogueRole : EpilogueSteps<kConfig, kFault> {
    using Steps = EpilogueSteps<kConfig, kFault>;
    using Steps::first_chunk, Steps::p_, Steps::staging_, Steps::kGroups, Steps::kLoadGroups;
    using Steps::has, Steps::apply, Steps::round, Steps::stage, Steps::scale_to_norm, Steps::activate;
    using Steps::stage_bytes;
    using typename Steps::Pair, typename Steps::StagingBuffer, typename Steps::Sums;

  public:
    static constexpr ConvConfig c = kConfig;

    /// `ready` completes a phase when warpgroup `consumer` may use the buffers.
    KG_DEVICE EpilogueRole(const ConvParams& params, StagingBuffer* staging, isa::mbarrier::Barrier& ready,
                           uint32_t consumer)
        : Steps(params, staging), ready_(ready), consumer_(consumer) {}

    /// Hands the staging buffers to the warpgroup that waits for `ready`, and starts the load of the residual of
    /// `tile`, if there is one. Called by one thread.
    KG_DEVICE void prepare(isa::mbarrier::Barrier& ready, const ConvTile& tile) {
        if (!has(kConvResidual)) return isa::mbarrier::arrive(ready);
        isa::mbarrier::arrive_expect(ready, blocks(c) * staging_bytes(c));
        for (uint32_t block = 0; block < blocks(c); ++block)
            Steps::load(p_.residual[tile.frame], tile, block, staging_[block], ready);
    }

    /// `turn`: how many tiles this warpgroup has stored before. `next(tile)`, called by one thread, sets the tile that
    /// uses the buffers next and returns what its warpgroup waits for, null if there is none.
    template <class Next>
    KG_DEVICE void run(Accumulators<kConfig>& sums, const ConvTile& tile, uint32_t turn, const Next& next) {
        if constexpr (kFault != ConvFault::NoStagingWait) isa::mbarrier::wait(ready_, turn & 1u);
        KG_UNROLL
        for (uint32_t block = 0; block < blocks(c); ++block) {
            if constexpr (multiplies_bytes(c)) {
                Sums values;
                KG_UNROLL
                for (uint32_t i = 0; i < c.bn / 2; ++i) values[i] = static_cast<float>(sums[block][i]);
                finish_block(values, tile, block);
            } else {
                finish_block(sums[block], tile, block);
            }
        }
        if (!stores()) return;
        ConvTile next_tile;  // known by the time that the buffers are free again
        isa::mbarrier::Barrier* ready = next(next_tile);
        if constexpr (kFault != ConvFault::NoStoreWait) isa::tma::wait_stores_read<0>();
        if (ready != nullptr) prepare(*ready, next_tile);
    }

    /// The one thread of the warpgroup that issues its stores.
    KG_DEVICE static bool stores() { return isa::thread_index() % 128 == 0; }

  private:
    static constexpr uint32_t kSpare = blocks(c);

    KG_DEVICE void sync() {
        if (consumer_ == 0) {
            isa::sync_named(1, 128);
        } else {
            isa::sync_named(2, 128);
        }
    }

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
        const uint32_t first = first_chunk();
        apply(sums, tile.n, block, first);
        round(sums);
        if (raw) stage(sums, block, first);
        const uint32_t normed = !raw ? block : block == 0 ? kSpare : block - 1;
        if (norm) {
            scale_to_norm(sums, tile.n);
            if (stores_bytes()) {
                stage_bytes(sums, tile.n, normed);
            } else {
                if (has(kConvNormSilu)) activate(sums);
                stage(sums, normed, first);
            }
        }
        if constexpr (kFault != ConvFault::NoStagingFence) isa::fence_async_shared();
        if constexpr (kFault != ConvFault::NoStagingBarrier) sync();
        if (!stores()) return;
        if (raw) Steps::store(p_.output[tile.frame], tile, block, staging_[block]);
        if (!norm) return;
        if (stores_bytes()) {
            Steps::store_bytes(p_.normed[tile.frame], tile, block, staging_[normed]);
        } else {
            Steps::store(p_.normed[tile.frame], tile, block, staging_[normed]);
        }
    }
    KG_DEVICE bool stores_bytes() const { return c.byte_norms && has(kConvNormBytes); }

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

    isa::mbarrier::Barrier& ready_;
    uint32_t consumer_;
};

}  // namespace kinetograph::sm90
