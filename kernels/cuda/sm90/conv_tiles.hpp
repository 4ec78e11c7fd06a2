#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_smem.hpp>
#include <kinetograph/kernels/cuda/sm90/ring.hpp>
#include <kinetograph/kernels/isa/thread.hpp>

/// Which tiles a CTA computes, in which order, and where the rings stand after each.
namespace kinetograph::sm90 {

/// Where a tile lies.
struct ConvTile {
    uint32_t frame, n;  ///< output frame; first filter
    uint32_t parity;    ///< 2 * py + px
    int32_t x, y;       ///< first pixel, of the image that the tiles walk
    KG_DEVICE int32_t px() const { return static_cast<int32_t>(parity & 1u); }
    KG_DEVICE int32_t py() const { return static_cast<int32_t>(parity >> 1); }
};

/// Tiles of a launch. `kTogether`: CTAs of a cluster, whose tiles differ only in their place in the image. Places are
/// rounded up to whole clusters; the surplus ones lie below the image.
template <uint32_t kTogether = 1>
KG_DEVICE uint32_t tile_count(const ConvParams& p) {
    const uint32_t places = (p.tiles_x * p.tiles_y + kTogether - 1) / kTogether * kTogether;
    return places * p.frames * p.parities * p.tiles_n;
}

/// Which tile of filters a tile has.
template <uint32_t kTogether = 1>
KG_DEVICE uint32_t filter_tile(const ConvParams& p, uint32_t index) {
    return index / kTogether % p.tiles_n;
}

/// Filters innermost, then parities, then frames: tiles that run at the same time share their input in the L2. If every
/// parity has an image of its own, parities are outermost: those tiles share their filters too.
template <ConvConfig kConfig, uint32_t kTogether = 1>
KG_DEVICE ConvTile tile_at(const ConvParams& p, uint32_t index) {
    const uint32_t of_cluster = index / kTogether;
    const uint32_t n = filter_tile<kTogether>(p, index), with_parity = of_cluster / p.tiles_n;
    // Kernels of bytes upsample nothing: they need no registers for parities.
    const uint32_t parities = multiplies_bytes(kConfig) ? 1 : p.parities;
    const bool one_image = multiplies_bytes(kConfig) || p.image_rows == 0;
    const uint32_t inner = one_image ? parities : (p.tiles_x * p.tiles_y + kTogether - 1) / kTogether;
    const uint32_t first = with_parity % inner, with_frame = with_parity / inner;
    const uint32_t frame = with_frame % p.frames, last = with_frame / p.frames;
    const uint32_t parity = one_image ? first : last;
    const uint32_t place = (one_image ? last : first) * kTogether + index % kTogether;
    return {frame, n * kConfig.bn, parity, static_cast<int32_t>(place % p.tiles_x * tile_columns(kConfig)),
            static_cast<int32_t>(place / p.tiles_x * tile_rows(kConfig))};
}

/// Blocks of K of a tile. Each takes one stage of the input ring and tap_groups stages of the filter ring.
KG_DEVICE uint32_t k_blocks(const ConvParams& p, const ConvTile& tile) {
    return p.taps[tile.frame].count * p.channel_blocks;
}

}  // namespace kinetograph::sm90
