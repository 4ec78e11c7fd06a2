#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_rows.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_tile.hpp>
#include <kinetograph/kernels/isa/cp_async.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <type_traits>

namespace kinetograph::sm80 {

/// Copies k blocks into the ring, one after the other. K runs over (tap q, r, s; channel), the channels of a tap
/// rounded up to chunks of 8; a block takes the next chunks, whichever taps they belong to. A thread copies one chunk
/// of each block, in the same few rows of A and of B throughout, so only its tap changes.
template <ConvConfig kConfig, ConvFault kFault>
class ConvLoader {
  public:
    static constexpr ConvConfig c = kConfig;
    using Row = std::conditional_t<c.copy_bytes == 16, MaskedRow, PlacedRow>;

    KG_DEVICE ConvLoader(const ConvParams& params, ConvRing<kConfig>& smem, const ConvTile& tile)
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
        frames_ = params.input + tile.frame * params.q;
        while (q_ < params.q && frames_[q_] == nullptr) ++q_;  // causal padding: nothing to sum
        q_end_ = params.q;
        while (q_end_ > q_ && frames_[q_end_ - 1] == nullptr) --q_end_;
        const uint32_t tap_channels = params.r * params.s * params.c_padded;
        blocks_ = ((q_end_ - q_) * tap_channels + c.bk - 1) / c.bk;

        row_pitch_ = static_cast<size_t>(params.q) * tap_channels * 2;
        filters_ = params.c_out > tile.n + row_ ? params.c_out - tile.n - row_ : 0;
        const size_t first = (tile.row * 2 + tile.column) * params.c_out + tile.n + row_;
        filter_ = static_cast<const uint8_t*>(params.filter) + first * row_pitch_ +
                  (static_cast<size_t>(q_) * tap_channels + chunk_ * kChunk) * 2;
        channel_ = chunk_ * kChunk;
        frame_ = frame_of(q_);
        enter_tap();
    }

    /// k blocks of this CTA; 0 if every temporal tap is in the padding.
    KG_DEVICE uint32_t blocks() const { return blocks_; }

    /// Starts the copies of the next block into `stage`; the caller commits them.
    KG_DEVICE void load(uint32_t stage) {
        load_input(a_ + stage * c.bm * kRowBytes);
        load_filter(b_ + stage * c.bn * kRowBytes);
        channel_ += c.bk;
        filter_ += kRowBytes;
        enter_tap();
    }

  private:
    static constexpr uint32_t kRowChunks = row_chunks(c), kRowBytes = row_bytes(c);
    static constexpr uint32_t kRowStep = threads(c) / kRowChunks;  ///< rows that the threads copy at once
    static constexpr uint32_t kRowsA = c.bm / kRowStep, kRowsB = c.bn / kRowStep;

    KG_DEVICE const uint8_t* frame_of(uint32_t q) const {
        return q < q_end_ ? static_cast<const uint8_t*>(frames_[q]) : nullptr;
    }

    /// Makes channel_ relative to tap (q_, r_, s_) again.
    KG_DEVICE void enter_tap() {
        while (channel_ >= params_.c_padded && q_ < q_end_) {
            channel_ -= params_.c_padded;
            if (++s_ < params_.s) continue;
            s_ = 0;
            if (++r_ < params_.r) continue;
            r_ = 0;
            frame_ = frame_of(++q_);
        }
    }

    KG_DEVICE void load_input(uint32_t destination) {
        const typename Row::Tap tap = Row::tap(params_, frame_, r_, s_, channel_);
        KG_UNROLL
        for (uint32_t i = 0; i < kRowsA; ++i) {
            const ConvChunkSource source = rows_[i].source(params_, tap);
            copy_chunk(destination + i * kRowStep * kRowBytes, source.address, source.inside);
        }
    }

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

    KG_DEVICE void load_filter(uint32_t destination) {
        const bool taps_left = q_ < q_end_;
        KG_UNROLL
        for (uint32_t i = 0; i < kRowsB; ++i) {
            const bool has = taps_left && i * kRowStep < filters_;
            isa::cp_async::copy<16, isa::cp_async::Cache::L2Only>(
                destination + i * kRowStep * kRowBytes,
                has ? filter_ + i * kRowStep * row_pitch_ : static_cast<const uint8_t*>(params_.filter), has ? 16 : 0);
        }
    }

    const ConvParams& params_;
    uint32_t chunk_, row_;  ///< of this thread in a stage
    uint32_t a_, b_;        ///< shared-memory addresses of that chunk in stage 0
    Row rows_[kRowsA];
    const void* const* frames_;
    const uint8_t* frame_;  ///< under tap q_; null after the last
    const uint8_t* filter_;
    size_t row_pitch_;
    uint32_t filters_;  ///< from this thread's first row of B to the last filter
    uint32_t channel_ = 0, s_ = 0, r_ = 0, q_ = 0, q_end_ = 0;
    uint32_t blocks_ = 0;
};

}  // namespace kinetograph::sm80
