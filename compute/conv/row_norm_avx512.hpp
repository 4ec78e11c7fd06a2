// rms_norm_pixels() for bf16 in AVX-512: 22 to 28 clocks for 16 numbers on Zen 4; the portable loop takes 37 to 44.
#pragma once

#include <kinetograph/compute/conv/row_norm.hpp>

#include <cstddef>

namespace kinetograph::conv {

/// Whether this process uses the instructions, and rows of `channels` are whole registers.
bool has_avx512_norm(std::int64_t channels);

/// As rms_norm_pixels(). SiLU is within 2^-13 of its value before the rounding to bf16; bf16 denormals become zero.
void norm_bf16_avx512(const std::byte* input, std::byte* output, const float* gamma, std::int64_t pixels,
                      std::int64_t channels, Activation activation);
/// As rms_norm_bytes().
void norm_bf16_to_bytes_avx512(const std::byte* input, std::byte* output, const float* gamma, const ByteGrid& grid,
                               std::int64_t pixels, std::int64_t channels, Activation activation);

}  // namespace kinetograph::conv
