#include <kinetograph/compute/conv/validate.hpp>
#include <kinetograph/compute/tensor/tensor.hpp>

#include <array>
#include <cmath>
#include <limits>

namespace kinetograph::conv {
namespace {

struct NamedValue {
    std::string_view name;
    std::int64_t value;
};

}  // namespace

Result<void> validate(const ConvProblem& p) {
    constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();
    const std::array positive = std::to_array<NamedValue>({{"n", p.n},
                                                           {"d", p.d},
                                                           {"h", p.h},
                                                           {"w", p.w},
                                                           {"c_in", p.c_in},
                                                           {"filter.k", p.filter.k},
                                                           {"filter.q", p.filter.q},
                                                           {"filter.r", p.filter.r},
                                                           {"filter.s", p.filter.s},
                                                           {"stride.d", p.stride.d},
                                                           {"stride.h", p.stride.h},
                                                           {"stride.w", p.stride.w},
                                                           {"dilation.d", p.dilation.d},
                                                           {"dilation.h", p.dilation.h},
                                                           {"dilation.w", p.dilation.w},
                                                           {"groups", p.groups}});
    for (const auto& [name, value] : positive) {
        if (value < 1) return fail(ErrorCode::InvalidArgument, "convolution: {} is {}, wanted at least 1", name, value);
        if (value > kLimit) return fail(ErrorCode::OutOfRange, "convolution: {} is {}, above 2^31 - 1", name, value);
    }
    const std::array pads = std::to_array<NamedValue>({{"pad.front", p.pad.front},
                                                       {"pad.back", p.pad.back},
                                                       {"pad.top", p.pad.top},
                                                       {"pad.bottom", p.pad.bottom},
                                                       {"pad.left", p.pad.left},
                                                       {"pad.right", p.pad.right}});
    for (const auto& [name, value] : pads) {
        if (value < 0 || value > kLimit) {
            return fail(ErrorCode::InvalidArgument, "convolution: {} is {}, wanted 0 to 2^31 - 1", name, value);
        }
    }
    if (p.c_in % p.groups != 0 || p.filter.k % p.groups != 0) {
        return fail(ErrorCode::InvalidArgument, "convolution: {} groups do not divide both c_in {} and k {}", p.groups,
                    p.c_in, p.filter.k);
    }
    if (p.dtype != Element::F32 && p.dtype != Element::BF16 && p.dtype != Element::F16 && p.dtype != Element::F8E4M3) {
        return fail(ErrorCode::InvalidArgument, "convolution: dtype is {}, wanted F32, BF16, F16 or F8_E4M3",
                    tensor::to_string(p.dtype));
    }
    const Element narrow = p.dtype == Element::F8E4M3 ? Element::BF16 : p.dtype;
    if (p.output_dtype != narrow && p.output_dtype != Element::F32) {
        return fail(ErrorCode::InvalidArgument, "convolution: output_dtype is {}, wanted {}",
                    tensor::to_string(p.output_dtype),
                    p.dtype == Element::F32 ? "F32" : fmt::format("{} or F32", tensor::to_string(narrow)));
    }
    if (p.empty()) {
        return fail(ErrorCode::InvalidArgument,
                    "convolution: the filter of {}x{}x{} taps does not fit the padded input, output would be {}x{}x{}",
                    p.filter.q, p.filter.r, p.filter.s, p.d_out(), p.h_out(), p.w_out());
    }
    const bool carries = p.n == 1 && p.filter.q > 1 && p.stride.d == 1 && p.dilation.d == 1 &&
                         p.pad.front == p.filter.q - 1 && p.pad.back == p.filter.q - 1 &&
                         p.output_dtype == Element::F32 && !p.residual && p.activation == Activation::None &&
                         p.norm == Norm::None;
    if (p.carried && !carries) {
        return fail(ErrorCode::InvalidArgument,
                    "convolution {}: carried sums want one sample, taps in time without stride and dilation, one frame "
                    "of padding fewer than taps before and after, float32 sums and no other epilogue than a bias",
                    p.to_string());
    }
    const auto frame = [](std::int64_t a, std::int64_t b, std::int64_t c) {
        return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
    };
    if (frame(p.h, p.w, p.c_in) > kLimit || frame(p.h_out(), p.w_out(), p.filter.k) > kLimit) {
        return fail(ErrorCode::OutOfRange, "convolution: a frame of {} has more than 2^31 - 1 elements", p.to_string());
    }
    if (!std::isfinite(p.alpha) || !std::isfinite(p.beta)) {
        return fail(ErrorCode::InvalidArgument, "convolution: alpha is {} and beta {}, wanted finite numbers", p.alpha,
                    p.beta);
    }
    if (!(p.negative_slope >= 0 && p.negative_slope <= 1)) {
        return fail(ErrorCode::InvalidArgument, "convolution: negative_slope is {}, wanted 0 to 1", p.negative_slope);
    }
    return {};
}

}  // namespace kinetograph::conv
