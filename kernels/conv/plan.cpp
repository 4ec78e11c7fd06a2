#include <cmath>
#include <kinetograph/kernels/conv/plan.hpp>

namespace kinetograph::conv {
namespace {

int significant_bits(Element element) {
    switch (element) {
        case Element::F32:
            return 24;
        case Element::F16:
            return 11;
        case Element::BF16:
        case Element::U8:  // whose sums are exact, and stored as BF16
            return 8;
        case Element::F8E5M2:
            return 3;
        default:  // F8E4M3
            return 4;
    }
}

}  // namespace

PackedParameters packed_with(std::vector<std::byte> filter, const ConvParameters& parameters) {
    return {std::move(filter),
            {parameters.bias.begin(), parameters.bias.end()},
            {parameters.gamma.begin(), parameters.gamma.end()},
            {parameters.scales.begin(), parameters.scales.end()},
            {parameters.folds.begin(), parameters.folds.end()}};
}

double expected_error(Rounding rounding, Element element) {
    const double one = 0.42 * std::ldexp(1.0, -significant_bits(element));  // error of one rounding: 1.65e-3 in bf16
    switch (rounding) {
        case Rounding::Operands:  // measured for F(2,3) along time on video: 2.9e-3 in bf16
            return 1.76 * one;
        case Rounding::Finer:  // filter, operands and products to 1/8, times 2.15 for F(2,3) along three axes; result
            return std::sqrt(1 + 3 * 2.15 * 2.15 / 64) * one;
        case Rounding::Between:  // filter, two sums, result
            return 2 * one;
        default:  // filter and result
            return std::sqrt(2.0) * one;
    }
}

}  // namespace kinetograph::conv
