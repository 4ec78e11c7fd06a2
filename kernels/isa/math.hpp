#pragma once

#include <kinetograph/kernels/isa/target.hpp>
#if KG_HOST_MODEL
#include <cmath>
#endif

/// Functions of one float; on the chip the fast forms, good to a few units in the last place.
namespace kinetograph::isa {

/// PTX ISA, sqrt.rn.
KG_DEVICE float square_root(float value) {
#if KG_HOST_MODEL
    return std::sqrt(value);
#else
    return __fsqrt_rn(value);
#endif
}

/// e^value. PTX ISA, ex2.approx.
KG_DEVICE float exponential(float value) {
#if KG_HOST_MODEL
    return std::exp(value);
#else
    return __expf(value);
#endif
}

/// value / (1 + e^-value).
KG_DEVICE float silu(float value) {
#if KG_HOST_MODEL
    return value / (1.0f + std::exp(-value));
#else
    return __fdividef(value, 1.0f + __expf(-value));
#endif
}

}  // namespace kinetograph::isa
