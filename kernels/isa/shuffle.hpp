#pragma once

#include <kinetograph/kernels/isa/convert.hpp>

/// Exchange of values between the lanes of one warp; all 32 take part. PTX ISA, shfl.sync. Does not order memory
/// accesses.
namespace kinetograph::isa {

/// The value passed by the lane whose index differs from this one's by the bits of `mask` (1..31).
KG_DEVICE float shuffle_xor(float value, uint32_t mask KG_SITE) {
#if KG_HOST_MODEL
    return float_of(host_model::shuffle_xor(bits_of(value), mask, KG_AT("shfl.sync.bfly")));
#else
    return __shfl_xor_sync(0xffffffffu, value, mask);
#endif
}

/// The value passed by the lane `lanes` after this one; lane 0 follows lane 31.
KG_DEVICE float rotate_lanes(float value, uint32_t lanes KG_SITE) {
#if KG_HOST_MODEL
    return float_of(host_model::rotate_lanes(bits_of(value), lanes, KG_AT("shfl.sync.idx")));
#else
    return __shfl_sync(0xffffffffu, value, threadIdx.x + lanes);  // the source's index is taken modulo 32
#endif
}

}  // namespace kinetograph::isa
