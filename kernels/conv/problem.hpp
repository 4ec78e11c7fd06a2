#pragma once

#include <cstdint>
#include <kinetograph/kernels/conv/storage.hpp>
#include <string>
#include <string_view>

/// ConvProblem: a complete description of one convolution: shapes, strides, padding, element types, epilogue; no
/// addresses. The only such description, from the command line to the kernels' host code.
namespace kinetograph::conv {

/// One number per axis: depth (time), height, width.
struct Dhw {
    std::int64_t d = 1, h = 1, w = 1;
    bool all(std::int64_t value) const { return d == value && h == value && w == value; }
    friend bool operator==(const Dhw&, const Dhw&) = default;
};

/// Zeros around the input: front/back in time, top/bottom in rows, left/right in columns.
struct Padding {
    std::int64_t front = 0, back = 0, top = 0, bottom = 0, left = 0, right = 0;
    friend bool operator==(const Padding&, const Padding&) = default;
};

/// k output channels, q x r x s taps in time, rows, columns.
struct Filter {
    std::int64_t k = 0, q = 1, r = 1, s = 1;
    friend bool operator==(const Filter&, const Filter&) = default;
};

enum class Activation : std::uint8_t {
    None,
    Silu,  ///< x / (1 + exp(-x)) of the scaled sum + bias, before the residual
    Relu,  ///< after the residual is added: x if x >= 0, else negative_slope * x
};
std::string_view to_string(Activation activation);

/// The RMS norm of the output, for the layer that follows: over the k channels of each pixel, output * sqrt(k) /
/// max(||output||_2, 1e-12) * gamma, then `norm_activation`. It reads the rounded output.
enum class Norm : std::uint8_t {
    None,
    Beside,   ///< stored in its own frames, in addition to the output
    Instead,  ///< the output itself is not stored
};

/// output = relu(silu(scale * conv(input, filter) + bias) + beta * residual), with at most one of the two functions: a
/// cross-correlation with zero padding, as PyTorch's conv2d and conv3d compute it. Sums in float32 or better, one
/// rounding to the element of `output` at the end. Products of integers, (element of the input - zero point) * element
/// of the filter, are summed exactly, in int32.
///
/// input     [n, d, h, w, c_in]                  stored as `input`
/// filter    [k, c_in / groups, q, r, s]         stored as `weight` (given in units of its scale as float32, rounded
///                                               once)
/// scale     [k]                                 float32; 1 without channel_scales
/// bias      [k]                                 float32
/// residual  [n, d_out, h_out, w_out, k]         stored as `output`; of `carried` sums residual_frames()
/// output    [n, d_out, h_out, w_out, k]         stored as `output`
/// normed    [n, d_out, h_out, w_out, k]         stored as `normed`; as U8 the norm times folds, rounded to nearest
///                                               even, is limited to 0 ... 255
/// folds     [k]                                 float32; of a norm stored as U8, whose reader's filter is divided by
///                                               them
struct ConvProblem {
    std::int64_t n = 1, d = 1, h = 0, w = 0, c_in = 0;
    bool upsample = false;  ///< the taps see the input doubled in rows and columns, each pixel as a 2x2 block
    Filter filter;
    Dhw stride, dilation;
    Padding pad;
    std::int64_t groups = 1;
    /// Today the operands are of one element, F32, BF16 or F16, or each F8E4M3 or F8E5M2, and the outputs of one, F32
    /// or the operands', BF16 for those of 8 bits; or the input is U8 and the filter I8, -127 to 127, and the outputs
    /// are F32 or BF16. The outputs' scales are 1, except that `normed` may be U8 beside any output.
    Storage input{}, weight{}, output{}, normed{};
    bool channel_scales = false;  ///< an additional factor for each output channel
    bool bias = true;
    bool residual = false;
    float beta = 1;
    Activation activation = Activation::None;
    float negative_slope = 0;  ///< of Relu, 0 to 1: 0.2 makes it PyTorch's LeakyReLU(0.2)
    Norm norm = Norm::None;
    Activation norm_activation = Activation::Silu;
    /// The frames go on from those of the call before, of which filter.q - 1 frames of sums are known. As many output
    /// frames, the first, add them as their residual; as many, the last, are such sums for the next call: without bias.
    /// One sample, stride and dilation 1 in time, filter.q - 1 frames of padding before and after, float32 sums, and
    /// no other residual, activation or norm.
    bool carried = false;

    /// 0 if the padded input is smaller than the dilated filter, or an input size is below 1.
    std::int64_t d_out() const;
    std::int64_t h_out() const;
    std::int64_t w_out() const;
    std::int64_t h_seen() const { return upsample ? 2 * h : h; }  ///< of the image that the taps see
    std::int64_t w_seen() const { return upsample ? 2 * w : w; }
    std::int64_t frames_in() const { return n * d; }
    std::int64_t frames_out() const { return n * d_out(); }
    std::int64_t residual_frames() const { return carried ? filter.q - 1 : residual ? frames_out() : 0; }
    std::int64_t pixels_out() const { return h_out() * w_out(); }  ///< of one output frame
    std::int64_t taps() const { return filter.q * filter.r * filter.s; }
    /// Nothing to compute: no pixel or no filter.
    bool empty() const { return n <= 0 || filter.k <= 0 || d_out() * pixels_out() <= 0; }
    /// Of a product of an element of the input and one of the filter.
    float product_scale() const { return input.scale * weight.scale; }
    /// The operands' element of fewer significant bits.
    Element coarser_operand() const { return weight.element == Element::F8E5M2 ? weight.element : input.element; }
    bool multiplies_integers() const { return input.element == Element::U8; }
    bool norms_to_bytes() const { return norm != Norm::None && normed.element == Element::U8; }
    /// The products' scale is 1 and no channel has a factor.
    bool unscaled() const { return product_scale() == 1 && !channel_scales; }

    std::uint64_t input_frame_bytes() const;   ///< one [h, w, c_in] block
    std::uint64_t output_frame_bytes() const;  ///< one [h_out, w_out, k] block
    std::int64_t filter_elements() const;

    /// 2 x multiply-adds, taps in the padding included.
    double flops() const;
    /// "1x6x36x64x128 bf16 * 128x3x3x3 pad 0,0,1,1,1,1 + bias, silu, + residual -> 1x4x36x64x128 bf16"
    std::string to_string() const;

    friend bool operator==(const ConvProblem&, const ConvProblem&) = default;
};

/// The input frame (of d) under temporal tap `q` of output frame `t`; padding if it is negative or at least d.
inline std::int64_t input_frame(const ConvProblem& problem, std::int64_t t, std::int64_t q) {
    return t * problem.stride.d + q * problem.dilation.d - problem.pad.front;
}

}  // namespace kinetograph::conv
