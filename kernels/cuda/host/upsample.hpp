#pragma once

#include <kinetograph/kernels/conv/sub_pixel.hpp>

/// How the kernel doubles its input while loading it.
namespace kinetograph::cuda {

enum class Upsample : uint8_t {
    None,
    Nearest2x,  ///< in the loader: every stored pixel counts as 2 x 2, and the taps see an image of twice the height
                ///< and width
    SubPixel,   ///< the same result from four 2 x 2 filters on the stored image
};

/// SubPixel where it applies.
inline Upsample upsample_of(const conv::ConvProblem& p) {
    if (!p.upsample) return Upsample::None;
    return conv::is_sub_pixel(p) ? Upsample::SubPixel : Upsample::Nearest2x;
}

}  // namespace kinetograph::cuda
