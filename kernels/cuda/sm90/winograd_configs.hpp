#pragma once

#include <kinetograph/kernels/cuda/sm90/winograd_config.hpp>

/// Every tile that is built, as one list: the .cu files make kernels of it, the host its table.
namespace kinetograph::sm90 {

/// A tile of `bn` filters and blocks_y x blocks_x blocks of 8 x 8 pixels of two frames, with as many filter stages as
/// fit beside the halos and the staging buffers.
KG_HOST_DEVICE WinogradConfig winograd_config(Element element, uint32_t bn, uint32_t blocks_y, uint32_t blocks_x,
                                              Consumers consumers, uint32_t stage_taps, uint32_t halo_stages,
                                              uint32_t kept_stages = 0) {
    WinogradConfig c{.element = element,
                     .bn = bn,
                     .blocks_y = blocks_y,
                     .blocks_x = blocks_x,
                     .consumers = consumers,
                     .stage_taps = stage_taps,
                     .halo_stages = halo_stages,
                     .kept_stages = kept_stages,
                     .filter_stages = 2};
    while (c.filter_stages < 12 && shared_bytes(c) + filter_stage_bytes(share(c)) <= kSharedLimit) ++c.filter_stages;
    return c;
}

// X(kernel, its WinogradConfig). A row: name, filters, blocks along rows, along columns, consumers, taps of a filter
// stage, halo stages, kept stages. A name says filters x pixels.
#define KG_SM90_WINOGRAD_TILE(X, word, element, name, ...) \
    X(sm90_winograd_##word##_##name, winograd_config(Element::element, __VA_ARGS__))
#define KG_SM90_WINOGRAD_TILES(X, word, element)                                             \
    KG_SM90_WINOGRAD_TILE(X, word, element, n96_16x8, 96, 2, 1, Consumers::InTurn, 3, 4, 6)  \
    KG_SM90_WINOGRAD_TILE(X, word, element, n128_16x8, 128, 2, 1, Consumers::Together, 1, 6) \
    KG_SM90_WINOGRAD_TILE(X, word, element, n192_16x8, 192, 2, 1, Consumers::Together, 1, 4) \
    KG_SM90_WINOGRAD_TILE(X, word, element, n192_8x16, 192, 1, 2, Consumers::Together, 1, 4)
#define KG_SM90_WINOGRAD_BF16_TILES(X) KG_SM90_WINOGRAD_TILES(X, bf16, BF16)
#define KG_SM90_WINOGRAD_F16_TILES(X) KG_SM90_WINOGRAD_TILES(X, f16, F16)

}  // namespace kinetograph::sm90
