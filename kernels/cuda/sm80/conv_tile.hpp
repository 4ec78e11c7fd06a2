#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_config.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_params.hpp>
#include <kinetograph/kernels/isa/thread.hpp>

namespace kinetograph::sm80 {

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
};

/// The position of the tile's pixel m in the output frame.
KG_DEVICE uint32_t output_pixel(const ConvParams& params, const ConvTile& tile, uint32_t m) {
    if (params.parities == 1) return m;
    const uint32_t y = m / params.w_out, x = m % params.w_out;
    return (2 * y + tile.row) * 2 * params.w_out + 2 * x + tile.column;
}

}  // namespace kinetograph::sm80
