#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_presets.hpp>
#include <kinetograph/kernels/cuda/sm100/epilogue_functions.hpp>

/// A caller's own function in the epilogue of SM100's convolution (conv2d_own_function.hpp): GELU, which observes the
/// largest magnitude of every channel as it goes, as a quantiser of the next layer's input wants to know.
/// gelu_maxima.cu is the kernel:
///
///     nvcc -std=c++20 -arch=sm_100a -I build/release/include -cubin samples/sm100_function/gelu_maxima.cu
namespace kinetograph::sm100 {

struct GeluMaxima {
    static constexpr EpilogueForm kForm = EpilogueForm::InRegisters;
    uint32_t* maxima = nullptr;  ///< [c_out], zeroed before: bits of the largest |result| in fp32, before its rounding

    /// x / 2 (1 + erf(x / sqrt(2))), from the sum with its bias, before the residual.
    KG_DEVICE float operator()(float value, uint32_t /*pixel*/, uint32_t channel) const {
        const float result = 0.5f * value * (1.0f + error_function(0.70710678f * value));
        observe(channel, result < 0 ? -result : result);
        return result;
    }

  private:
#if KG_HOST_MODEL
    static float error_function(float x) { return std::erf(x); }
    void observe(uint32_t channel, float magnitude) const {
        maxima[channel] = std::max(maxima[channel], isa::bits_of(magnitude));
    }
#else
    KG_DEVICE static float error_function(float x) { return erff(x); }
    /// Floats that are not negative compare like their bits.
    KG_DEVICE void observe(uint32_t channel, float magnitude) const {
        atomicMax(maxima + channel, __float_as_uint(magnitude));
    }
#endif
};

/// Pairs of CTAs, 256 pixels x 128 filters, C_in a multiple of 64.
inline constexpr Conv2dConfig kGeluConfig = two_sm_128b({.filters = 128});

}  // namespace kinetograph::sm100
