#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_copies.hpp>
#include <kinetograph/kernels/cuda/sm80/winograd_params.hpp>

namespace kinetograph::sm80 {

/// Copies k blocks into the ring, one after the other: two frames under a tap, and the filters of the product that
/// their sum or difference goes into. K of a product runs over (tap r, s; channel) and is rounded up to whole blocks.
///
///   product   frames     operand   filter               added to
///   0         d0, d2     d0 - d2   g0 / 2               P
///   1         d3, d1     d3 - d1   g2 / 2               Q         not for a frame alone
///   2         d1, d2     d1 + d2   (g0 + g1 + g2) / 2   P
///   3         d2, d1     d2 - d1   (g0 - g1 + g2) / 2   Q
///
/// After products 1 and 3 (P, Q) becomes (P + Q, P - Q); with Pi, Qi for product i the results are
///   frame 0 = 2 P0 + P2 + Q3        frame 1 = 2 Q1 + P2 - Q3
template <ConvConfig kConfig, ConvFault kFault>
class WinogradLoader : ConvCopies<kConfig, kFault> {
    using Copies = ConvCopies<kConfig, kFault>;
    using Copies::params_, Copies::filter_, Copies::channel_, Copies::r_, Copies::s_;

  public:
    static constexpr ConvConfig c = kConfig;

    KG_DEVICE WinogradLoader(const ConvParams& params, ConvRing<kConfig>& smem, const ConvTile& tile, bool alone)
        : Copies(params, smem, tile, 0),
          frames_(params.input + tile.frame * 4),
          alone_(alone),
          blocks_((this->tap_channels() + c.bk - 1) / c.bk),
          left_(blocks_) {
        enter_tap();
    }

    /// k blocks of one product.
    KG_DEVICE uint32_t blocks() const { return blocks_; }

    /// Starts the copies of the next block into `stage`; the caller commits them.
    KG_DEVICE void load(uint32_t stage) {
        const bool has = r_ < params_.r;
        this->load_input(stage, has ? frame(0x2130) : nullptr, 0);
        this->load_input(stage, has ? frame(0x1212) : nullptr, 1);
        this->load_filter(stage, has);
        if (--left_ == 0) return enter_product();
        channel_ += c.bk;
        filter_ += row_bytes(c);
        enter_tap();
    }

  private:
    /// The input frame of this product: hexadecimal digit `product_` of `digits`, that of product 0 last.
    KG_DEVICE const uint8_t* frame(uint32_t digits) const {
        return static_cast<const uint8_t*>(frames_[digits >> (4 * product_) & 3u]);
    }

    KG_DEVICE void enter_product() {
        const uint32_t step = product_ == 0 && alone_ ? 2 : 1;
        product_ += step;
        filter_ += static_cast<size_t>(step) * this->tap_channels() * 2 - (blocks_ - 1) * row_bytes(c);
        left_ = blocks_;
        channel_ = this->chunk_ * kChunk;
        r_ = s_ = 0;
        enter_tap();
    }

    /// Makes channel_ relative to tap (r_, s_) again; r_ ends one past the last.
    KG_DEVICE void enter_tap() {
        while (channel_ >= params_.c_padded && r_ < params_.r) {
            channel_ -= params_.c_padded;
            if (++s_ < params_.s) continue;
            s_ = 0;
            ++r_;
        }
    }

    const void* const* frames_;
    bool alone_;
    uint32_t product_ = 0;
    uint32_t blocks_, left_;  ///< k blocks of a product, and those of the current one still to be loaded
};

}  // namespace kinetograph::sm80
