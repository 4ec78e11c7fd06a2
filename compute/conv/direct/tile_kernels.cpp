#include <kinetograph/compute/conv/direct/avx512.hpp>
#include <kinetograph/compute/conv/direct/tile_kernels.hpp>

#include <array>

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

/// Input of the tile's pixels under a tap: `column` is the input column under the first one.
template <int Pixels>
KINETOGRAPH_AVX512_INLINE void locate(const Tile& tile, const std::byte* input, std::int64_t column,
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

}  // namespace

TileKernel tile_kernel(Arrangement arrangement, int count, bool bf16) {
    if (arrangement == Arrangement::Wide) return bf16 ? wide_kernel<Bf16Math>(count) : wide_kernel<F32Math>(count);
    return bf16 ? narrow_kernel<Bf16Math>(count) : narrow_kernel<F32Math>(count);
}

}  // namespace kinetograph::conv::direct
