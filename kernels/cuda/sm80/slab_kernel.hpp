#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_epilogue.hpp>
#include <kinetograph/kernels/cuda/sm80/slab_config.hpp>
#include <kinetograph/kernels/isa/cp_async.hpp>
#include <kinetograph/kernels/isa/warp_matrix.hpp>

/// The implicit-GEMM convolution of stride and dilation 1 for every GPU since sm_80 whose input passes through shared
/// memory once for all taps of a frame: a slab, the tile's pixels with their surroundings in 32 channels, is staged
/// once and read taps * taps times at shifted rows. Filters pass through a ring, a row of taps at a time. One source
/// for the chip and for host_model.
namespace kinetograph::sm80 {

/// Pixels [y, y + tile_rows) x [x, x + 16) of a frame, or of one parity of it, by bn filters.
struct SlabTile {
    uint32_t frame;
    uint32_t row, column;  ///< parity, as in ConvTile
    uint32_t y, x, n;

    template <SlabConfig c>
    KG_DEVICE static SlabTile of_this_cta(const ConvParams& params) {
        const isa::Index3 block = isa::block_index();
        const uint32_t parity = block.y % params.parities, pixels = block.x / params.n_tiles;
        const uint32_t across = (params.w_out + kSlabTileColumns - 1) / kSlabTileColumns;
        return {block.y / params.parities,
                parity / 2,
                parity % 2,
                pixels / across * c.tile_rows,
                pixels % across * kSlabTileColumns,
                block.x % params.n_tiles * c.bn};
    }
    KG_DEVICE PlacedPixel pixel(const ConvParams& params, uint32_t index) const {
        const uint32_t its_y = y + index / kSlabTileColumns, its_x = x + index % kSlabTileColumns;
        const bool exists = its_x < params.w_out && its_y * params.w_out < params.pixels;
        if (params.parities == 1) return {exists, its_y * params.w_out + its_x};
        return {exists, (2 * its_y + row) * 2 * params.w_out + 2 * its_x + column};
    }
};

/// A CTA's copies: slabs one after the other, and rows of taps of the filters one after the other. K runs over temporal
/// taps with a frame, chunks of channels, rows of taps, taps.
template <SlabConfig c, ConvFault kFault>
class SlabLoader {
  public:
    KG_DEVICE SlabLoader(const ConvParams& params, SlabRing<c>& ring, const SlabTile& tile)
        : params_(params),
          tile_(tile),
          slabs_(isa::shared_address(ring.slabs)),
          filters_(isa::shared_address(ring.filters)),
          chunk_(isa::thread_index() % kSlabRowChunks),
          row_(isa::thread_index() / kSlabRowChunks),
          frames_(params.input + tile.frame * params.q) {
        while (q_ < params.q && frames_[q_] == nullptr) ++q_;
        q_end_ = params.q;
        while (q_end_ > q_ && frames_[q_end_ - 1] == nullptr) --q_end_;
        count_ = (q_end_ - q_) * (params.c_in / kSlabDepth);
        filter_q_ = q_;
        top_ = static_cast<int32_t>(tile.y + tile.row) - params.pad_top;
        left_ = static_cast<int32_t>(tile.x + tile.column) - params.pad_left;
    }

    KG_DEVICE uint32_t count() const { return count_; }  ///< of slabs; 0 if every temporal tap is in the padding

    /// Starts the copies of the next slab into buffer `buffer`, if there is one; the caller commits them.
    KG_DEVICE void load_slab(uint32_t buffer) {
        if (q_ == q_end_) return;
        const uint8_t* frame = static_cast<const uint8_t*>(frames_[q_]);
        const uint32_t destination = slabs_ + buffer * slab_pixels(c) * kSlabRowBytes;
        const uint32_t width = kFault == ConvFault::HaloNotZeroed ? params_.w + 1 : params_.w;
        KG_ROLLED  // unrolled, the addresses of all copies would stay in registers
            for (uint32_t i = 0; i < (slab_pixels(c) + kRowStep - 1) / kRowStep; ++i) {
            const uint32_t pixel = row_ + i * kRowStep;
            if (slab_pixels(c) % kRowStep != 0 && pixel >= slab_pixels(c)) break;
            const auto y = static_cast<uint32_t>(top_ + static_cast<int32_t>(pixel / slab_columns(c)));
            const auto x = static_cast<uint32_t>(left_ + static_cast<int32_t>(pixel % slab_columns(c)));
            const bool inside = y < params_.h && x < width;
            const size_t element = static_cast<size_t>(y * params_.w + x) * params_.c_in + channel_ + chunk_ * kChunk;
            isa::cp_async::copy<16, isa::cp_async::Cache::L2Only>(
                destination + slab_offset(pixel, chunk_), inside ? frame + element * 2 : frame, inside ? 16 : 0);
        }
        channel_ += kSlabDepth;
        if (channel_ == params_.c_in) {
            channel_ = 0;
            ++q_;
        }
    }

    /// The same for the next row of taps of the filters.
    KG_DEVICE void load_filters(uint32_t stage) {
        if (filter_q_ == q_end_) return;
        const uint32_t destination = filters_ + stage * kFilterRows * kSlabRowBytes;
        const uint32_t taps = params_.q * c.taps * c.taps, tap = (filter_q_ * c.taps + tap_row_) * c.taps;
        const size_t first = static_cast<size_t>((tile_.row * 2 + tile_.column) * params_.c_out) * taps + tap;
        const uint8_t* filter = static_cast<const uint8_t*>(params_.filter) +
                                (first * params_.c_padded + filter_channel_ + chunk_ * kChunk) * 2;
        KG_ROLLED
        for (uint32_t i = 0; i < (kFilterRows + kRowStep - 1) / kRowStep; ++i) {
            const uint32_t row = row_ + i * kRowStep, n = tile_.n + row % c.bn, column = row / c.bn;
            if (kFilterRows % kRowStep != 0 && row >= kFilterRows) break;
            const bool exists = n < params_.c_out;
            const size_t element = (static_cast<size_t>(n) * taps + column) * params_.c_padded;
            isa::cp_async::copy<16, isa::cp_async::Cache::L2Only>(
                destination + slab_offset(row, kFault == ConvFault::SwizzledByRow ? chunk_ ^ (row % 2) : chunk_),
                exists ? filter + element * 2 : filter, exists ? 16 : 0);
        }
        if (++tap_row_ < c.taps) return;
        tap_row_ = 0;
        filter_channel_ += kSlabDepth;
        if (filter_channel_ < params_.c_in) return;
        filter_channel_ = 0;
        ++filter_q_;
    }

  private:
    static constexpr uint32_t kRowStep = threads(c) / kSlabRowChunks;  ///< rows that the threads copy at once
    static constexpr uint32_t kFilterRows = c.taps * c.bn;

    const ConvParams& params_;
    const SlabTile& tile_;
    uint32_t slabs_, filters_;  ///< shared-memory addresses
    uint32_t chunk_, row_;      ///< of this thread's first copy
    const void* const* frames_;
    int32_t top_, left_;                                    ///< the slab's first pixel
    uint32_t q_ = 0, q_end_, count_;                        ///< the next slab's temporal tap
    uint32_t channel_ = 0;                                  ///< and first channel
    uint32_t filter_q_, filter_channel_ = 0, tap_row_ = 0;  ///< of the next filters
};

/// Grid: x = pixel tiles times filter tiles, y = output frames times parities; threads(kConfig) threads.
template <SlabConfig kConfig, ConvFault kFault = ConvFault::None>
struct SlabKernel : CheckedSlabConfig<kConfig> {
    static constexpr SlabConfig c = kConfig;
    using Loader = SlabLoader<kConfig, kFault>;
    using Epilogue = ConvEpilogueStep<epilogue_config(kConfig), kFault, SlabTile, pass_pixels(kConfig)>;
    static constexpr uint32_t kTilesM = Epilogue::kTilesM, kTilesN = Epilogue::kTilesN;
    using Sums = float[kTilesM][kTilesN][4];

    KG_DEVICE static void run(const ConvParams& params) {
        auto& smem = isa::shared_as<SlabSmem<kConfig>>();
        const SlabTile tile = SlabTile::of_this_cta<kConfig>(params);
        Sums sums = {};
        {
            Loader loader(params, smem.ring, tile);
            multiply(loader, smem.ring, sums);
        }
        Epilogue(params, smem.tile, tile).run(sums);
    }

  private:
    /// Steps are rows of taps. In step t the filters of step t + stages - 1 are copied to the stage of step t - 1, and
    /// in the first step of a slab the next slab to the buffer of the one before: the barrier says that every warp has
    /// finished step t - 1. Each step closes a group of copies.
    KG_DEVICE static void multiply(Loader& loader, SlabRing<kConfig>& ring, Sums& sums) {
        constexpr uint32_t kAhead = c.stages - 1;
        loader.load_slab(0);
        for (uint32_t stage = 0; stage < kAhead; ++stage) {
            loader.load_filters(stage);
            commit();
        }
        const uint32_t lane = isa::lane_index(), warp = isa::warp_index();
        // As in ConvFragments: A's rows are 16 pixels of the slab side by side, B's are filters.
        const uint32_t pixel = warp / c.warps_n * (c.tile_rows / c.warps_m) * slab_columns(c) + lane % 16;
        const uint32_t filter = warp % c.warps_n * (c.bn / c.warps_n) + lane % 8 + lane / 16 * 8;
        const uint32_t slabs = isa::shared_address(ring.slabs), filters = isa::shared_address(ring.filters);
        uint32_t stage = 0, next = kFault == ConvFault::LoadsIntoReadStage ? 0 : kAhead;
        for (uint32_t slab = 0; slab < loader.count(); ++slab) {
            const uint32_t buffer = slab % 2;
            KG_ROLLED  // unrolled, the addresses of all taps would stay in registers
            for (uint32_t row = 0; row < c.taps; ++row) {
                if constexpr (kFault != ConvFault::NoWait)
                    isa::cp_async::wait<kFault == ConvFault::WaitsForOneGroupLess ? kAhead : kAhead - 1>();
                if constexpr (kFault != ConvFault::NoBarrier) isa::sync_cta();
                if (row == 0) loader.load_slab(1 - buffer);
                loader.load_filters(next);
                commit();
                multiply_row(slabs + buffer * slab_pixels(c) * kSlabRowBytes, pixel + row * slab_columns(c), lane / 16,
                             filters + stage * c.taps * c.bn * kSlabRowBytes, filter, lane / 8 % 2, sums);
                if (++stage == c.stages) stage = 0;
                if (++next == c.stages) next = 0;
            }
        }  // the groups that no wait has covered are empty
    }

    KG_DEVICE static void commit() {
        if constexpr (kFault != ConvFault::NoCommit) isa::cp_async::commit();
    }

    /// The products of one row of taps.
    KG_DEVICE static void multiply_row(uint32_t slab, uint32_t pixel, uint32_t a_chunk, uint32_t filters,
                                       uint32_t filter, uint32_t b_chunk, Sums& sums) {
        KG_UNROLL
        for (uint32_t column = 0; column < c.taps; ++column) {
            const uint32_t b_row = filters + slab_offset(filter + column * c.bn, b_chunk);
            KG_UNROLL
            for (uint32_t step = 0; step < kSlabDepth / 16; ++step) {
                uint32_t a[kTilesM][4];
                KG_UNROLL
                for (uint32_t i = 0; i < kTilesM; ++i)
                    isa::load_matrices(
                        a[i], (slab + slab_offset(pixel + column + i * slab_columns(c), a_chunk)) ^ (step * 32));
                KG_UNROLL
                for (uint32_t j = 0; j < kTilesN; j += 2) {
                    uint32_t b[4];
                    isa::load_matrices(b, (b_row ^ (step * 32)) + j / 2 * 16 * kSlabRowBytes);
                    const uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
                    KG_UNROLL
                    for (uint32_t i = 0; i < kTilesM; ++i) {
                        isa::multiply_add<c.element>(sums[i][j], a[i], left);
                        isa::multiply_add<c.element>(sums[i][j + 1], a[i], right);
                    }
                }
            }
        }
    }
};

}  // namespace kinetograph::sm80
