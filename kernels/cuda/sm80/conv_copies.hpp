#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_rows.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_tile.hpp>
#include <kinetograph/kernels/isa/cp_async.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <type_traits>

namespace kinetograph::sm80 {

/// A thread's copies into the ring: the same chunk of the same few rows of A and B in every k block, so that only the
/// tap changes from block to block.
template <ConvConfig kConfig, ConvFault kFault>
class ConvCopies {
  public:
    static constexpr ConvConfig c = kConfig;
    using Row = std::conditional_t<c.copy_bytes == 16, MaskedRow, PlacedRow>;

    /// Filters are read from temporal tap `first_tap` on.
    KG_DEVICE ConvCopies(const ConvParams& params, ConvRing<kConfig>& smem, const ConvTile& tile, uint32_t first_tap)
        : params_(params), chunk_(isa::thread_index() % kRowChunks), row_(isa::thread_index() / kRowChunks) {
        const uint32_t offset =
            kFault == ConvFault::UnswizzledBothWays
                ? row_ * kRowBytes + chunk_ * 16
                : chunk_offset<c>(row_, kFault == ConvFault::SwizzledByRow ? chunk_ ^ (row_ % 2) : chunk_);
        a_ = isa::shared_address(smem.a) + offset;
        b_ = isa::shared_address(smem.b) + offset;
        uint32_t row = (tile.m + row_) / params.w_out, column = (tile.m + row_) % params.w_out;
        KG_UNROLL
        for (uint32_t i = 0; i < kRowsA; ++i) {
            const uint32_t m = tile.m + row_ + i * kRowStep;
            const auto y = static_cast<int32_t>(row), x = static_cast<int32_t>(column);
            rows_[i] = Row::template of<kFault>(
                params, y * params.stride_h - params.pad_top + static_cast<int32_t>(tile.row),
                x * params.stride_w - params.pad_left + static_cast<int32_t>(tile.column), m < params.pixels);
            column += kRowStep;
            while (column >= params.w_out) {
                column -= params.w_out;
                ++row;
            }
        }
        row_pitch_ = static_cast<size_t>(params.q) * tap_channels() * 2;
        filters_ = params.c_out > tile.n + row_ ? params.c_out - tile.n - row_ : 0;
        const size_t first = (tile.row * 2 + tile.column) * params.c_out + tile.n + row_;
        filter_ = static_cast<const uint8_t*>(params.filter) + first * row_pitch_ +
                  (static_cast<size_t>(first_tap) * tap_channels() + chunk_ * kChunk) * 2;
        channel_ = chunk_ * kChunk;
    }

  protected:
    static constexpr uint32_t kRowChunks = row_chunks(c), kRowBytes = row_bytes(c);
    static constexpr uint32_t kRowStep = threads(c) / kRowChunks;  ///< rows that the threads copy at once
    static constexpr uint32_t kRowsA = c.bm / kRowStep, kRowsB = c.bn / kRowStep;

    /// Elements of K of one temporal tap.
    KG_DEVICE uint32_t tap_channels() const { return params_.r * params_.s * params_.c_padded; }

    /// Copies channels from channel_ on under tap (r_, s_) of `frame` (zeros if null) into operand frame `part`.
    KG_DEVICE void load_input(uint32_t stage, const uint8_t* frame, uint32_t part = 0) {
        const typename Row::Tap tap = Row::tap(params_, frame, r_, s_, channel_);
        const uint32_t destination = a_ + (stage * c.frames + part) * c.bm * kRowBytes;
        KG_UNROLL
        for (uint32_t i = 0; i < kRowsA; ++i) {
            const ConvChunkSource source = rows_[i].source(params_, tap);
            copy_chunk(destination + i * kRowStep * kRowBytes, source.address, source.inside);
        }
    }

    /// Copies the filters' chunk at filter_, or zeros.
    KG_DEVICE void load_filter(uint32_t stage, bool exists) {
        const uint32_t destination = b_ + stage * c.bn * kRowBytes;
        KG_UNROLL
        for (uint32_t i = 0; i < kRowsB; ++i) {
            const bool has = exists && i * kRowStep < filters_;
            isa::cp_async::copy<16, isa::cp_async::Cache::L2Only>(
                destination + i * kRowStep * kRowBytes,
                has ? filter_ + i * kRowStep * row_pitch_ : static_cast<const uint8_t*>(params_.filter), has ? 16 : 0);
        }
    }

    const ConvParams& params_;
    uint32_t chunk_, row_;  ///< of this thread in a stage
    uint32_t a_, b_;        ///< shared-memory addresses of that chunk in stage 0
    Row rows_[kRowsA];
    const uint8_t* filter_;
    size_t row_pitch_;
    uint32_t filters_;  ///< from this thread's first row of B to the last filter
    uint32_t channel_ = 0, s_ = 0, r_ = 0;

  private:
    /// 8 channels of one pixel, or as many as it has.
    KG_DEVICE void copy_chunk(uint32_t destination, const uint8_t* source, bool inside) {
        if constexpr (c.copy_bytes == 16) {
            isa::cp_async::copy<16, isa::cp_async::Cache::L2Only>(destination, source, inside ? 16 : 0);
        } else {
            const uint32_t channels = inside ? params_.c_in - channel_ : 0;  // from here to the pixel's end
            if constexpr (c.copy_bytes == 4) {
                KG_UNROLL
                for (uint32_t j = 0; j < 4; ++j) {
                    const bool has = 2 * j < channels;
                    isa::cp_async::copy<4>(destination + 4 * j, has ? source + 4 * j : source, has ? 4 : 0);
                }
            } else {
                isa::Words<4> words{};
                KG_UNROLL
                for (uint32_t j = 0; j < kChunk; ++j) {
                    const uint32_t element = j < channels ? isa::load_global<uint16_t>(source + 2 * j) : 0u;
                    words.at[j / 2] |= element << (j % 2 * 16);
                }
                isa::store_shared_at(destination, words);
            }
        }
    }
};

}  // namespace kinetograph::sm80
