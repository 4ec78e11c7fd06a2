#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_products.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_tiles.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/math.hpp>
#include <kinetograph/kernels/isa/mbarrier.hpp>
#include <kinetograph/kernels/isa/shuffle.hpp>
#include <kinetograph/kernels/isa/tma.hpp>
#include <kinetograph/kernels/isa/warp_matrix.hpp>

/// What epilogues do with one warpgroup's accumulators of a block of 64 pixels, and how blocks lie in staging buffers.
/// Every step goes over all of the block's values without a branch between them, so that the latencies of its loads and
/// functions overlap.
namespace kinetograph::sm90 {

template <ConvConfig kConfig, ConvFault kFault>
class EpilogueSteps {
  public:
    static constexpr ConvConfig c = kConfig;
    static constexpr Element kValue = stored_element(c);
    using Sums = float[c.bn / 2];
    using StagingBuffer = uint8_t[staging_bytes(kConfig)];  ///< [piece][pixel][channels]

    KG_DEVICE EpilogueSteps(const ConvParams& params, StagingBuffer* staging) : p_(params), staging_(staging) {}

    /// For results that other warps store: a block's, into staging buffers that `next()` hands out, each with what it
    /// waits for (`ready`, in phase `parity`) and where a warp then arrives (`staged`). `norms`: the norm is computed
    /// here, and is in a buffer of its own if raw results are stored too. `before`: blocks that have been handed over,
    /// whose registers are free for loads.
    template <class Next>
    KG_DEVICE void hand_over(Sums& sums, uint32_t n, bool norms, uint32_t before, const Next& next) {
        const uint32_t first = first_chunk(), at_once = before == 0 ? kLoadGroups : kGroups;
        auto to = next();
        if constexpr (kFault != ConvFault::NoStagingWait) isa::mbarrier::wait(*to.ready, to.parity);
        apply(sums, n, to.buffer, first, at_once);
        if (!norms || !has(kConvNorm)) return stage_and_arrive(sums, to, first);
        round(sums);
        if (has(kConvOutput)) {
            stage_and_arrive(sums, to, first);
            to = next();
            if constexpr (kFault != ConvFault::NoStagingWait) isa::mbarrier::wait(*to.ready, to.parity);
        }
        scale_to_norm(sums, n, at_once);
        if (has(kConvNormSilu)) activate(sums);
        stage_and_arrive(sums, to, first);
    }

    /// A block of a frame to and from a staging buffer. Called by one thread.
    KG_DEVICE static void load(const isa::TensorMap& frame, const ConvTile& tile, uint32_t block, uint8_t* buffer,
                               isa::mbarrier::Barrier& ready) {
        for (uint32_t piece = 0; piece < staging_pieces(c); ++piece)
            isa::tma::load_tiled<5>(buffer + piece * kPieceBytes, frame, place(tile, block, piece), ready);
    }
    KG_DEVICE static void store(const isa::TensorMap& frame, const ConvTile& tile, uint32_t block,
                                const uint8_t* buffer) {
        KG_UNROLL
        for (uint32_t piece = 0; piece < staging_pieces(c); ++piece)
            isa::tma::store_tiled<5>(frame, place(tile, block, piece), buffer + piece * kPieceBytes);
        isa::tma::commit_stores();
    }

    /// A block that stage_bytes() has staged.
    KG_DEVICE static void store_bytes(const isa::TensorMap& frame, const ConvTile& tile, uint32_t block,
                                      const uint8_t* buffer) {
        KG_UNROLL
        for (uint32_t piece = 0; piece < c.bn / kByteRow; ++piece)
            isa::tma::store_tiled<5>(frame, place(tile, block, piece, kByteRow),
                                     buffer + piece * kBlockPixels * kByteRow);
        isa::tma::commit_stores();
    }

  protected:
    KG_DEVICE static isa::tma::Coordinates<5> place(const ConvTile& tile, uint32_t block, uint32_t piece,
                                                    uint32_t channels = piece_channels(c)) {
        return {{static_cast<int32_t>(tile.n + piece * channels), tile.px(),
                 tile.x + static_cast<int32_t>(block % c.blocks_x * kBlockSide), tile.py(),
                 tile.y + static_cast<int32_t>(block / c.blocks_x * kBlockSide)}};
    }

    static constexpr uint32_t kPieceRow = piece_channels(c) * 2, kPieceBytes = kBlockPixels * kPieceRow;
    static constexpr uint32_t kStaged = staging_pieces(c) * piece_channels(c);  ///< channels; TMA clips those past bn
    static constexpr uint32_t kByteRow = byte_piece_channels(c);
    static constexpr uint32_t kGroups = c.bn / 8;  ///< groups of 8 channels: four accumulators of a thread
    static constexpr uint32_t kLoadGroups = 4;     ///< whose bias, gamma or residual is loaded at once, at least

    KG_DEVICE bool has(uint32_t flag) const { return (p_.flags & flag) != 0; }
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

    /// What precedes rounding.
    KG_DEVICE void apply(Sums& sums, uint32_t n, uint32_t buffer, uint32_t first, uint32_t at_once = kLoadGroups) {
        if constexpr (multiplies_bytes(c)) {
            scale_and_add_bias(sums, n, at_once);
        } else {
            if (has(kConvBias)) add_bias(sums, n, at_once);
        }
        if (has(kConvSilu)) activate(sums);
        if (has(kConvResidual)) add_residual(sums, buffer, first, at_once);
        if (has(kConvRelu)) scale_below_zero(sums);
    }

    KG_DEVICE void add_bias(Sums& sums, uint32_t n, uint32_t at_once) {
        KG_UNROLL
        for (uint32_t group = 0; group < kGroups; ++group) {
            if (group % at_once == 0) isa::limit_loads_in_flight();
            const Pair bias = channels(p_.bias, n, group);
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i) sums[group * 4 + i] += bias.at[i % 2];
        }
    }

    KG_DEVICE void scale_and_add_bias(Sums& sums, uint32_t n, uint32_t at_once) {
        const uint32_t first = n * 2 + isa::recomputed(isa::thread_index()) % 4 * 4;
        KG_UNROLL
        for (uint32_t group = 0; group < kGroups; ++group) {
            if (group % at_once == 0) isa::limit_loads_in_flight();
            const auto line = isa::load_global<Line>(p_.lines + first + group * 16);
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i)
                sums[group * 4 + i] = sums[group * 4 + i] * line.factor[i % 2] + line.bias[i % 2];
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

    KG_DEVICE void add_residual(Sums& sums, uint32_t buffer, uint32_t first, uint32_t at_once) {
        KG_UNROLL
        for (uint32_t group = 0; group < kGroups; group += 2) {
            if (group % at_once == 0) isa::limit_loads_in_flight();
            uint32_t words[4];
            isa::load_matrices(words, staged(buffer, first, group));
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

    /// The norm's values as bytes, [piece][pixel][channels]: the four lanes that share lane / 4 store 8 bytes of a
    /// pixel.
    KG_DEVICE void stage_bytes(Sums& sums, uint32_t n, uint32_t buffer) {
        if (has(kConvNormSilu)) {
            KG_UNROLL
            for (uint32_t i = 0; i < c.bn / 2; ++i) sums[i] = isa::silu_of_8_bits(sums[i]);
        }
        const uint32_t thread = isa::thread_index() % 128, lane = thread % 32, row = thread / 32 * 16 + lane / 4;
        const uint32_t first = isa::recomputed(isa::swizzled(swizzle_of(kByteRow), row * kByteRow) + lane % 4 * 2);
        const uint32_t base = isa::shared_address(staging_[buffer]);
        KG_UNROLL
        for (uint32_t group = 0; group < kGroups; ++group) {
            if (group % kLoadGroups == 0) isa::limit_loads_in_flight();
            const Pair fold = channels(p_.folds, n, group);
            const uint32_t channel = group * 8 % kByteRow, piece = group * 8 / kByteRow;
            const uint32_t at = base + (first ^ channel / 16 * 16) + channel % 16 + piece * kBlockPixels * kByteRow;
            KG_UNROLL
            for (uint32_t half = 0; half < 2; ++half) {  // the swizzle repeats every 8 rows
                const float* values = sums + group * 4 + half * 2;
                isa::store_shared_at(at + half * 8 * kByteRow, isa::pack_bytes(values[0] * fold.at[0] + p_.zero_point,
                                                                               values[1] * fold.at[1] + p_.zero_point));
            }
        }
    }

    /// A pixel's channels lie in the four lanes that share lane / 4.
    KG_DEVICE void scale_to_norm(Sums& sums, uint32_t n, uint32_t at_once = kLoadGroups) {
        float scale[2] = {0, 0};
        KG_UNROLL
        for (uint32_t i = 0; i < c.bn / 2; ++i) scale[i / 2 % 2] += sums[i] * sums[i];
        KG_UNROLL
        for (float& sum : scale) {
            sum += isa::shuffle_xor(sum, 1);
            sum += isa::shuffle_xor(sum, 2);
            sum = isa::norm_scale(sum, p_.sqrt_c_out);
        }
        KG_UNROLL
        for (uint32_t group = 0; group < kGroups; ++group) {
            if (group % at_once == 0) isa::limit_loads_in_flight();
            const Pair gamma = channels(p_.gamma, n, group);
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i) sums[group * 4 + i] *= scale[i / 2] * gamma.at[i % 2];
        }
    }

    struct alignas(8) Pair {
        float at[2];
    };
    struct alignas(16) Line {
        float factor[2], bias[2];
    };
    /// This thread's two channels of a group.
    KG_DEVICE static Pair channels(const float* values, uint32_t n, uint32_t group) {
        return isa::load_global<Pair>(values + n + group * 8 + isa::lane_index() % 4 * 2);
    }

    template <class Buffer>
    KG_DEVICE void stage_and_arrive(const Sums& sums, const Buffer& to, uint32_t first) {
        stage(sums, to.buffer, first);
        if constexpr (kFault != ConvFault::NoStagingFence) isa::fence_async_shared();
        isa::sync_warp();
        if (isa::lane_index() == 0) isa::mbarrier::arrive(*to.staged);
    }

    const ConvParams& p_;
    StagingBuffer* staging_;
};

}  // namespace kinetograph::sm90
