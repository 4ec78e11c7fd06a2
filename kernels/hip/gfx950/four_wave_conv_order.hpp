#pragma once

#include <kinetograph/kernels/hip/gfx950/four_wave_conv_params.hpp>
#include <kinetograph/kernels/isa/target.hpp>

/// Which tile a workgroup computes. Workgroups are assigned to the XCDs of the device (each with its own L2) in turn;
/// after the remapping each XCD walks neighbouring tiles, which share halo rows and filter columns. Source: "Optimizing
/// with the XCD-aware remap" of HipKittens and ROCm's CDNA4 GEMM article; grouped order as in Triton's matrix
/// multiplication tutorial.
namespace kinetograph::gfx950 {

struct TilePlace {
    uint32_t frame, m, n;
    uint32_t parity = 0;  ///< of the output's rows (parity / 2) and columns (parity % 2)
    uint32_t split = 0;   ///< part of K
};

/// Maps workgroup `index` of `count` to the index whose tile it computes: a bijection. chunk 0: the identity.
KG_HOST_DEVICE uint32_t remap_to_xcd(uint32_t index, uint32_t count, uint32_t xcds, uint32_t chunk) {
    const uint32_t block = xcds * chunk;
    if (chunk == 0 || index >= count / block * block) return index;  // the tail is not remapped
    const uint32_t xcd = index % xcds, local = index / xcds;
    return local / chunk * block + xcd * chunk + local % chunk;
}

/// Groups of `group_m` rows of tiles, each walked column by column, frame after frame.
KG_HOST_DEVICE TilePlace tile_place(uint32_t index, uint32_t tiles_m, uint32_t tiles_n, uint32_t group_m) {
    const uint32_t tiles = tiles_m * tiles_n;
    const uint32_t frame = index / tiles, in_frame = index % tiles;
    const uint32_t group = in_frame / (group_m * tiles_n), in_group = in_frame % (group_m * tiles_n);
    const uint32_t rows_left = tiles_m - group * group_m;
    const uint32_t rows = rows_left < group_m ? rows_left : group_m;
    return {frame, group * group_m + in_group % rows, in_group / rows};
}

/// The place of workgroup `index`: all parities of a frame in turn, all parts of K of one output one after the other.
KG_HOST_DEVICE TilePlace workgroup_place(const FourWaveConvParams& params, uint32_t index) {
    const uint32_t images = params.frames * params.parities;
    const uint32_t count = images * params.splits * params.tiles_m * params.tiles_n;
    const uint32_t mapped = remap_to_xcd(index, count, params.xcds, params.xcd_chunk);
    TilePlace place = tile_place(mapped, params.tiles_m, params.tiles_n, params.group_m);
    place.split = place.frame / images;
    place.parity = place.frame % images % params.parities;
    place.frame = place.frame % images / params.parities;
    return place;
}

}  // namespace kinetograph::gfx950
