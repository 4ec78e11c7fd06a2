#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_config.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_params.hpp>
#include <kinetograph/kernels/isa/thread.hpp>

namespace kinetograph::sm80 {

/// A pixel of a tile: whether it exists, and its position in the output frame.
struct PlacedPixel {
    bool exists;
    uint32_t index;
};

/// The work of this CTA: bm pixels by bn filters of one output frame, or of one parity of it.
struct ConvTile {
    uint32_t frame;        ///< output frame
    uint32_t row, column;  ///< parity: the position of the tile's pixels in blocks of 2 x 2; 0, 0 without sub-pixels
    uint32_t m, n;         ///< first pixel, first filter

    /// Filters vary fastest: CTAs that share pixels run at the same time and find them in the L2.
    template <ConvConfig c>
    KG_DEVICE static ConvTile of_this_cta(const ConvParams& params) {
        const isa::Index3 block = isa::block_index();
        const uint32_t parity = block.y % params.parities;
        return {block.y / params.parities, parity / 2, parity % 2, block.x / params.n_tiles * c.bm,
                block.x % params.n_tiles * c.bn};
    }
    /// The tile's pixel `index`.
    KG_DEVICE PlacedPixel pixel(const ConvParams& params, uint32_t index) const {
        const uint32_t pixel = m + index;
        if (params.parities == 1) return {pixel < params.pixels, pixel};
        const uint32_t y = pixel / params.w_out, x = pixel % params.w_out;
        return {pixel < params.pixels, (2 * y + row) * 2 * params.w_out + 2 * x + column};
    }
};

}  // namespace kinetograph::sm80
