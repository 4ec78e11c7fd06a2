#pragma once

#include <kinetograph/kernels/conv/problem.hpp>

/// How the kernel doubles its input while loading it.
namespace kinetograph::sm80 {

enum class Upsample : uint8_t {
    None,
    Nearest2x,  ///< in the loader: every stored pixel counts as 2 x 2, and the taps see an image of twice the height
                ///< and width
    SubPixel,   ///< the same result from four 2 x 2 filters on the stored image
};

/// SubPixel where it applies: 3 x 3 taps, padding 1, stride 1 and dilation 1 in rows and columns.
inline Upsample upsample_of(const conv::ConvProblem& p) {
    if (!p.upsample) return Upsample::None;
    const bool plain = p.stride.h == 1 && p.stride.w == 1 && p.dilation.h == 1 && p.dilation.w == 1;
    const bool around = p.pad.top == 1 && p.pad.bottom == 1 && p.pad.left == 1 && p.pad.right == 1;
    return p.filter.r == 3 && p.filter.s == 3 && plain && around ? Upsample::SubPixel : Upsample::Nearest2x;
}

}  // namespace kinetograph::sm80
