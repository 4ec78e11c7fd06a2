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

Result<void> validate_bytes(const Storage& stored, std::string_view name) {
    if (stored.scale > 0 && std::isfinite(stored.scale) && stored.zero >= 0 && stored.zero <= 255) return {};
    return fail(ErrorCode::InvalidArgument,
                "convolution: the {} is U8 of scale {} and zero point {}, wanted a scale above 0 and a zero point of 0 "
                "to 255",
                name, stored.scale, stored.zero);
}

/// The outputs, stored as one element or the norm as U8.
Result<void> validate_norm(const ConvProblem& p) {
    if (p.norms_to_bytes() && p.output.element != Element::F16 && p.output.scale == 1)
        return validate_bytes(p.normed, "norm");
    if (p.normed == p.output && p.output.scale == 1) return {};
    return fail(ErrorCode::InvalidArgument,
                "convolution: the output is {} of scale {} and its norm {} of scale {}, wanted one element of scale 1 "
                "for both, or an output of F32 or BF16 and a norm of U8",
                tensor::to_string(p.output.element), p.output.scale, tensor::to_string(p.normed.element),
                p.normed.scale);
}

Result<void> validate_integers(const ConvProblem& p) {
    constexpr std::int64_t kMostProducts = 65536;  // of 255 * 127, which int32 holds the sum of
    if (p.weight != Storage(Element::I8, p.weight.scale))
        return fail(ErrorCode::InvalidArgument, "convolution: the filter is {} of zero point {}, wanted I8 without one",
                    tensor::to_string(p.weight.element), p.weight.zero);
    if (p.output.element != Element::BF16 && p.output.element != Element::F32)
        return fail(ErrorCode::InvalidArgument, "convolution: the output is {}, wanted BF16 or F32",
                    tensor::to_string(p.output.element));
    if (const std::int64_t products = p.taps() * (p.c_in / p.groups); products > kMostProducts)
        return fail(ErrorCode::OutOfRange, "convolution: {} products of U8 and I8 are summed, wanted at most {}",
                    products, kMostProducts);
    KG_CHECK(validate_bytes(p.input, "input"));
    return validate_norm(p);
}

/// The combinations that some method takes.
Result<void> validate_storage(const ConvProblem& p) {
    const Element operand = p.input.element;
    if (operand == Element::U8) return validate_integers(p);
    KG_CHECK(validate_norm(p));
    if (operand != Element::F32 && operand != Element::BF16 && operand != Element::F16 && !is_fp8(operand))
        return fail(ErrorCode::InvalidArgument,
                    "convolution: the input is {}, wanted F32, BF16, F16, F8_E4M3, F8_E5M2 or U8",
                    tensor::to_string(operand));
    // What matrix units multiply: operands of one type, or any two of 8 bits (CUTLASS, Blackwell functionality:
    // tcgen05.mma's kind::f16 takes two f16 or two bf16, kind::f8f6f4 any pair).
    if (p.weight.element != operand && !(is_fp8(operand) && is_fp8(p.weight.element)))
        return fail(ErrorCode::InvalidArgument, "convolution: the filter is {}, wanted {}",
                    tensor::to_string(p.weight.element),
                    is_fp8(operand) ? "F8_E4M3 or F8_E5M2 under an input of fp8"
                                    : fmt::format("{} as the input", tensor::to_string(operand)));
    const Element narrow = is_fp8(operand) ? Element::BF16 : operand;
    if (p.output.element != narrow && p.output.element != Element::F32)
        return fail(ErrorCode::InvalidArgument, "convolution: the output is {}, wanted {}",
                    tensor::to_string(p.output.element),
                    operand == Element::F32 ? "F32" : fmt::format("{} or F32", tensor::to_string(narrow)));
    return {};
}

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
    KG_CHECK(validate_storage(p));
    if (p.empty()) {
        return fail(ErrorCode::InvalidArgument,
                    "convolution: the filter of {}x{}x{} taps does not fit the padded input, output would be {}x{}x{}",
                    p.filter.q, p.filter.r, p.filter.s, p.d_out(), p.h_out(), p.w_out());
    }
    const bool carries = p.n == 1 && p.filter.q > 1 && p.stride.d == 1 && p.dilation.d == 1 &&
                         p.pad.front == p.filter.q - 1 && p.pad.back == p.filter.q - 1 &&
                         p.output.element == Element::F32 && !p.residual && p.activation == Activation::None &&
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
    if (!std::isfinite(p.product_scale()) || !std::isfinite(p.beta)) {
        return fail(ErrorCode::InvalidArgument,
                    "convolution: the operands' scales are {} and {}, beta is {}, wanted finite numbers", p.input.scale,
                    p.weight.scale, p.beta);
    }
    if (!(p.negative_slope >= 0 && p.negative_slope <= 1)) {
        return fail(ErrorCode::InvalidArgument, "convolution: negative_slope is {}, wanted 0 to 1", p.negative_slope);
    }
    return {};
}

}  // namespace kinetograph::conv
