#include <kinetograph/compute/conv/direct/avx512.hpp>
#include <kinetograph/compute/conv/direct/tile_kernels.hpp>

#include <kinetograph/engine/base/processor.hpp>

#include <array>
#include <cstring>

namespace kinetograph::conv::direct {
namespace {

/// Two bf16 channels in every 4 bytes.
struct Bf16Math {
    KINETOGRAPH_AVX512_INLINE static __m512 multiply_add(__m512 sum, __m512 filter, __m512 pixel) {
        return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(filter), reinterpret_cast<__m512bh>(pixel));
    }
};

/// One float32 channel in every 4 bytes.
struct F32Math {
    KINETOGRAPH_AVX512_INLINE static __m512 multiply_add(__m512 sum, __m512 filter, __m512 pixel) {
        return _mm512_fmadd_ps(filter, pixel, sum);
    }
};

/// Four channels of U8 in every 4 bytes, against as many of I8: int32 sums in the bits of the registers.
struct ByteMath {
    KINETOGRAPH_AVX512_INLINE static __m512 multiply_add(__m512 sum, __m512 filter, __m512 pixel) {
        return _mm512_castsi512_ps(
            _mm512_dpbusd_epi32(_mm512_castps_si512(sum), _mm512_castps_si512(pixel), _mm512_castps_si512(filter)));
    }
};

/// Input of the tile's pixels under a tap: `column` is the input column under the first one.
template <int Pixels>
[[gnu::always_inline]] inline void locate(const Tile& tile, const std::byte* input, std::int64_t column,
                                          std::array<const std::byte*, Pixels>& pixel) {
    const std::int64_t reach = (tile.pixels - 1) * tile.pixel_step;
    if (tile.pixels == Pixels && column >= 0 && column + reach < tile.width) {
        const std::byte* first = input + column * tile.channel_bytes;
        const std::int64_t step = tile.pixel_step * tile.channel_bytes;
#pragma GCC unroll 16
        for (int p = 0; p < Pixels; ++p) pixel[p] = first + p * step;
    } else {
        for (int p = 0; p < Pixels; ++p) {
            const std::int64_t at = column + p * tile.pixel_step;
            const bool inside = p < tile.pixels && at >= 0 && at < tile.width;
            pixel[p] = inside ? input + at * tile.channel_bytes : tile.zeros;
        }
    }
}

/// Adds the channels of one tap: 4 bytes of every pixel against Vectors registers of filter, step by step.
template <class Math, int Pixels, int Vectors>
KINETOGRAPH_AVX512_INLINE void add_tap(std::array<const std::byte*, Pixels>& pixel, const std::byte* filter,
                                       std::int64_t channel_bytes, __m512 (&sums)[Pixels][Vectors]) {
    for (std::int64_t at = 0; at < channel_bytes; at += 4, filter += Vectors * 64) {
        __m512 weights[Vectors];
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) weights[v] = _mm512_loadu_ps(filter + v * 64);
#pragma GCC unroll 16
        for (int p = 0; p < Pixels; ++p) {
            const __m512 value = _mm512_set1_ps(*reinterpret_cast<const float*>(pixel[p] + at));
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v) sums[p][v] = Math::multiply_add(sums[p][v], weights[v], value);
        }
    }
}

template <class Math, int Pixels, int Vectors>
KINETOGRAPH_AVX512 void run_wide(const Tile& tile) {
    __m512 sums[Pixels][Vectors];
#pragma GCC unroll 16
    for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) {
            sums[p][v] = tile.add ? _mm512_load_ps(tile.sums + (p * Vectors + v) * 16) : _mm512_setzero_ps();
        }
    }
    const std::int64_t tap_bytes = tile.channel_bytes / 4 * Vectors * 64;
    for (std::int64_t row = 0; row < tile.row_count; ++row) {
        const std::byte* filter = tile.rows[row].filter;
        for (std::int64_t s = 0; s < tile.taps; ++s, filter += tap_bytes) {
            std::array<const std::byte*, Pixels> pixel;
            locate<Pixels>(tile, tile.rows[row].input, tile.first_column + s * tile.tap_step, pixel);
            add_tap<Math, Pixels, Vectors>(pixel, filter, tile.channel_bytes, sums);
        }
    }
#pragma GCC unroll 16
    for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) _mm512_store_ps(tile.sums + (p * Vectors + v) * 16, sums[p][v]);
    }
}

template <class Math, int Pixels, int Channels>
KINETOGRAPH_AVX512 void run_narrow(const Tile& tile) {
    __m512 sums[Pixels][Channels];
#pragma GCC unroll 16
    for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
        for (int k = 0; k < Channels; ++k) sums[p][k] = _mm512_setzero_ps();
    }
    for (std::int64_t row = 0; row < tile.row_count; ++row) {
        const std::byte* filter = tile.rows[row].filter;
        for (std::int64_t s = 0; s < tile.taps; ++s) {
            std::array<const std::byte*, Pixels> pixel;
            locate<Pixels>(tile, tile.rows[row].input, tile.first_column + s * tile.tap_step, pixel);
            for (std::int64_t at = 0; at < tile.channel_bytes; at += 64, filter += Channels * 64) {
                // 4-byte lanes that are left: the last step may be short.
                const std::int64_t left = (tile.channel_bytes - at) / 4;
                const auto mask = static_cast<__mmask16>(left >= 16 ? 0xFFFF : (1 << left) - 1);
                __m512 weights[Channels];
#pragma GCC unroll 4
                for (int k = 0; k < Channels; ++k) weights[k] = _mm512_loadu_ps(filter + k * 64);
#pragma GCC unroll 16
                for (int p = 0; p < Pixels; ++p) {
                    const __m512 value = _mm512_maskz_loadu_ps(mask, pixel[p] + at);
#pragma GCC unroll 4
                    for (int k = 0; k < Channels; ++k) {
                        sums[p][k] = Math::multiply_add(sums[p][k], weights[k], value);
                    }
                }
            }
        }
    }
#pragma GCC unroll 16
    for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
        for (int k = 0; k < Channels; ++k) {
            float& sum = tile.sums[p * 16 + k];
            sum = (tile.add ? sum : 0) + _mm512_reduce_add_ps(sums[p][k]);
        }
    }
}

/// Up to 24 sums in registers: enough to hide the latency of the multiply-adds, with registers left for filter and
/// pixel.
template <class Math>
TileKernel wide_kernel(int vectors) {
    switch (vectors) {
        case 1:
            return {12, run_wide<Math, 12, 1>};
        case 2:
            return {12, run_wide<Math, 12, 2>};
        case 3:
            return {8, run_wide<Math, 8, 3>};
        default:
            return {6, run_wide<Math, 6, 4>};
    }
}

template <class Math>
TileKernel narrow_kernel(int channels) {
    switch (channels) {
        case 1:
            return {12, run_narrow<Math, 12, 1>};
        case 2:
            return {12, run_narrow<Math, 12, 2>};
        case 3:
            return {8, run_narrow<Math, 8, 3>};
        default:
            return {6, run_narrow<Math, 6, 4>};
    }
}

/// Products of 16-bit numbers, because those of bytes saturate in pairs: even and odd channels of every four apart.
/// One register of 16 output channels after the other, because there are half as many registers as in AVX-512.
template <int Vectors>
[[gnu::target("avx2,fma,bmi,bmi2")]] void run_bytes_avx2(const Tile& tile) {
    constexpr int kPixels = 4;
    const __m256i low = _mm256_set1_epi32(0x00FF00FF);
    for (int v = 0; v < Vectors; ++v) {
        __m256i sums[kPixels][2];
        for (int p = 0; p < kPixels; ++p)
            for (int half = 0; half < 2; ++half) {
                const float* before = tile.sums + (p * Vectors + v) * 16 + half * 8;
                sums[p][half] =
                    tile.add ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(before)) : _mm256_setzero_si256();
            }
        for (std::int64_t row = 0; row < tile.row_count; ++row) {
            const std::byte* filter = tile.rows[row].filter + v * 64;
            for (std::int64_t s = 0; s < tile.taps; ++s) {
                std::array<const std::byte*, kPixels> pixel;
                locate<kPixels>(tile, tile.rows[row].input, tile.first_column + s * tile.tap_step, pixel);
                for (std::int64_t at = 0; at < tile.channel_bytes; at += 4, filter += Vectors * 64) {
                    const __m256i words[2] = {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(filter)),
                                              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(filter + 32))};
                    const __m256i even[2] = {_mm256_srai_epi16(_mm256_slli_epi16(words[0], 8), 8),
                                             _mm256_srai_epi16(_mm256_slli_epi16(words[1], 8), 8)};
                    const __m256i odd[2] = {_mm256_srai_epi16(words[0], 8), _mm256_srai_epi16(words[1], 8)};
#pragma GCC unroll 4
                    for (int p = 0; p < kPixels; ++p) {
                        std::int32_t four = 0;
                        std::memcpy(&four, pixel[p] + at, sizeof four);
                        const __m256i bytes = _mm256_set1_epi32(four);
                        const __m256i x_even = _mm256_and_si256(bytes, low), x_odd = _mm256_srli_epi16(bytes, 8);
#pragma GCC unroll 2
                        for (int half = 0; half < 2; ++half) {
                            const __m256i products = _mm256_add_epi32(_mm256_madd_epi16(x_even, even[half]),
                                                                      _mm256_madd_epi16(x_odd, odd[half]));
                            sums[p][half] = _mm256_add_epi32(sums[p][half], products);
                        }
                    }
                }
            }
        }
        for (int p = 0; p < kPixels; ++p)
            for (int half = 0; half < 2; ++half)
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(tile.sums + (p * Vectors + v) * 16 + half * 8),
                                    sums[p][half]);
    }
}

template <int Vectors>
void run_bytes(const Tile& tile) {
    constexpr int kPixels = 4, kSums = kPixels * Vectors * 16;
    std::int32_t sums[kSums] = {};
    if (tile.add) std::memcpy(sums, tile.sums, sizeof sums);
    for (std::int64_t row = 0; row < tile.row_count; ++row) {
        const std::byte* filter = tile.rows[row].filter;
        for (std::int64_t s = 0; s < tile.taps; ++s) {
            std::array<const std::byte*, kPixels> pixel;
            locate<kPixels>(tile, tile.rows[row].input, tile.first_column + s * tile.tap_step, pixel);
            for (std::int64_t at = 0; at < tile.channel_bytes; at += 4, filter += Vectors * 64)
                for (int p = 0; p < kPixels; ++p)
                    for (int k = 0; k < Vectors * 16; ++k)
                        for (int c = 0; c < 4; ++c)
                            sums[p * Vectors * 16 + k] += std::to_integer<std::uint8_t>(pixel[p][at + c]) *
                                                          std::to_integer<std::int8_t>(filter[k * 4 + c]);
        }
    }
    std::memcpy(tile.sums, sums, sizeof sums);
}

template <int Vectors>
TileKernel byte_kernel() {
    const Processor& here = processor();
    if (here.features.find("avx512_vnni") != std::string::npos) return wide_kernel<ByteMath>(Vectors);
    return {4, here.uses >= InstructionSet::Avx2 ? run_bytes_avx2<Vectors> : run_bytes<Vectors>};
}

TileKernel byte_kernel(int vectors) {
    switch (vectors) {
        case 1:
            return byte_kernel<1>();
        case 2:
            return byte_kernel<2>();
        case 3:
            return byte_kernel<3>();
        default:
            return byte_kernel<4>();
    }
}

}  // namespace

TileKernel tile_kernel(Arrangement arrangement, int count, Element element) {
    const bool bf16 = element == Element::BF16;
    if (element == Element::U8) return byte_kernel(count);
    if (arrangement == Arrangement::Wide) return bf16 ? wide_kernel<Bf16Math>(count) : wide_kernel<F32Math>(count);
    return bf16 ? narrow_kernel<Bf16Math>(count) : narrow_kernel<F32Math>(count);
}

}  // namespace kinetograph::conv::direct
