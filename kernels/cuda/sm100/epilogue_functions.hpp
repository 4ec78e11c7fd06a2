#pragma once

#include <kinetograph/kernels/isa/target.hpp>
#if KG_HOST_MODEL
#include <cmath>
#endif

/// Functions that a kernel applies to its results: a type with `kForm` and a call operator, whose members travel in the
/// kernel's parameters. pixel is the index into [n, d_out, h_out, w_out], channel into [c_out]; both are always in
/// range.
namespace kinetograph::sm100 {

enum class EpilogueForm : uint8_t {
    None,
    InRegisters,        ///< float f(float value, pixel, channel) on the fp32 sum, before the residual
    AfterSharedMemory,  ///< the same on the staged tile: neighbouring lanes hold neighbouring channels, so f may read
                        ///< global memory in whole lines; the sum is rounded to the output type once before it
    AfterStore,         ///< void f(float value, pixel, channel): sees what was stored, and changes nothing
};

struct NoEpilogue {
    static constexpr EpilogueForm kForm = EpilogueForm::None;
    KG_DEVICE float operator()(float value, uint32_t, uint32_t) const { return value; }
};

/// x / (1 + e^-x).
template <EpilogueForm kWhere>
struct Silu {
    static constexpr EpilogueForm kForm = kWhere;
    KG_DEVICE float operator()(float value, uint32_t, uint32_t) const {
#if KG_HOST_MODEL
        return value / (1.0f + std::exp(-value));
#else
        return __fdividef(value, 1.0f + __expf(-value));
#endif
    }
};

/// Adds every stored value to its channel's sum, for the statistics of a norm that follows. sums [c_out], zeroed
/// before.
struct ChannelSums {
    static constexpr EpilogueForm kForm = EpilogueForm::AfterStore;
    float* sums = nullptr;
    KG_DEVICE void operator()(float value, uint32_t, uint32_t channel) const {
#if KG_HOST_MODEL
        sums[channel] += value;
#else
        atomicAdd(sums + channel, value);
#endif
    }
};

}  // namespace kinetograph::sm100
