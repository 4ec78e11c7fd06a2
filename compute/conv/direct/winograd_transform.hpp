// Both sides of Winograd's identity along time: sums and differences of neighbouring frames, and of products.
#pragma once

#include <kinetograph/kernels/isa/element.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace kinetograph::conv::direct {

/// The products of F(2,3), in the order of packed filters and transformed frames.
enum Product : std::uint8_t { kFirst, kSum, kDifference, kSecond };
constexpr std::int64_t kProducts = 4;

/// What F(2,3) multiplies the four by, of taps g0, g1 and g2.
constexpr std::array<float, kProducts> filter_products(float g0, float g1, float g2) {
    return {g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2};
}

/// One row of four input frames, `elements` long; null for a frame of zeros.
struct FrameRows {
    std::array<const std::byte*, 4> input{};
    /// kFirst: d0 - d2; kSum: d1 + d2; kDifference: d2 - d1; kSecond: d3 - d1.
    std::array<std::byte*, kProducts> output{};
    std::int64_t elements = 0;
};

/// Of F32 or BF16 rows; the output is F32, or BF16 rounded once if it is not widened, which needs AVX512_BF16 and makes
/// denormals zero.
void transform_frames(const FrameRows& rows, Element input, bool widened);

/// Turns sums over kSum (`first`) and over kDifference (`second`) into what they add to the two output frames, in
/// place: first + second and first - second.
void combine_products(float* first, float* second, std::int64_t count);

}  // namespace kinetograph::conv::direct
