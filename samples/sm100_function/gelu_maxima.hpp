#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_presets.hpp>
#include <kinetograph/kernels/cuda/sm100/epilogue_functions.hpp>

#include <algorithm>

/// A caller's own function in the epilogue of SM100's convolution (conv2d_own_function.hpp): GELU, which observes the
/// largest magnitude of every channel as it goes, as a quantiser of the next layer's input wants to know.
/// gelu_maxima.cu is the kernel:
///
///     nvcc -std=c++20 -arch=sm_100a -I build/release/include -cubin samples/sm100_function/gelu_maxima.cu
namespace kinetograph::sm100 {

struct GeluMaxima {
    static constexpr EpilogueForm kForm = EpilogueForm::InRegisters;
    /// [c_out], zeroed before: bits of the largest |result| in fp32, before its rounding. Magnitudes compare like them.
    uint32_t* maxima = nullptr;

    /// x / 2 (1 + erf(x / sqrt(2))), from the sum with its bias, before the residual.
    KG_DEVICE float operator()(float value, uint32_t /*pixel*/, uint32_t channel) const {
        const float result = 0.5f * value * (1.0f + error_function(0.70710678f * value));
        observe(channel, isa::bits_of(result) & 0x7fffffffu);  // without the sign, that of -0 too
        return result;
    }

  private:
#if KG_HOST_MODEL
    static float error_function(float x) { return std::erf(x); }
    void observe(uint32_t channel, uint32_t bits) const { maxima[channel] = std::max(maxima[channel], bits); }
#else
    KG_DEVICE static float error_function(float x) { return erff(x); }
    KG_DEVICE void observe(uint32_t channel, uint32_t bits) const { atomicMax(maxima + channel, bits); }
#endif
};

/// Pairs of CTAs, 256 pixels x 128 filters, C_in a multiple of 64.
inline constexpr Conv2dConfig kGeluConfig = two_sm_128b({.filters = 128});

}  // namespace kinetograph::sm100
