#include <fmt/format.h>

#include <kinetograph/kernels/conv/problem.hpp>

namespace kinetograph::conv {
namespace {

/// As kernels' names spell it, and the integers, which are in none yet.
std::string_view spelled(Element element) {
    if (element == Element::U8) return "u8";
    return element_name(element);
}

std::int64_t out_size(std::int64_t in, std::int64_t before, std::int64_t after, std::int64_t taps, std::int64_t stride,
                      std::int64_t dilation) {
    const std::int64_t reach = dilation * (taps - 1) + 1;
    const std::int64_t padded = in + before + after;
    return in <= 0 || padded < reach ? 0 : (padded - reach) / stride + 1;
}

}  // namespace

std::string_view to_string(Activation activation) {
    switch (activation) {
        case Activation::None:
            return "none";
        case Activation::Silu:
            return "silu";
        case Activation::Relu:
            return "relu";
    }
    return "?";
}

std::int64_t ConvProblem::d_out() const { return out_size(d, pad.front, pad.back, filter.q, stride.d, dilation.d); }
std::int64_t ConvProblem::h_out() const {
    return out_size(h_seen(), pad.top, pad.bottom, filter.r, stride.h, dilation.h);
}
std::int64_t ConvProblem::w_out() const {
    return out_size(w_seen(), pad.left, pad.right, filter.s, stride.w, dilation.w);
}

std::uint64_t ConvProblem::input_frame_bytes() const {
    return static_cast<std::uint64_t>(h * w * c_in) * element_bytes(input.element);
}

std::uint64_t ConvProblem::output_frame_bytes() const {
    return static_cast<std::uint64_t>(pixels_out() * filter.k) * element_bytes(output.element);
}

std::int64_t ConvProblem::filter_elements() const { return filter.k * (c_in / groups) * taps(); }

double ConvProblem::flops() const {
    return 2.0 * static_cast<double>(frames_out() * pixels_out()) * static_cast<double>(filter_elements());
}

std::string ConvProblem::to_string() const {
    std::string text = fmt::format("{}x{}x{}x{}x{} {} * {}x{}x{}x{}", n, d, h, w, c_in, spelled(input.element),
                                   filter.k, filter.q, filter.r, filter.s);
    if (weight.element != input.element && !multiplies_integers()) text += fmt::format(" {}", spelled(weight.element));
    if (!stride.all(1)) text += fmt::format(" stride {},{},{}", stride.d, stride.h, stride.w);
    if (!dilation.all(1)) text += fmt::format(" dilation {},{},{}", dilation.d, dilation.h, dilation.w);
    if (pad != Padding{}) {
        text += fmt::format(" pad {},{},{},{},{},{}", pad.front, pad.back, pad.top, pad.bottom, pad.left, pad.right);
    }
    if (upsample) text += " upsample 2x";
    if (groups != 1) text += fmt::format(" groups {}", groups);
    if (product_scale() != 1) text += fmt::format(" * {}", product_scale());
    if (channel_scales) text += " * channel scales";
    if (bias) text += " + bias";
    if (activation != Activation::None) text += fmt::format(", {}", conv::to_string(activation));
    if (activation == Activation::Relu && negative_slope != 0) text += fmt::format(" {}", negative_slope);
    if (residual) text += fmt::format(", + {} * residual", beta);
    if (carried) text += ", carried sums";
    if (norm != Norm::None) {
        text += norm_activation == Activation::Silu ? ", norm, silu" : ", norm";
        if (norms_to_bytes()) text += fmt::format(" as u8 / {} + {}", normed.scale, normed.zero);
        if (norm == Norm::Beside) text += " beside";
    }
    text += fmt::format(" -> {}x{}x{}x{}x{} {}", n, d_out(), h_out(), w_out(), filter.k, spelled(output.element));
    return text;
}

}  // namespace kinetograph::conv
