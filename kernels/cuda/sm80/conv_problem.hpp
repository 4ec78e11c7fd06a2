#pragma once

#include <cstdint>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/descriptors.hpp>

/// A forward convolution as this kernel sees it: shapes and the epilogue, no addresses.
namespace kinetograph::sm80 {

/// One number an axis of time and space.
struct Axes {
    int64_t d = 1, h = 1, w = 1;
    bool all(int64_t value) const { return d == value && h == value && w == value; }
    friend bool operator==(const Axes&, const Axes&) = default;
};

/// What lies between the stored frames and the filter.
enum class Upsample : uint8_t {
    None,
    Nearest2x,  ///< every stored pixel stands for 2 x 2: the taps see an image of twice the height and width
    SubPixel,   ///< the same result from four 2 x 2 filters on the stored image: 3 x 3 taps, padding 1, stride 1 only
};

/// Cross-correlation with zero padding. input [n, d, h, w, c_in], filter [c_out, c_in, q, r, s], output
/// [n, d_out, h_out, w_out, c_out]; 2-D is d = q = 1. r, s, stride, dilation and padding apply to the upsampled image.
struct ConvShape {
    int64_t n = 1, d = 1, h = 0, w = 0, c_in = 0;
    int64_t c_out = 0, q = 1, r = 1, s = 1;
    Axes stride{1, 1, 1}, dilation{1, 1, 1};
    Axes pad_front{0, 0, 0};  ///< zeros before the first frame, row, column
    Axes pad_back{0, 0, 0};   ///< behind the last
    Upsample upsample = Upsample::None;
    Element element = Element::BF16;  ///< BFloat16 or Float16

    int64_t scale() const { return upsample == Upsample::None ? 1 : 2; }
    int64_t d_out() const { return outputs(d, q, stride.d, dilation.d, pad_front.d + pad_back.d); }
    int64_t h_out() const { return outputs(scale() * h, r, stride.h, dilation.h, pad_front.h + pad_back.h); }
    int64_t w_out() const { return outputs(scale() * w, s, stride.w, dilation.w, pad_front.w + pad_back.w); }
    int64_t taps() const { return q * r * s; }
    int64_t frames_out() const { return n * d_out(); }
    /// Nothing to compute: no pixel or no filter.
    bool empty() const { return n <= 0 || d_out() * h_out() * w_out() <= 0 || c_out <= 0; }

    /// Positions of a filter of `taps` on an axis of `size`; 0 when it does not fit once.
    static int64_t outputs(int64_t size, int64_t taps, int64_t stride, int64_t dilation, int64_t pad) {
        const int64_t room = size + pad - (taps - 1) * dilation;
        return size <= 0 || room <= 0 ? 0 : (room + stride - 1) / stride;
    }
};

/// Whether the RMS norm of the output is stored: over the channels of each pixel, of the rounded output.
enum class Norm : uint8_t { None, Beside, Instead };

/// sum (+ addend) (+ bias) -> SiLU -> + beta * residual -> round -> store -> norm -> SiLU -> store. Which addresses a
/// launch is given says which of the parts in parentheses it has.
struct ConvEpilogue {
    bool silu = false;
    float beta = 1;
    Norm norm = Norm::None;
    bool norm_silu = true;
    bool float32 = false;  ///< the output and the residual are fp32; otherwise of the shape's element
};

}  // namespace kinetograph::sm80
