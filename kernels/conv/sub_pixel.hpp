#pragma once

#include <cstdint>
#include <kinetograph/kernels/conv/problem.hpp>
#include <span>

/// A 3-tap filter on an image of doubled pixels as two filters of 2 taps on the stored image, one for each parity of
/// the output's position.
namespace kinetograph::conv {

/// A range of the three taps on the doubled axis: [first, end).
struct FoldedTaps {
    std::int64_t first, end;
};

/// The taps, of three on the doubled axis, that read stored pixel `tap` (0 or 1) of the two under a position of this
/// parity:
///
///   doubled axis    ... -1 | 0  1 | 2 ...     stored pixel of position i: i / 2
///   even position 0: taps on -1, 0, 1         pixel before: first tap; its own: the other two
///   odd position 1:  taps on 0, 1, 2          its own: first two taps; pixel after: the last
constexpr FoldedTaps folded_taps(std::int64_t parity, std::int64_t tap) {
    const std::int64_t split = parity == 0 ? 1 : 2;
    return tap == 0 ? FoldedTaps{0, split} : FoldedTaps{split, 3};
}

/// Whether the problem is four convolutions of 2 x 2 taps on the stored image, one for each parity of row and column:
/// 3 x 3 taps, padding 1, stride 1 and dilation 1 in rows and columns of a doubled image.
inline bool is_sub_pixel(const ConvProblem& p) {
    const bool plain = p.stride.h == 1 && p.stride.w == 1 && p.dilation.h == 1 && p.dilation.w == 1;
    const bool around = p.pad.top == 1 && p.pad.bottom == 1 && p.pad.left == 1 && p.pad.right == 1;
    return p.upsample && p.filter.r == 3 && p.filter.s == 3 && plain && around;
}

/// The place of one weight in the 2 x 2 filter for outputs of a parity.
struct SubPixelTap {
    std::int64_t parity = 0;  ///< 2 * the row's parity + the column's
    std::int64_t k = 0, c = 0, q = 0, r = 0, s = 0;
};
/// The sum in float32 of the taps that read the same stored pixel. `filter` is [k][c_in / groups][q][3][3].
inline float sub_pixel_weight(const ConvProblem& p, std::span<const float> filter, const SubPixelTap& tap) {
    const FoldedTaps rows = folded_taps(tap.parity / 2, tap.r), columns = folded_taps(tap.parity % 2, tap.s);
    const std::int64_t image = ((tap.k * (p.c_in / p.groups) + tap.c) * p.filter.q + tap.q) * 9;
    float sum = 0;
    for (std::int64_t row = rows.first; row < rows.end; ++row)
        for (std::int64_t column = columns.first; column < columns.end; ++column)
            sum += filter[static_cast<std::size_t>(image + row * 3 + column)];
    return sum;
}

}  // namespace kinetograph::conv
