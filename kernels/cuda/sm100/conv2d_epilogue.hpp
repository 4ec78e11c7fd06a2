#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_tiles.hpp>
#include <kinetograph/kernels/cuda/sm100/epilogue_functions.hpp>
#include <kinetograph/kernels/isa/tcgen05.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

/// Four epilogue warps: tensor memory -> registers -> alpha, partial sum, bias, function, residual -> shared memory ->
/// D. Each warp owns the rows of its lanes from the first load to its own TMA store, so the warps never wait for each
/// other. A lane holds one row (one pixel), 32 columns at a time; with 64 rows of one CTA only 16 lanes do.
namespace kinetograph::sm100 {

template <Conv2dConfig kConfig, class Epilogue, Fault kFault>
struct EpilogueRole {
    using Smem = Conv2dSmem<kConfig>;
    static constexpr Conv2dConfig c = kConfig;
    static constexpr uint32_t kColumns = c.output_tile.n, kRows = warp_rows(c);
    static constexpr uint32_t kPartWarps = kEpilogueWarps / column_parts(c);  // that share the columns of a part
    static constexpr uint32_t kChunkBytes = 16;
    static constexpr uint32_t kValues = kChunkBytes / element_bytes(c.output);  // of one 16-byte chunk of D
    static constexpr uint32_t kChunks = kColumns / kValues;                     // of one row of D
    static constexpr EpilogueForm kForm = Epilogue::kForm;

    struct alignas(16) Chunk {
        uint32_t words[4];
    };
    /// Position of this warp's part of an output tile in the tensor.
    struct Window {
        uint32_t m, n;  ///< first pixel (within its group) and channel
        uint32_t group;
        uint32_t warp;
    };

    template <class Params>
    KG_DEVICE static void run(const Params& params, Smem& smem, uint32_t tensor) {
        const Conv2dGeometry& g = params.geometry;
        const Place<kConfig> place;
        const uint32_t warp = isa::warp_index(), lane = isa::lane_index();
        if (warp == 0 && lane == 0) prefetch_maps<kConfig>(params.output);
        const uint32_t quarter = (kFault == Fault::WrongLaneQuarter ? warp ^ 1u : warp) * 32 << 16;
        TileWalk<kConfig, kFault> tiles(g);
        Ring<c.accumulator_stages> accumulator{0, 0};
        Ring<c.output_stages> staging{0, 0};
        Ring<c.source_stages> source{0, 0};
        do {
            if constexpr (kFault != Fault::NoAccumulatedWait) {
                isa::mbarrier::wait(smem.accumulated[accumulator.slot], accumulator.parity);
            }
            if constexpr (kFault != Fault::NoFenceAfterSync) isa::tcgen05::fence_after_sync();
            const Tile tile = tiles.tile();
            const uint32_t address = quarter | (tensor + accumulator.slot * accumulator_columns(c));
            const uint32_t count = output_tiles<kConfig>(g, tile);
            const uint32_t first_row = tile.m + (kFault == Fault::RowOfWarp ? warp : warp % kPartWarps) * kRows;
            const uint32_t first_column = tile.n + warp / kPartWarps * part_columns(c);
            for (uint32_t i = 0; i < count; ++i, staging.advance()) {
                uint32_t sums[kColumns];
                isa::sync_warp();  // the load takes the whole warp, and its lanes have waited separately
                isa::tcgen05::read<kFault != Fault::NoWaitLoad>(sums, address + i * kColumns);
                if (i + 1 == count) hand_back(smem, place, accumulator.slot);
                finish(params, smem, {first_row, first_column + i * kColumns, tile.group, warp}, sums, staging.slot,
                       source);
            }
            if (count == 0) hand_back(smem, place, accumulator.slot);
            accumulator.advance();
        } while (tiles.next_of_warp(smem));
        if (lane == 0) isa::tma::wait_stores_read<0>();
        allow_deallocation(smem, place);
    }

  private:
    /// Releases the accumulator: all of this warp's loads of it are complete.
    KG_DEVICE static void hand_back(Smem& smem, const Place<kConfig>& place, uint32_t slot) {
        if constexpr (kFault != Fault::NoFenceBeforeSync) isa::tcgen05::fence_before_sync();
        isa::sync_warp();
        if (isa::lane_index() != 0) return;
        if constexpr (c.cta_group == 1) {
            isa::mbarrier::arrive(smem.drained[slot]);
        } else {
            isa::mbarrier::arrive(isa::map_to_rank(&smem.drained[slot], place.leader()));
        }
    }

    /// Signals to the MMA warps of the pair that this warp reads no more tensor memory.
    KG_DEVICE static void allow_deallocation(Smem& smem, const Place<kConfig>& place) {
        isa::sync_warp();
        if (isa::lane_index() != 0) return;
        if constexpr (c.cta_group == 1) {
            isa::mbarrier::arrive(smem.deallocate);
        } else {
            isa::mbarrier::arrive(isa::map_to_rank(&smem.deallocate, place.leader()));
            isa::mbarrier::arrive(isa::map_to_rank(&smem.deallocate, place.leader() + 1));
        }
    }

    /// Finishes one piece of kRows x 32 sums and stores it.
    template <class Params>
    KG_DEVICE static void finish(const Params& params, Smem& smem, const Window& window,
                                 const uint32_t (&sums)[kColumns], uint32_t slot, Ring<c.source_stages>& source) {
        const uint32_t lane = isa::lane_index();
        uint8_t* staged = smem.output[window.warp][slot];
        if constexpr (kFault != Fault::NoStagingWait) {
            if (lane == 0) isa::tma::wait_stores_read<c.output_stages - 1>();
        }
        isa::sync_warp();
        if constexpr (c.source != Source::None && kFault != Fault::NoSourceWait) {
            isa::mbarrier::wait(smem.source_full[source.slot], source.parity);
        }
        Chunk row[kChunks];  // this lane's row of D
        if (holds_row(lane)) compute_row(params, smem, window, sums, staged, source.slot, row);
        if constexpr (kForm == EpilogueForm::AfterSharedMemory) apply_staged(params, smem, window, staged, source.slot);
        if constexpr (c.source != Source::None) release_source(smem, source);
        if constexpr (kFault != Fault::NoStagingFence) isa::fence_async_shared();
        isa::sync_warp();
        if (lane == 0) {
            isa::tma::store_tiled<2>(params.output[window.group],
                                     {{static_cast<int32_t>(window.n), static_cast<int32_t>(window.m)}}, staged);
            isa::tma::commit_stores();
        }
        if constexpr (kForm == EpilogueForm::AfterStore) observe(params, window, lane, row);
    }

    /// This lane's row, from its sums to the staged piece.
    template <class Params>
    KG_DEVICE static void compute_row(const Params& params, Smem& smem, const Window& window,
                                      const uint32_t (&sums)[kColumns], uint8_t* staged, uint32_t source_slot,
                                      Chunk (&row)[kChunks]) {
        const uint32_t lane = isa::lane_index();
        KG_UNROLL
        for (uint32_t i = 0; i < kChunks; ++i) {
            float values[kValues];
            KG_UNROLL
            for (uint32_t j = 0; j < kValues; ++j) values[j] = params.alpha * isa::float_of(sums[i * kValues + j]);
            const uint32_t channel = window.n + i * kValues;
            if constexpr (kFault != Fault::ScaleAfterBias) scale(params, channel, values);
            if constexpr (c.source == Source::Accumulate && kFault != Fault::SumDropped)
                add_source(smem, window.warp, source_slot, lane, i, kFault == Fault::SumScaled ? params.alpha : 1.0f,
                           values);
            add_bias(params, channel, values);
            if constexpr (kFault == Fault::ScaleAfterBias) scale(params, channel, values);
            if constexpr (kForm == EpilogueForm::InRegisters) apply(params, window, lane, channel, values);
            if constexpr (c.source == Source::Residual && kForm != EpilogueForm::AfterSharedMemory)
                add_source(smem, window.warp, source_slot, lane, i, params.beta, values);
            row[i] = packed(values);
            isa::store_shared(chunk_of(staged, lane, i), row[i]);
        }
    }

    /// Whether the lane holds a row of D: only the first 16 lanes do in layout F.
    KG_DEVICE static bool holds_row(uint32_t lane) {
        return kRows == isa::kWarpLanes || kFault == Fault::RowsInAllLanes || lane < kRows;
    }

    KG_DEVICE static Chunk* chunk_of(uint8_t* staged, uint32_t row, uint32_t chunk) {
        const uint32_t place = row * kChunks * kChunkBytes + chunk * kChunkBytes;
        return reinterpret_cast<Chunk*>(staged + isa::swizzled(c.swizzle_c, place));
    }

    KG_DEVICE static Chunk packed(const float (&values)[kValues]) {
        Chunk chunk;
        constexpr uint32_t kEach = isa::word_values(c.output);
        KG_UNROLL
        for (uint32_t i = 0; i < 4; ++i) chunk.words[i] = isa::pack_word<c.output>(values + i * kEach);
        return chunk;
    }
    KG_DEVICE static void unpack(const Chunk& chunk, float (&values)[kValues]) {
        constexpr uint32_t kEach = isa::word_values(c.output);
        KG_UNROLL
        for (uint32_t i = 0; i < 4; ++i) isa::unpack_word<c.output>(chunk.words[i], values + i * kEach);
    }

    /// values += scale * the same columns of C.
    KG_DEVICE static void add_source(Smem& smem, uint32_t warp, uint32_t slot, uint32_t row, uint32_t chunk,
                                     float scale, float (&values)[kValues]) {
        constexpr uint32_t kEach = isa::word_values(c.source_value), kPerChunk = 4 * kEach;
        constexpr uint32_t kRowBytes = kColumns * element_bytes(c.source_value);
        const uint8_t* rows = smem.source[slot] + warp * kRows * kRowBytes;
        KG_UNROLL
        for (uint32_t i = 0; i < kValues; i += kPerChunk) {
            const uint32_t place = row * kRowBytes + (chunk * kValues + i) / kPerChunk * kChunkBytes;
            const Chunk words =
                isa::load_shared(reinterpret_cast<const Chunk*>(rows + isa::swizzled(source_swizzle(c), place)));
            float loaded[kPerChunk];
            KG_UNROLL
            for (uint32_t j = 0; j < 4; ++j) isa::unpack_word<c.source_value>(words.words[j], loaded + j * kEach);
            KG_UNROLL
            for (uint32_t j = 0; j < kPerChunk; ++j) values[i + j] += scale * loaded[j];
        }
    }

    template <class Params>
    KG_DEVICE static void scale(const Params& params, uint32_t channel, float (&values)[kValues]) {
        if (params.scales == nullptr || channel >= params.geometry.c_out) return;
        const auto* scales = static_cast<const float*>(__builtin_assume_aligned(params.scales + channel, 16));
        KG_UNROLL
        for (uint32_t j = 0; j < kValues; ++j) values[j] *= scales[kFault == Fault::OneScaleOfAChunk ? 0 : j];
    }

    template <class Params>
    KG_DEVICE static void add_bias(const Params& params, uint32_t channel, float (&values)[kValues]) {
        if (params.bias == nullptr || channel >= params.geometry.c_out) return;
        const auto* bias = static_cast<const float*>(__builtin_assume_aligned(params.bias + channel, 16));
        KG_UNROLL
        for (uint32_t j = 0; j < kValues; ++j) values[j] += bias[j];
    }

    template <class Params>
    KG_DEVICE static void apply(const Params& params, const Window& window, uint32_t row, uint32_t channel,
                                float (&values)[kValues]) {
        const Conv2dGeometry& g = params.geometry;
        if (window.m + row >= g.m || channel >= g.c_out) return;
        const uint32_t pixel = g.first_pixel + window.group * g.m + window.m + row;
        KG_UNROLL
        for (uint32_t j = 0; j < kValues; ++j) values[j] = params.epilogue(values[j], pixel, channel + j);
    }

    /// Applies the function and the residual to the staged piece, chunk by chunk in row order: neighbouring lanes hold
    /// neighbouring channels.
    template <class Params>
    KG_DEVICE static void apply_staged(const Params& params, Smem& smem, const Window& window, uint8_t* staged,
                                       uint32_t source_slot) {
        isa::sync_warp();
        KG_UNROLL
        for (uint32_t i = 0; i < kChunks * kRows / isa::kWarpLanes; ++i) {
            const uint32_t index = i * isa::kWarpLanes + isa::lane_index();
            const uint32_t row = index / kChunks, chunk = index % kChunks;
            float values[kValues];
            unpack(isa::load_shared(chunk_of(staged, row, chunk)), values);
            apply(params, window, row, window.n + chunk * kValues, values);
            if constexpr (c.source == Source::Residual)
                add_source(smem, window.warp, source_slot, row, chunk, params.beta, values);
            isa::store_shared(chunk_of(staged, row, chunk), packed(values));
        }
    }

    KG_DEVICE static void release_source(Smem& smem, Ring<c.source_stages>& source) {
        isa::sync_warp();
        if (isa::lane_index() == 0) isa::mbarrier::arrive(smem.source_empty[source.slot]);
        source.advance();
    }

    template <class Params>
    KG_DEVICE static void observe(const Params& params, const Window& window, uint32_t row,
                                  const Chunk (&chunks)[kChunks]) {
        const Conv2dGeometry& g = params.geometry;
        if (!holds_row(row) || window.m + row >= g.m) return;
        const uint32_t pixel = g.first_pixel + window.group * g.m + window.m + row;
        KG_UNROLL
        for (uint32_t i = 0; i < kChunks; ++i) {
            const uint32_t channel = window.n + i * kValues;
            float values[kValues];
            unpack(chunks[i], values);
            if (channel >= g.c_out) continue;
            KG_UNROLL
            for (uint32_t j = 0; j < kValues; ++j) params.epilogue(values[j], pixel, channel + j);
        }
    }
};

}  // namespace kinetograph::sm100
