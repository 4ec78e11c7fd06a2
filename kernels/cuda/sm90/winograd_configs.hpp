#pragma once

#include <kinetograph/kernels/cuda/sm90/winograd_config.hpp>

/// Every tile that is built, as one list: the .cu files make kernels of it, the host its table.
namespace kinetograph::sm90 {

/// A tile of `bn` filters and blocks_y x blocks_x blocks of 8 x 8 pixels of two frames, with as many filter stages as
/// fit beside the halos and the staging buffers.
KG_HOST_DEVICE WinogradConfig winograd_config(Element element, uint32_t bn, uint32_t blocks_y, uint32_t blocks_x,
                                              Consumers consumers, uint32_t stage_taps, uint32_t halo_stages) {
    WinogradConfig c{.element = element,
                     .bn = bn,
                     .blocks_y = blocks_y,
                     .blocks_x = blocks_x,
                     .consumers = consumers,
                     .stage_taps = stage_taps,
                     .halo_stages = halo_stages,
                     .filter_stages = 2};
    while (c.filter_stages < 12 && shared_bytes(c) + filter_stage_bytes(share(c)) <= kSharedLimit) ++c.filter_stages;
    return c;
}

// X(name, element, filters, blocks along rows, along columns, consumers, taps of a filter stage, halos). A name says
// filters x pixels.
#define KG_SM90_WINOGRAD_TILES(X, element)                      \
    X(n96_16x8, element, 96, 2, 1, Consumers::InTurn, 3, 8)     \
    X(n192_16x8, element, 192, 2, 1, Consumers::Together, 1, 4) \
    X(n192_8x16, element, 192, 1, 2, Consumers::Together, 1, 4)

}  // namespace kinetograph::sm90
