#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_config.hpp>

/// The configurations that are built, as one list for the entry points, the tile choice and the tests.
///
/// X(name, element, bm, bn, warps_m, warps_n, bk, stages, copy_bytes, ctas_per_sm); the kernel is sm80_conv_<name>.
#define KG_SM80_CONV_CONFIGS_OF(X, type, element)            \
    X(type##_128x128, element, 128, 128, 2, 4, 64, 3, 16, 2) \
    X(type##_128x96, element, 128, 96, 2, 2, 64, 2, 16, 3)   \
    X(type##_128x64, element, 128, 64, 2, 2, 64, 3, 16, 3)   \
    X(type##_128x48, element, 128, 48, 4, 1, 64, 3, 16, 3)   \
    X(type##_128x32, element, 128, 32, 4, 1, 64, 3, 16, 3)   \
    X(type##_128x16, element, 128, 16, 4, 1, 64, 3, 16, 4)   \
    X(type##_64x192, element, 64, 192, 2, 2, 64, 2, 16, 2)   \
    X(type##_64x96, element, 64, 96, 2, 2, 64, 2, 16, 4)     \
    X(type##_64x64, element, 64, 64, 2, 2, 64, 2, 16, 5)     \
    X(type##_64x64_by4, element, 64, 64, 2, 2, 32, 3, 4, 3)  \
    X(type##_64x64_by2, element, 64, 64, 2, 2, 32, 3, 2, 3)
#define KG_SM80_CONV_CONFIGS_BF16(X) KG_SM80_CONV_CONFIGS_OF(X, bf16, BF16)
#define KG_SM80_CONV_CONFIGS_F16(X) KG_SM80_CONV_CONFIGS_OF(X, f16, F16)

namespace kinetograph::sm80 {

#define KG_SM80_CONFIG(name, type, m, n, across_m, across_n, depth, ring, copy, ctas) \
    inline constexpr ConvConfig name{Element::type, m, n, across_m, across_n, depth, ring, copy, ctas};
KG_SM80_CONV_CONFIGS_BF16(KG_SM80_CONFIG)
KG_SM80_CONV_CONFIGS_F16(KG_SM80_CONFIG)
#undef KG_SM80_CONFIG

}  // namespace kinetograph::sm80
