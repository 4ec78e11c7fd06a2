#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_config.hpp>

/// The configurations that are built: one list for the entry points, for the tile choice and for the tests.
///
/// KG_SM80_CONV_CONFIGS(X): X(name, element, bm, bn, warps_m, warps_n, stages, copy_bytes, ctas_per_sm); the kernel is
/// called sm80_conv_<name>.
#define KG_SM80_CONV_CONFIGS_OF(X, type, element)        \
    X(type##_128x128, element, 128, 128, 2, 2, 3, 16, 2) \
    X(type##_128x96, element, 128, 96, 2, 2, 3, 16, 2)   \
    X(type##_64x64, element, 64, 64, 2, 2, 4, 16, 4)     \
    X(type##_64x64_by4, element, 64, 64, 2, 2, 3, 4, 3)  \
    X(type##_64x64_by2, element, 64, 64, 2, 2, 3, 2, 3)

/// Larger tiles for the decoders' own type only: they are worth their compile time where the large layers are.
#define KG_SM80_CONV_CONFIGS_BF16(X)                    \
    KG_SM80_CONV_CONFIGS_OF(X, bf16, BFloat16)          \
    X(bf16_256x128, BFloat16, 256, 128, 4, 2, 3, 16, 1) \
    X(bf16_128x192, BFloat16, 128, 192, 2, 4, 3, 16, 1) \
    X(bf16_128x64, BFloat16, 128, 64, 2, 2, 3, 16, 3)   \
    X(bf16_128x32, BFloat16, 128, 32, 4, 1, 4, 16, 4)
#define KG_SM80_CONV_CONFIGS_F16(X) KG_SM80_CONV_CONFIGS_OF(X, f16, Float16)

namespace kinetograph::sm80 {

#define KG_SM80_CONFIG(name, type, m, n, across_m, across_n, ring, copy, ctas) \
    inline constexpr ConvConfig name{isa::Element::type, m, n, across_m, across_n, ring, copy, ctas};
KG_SM80_CONV_CONFIGS_BF16(KG_SM80_CONFIG)
KG_SM80_CONV_CONFIGS_F16(KG_SM80_CONFIG)
#undef KG_SM80_CONFIG

}  // namespace kinetograph::sm80
