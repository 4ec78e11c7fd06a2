#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_config.hpp>

/// The configurations of WinogradKernel that are built, as one list for the entry points, the tile choice and the
/// tests. Warps of 32 pixels x 48 filters: two accumulators of 48 registers. Stages fit into 99 KiB (sm_86, sm_89,
/// sm_120), those of the narrow tile twice.
///
/// X(name, element, bm, bn, warps_m, warps_n, bk, stages, copy_bytes, ctas_per_sm, frames); the kernel is
/// sm80_winograd_<name>.
#define KG_SM80_WINOGRAD_CONFIGS_OF(X, type, element)       \
    X(type##_64x96, element, 64, 96, 2, 2, 32, 3, 16, 2, 2) \
    X(type##_64x192, element, 64, 192, 2, 4, 32, 3, 16, 1, 2)
#define KG_SM80_WINOGRAD_CONFIGS_BF16(X) KG_SM80_WINOGRAD_CONFIGS_OF(X, bf16, BF16)
#define KG_SM80_WINOGRAD_CONFIGS_F16(X) KG_SM80_WINOGRAD_CONFIGS_OF(X, f16, F16)

namespace kinetograph::sm80 {

#define KG_SM80_CONFIG(name, type, m, n, across_m, across_n, depth, ring, copy, ctas, of_operand) \
    inline constexpr ConvConfig winograd_##name{Element::type, m,    n,    across_m, across_n,    \
                                                depth,         ring, copy, ctas,     of_operand};
KG_SM80_WINOGRAD_CONFIGS_BF16(KG_SM80_CONFIG)
KG_SM80_WINOGRAD_CONFIGS_F16(KG_SM80_CONFIG)
#undef KG_SM80_CONFIG

}  // namespace kinetograph::sm80
