#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_config.hpp>

/// Every tile that is built, as one list: the .cu files make kernels of it, the host its table.
namespace kinetograph::sm90 {

/// A tile of `bn` filters and blocks_y x blocks_x blocks of 8 x 8 pixels under side x side taps, with as many stages as
/// fit beside its staging buffers: filters first, four of each, then filters again.
KG_HOST_DEVICE ConvConfig tile_config(Element element, uint32_t bn, uint32_t blocks_y, uint32_t blocks_x, uint32_t side,
                                      uint32_t channels) {
    ConvConfig c{.element = element,
                 .blocks_y = blocks_y,
                 .blocks_x = blocks_x,
                 .bn = bn,
                 .channels = channels,
                 .side = side,
                 .stage_taps = channels == 32 && side == 3 ? 3u : 1u,
                 .input_stages = 2,
                 .filter_stages = 2};
    while (c.filter_stages < 4 && shared_bytes(c) + filter_stage_bytes(c) <= kSharedLimit) ++c.filter_stages;
    while (c.input_stages < 4 && shared_bytes(c) + input_stage_bytes(c) <= kSharedLimit) ++c.input_stages;
    while (c.filter_stages < 8 && shared_bytes(c) + filter_stage_bytes(c) <= kSharedLimit) ++c.filter_stages;
    return c;
}

// X(name, element, filters, blocks along rows, along columns, taps a side, channels of a block of K). A name says
// filters x pixels, taps, channels. Where a tile of fewer filters exists beside a wider one, it is for images whose
// tiles would not fill the SMs evenly.
#define KG_SM90_TILES(X, element)                \
    X(n64_8x40_3_64, element, 64, 1, 5, 3, 64)   \
    X(n64_32x8_3_32, element, 64, 4, 1, 3, 32)   \
    X(n96_32x8_3_32, element, 96, 4, 1, 3, 32)   \
    X(n96_32x8_3_64, element, 96, 4, 1, 3, 64)   \
    X(n128_16x8_3_64, element, 128, 2, 1, 3, 64) \
    X(n128_24x8_3_64, element, 128, 3, 1, 3, 64) \
    X(n128_16x8_3_32, element, 128, 2, 1, 3, 32) \
    X(n192_16x8_3_64, element, 192, 2, 1, 3, 64) \
    X(n96_32x8_2_64, element, 96, 4, 1, 2, 64)   \
    X(n96_32x8_2_32, element, 96, 4, 1, 2, 32)   \
    X(n192_16x8_2_64, element, 192, 2, 1, 2, 64) \
    X(n96_32x8_1_32, element, 96, 4, 1, 1, 32)   \
    X(n128_24x8_1_64, element, 128, 3, 1, 1, 64) \
    X(n192_16x8_1_64, element, 192, 2, 1, 1, 64)

}  // namespace kinetograph::sm90
