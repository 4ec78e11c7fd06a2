#include <kinetograph/compute/conv/direct/registers.hpp>
#include <kinetograph/compute/conv/direct/tile_kernels.hpp>

#include <kinetograph/engine/base/processor.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace kinetograph::conv::direct {
namespace {

constexpr int kNarrowPitch = 16;  // sums from one pixel's to the next's in Narrow

/// Blocks of 16 output channels that one tile sums. Sums of 16 channels take two registers of AVX2: with 6 pixels all
/// that it has.
template <class Registers>
constexpr int kMaxVectors = Registers::kLanes == 16 ? 4 : 1;

/// Input of the tile's pixels under a tap: `column` is the input column under the first one.
template <int kPixels>
[[gnu::always_inline]] inline void locate(const Tile& tile, const std::byte* input, std::int64_t column,
                                          std::array<const std::byte*, kPixels>& pixel) {
    const std::int64_t reach = (tile.pixels - 1) * tile.pixel_step;
    if (tile.pixels == kPixels && column >= 0 && column + reach < tile.width) {
        const std::byte* first = input + column * tile.channel_bytes;
        const std::int64_t step = tile.pixel_step * tile.channel_bytes;
#pragma GCC unroll 16
        for (int p = 0; p < kPixels; ++p) pixel[p] = first + p * step;
    } else {
        for (int p = 0; p < kPixels; ++p) {
            const std::int64_t at = column + p * tile.pixel_step;
            const bool inside = p < tile.pixels && at >= 0 && at < tile.width;
            pixel[p] = inside ? input + at * tile.channel_bytes : tile.zeros;
        }
    }
}

namespace avx2 {

#define KINETOGRAPH_REGISTERS Avx2
#define KINETOGRAPH_LOOP KINETOGRAPH_AVX2
#include <kinetograph/compute/conv/direct/tile_loops.inc>
#undef KINETOGRAPH_REGISTERS
#undef KINETOGRAPH_LOOP

/// Four channels of U8 in every 4 bytes, against as many of I8, in int32. Products of 16-bit numbers, because those of
/// bytes saturate in pairs: even and odd channels of every four apart.
struct ByteMath {
    struct Filter {
        __m256i even, odd;
    };
    using Pixel = Filter;
    static constexpr int kSums = 8;
    KINETOGRAPH_AVX2_INLINE static Filter filter(const std::byte* at) {
        const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
        return {_mm256_srai_epi16(_mm256_slli_epi16(words, 8), 8), _mm256_srai_epi16(words, 8)};
    }
    KINETOGRAPH_AVX2_INLINE static Pixel pixel(const std::byte* at) {
        std::int32_t four = 0;
        std::memcpy(&four, at, sizeof four);
        const __m256i bytes = _mm256_set1_epi32(four);
        return {_mm256_and_si256(bytes, _mm256_set1_epi32(0x00FF00FF)), _mm256_srli_epi16(bytes, 8)};
    }
    KINETOGRAPH_AVX2_INLINE static __m256 multiply_add(__m256 sum, const Filter& filter, const Pixel& pixel) {
        const __m256i products =
            _mm256_add_epi32(_mm256_madd_epi16(pixel.even, filter.even), _mm256_madd_epi16(pixel.odd, filter.odd));
        return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(sum), products));
    }
};

}  // namespace avx2

/// AVX-VNNI has the product of bytes that AVX-512 VNNI has, on AVX2's registers.
namespace avx_vnni {

#define KINETOGRAPH_REGISTERS Avx2
#define KINETOGRAPH_LOOP [[gnu::target("avx2,fma,avxvnni")]]
#include <kinetograph/compute/conv/direct/tile_loops.inc>

struct ByteMath : F32Math {
    KINETOGRAPH_LOOP [[gnu::always_inline]] inline static __m256 multiply_add(__m256 sum, __m256 filter, __m256 pixel) {
        return _mm256_castsi256_ps(
            _mm256_dpbusd_avx_epi32(_mm256_castps_si256(sum), _mm256_castps_si256(pixel), _mm256_castps_si256(filter)));
    }
};
#undef KINETOGRAPH_REGISTERS
#undef KINETOGRAPH_LOOP

}  // namespace avx_vnni

namespace avx512 {

#define KINETOGRAPH_REGISTERS Avx512
#define KINETOGRAPH_LOOP KINETOGRAPH_AVX512
#include <kinetograph/compute/conv/direct/tile_loops.inc>
#undef KINETOGRAPH_REGISTERS
#undef KINETOGRAPH_LOOP

/// Two bf16 channels in every 4 bytes.
struct Bf16Math : F32Math {
    KINETOGRAPH_AVX512_INLINE static __m512 multiply_add(__m512 sum, __m512 filter, __m512 pixel) {
        return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(filter), reinterpret_cast<__m512bh>(pixel));
    }
};

/// Four channels of U8 in every 4 bytes, against as many of I8: int32 sums in the bits of the registers.
struct ByteMath : F32Math {
    KINETOGRAPH_AVX512_INLINE static __m512 multiply_add(__m512 sum, __m512 filter, __m512 pixel) {
        return _mm512_castsi512_ps(
            _mm512_dpbusd_epi32(_mm512_castps_si512(sum), _mm512_castps_si512(pixel), _mm512_castps_si512(filter)));
    }
};

}  // namespace avx512

constexpr int kPlainPixels = 4;

void run_bytes(const Tile& tile) {
    constexpr int kPixels = kPlainPixels, kSums = kPixels * 16;
    std::int32_t sums[kSums] = {};
    if (tile.add) std::memcpy(sums, tile.sums, sizeof sums);
    for (std::int64_t row = 0; row < tile.row_count; ++row) {
        const std::byte* filter = tile.rows[row].filter;
        for (std::int64_t s = 0; s < tile.taps; ++s) {
            std::array<const std::byte*, kPixels> pixel;
            locate<kPixels>(tile, tile.rows[row].input, tile.first_column + s * tile.tap_step, pixel);
            for (std::int64_t at = 0; at < tile.channel_bytes; at += 4, filter += 64)
                for (int p = 0; p < kPixels; ++p)
                    for (int k = 0; k < 16; ++k)
                        for (int c = 0; c < 4; ++c)
                            sums[p * 16 + k] += std::to_integer<std::uint8_t>(pixel[p][at + c]) *
                                                std::to_integer<std::int8_t>(filter[k * 4 + c]);
        }
    }
    std::memcpy(tile.sums, sums, sizeof sums);
}

bool has(std::string_view feature) { return processor().features.find(feature) != std::string::npos; }

TileKernel byte_kernel(int vectors) {
    if (has("avx512_vnni")) return avx512::wide_kernel<avx512::ByteMath>(vectors);
    if (has("avx_vnni")) return avx_vnni::wide_kernel<avx_vnni::ByteMath>(vectors);
    if (processor().uses >= InstructionSet::Avx2) return avx2::wide_kernel<avx2::ByteMath>(vectors);
    return {kPlainPixels, run_bytes};
}

}  // namespace

Element multiplied_element(Element input, std::int64_t channels) {
    if (input != Element::BF16) return input;
    return processor().uses >= InstructionSet::Avx512Bf16 && channels % 2 == 0 ? input : Element::F32;
}

KernelLimits kernel_limits(Element element) {
    const InstructionSet uses = processor().uses;
    const bool avx512 = element == Element::U8 ? has("avx512_vnni") : uses >= InstructionSet::Avx512;
    return avx512 ? KernelLimits{kMaxVectors<Avx512>, sizeof(Avx512::Floats)}
                  : KernelLimits{kMaxVectors<Avx2>, sizeof(Avx2::Floats)};
}

TileKernel tile_kernel(Arrangement arrangement, int count, Element element) {
    if (element == Element::U8) return byte_kernel(count);
    const bool wide = arrangement == Arrangement::Wide;
    if (processor().uses < InstructionSet::Avx512)
        return wide ? avx2::wide_kernel<avx2::F32Math>(count) : avx2::narrow_kernel<avx2::F32Math>(count);
    if (element == Element::BF16)
        return wide ? avx512::wide_kernel<avx512::Bf16Math>(count) : avx512::narrow_kernel<avx512::Bf16Math>(count);
    return wide ? avx512::wide_kernel<avx512::F32Math>(count) : avx512::narrow_kernel<avx512::F32Math>(count);
}

}  // namespace kinetograph::conv::direct
