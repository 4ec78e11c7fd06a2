#pragma once

#include <kinetograph/kernels/cuda/sm100/halo_config.hpp>

/// Every tile that is built, as one list: the .cu files make kernels of it, the host its table.
namespace kinetograph::sm100 {

/// A tile of `bn` filters under side x side taps with as many stages as fit: the filters' ring grows to 4 first, then
/// the input's to 4, then the filters' to 8. 16 filters are for a network's last few channels: one CTA,
/// HaloStore::Pixels.
KG_HOST_DEVICE HaloConfig halo_config(Element element, uint32_t bn, uint32_t blocks, uint32_t side, uint32_t channels,
                                      HaloSharing sharing = HaloSharing::None) {
    const uint32_t group = bn == 16 ? 1 : 2;
    HaloConfig c{.element = element,
                 .cta_group = group,
                 .cluster = sharing == HaloSharing::None ? group : 2 * group,
                 .sharing = sharing,
                 .bn = bn,
                 .blocks = blocks,
                 .channels = channels,
                 .side = side,
                 .stage_taps = bn == 16                      ? side * side
                               : channels == 32 && side == 3 ? 3u
                                                             : 1u,
                 .store = bn == 16 ? HaloStore::Pixels : HaloStore::Pieces,
                 .input_stages = 2,
                 .filter_stages = 2};
    while (c.filter_stages < 4 && shared_bytes(c) + filter_stage_bytes(c) <= kSharedLimit) ++c.filter_stages;
    while (c.input_stages < 4 && shared_bytes(c) + input_stage_bytes(c) <= kSharedLimit) ++c.input_stages;
    while (c.filter_stages < 8 && shared_bytes(c) + filter_stage_bytes(c) <= kSharedLimit) ++c.filter_stages;
    return c;
}

// X(kernel, its HaloConfig). A row: name, filters of an MMA, blocks, taps a side, channels of a block of K, what two
// pairs share. A name says filters x pixels, taps, channels, and whether two pairs share filters; n384: two pairs of
// 192 filters that share pixels.
#define KG_SM100_HALO_TILE(X, word, element, name, ...) \
    X(sm100_halo_##word##_##name, halo_config(Element::element, __VA_ARGS__))
#define KG_SM100_HALO_TILES(X, word, element)                                                        \
    KG_SM100_HALO_TILE(X, word, element, n96_32x8_3_32, 96, 2, 3, 32)                                \
    KG_SM100_HALO_TILE(X, word, element, n96_32x8_3_64, 96, 2, 3, 64)                                \
    KG_SM100_HALO_TILE(X, word, element, n192_16x8_3_64, 192, 1, 3, 64)                              \
    KG_SM100_HALO_TILE(X, word, element, n192_16x8_3_64_shared, 192, 1, 3, 64, HaloSharing::Filters) \
    KG_SM100_HALO_TILE(X, word, element, n192_16x8_3_32, 192, 1, 3, 32)                              \
    KG_SM100_HALO_TILE(X, word, element, n384_16x8_3_64, 192, 1, 3, 64, HaloSharing::Pixels)         \
    KG_SM100_HALO_TILE(X, word, element, n384_16x8_3_32, 192, 1, 3, 32, HaloSharing::Pixels)         \
    KG_SM100_HALO_TILE(X, word, element, n16_32x8_3_32, 16, 2, 3, 32)                                \
    KG_SM100_HALO_TILE(X, word, element, n96_32x8_2_32, 96, 2, 2, 32)                                \
    KG_SM100_HALO_TILE(X, word, element, n96_32x8_2_64, 96, 2, 2, 64)                                \
    KG_SM100_HALO_TILE(X, word, element, n192_16x8_2_64, 192, 1, 2, 64)                              \
    KG_SM100_HALO_TILE(X, word, element, n192_16x8_2_64_shared, 192, 1, 2, 64, HaloSharing::Filters) \
    KG_SM100_HALO_TILE(X, word, element, n96_32x8_1_32, 96, 2, 1, 32)                                \
    KG_SM100_HALO_TILE(X, word, element, n192_16x8_1_64, 192, 1, 1, 64)                              \
    KG_SM100_HALO_TILE(X, word, element, n384_16x8_1_64, 192, 1, 1, 64, HaloSharing::Pixels)         \
    KG_SM100_HALO_TILE(X, word, element, n16_32x8_1_32, 16, 2, 1, 32)
#define KG_SM100_HALO_BF16_TILES(X) KG_SM100_HALO_TILES(X, bf16, BF16)
#define KG_SM100_HALO_F16_TILES(X) KG_SM100_HALO_TILES(X, f16, F16)

}  // namespace kinetograph::sm100
