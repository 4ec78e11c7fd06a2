#pragma once

#include <cstdint>
#include <kinetograph/kernels/isa/descriptors.hpp>

/// A forward convolution in the kernel's terms: shapes only, no pointers.
namespace kinetograph::sm100 {

/// One number per axis of space and time.
struct Axes {
    int64_t d = 1, h = 1, w = 1;
    friend bool operator==(const Axes&, const Axes&) = default;
};

/// Cross-correlation with zero padding. activation [n, d, h, w, c_in], filter [c_out, q, r, s, c_in], output
/// [n, d_out, h_out, w_out, c_out]; 2-D is d = q = 1. The GEMM: M = n * d_out * h_out * w_out, N = c_out,
/// K = q * r * s * c_in.
struct Conv2dProblemShape {
    int64_t n = 1, d = 1, h = 0, w = 0, c_in = 0;
    int64_t c_out = 0, q = 1, r = 1, s = 1;
    Axes stride{1, 1, 1}, dilation{1, 1, 1};
    Axes pad_front{0, 0, 0};  ///< zeros before the first frame, row, column
    Axes pad_back{0, 0, 0};   ///< zeros after the last
    int64_t groups = 1;
    Element element = Element::BF16;

    int64_t d_out() const { return outputs(d, q, stride.d, dilation.d, pad_front.d + pad_back.d); }
    int64_t h_out() const { return outputs(h, r, stride.h, dilation.h, pad_front.h + pad_back.h); }
    int64_t w_out() const { return outputs(w, s, stride.w, dilation.w, pad_front.w + pad_back.w); }
    int64_t taps() const { return q * r * s; }
    int64_t pixels() const { return n * d_out() * h_out() * w_out(); }
    /// Nothing to compute: no pixel or no filter.
    bool empty() const { return pixels() == 0 || c_out == 0; }

    /// Positions of a filter of `taps` on an axis of `size`; 0 if it does not fit once.
    static int64_t outputs(int64_t size, int64_t taps, int64_t stride, int64_t dilation, int64_t pad) {
        const int64_t extent = size + pad - (taps - 1) * dilation;
        return size <= 0 || extent <= 0 ? 0 : (extent + stride - 1) / stride;
    }
};

}  // namespace kinetograph::sm100
