#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_config.hpp>

/// Every tile that is built, as one list: the .cu files make kernels of it, the host its table.
namespace kinetograph::sm90 {

/// A tile of `bn` filters and blocks_y x blocks_x blocks of 8 x 8 pixels under side x side taps, with as many stages as
/// fit beside its staging buffers: the filters' ring grows to 4 first, then the input's to 4, then the filters' to 8.
KG_HOST_DEVICE ConvConfig tile_config(Element element, uint32_t bn, uint32_t blocks_y, uint32_t blocks_x, uint32_t side,
                                      uint32_t channels, Epilogues epilogues = Epilogues::InTurn) {
    ConvConfig c{.element = element,
                 .blocks_y = blocks_y,
                 .blocks_x = blocks_x,
                 .bn = bn,
                 .channels = channels,
                 .side = side,
                 .stage_taps = channels * element_bytes(element) <= 64 && side == 3 ? 3u : 1u,
                 .input_stages = 2,
                 .filter_stages = 2,
                 .epilogues = epilogues};
    while (c.filter_stages < 4 && shared_bytes(c) + filter_stage_bytes(c) <= kSharedLimit) ++c.filter_stages;
    while (c.input_stages < 4 && shared_bytes(c) + input_stage_bytes(c) <= kSharedLimit) ++c.input_stages;
    while (c.filter_stages < 8 && shared_bytes(c) + filter_stage_bytes(c) <= kSharedLimit) ++c.filter_stages;
    return c;
}

// X(kernel, its ConvConfig). A row: name, filters, blocks along rows, along columns, taps a side, channels of a block
// of K. A name says filters x pixels, taps, channels, and if epilogues overlap. If two tiles differ only in filters or
// pixels, the smaller one is for images whose larger tiles would not fill the SMs evenly.
#define KG_SM90_TILE(X, word, element, name, ...) \
    X(sm90_conv_##word##_##name, tile_config(Element::element, __VA_ARGS__))
#define KG_SM90_TILES(X, word, element)                                                          \
    KG_SM90_TILE(X, word, element, n32_32x16_3_32, 32, 4, 2, 3, 32)                              \
    KG_SM90_TILE(X, word, element, n48_32x16_3_32, 48, 4, 2, 3, 32)                              \
    KG_SM90_TILE(X, word, element, n64_8x40_3_64, 64, 1, 5, 3, 64)                               \
    KG_SM90_TILE(X, word, element, n64_32x8_3_32, 64, 4, 1, 3, 32)                               \
    KG_SM90_TILE(X, word, element, n96_32x8_3_32, 96, 4, 1, 3, 32)                               \
    KG_SM90_TILE(X, word, element, n96_32x8_3_64, 96, 4, 1, 3, 64)                               \
    KG_SM90_TILE(X, word, element, n128_16x8_3_64, 128, 2, 1, 3, 64)                             \
    KG_SM90_TILE(X, word, element, n128_24x8_3_64, 128, 3, 1, 3, 64)                             \
    KG_SM90_TILE(X, word, element, n128_16x8_3_32, 128, 2, 1, 3, 32)                             \
    KG_SM90_TILE(X, word, element, n192_16x8_3_64, 192, 2, 1, 3, 64)                             \
    KG_SM90_TILE(X, word, element, n32_32x16_2_32, 32, 4, 2, 2, 32)                              \
    KG_SM90_TILE(X, word, element, n48_32x16_2_32, 48, 4, 2, 2, 32)                              \
    KG_SM90_TILE(X, word, element, n64_32x8_2_64, 64, 4, 1, 2, 64)                               \
    KG_SM90_TILE(X, word, element, n96_32x8_2_64, 96, 4, 1, 2, 64)                               \
    KG_SM90_TILE(X, word, element, n96_16x8_2_64_overlap, 96, 2, 1, 2, 64, Epilogues::Overlap)   \
    KG_SM90_TILE(X, word, element, n96_32x8_2_32, 96, 4, 1, 2, 32)                               \
    KG_SM90_TILE(X, word, element, n128_24x8_2_64, 128, 3, 1, 2, 64)                             \
    KG_SM90_TILE(X, word, element, n192_16x8_2_64, 192, 2, 1, 2, 64)                             \
    KG_SM90_TILE(X, word, element, n96_32x8_1_32, 96, 4, 1, 1, 32)                               \
    KG_SM90_TILE(X, word, element, n128_16x8_1_64_overlap, 128, 2, 1, 1, 64, Epilogues::Overlap) \
    KG_SM90_TILE(X, word, element, n128_24x8_1_64, 128, 3, 1, 1, 64)                             \
    KG_SM90_TILE(X, word, element, n192_16x8_1_64, 192, 2, 1, 1, 64)
// The tiles that are also built with fp32 sums, for Q-slice and, under one tap, for scores of an attention.
KG_HOST_DEVICE ConvConfig with_sums(ConvConfig c) {
    c.fp32_sums = true;
    return c;
}
#define KG_SM90_SUM_TILE(X, name, ...) X(sm90_sums_bf16_##name, with_sums(tile_config(Element::BF16, __VA_ARGS__)))
#define KG_SM90_SUM_TILES(X)                              \
    KG_SM90_SUM_TILE(X, n64_8x40_3_64, 64, 1, 5, 3, 64)   \
    KG_SM90_SUM_TILE(X, n96_32x8_3_32, 96, 4, 1, 3, 32)   \
    KG_SM90_SUM_TILE(X, n128_16x8_3_64, 128, 2, 1, 3, 64) \
    KG_SM90_SUM_TILE(X, n192_16x8_3_64, 192, 2, 1, 3, 64) \
    KG_SM90_SUM_TILE(X, n128_24x8_1_64, 128, 3, 1, 1, 64)
// The tiles of u8 and s8, by the bytes of a block of K.
KG_HOST_DEVICE ConvConfig with_byte_norms(ConvConfig c) {
    c.byte_norms = true;
    return c;
}
#define KG_SM90_BYTE_TILE(X, name, ...) X(sm90_conv_u8_##name, with_byte_norms(tile_config(Element::U8, __VA_ARGS__)))
#define KG_SM90_BYTE_TILES(X)                                \
    KG_SM90_BYTE_TILE(X, n32_32x16_3_32, 32, 4, 2, 3, 32)    \
    KG_SM90_BYTE_TILE(X, n64_32x8_3_32, 64, 4, 1, 3, 32)     \
    KG_SM90_BYTE_TILE(X, n96_32x8_3_32, 96, 4, 1, 3, 32)     \
    KG_SM90_BYTE_TILE(X, n128_16x8_3_32, 128, 2, 1, 3, 32)   \
    KG_SM90_BYTE_TILE(X, n64_32x8_3_64, 64, 4, 1, 3, 64)     \
    KG_SM90_BYTE_TILE(X, n96_32x8_3_64, 96, 4, 1, 3, 64)     \
    KG_SM90_BYTE_TILE(X, n128_16x8_3_64, 128, 2, 1, 3, 64)   \
    KG_SM90_BYTE_TILE(X, n192_16x8_3_64, 192, 2, 1, 3, 64)   \
    KG_SM90_BYTE_TILE(X, n64_8x40_3_128, 64, 1, 5, 3, 128)   \
    KG_SM90_BYTE_TILE(X, n128_16x8_3_128, 128, 2, 1, 3, 128) \
    KG_SM90_BYTE_TILE(X, n192_16x8_3_128, 192, 2, 1, 3, 128)
// The tiles of bf16 that are also built for norms in bytes: of the doublings, after which a decoder's byte layers
// begin.
#define KG_SM90_BYTE_NORM_TILE(X, name, ...) \
    X(sm90_conv_bf16_##name##_byte_norms, with_byte_norms(tile_config(Element::BF16, __VA_ARGS__)))
#define KG_SM90_BYTE_NORM_TILES(X)                                                        \
    KG_SM90_BYTE_NORM_TILE(X, n96_32x8_2_64, 96, 4, 1, 2, 64)                             \
    KG_SM90_BYTE_NORM_TILE(X, n96_16x8_2_64_overlap, 96, 2, 1, 2, 64, Epilogues::Overlap) \
    KG_SM90_BYTE_NORM_TILE(X, n192_16x8_2_64, 192, 2, 1, 2, 64)
#define KG_SM90_BF16_TILES(X) KG_SM90_TILES(X, bf16, BF16)
#define KG_SM90_F16_TILES(X) KG_SM90_TILES(X, f16, F16)

}  // namespace kinetograph::sm90
