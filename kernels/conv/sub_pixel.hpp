#pragma once

#include <cstdint>

/// A 3-tap filter on an image of doubled pixels as two filters of 2 taps on the stored image, one for each parity of
/// the output's position.
namespace kinetograph::conv {

/// Of the three taps on the doubled axis: first, and one past the last.
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

}  // namespace kinetograph::conv
