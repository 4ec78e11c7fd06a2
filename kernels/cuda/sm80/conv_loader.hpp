#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_copies.hpp>

namespace kinetograph::sm80 {

/// Copies k blocks into the ring, one after the other. K runs over (tap q, r, s; channel), the channels of a tap
/// rounded up to chunks of 8; a block takes the next chunks, whichever taps they belong to.
template <ConvConfig kConfig, ConvFault kFault>
class ConvLoader : ConvCopies<kConfig, kFault> {
    using Copies = ConvCopies<kConfig, kFault>;
    using Copies::params_, Copies::filter_, Copies::channel_, Copies::r_, Copies::s_;

  public:
    static constexpr ConvConfig c = kConfig;

    KG_DEVICE ConvLoader(const ConvParams& params, ConvRing<kConfig>& smem, const ConvTile& tile)
        : Copies(params, smem, tile, first_frame(params, tile)) {
        frames_ = params.input + tile.frame * params.q;
        q_ = first_frame(params, tile);
        q_end_ = params.q;
        while (q_end_ > q_ && frames_[q_end_ - 1] == nullptr) --q_end_;
        const uint32_t tap_channels = this->tap_channels();
        blocks_ = ((q_end_ - q_) * tap_channels + c.bk - 1) / c.bk;
        frame_ = frame_of(q_);
        enter_tap();
    }

    /// k blocks of this CTA; 0 if every temporal tap is in the padding.
    KG_DEVICE uint32_t blocks() const { return blocks_; }

    /// Starts the copies of the next block into `stage`; the caller commits them.
    KG_DEVICE void load(uint32_t stage) {
        this->load_input(stage, frame_);
        this->load_filter(stage, q_ < q_end_);
        channel_ += c.bk;
        filter_ += row_bytes(c);
        enter_tap();
    }

  private:
    /// The tile's first temporal tap with a frame; those before it are causal padding: nothing to sum.
    KG_DEVICE static uint32_t first_frame(const ConvParams& params, const ConvTile& tile) {
        const void* const* const frames = params.input + tile.frame * params.q;
        uint32_t q = 0;
        while (q < params.q && frames[q] == nullptr) ++q;
        return q;
    }
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

    const void* const* frames_;
    const uint8_t* frame_;  ///< under tap q_; null after the last
    uint32_t q_ = 0, q_end_ = 0;
    uint32_t blocks_ = 0;
};

}  // namespace kinetograph::sm80
