// The shape of a convolution whose output is as large as its input.
#pragma once

#include <cstdint>

namespace kinetograph {

/// A 2-D convolution of n images [h, w, c_in] with "same" padding; for an even filter the larger half comes last.
template <class Shape>
Shape same_padding(int64_t n, int64_t h, int64_t w, int64_t c_in, int64_t c_out, int64_t r, int64_t s) {
    return {.n = n,
            .h = h,
            .w = w,
            .c_in = c_in,
            .c_out = c_out,
            .r = r,
            .s = s,
            .pad_front = {0, (r - 1) / 2, (s - 1) / 2},
            .pad_back = {0, r / 2, s / 2}};
}

}  // namespace kinetograph
