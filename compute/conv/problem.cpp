#include <kinetograph/compute/conv/problem.hpp>

#include <array>
#include <limits>

namespace kinetograph::conv {
namespace {

std::int64_t out_size(std::int64_t in, std::int64_t before, std::int64_t after, std::int64_t taps, std::int64_t stride,
                      std::int64_t dilation) {
    const std::int64_t reach = dilation * (taps - 1) + 1;
    const std::int64_t padded = in + before + after;
    return padded < reach ? 0 : (padded - reach) / stride + 1;
}

std::string_view lower_name(tensor::DType dtype) {
    switch (dtype) {
        case tensor::DType::F32:
            return "f32";
        case tensor::DType::F16:
            return "f16";
        case tensor::DType::F8E4M3:
            return "f8_e4m3";
        default:
            return "bf16";
    }
}

struct NamedValue {
    std::string_view name;
    std::int64_t value;
};

}  // namespace

std::string_view to_string(Activation activation) { return activation == Activation::Silu ? "silu" : "none"; }

std::int64_t ConvProblem::d_out() const { return out_size(d, pad.front, pad.back, filter.q, stride.d, dilation.d); }
std::int64_t ConvProblem::h_out() const {
    return out_size(upsample ? 2 * h : h, pad.top, pad.bottom, filter.r, stride.h, dilation.h);
}
std::int64_t ConvProblem::w_out() const {
    return out_size(upsample ? 2 * w : w, pad.left, pad.right, filter.s, stride.w, dilation.w);
}

std::uint64_t ConvProblem::input_frame_bytes() const {
    return static_cast<std::uint64_t>(h * w * c_in) * tensor::bytes_per_element(dtype);
}

std::uint64_t ConvProblem::output_frame_bytes() const {
    return static_cast<std::uint64_t>(h_out() * w_out() * filter.k) * tensor::bytes_per_element(output_dtype);
}

std::int64_t ConvProblem::filter_elements() const {
    return filter.k * (c_in / groups) * filter.q * filter.r * filter.s;
}

double ConvProblem::flops() const {
    return 2.0 * static_cast<double>(n * d_out() * h_out() * w_out()) * static_cast<double>(filter_elements());
}

Result<void> ConvProblem::validate() const {
    constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();
    const std::array positive = std::to_array<NamedValue>({{"n", n},
                                                           {"d", d},
                                                           {"h", h},
                                                           {"w", w},
                                                           {"c_in", c_in},
                                                           {"filter.k", filter.k},
                                                           {"filter.q", filter.q},
                                                           {"filter.r", filter.r},
                                                           {"filter.s", filter.s},
                                                           {"stride.d", stride.d},
                                                           {"stride.h", stride.h},
                                                           {"stride.w", stride.w},
                                                           {"dilation.d", dilation.d},
                                                           {"dilation.h", dilation.h},
                                                           {"dilation.w", dilation.w},
                                                           {"groups", groups}});
    for (const auto& [name, value] : positive) {
        if (value < 1) return fail(ErrorCode::InvalidArgument, "convolution: {} is {}, wanted at least 1", name, value);
        if (value > kLimit) return fail(ErrorCode::OutOfRange, "convolution: {} is {}, above 2^31 - 1", name, value);
    }
    const std::array pads = std::to_array<NamedValue>({{"pad.front", pad.front},
                                                       {"pad.back", pad.back},
                                                       {"pad.top", pad.top},
                                                       {"pad.bottom", pad.bottom},
                                                       {"pad.left", pad.left},
                                                       {"pad.right", pad.right}});
    for (const auto& [name, value] : pads) {
        if (value < 0 || value > kLimit) {
            return fail(ErrorCode::InvalidArgument, "convolution: {} is {}, wanted 0 to 2^31 - 1", name, value);
        }
    }
    if (c_in % groups != 0 || filter.k % groups != 0) {
        return fail(ErrorCode::InvalidArgument, "convolution: {} groups divide neither or only one of c_in {} and k {}",
                    groups, c_in, filter.k);
    }
    using tensor::DType;
    if (dtype != DType::F32 && dtype != DType::BF16 && dtype != DType::F16 && dtype != DType::F8E4M3) {
        return fail(ErrorCode::InvalidArgument, "convolution: dtype is {}, wanted F32, BF16, F16 or F8_E4M3",
                    tensor::to_string(dtype));
    }
    const DType narrow = dtype == DType::F8E4M3 ? DType::BF16 : dtype;
    if (output_dtype != narrow && output_dtype != DType::F32) {
        return fail(ErrorCode::InvalidArgument, "convolution: output_dtype is {}, wanted {}",
                    tensor::to_string(output_dtype),
                    dtype == DType::F32 ? "F32" : fmt::format("{} or F32", tensor::to_string(narrow)));
    }
    if (d_out() < 1 || h_out() < 1 || w_out() < 1) {
        return fail(ErrorCode::InvalidArgument,
                    "convolution: the filter of {}x{}x{} taps does not fit the padded input, output would be {}x{}x{}",
                    filter.q, filter.r, filter.s, d_out(), h_out(), w_out());
    }
    const auto frame = [](std::int64_t a, std::int64_t b, std::int64_t c) {
        return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
    };
    if (frame(h, w, c_in) > kLimit || frame(h_out(), w_out(), filter.k) > kLimit) {
        return fail(ErrorCode::OutOfRange, "convolution: a frame of {} has more than 2^31 - 1 elements", to_string());
    }
    return {};
}

std::string ConvProblem::to_string() const {
    std::string text = fmt::format("{}x{}x{}x{}x{} {} * {}x{}x{}x{}", n, d, h, w, c_in, lower_name(dtype), filter.k,
                                   filter.q, filter.r, filter.s);
    if (!stride.all(1)) text += fmt::format(" stride {},{},{}", stride.d, stride.h, stride.w);
    if (!dilation.all(1)) text += fmt::format(" dilation {},{},{}", dilation.d, dilation.h, dilation.w);
    if (pad != Padding{}) {
        text += fmt::format(" pad {},{},{},{},{},{}", pad.front, pad.back, pad.top, pad.bottom, pad.left, pad.right);
    }
    if (upsample) text += " upsample 2x";
    if (groups != 1) text += fmt::format(" groups {}", groups);
    if (bias) text += " + bias";
    if (activation != Activation::None) text += fmt::format(", {}", conv::to_string(activation));
    if (residual) text += fmt::format(", + {} * residual", beta);
    if (norm != Norm::None) {
        text += norm_activation == Activation::Silu ? ", norm, silu" : ", norm";
        if (norm == Norm::Beside) text += " beside";
    }
    text += fmt::format(" -> {}x{}x{}x{}x{} {}", n, d_out(), h_out(), w_out(), filter.k, lower_name(output_dtype));
    return text;
}

}  // namespace kinetograph::conv
