#pragma once

#include <kinetograph/kernels/cuda/sm100/attention_smem.hpp>
#include <kinetograph/kernels/cuda/sm90/ring.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/math.hpp>
#include <kinetograph/kernels/isa/tcgen05.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

/// Attention of one head on sm_100, output = softmax(Q K^T / sqrt(channels)) V, in two sweeps over the keys: the first
/// finds each query's largest score, the second computes the scores again and adds the weighted values. The maxima are
/// final by then, so that sums never leave tensor memory to be rescaled; the price is half as many products again. A
/// lane holds all scores of its query, so that maxima and sums need no exchange between threads.
///
///   load    K0 K1 K2 ...             | K0 K1    V0 K2     V1 ...
///   MMA     S0 S1 S2 ...             | S0 S1    O += P0 V0  S2  O += P1 V1 ...
///   softmax    max0 max1 ...         |    P0    P1 ...
namespace kinetograph::sm100 {

/// Grid: tiles of kQueryTile queries along x, frames along y; kAttentionThreads threads.
template <AttentionConfig kConfig, AttentionFault kFault = AttentionFault::None>
class AttentionKernel {
  public:
    static constexpr AttentionConfig c = kConfig;
    using Smem = AttentionSmem<kConfig>;

    KG_DEVICE static void run(const AttentionParams& params) {
        auto& smem = isa::shared_as<Smem>();
        const uint32_t warp = isa::warp_index();
        if (isa::thread_index() == 0) initialise_barriers(smem);
        if (warp == kMma) isa::tcgen05::alloc<1>(&smem.tensor_address, attention_columns(c));
        isa::tcgen05::fence_before_sync();
        isa::sync_cta();
        isa::tcgen05::fence_after_sync();
        const uint32_t tensor = isa::load_shared(&smem.tensor_address);
        if (warp == kLoad) {
            if (isa::elect_one()) load(params, smem);
        } else if (warp == kMma) {
            if (isa::elect_one()) multiply(params, smem, tensor);
        } else {
            AttentionKernel(params, smem, tensor).weigh();
        }
        isa::tcgen05::fence_before_sync();
        isa::sync_cta();
        if (warp != kMma) return;
        isa::tcgen05::fence_after_sync();
        isa::tcgen05::relinquish<1>();
        isa::tcgen05::dealloc<1>(tensor, attention_columns(c));
    }

  private:
    static constexpr uint32_t kLoad = 4, kMma = 5;
    /// B is stored [K][N], MN-major: PTX ISA, tcgen05, Instruction descriptor, bit 16; matrix descriptor as for wgmma.
    static constexpr uint32_t kRowsOfN = 1u << 16;
    static constexpr isa::Swizzle kSwizzle = sm90::kAttentionSwizzle;
    using Ring = sm90::Ring<Smem::kStages>;
    using ScoreRing = sm90::Ring<kScoreBuffers>;

    KG_DEVICE static void initialise_barriers(Smem& smem) {
        isa::mbarrier::init(smem.query_full, 1);
        for (auto& barrier : smem.stage_full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.stage_empty) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.scores_full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.scores_free) isa::mbarrier::init(barrier, kEpilogueWarps);
        isa::mbarrier::init(smem.weights_full, kEpilogueWarps);
        isa::mbarrier::init(smem.weights_free, 1);
        isa::mbarrier::init(smem.sums_full, 1);
        if constexpr (kFault != AttentionFault::NoBarrierInitFence) isa::fence_barrier_init();
    }

    // ---- load ------------------------------------------------------------------------------------------------------

    /// Tokens past the frame's last and channels past the head's last are zeros.
    KG_DEVICE static void load(const AttentionParams& p, Smem& smem) {
        const isa::TensorMap& queries = p.query[isa::block_index().y];
        isa::tma::prefetch(queries);
        isa::tma::prefetch(p.key_value[isa::block_index().y]);
        isa::mbarrier::arrive_expect(smem.query_full, width_blocks(c) * 2 * kQueryBlockBytes);
        for (uint32_t block = 0; block < width_blocks(c); ++block) {
            for (uint32_t half = 0; half < 2; ++half) {  // a box holds 64 queries
                const uint32_t token = isa::block_index().x * kQueryTile + half * sm90::kWarpgroupQueries;
                isa::tma::load_tiled<2>(smem.query[block] + half * kQueryBlockBytes, queries,
                                        {{channel(block), static_cast<int32_t>(token)}}, smem.query_full);
            }
        }
        const uint32_t tiles = sm90::key_tiles(p);
        Ring ring{0, 1};
        for (uint32_t tile = 0; tile < tiles; ++tile) load_stage(p, smem, ring, tile, 0);
        for (uint32_t tile = 0; tile <= tiles; ++tile) {
            if (tile < tiles) load_stage(p, smem, ring, tile, 0);
            if (tile > 0) load_stage(p, smem, ring, tile - 1, 1);
        }
        for (uint32_t i = 0; i < Smem::kStages; ++i, ring.advance())
            isa::mbarrier::wait(smem.stage_empty[ring.slot], ring.parity);
    }

    /// Keys (part 0) or values (1) of one tile.
    KG_DEVICE static void load_stage(const AttentionParams& p, Smem& smem, Ring& ring, uint32_t tile, int32_t part) {
        isa::mbarrier::wait(smem.stage_empty[ring.slot], ring.parity);
        isa::mbarrier::arrive_expect(smem.stage_full[ring.slot], attention_stage_bytes(c));
        for (uint32_t block = 0; block < width_blocks(c); ++block) {
            isa::tma::load_tiled<3>(smem.stage[ring.slot][block], p.key_value[isa::block_index().y],
                                    {{channel(block), part, static_cast<int32_t>(tile * kKeyTile)}},
                                    smem.stage_full[ring.slot]);
        }
        ring.advance();
    }

    KG_DEVICE static int32_t channel(uint32_t block) { return static_cast<int32_t>(block * kSpanChannels); }

    // ---- products --------------------------------------------------------------------------------------------------

    KG_DEVICE static void multiply(const AttentionParams& p, Smem& smem, uint32_t tensor) {
        const uint32_t tiles = sm90::key_tiles(p), scores = tensor + c.width;
        Ring ring;
        ScoreRing buffer{0, 1};
        if constexpr (kFault != AttentionFault::NoQueryWait) isa::mbarrier::wait(smem.query_full, 0);
        for (uint32_t tile = 0; tile < tiles; ++tile) multiply_keys(smem, ring, buffer, scores);
        for (uint32_t tile = 0; tile <= tiles; ++tile) {
            if (tile < tiles) multiply_keys(smem, ring, buffer, scores);
            if (tile > 0) multiply_values(smem, ring, tensor, tile - 1, tile < tiles);
        }
        isa::tcgen05::commit<1>(smem.sums_full);
    }

    KG_DEVICE static void await_stage(Smem& smem, const Ring& ring) {
        if constexpr (kFault != AttentionFault::NoStageWait)
            isa::mbarrier::wait(smem.stage_full[ring.slot], ring.parity);
    }
    /// The stage becomes free when the products issued so far are complete.
    KG_DEVICE static void release_stage(Smem& smem, Ring& ring) {
        isa::tcgen05::commit<1>(smem.stage_empty[ring.slot]);
        ring.advance();
    }

    /// Descriptor of a block of rows of one swizzle span, without gaps.
    KG_DEVICE static uint64_t rows(const uint8_t* block) {
        return isa::tcgen05_descriptor(
            {.address = isa::shared_address(block), .group_stride = 8 * kSpanBytes, .swizzle = kSwizzle});
    }

    KG_DEVICE static void multiply_keys(Smem& smem, Ring& ring, ScoreRing& buffer, uint32_t scores) {
        constexpr uint32_t kInstruction = isa::tcgen05_instruction(c.element, c.element, kQueryTile, kKeyTile);
        if constexpr (kFault != AttentionFault::NoFreeWait)
            isa::mbarrier::wait(smem.scores_free[buffer.slot], buffer.parity);
        await_stage(smem, ring);
        isa::tcgen05::fence_after_sync();
        for (uint32_t block = 0; block < width_blocks(c); ++block) {
            const uint64_t a = rows(smem.query[block]), b = rows(smem.stage[ring.slot][block]);
            KG_UNROLL
            for (uint32_t k = 0; k < kSpanBytes / 32; ++k) {  // 32 bytes are 2 in the descriptor's address field
                isa::tcgen05::mma<1, c.element>(scores + buffer.slot * kKeyTile, a + 2 * k, b + 2 * k, kInstruction,
                                                block != 0 || k != 0);
            }
        }
        release_stage(smem, ring);
        isa::tcgen05::commit<1>(smem.scores_full[buffer.slot]);
        buffer.advance();
    }

    /// sums += weights * values. Keys are K, channels N: B is [K][N]. `more`: another tile's weights follow in the same
    /// memory.
    KG_DEVICE static void multiply_values(Smem& smem, Ring& ring, uint32_t sums, uint32_t tile, bool more) {
        constexpr uint32_t kColumns = value_columns(c);
        constexpr uint32_t kInstruction =
            isa::tcgen05_instruction(c.element, c.element, kQueryTile, kColumns) | kRowsOfN;
        constexpr uint32_t kChunk = kFault == AttentionFault::WrongValueStride ? 8 * kSpanBytes : kKeyBlockBytes;
        if constexpr (kFault != AttentionFault::NoWeightWait) isa::mbarrier::wait(smem.weights_full, tile & 1u);
        await_stage(smem, ring);
        isa::tcgen05::fence_after_sync();
        const uint64_t weights = rows(smem.weights);
        for (uint32_t part = 0; part < c.width / kColumns; ++part) {
            const uint64_t values = isa::tcgen05_descriptor(
                {.address = isa::shared_address(smem.stage[ring.slot][part * kColumns / kSpanChannels]),
                 .group_stride = 8 * kSpanBytes,
                 .swizzle = kSwizzle,
                 .chunk_stride = kChunk});
            KG_UNROLL
            for (uint32_t k = 0; k < kKeyTile / 16; ++k) {  // 16 keys: 16 rows
                isa::tcgen05::mma<1, c.element>(sums + part * kColumns, weights + 2 * k, values + k * kSpanBytes,
                                                kInstruction, tile != 0 || k != 0);
            }
        }
        release_stage(smem, ring);
        if (more) isa::tcgen05::commit<1>(smem.weights_free);
    }

    // ---- softmax: this thread's query is its lane of tensor memory -------------------------------------------------

    KG_DEVICE AttentionKernel(const AttentionParams& params, Smem& smem, uint32_t tensor)
        : p_(params), smem_(smem), sums_((isa::warp_index() * 32 << 16) | tensor), scores_(sums_ + c.width) {}

    KG_DEVICE void weigh() {
        if (isa::thread_index() == 0) isa::tma::prefetch(p_.output[isa::block_index().y]);
        const uint32_t tiles = sm90::key_tiles(p_);
        float maximum = -3.0e38f;
        for (uint32_t tile = 0; tile < tiles; ++tile) maximum = larger(maximum, largest(tile));
        float sum = 0;
        for (uint32_t tile = 0; tile < tiles; ++tile) sum += weigh_tile(tile, -maximum * p_.scale);
        store(1.0f / sum);
    }

    /// Reads the scores of a tile's keys; keys past the frame's last get scores whose weight is 0.
    KG_DEVICE void read_scores(float (&scores)[kKeyTile], uint32_t tile) {
        if constexpr (kFault != AttentionFault::NoScoresWait)
            isa::mbarrier::wait(smem_.scores_full[buffer_.slot], buffer_.parity);
        isa::tcgen05::fence_after_sync();
        uint32_t words[kKeyTile];
        isa::sync_warp();  // the load takes the whole warp, and its lanes have waited separately
        isa::tcgen05::read(words, scores_ + buffer_.slot * kKeyTile);
        isa::tcgen05::fence_before_sync();
        isa::sync_warp();
        if (isa::lane_index() == 0) isa::mbarrier::arrive(smem_.scores_free[buffer_.slot]);
        buffer_.advance();
        const uint32_t keys = p_.tokens - tile * kKeyTile;
        KG_UNROLL
        for (uint32_t i = 0; i < kKeyTile; ++i)
            scores[i] = kFault == AttentionFault::KeysNotMasked || i < keys ? isa::float_of(words[i]) : -3.0e38f;
    }

    KG_DEVICE float largest(uint32_t tile) {
        float scores[kKeyTile];
        read_scores(scores, tile);
        float maximum = scores[0];
        KG_UNROLL
        for (const float score : scores) maximum = larger(maximum, score);
        return maximum;
    }

    /// Stores the weights 2^(scale * score + offset) of a tile; returns their sum.
    KG_DEVICE float weigh_tile(uint32_t tile, float offset) {
        float weights[kKeyTile];
        read_scores(weights, tile);
        float sum = 0;
        KG_UNROLL
        for (float& weight : weights) {
            weight = isa::power_of_two(weight * p_.scale + offset);
            sum += weight;
        }
        // The previous tile's product must have read its weights.
        if (kFault != AttentionFault::WeightsTooEarly && tile > 0)
            isa::mbarrier::wait(smem_.weights_free, (tile - 1) & 1u);
        store_row<0>(smem_.weights, weights);
        store_row<32>(smem_.weights, weights);
        if constexpr (kFault != AttentionFault::NoWeightFence) isa::fence_async_shared();
        isa::sync_warp();
        if (isa::lane_index() == 0) isa::mbarrier::arrive(smem_.weights_full);
        return sum;
    }

    /// 32 values into this query's row of a block, from column kFirst on.
    template <uint32_t kFirst, uint32_t kCount>
    KG_DEVICE static void store_row(uint8_t* block, const float (&values)[kCount]) {
        constexpr uint32_t kFrom = kCount > 32 ? kFirst : 0;
        const uint32_t row = isa::thread_index() * kSpanBytes;
        KG_UNROLL
        for (uint32_t chunk = 0; chunk < 4; ++chunk) {
            isa::Words<4> words;
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i)
                words.at[i] = isa::pack_word<c.element>(values + kFrom + chunk * 8 + 2 * i);
            isa::store_shared(
                reinterpret_cast<isa::Words<4>*>(block + isa::swizzled(kSwizzle, row + kFirst * 2 + chunk * 16)),
                words);
        }
    }

    /// Multiplies the sums by 1 / (sum of the weights) and stores them, staged in the queries' shared memory.
    KG_DEVICE void store(float inverse) {
        isa::mbarrier::wait(smem_.sums_full, 0);
        isa::tcgen05::fence_after_sync();
        for (uint32_t block = 0; block < width_blocks(c); ++block) {
            store_half<0>(block, inverse);
            store_half<32>(block, inverse);
        }
        if constexpr (kFault != AttentionFault::NoResultFence) isa::fence_async_shared();
        isa::sync_named(1, kEpilogueWarps * 32);
        if (isa::thread_index() != 0) return;
        for (uint32_t block = 0; block < width_blocks(c); ++block) {
            for (uint32_t half = 0; half < 2; ++half) {
                const uint32_t token = isa::block_index().x * kQueryTile + half * sm90::kWarpgroupQueries;
                isa::tma::store_tiled<2>(p_.output[isa::block_index().y],
                                         {{channel(block), static_cast<int32_t>(token)}},
                                         smem_.query[block] + half * kQueryBlockBytes);
            }
        }
        isa::tma::commit_stores();
        isa::tma::wait_stores_read<0>();
    }

    template <uint32_t kFirst>
    KG_DEVICE void store_half(uint32_t block, float inverse) {
        uint32_t words[32];
        isa::sync_warp();
        isa::tcgen05::read(words, sums_ + block * kSpanChannels + kFirst);
        float values[32];
        KG_UNROLL
        for (uint32_t i = 0; i < 32; ++i) values[i] = isa::float_of(words[i]) * inverse;
        store_row<kFirst>(smem_.query[block], values);
    }

    KG_DEVICE static float larger(float a, float b) { return a > b ? a : b; }

    const AttentionParams& p_;
    Smem& smem_;
    uint32_t sums_, scores_;
    ScoreRing buffer_;
};

}  // namespace kinetograph::sm100
