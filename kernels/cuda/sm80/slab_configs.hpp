#pragma once

#include <kinetograph/kernels/cuda/sm80/slab_config.hpp>

/// The configurations that are built: X(name, element, tile_rows, bn, warps_m, warps_n, taps, stages, ctas_per_sm); the
/// kernel is sm80_slab_<name>.
#define KG_SM80_SLAB_CONFIGS_OF(X, type, element)     \
    X(type##_8x96, element, 8, 96, 2, 2, 3, 2, 3)     \
    X(type##_16x96, element, 16, 96, 4, 1, 3, 3, 2)   \
    X(type##_8x96_2x2, element, 8, 96, 2, 2, 2, 2, 3) \
    X(type##_16x96_2x2, element, 16, 96, 4, 1, 2, 3, 2)
#define KG_SM80_SLAB_CONFIGS_BF16(X) KG_SM80_SLAB_CONFIGS_OF(X, slab_bf16, BF16)
#define KG_SM80_SLAB_CONFIGS_F16(X) KG_SM80_SLAB_CONFIGS_OF(X, slab_f16, F16)

namespace kinetograph::sm80 {

#define KG_SM80_SLAB(name, type, rows, n, across_m, across_n, taps, ring, ctas) \
    inline constexpr SlabConfig name{Element::type, rows, n, across_m, across_n, taps, ring, ctas};
KG_SM80_SLAB_CONFIGS_BF16(KG_SM80_SLAB)
KG_SM80_SLAB_CONFIGS_F16(KG_SM80_SLAB)
#undef KG_SM80_SLAB

}  // namespace kinetograph::sm80
