#pragma once

#include <kinetograph/kernels/isa/target.hpp>

/// Which tile a workgroup computes. Workgroups are assigned to the eight XCDs (each with its own L2) in turn; after the
/// remapping each XCD walks neighbouring tiles, which share halo rows and filter columns. Source: "Optimizing with the
/// XCD-aware remap" of HipKittens and ROCm's CDNA4 GEMM article; grouped order as in Triton's matrix multiplication
/// tutorial.
namespace kinetograph::gfx950 {

inline constexpr uint32_t kXcds = 8;

struct TilePlace {
    uint32_t frame, m, n;
};

/// Maps workgroup `index` of `count` to the index whose tile it computes: a bijection. chunk 0: the identity.
KG_HOST_DEVICE uint32_t remap_to_xcd(uint32_t index, uint32_t count, uint32_t chunk) {
    const uint32_t block = kXcds * chunk;
    if (chunk == 0 || index >= count / block * block) return index;  // the tail is not remapped
    const uint32_t xcd = index % kXcds, local = index / kXcds;
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

}  // namespace kinetograph::gfx950
