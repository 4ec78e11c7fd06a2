#include "conv_case.hpp"

#include <algorithm>
#include <cmath>
#include <kinetograph/tests/kernels/fp64_conv.hpp>
#include <random>

namespace kinetograph::sm100 {
size_t Guarded::offset() const {
    const auto start = reinterpret_cast<uintptr_t>(all_.data());
    return (start + kGuard / 2 + 255) / 256 * 256 - start;
}

bool Guarded::intact() const {
    const auto untouched = [](uint8_t byte) { return byte == 0xff; };
    const auto inside = all_.begin() + static_cast<ptrdiff_t>(offset());
    return std::all_of(all_.begin(), inside, untouched) &&
           std::all_of(inside + static_cast<ptrdiff_t>(bytes_), all_.end(), untouched);
}

ConvNumbers::ConvNumbers(const ConvCase& conv) : conv_(conv) {
    fill_inputs();
    fill_expected();
}

size_t ConvNumbers::output_bytes() const {
    return static_cast<size_t>(conv_.shape.frames_out() * conv_.shape.pixels_out() * conv_.shape.filter.k) *
           element_bytes(conv_.output);
}

void ConvNumbers::fill_inputs() {
    const ConvProblem& p = conv_.shape;
    const auto outputs = static_cast<size_t>(p.frames_out() * p.pixels_out() * p.filter.k);
    activation_values_.resize(static_cast<size_t>(p.frames_in() * p.h * p.w * p.c_in));
    filter_values_.assign(static_cast<size_t>(p.filter.k * p.taps() * p.c_in), 0.0f);
    source_values_.resize(conv_.source ? outputs : 0);
    bias.resize(conv_.bias ? static_cast<size_t>(p.filter.k) : 0);
    std::mt19937 dice(static_cast<uint32_t>(p.h * 131 + p.w * 17 + p.c_in + p.filter.k * 3 + p.taps()));
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<int> small(-4, 4);
    const auto draw = [&] { return conv_.numbers == Numbers::Random ? normal(dice) : static_cast<float>(small(dice)); };
    for (size_t i = 0; i < activation_values_.size(); ++i) {
        // A position's code: distinct for neighbours along every axis, and exact in e4m3 too.
        activation_values_[i] =
            conv_.numbers == Numbers::Coded ? static_cast<float>((i * 2654435761u >> 16) % 17) - 8 : draw();
    }
    for (size_t i = 0; i < activation_values_.size() && conv_.doubled; ++i) {
        const auto channels = static_cast<size_t>(p.c_in), row = static_cast<size_t>(p.w) * channels;
        const size_t left = i / channels % 2 * channels;  // p.w is even
        activation_values_[i] = activation_values_[i - left - i / row % 2 * row];
    }
    for (size_t i = 0; i < filter_values_.size() && conv_.numbers != Numbers::Coded; ++i) filter_values_[i] = draw();
    for (int64_t k = 0; k < p.filter.k && conv_.numbers == Numbers::Coded; ++k) {
        filter_values_[static_cast<size_t>((k * p.taps() + k % p.taps()) * p.c_in + k * 7 % p.c_in)] = 1;
    }
    std::generate(source_values_.begin(), source_values_.end(), draw);
    std::generate(bias.begin(), bias.end(), draw);
    scales.resize(conv_.scales ? static_cast<size_t>(p.filter.k) : 0);
    for (size_t k = 0; k < scales.size(); ++k) scales[k] = std::ldexp(1.0f, static_cast<int>(k * 7 % 5) - 2);

    const auto store = [](Element element, std::vector<float>& values, std::vector<uint8_t>& stored) {
        stored.resize(values.size() * element_bytes(element));
        for (size_t i = 0; i < values.size(); ++i) {
            store_value(element, stored.data(), i, values[i]);
            values[i] = load_value(element, stored.data(), i);
        }
    };
    store(p.input.element, activation_values_, activation);
    store(p.weight.element, filter_values_, filter);
    store(conv_.source_value, source_values_, source);
}

void ConvNumbers::fill_expected() {
    const ConvProblem& p = conv_.shape;
    const auto channels = static_cast<size_t>(p.c_in), filters = static_cast<size_t>(p.filter.k);
    std::vector<double> by_tap(filter_values_.size());  // [tap][c_in][c_out]
    for (size_t k = 0; k < filters; ++k) {
        for (size_t i = 0; i < static_cast<size_t>(p.taps()) * channels; ++i) {
            by_tap[i * filters + k] = filter_values_[k * static_cast<size_t>(p.taps()) * channels + i];
        }
    }
    const size_t image = static_cast<size_t>(p.h * p.w) * channels;
    const auto [sums, magnitudes, slices] = test::convolve(
        p, [&](size_t frame, size_t index) { return activation_values_[frame * image + index]; }, by_tap);
    const size_t outputs = sums.size();
    expected_.resize(outputs);
    allowed_.resize(outputs);
    const double lost = static_cast<double>(p.taps() * p.c_in + 4) * std::ldexp(1.0, -24);  // of fp32 additions
    for (size_t i = 0; i < outputs; ++i) {
        const double scale = conv_.alpha * (scales.empty() ? 1.0 : double{scales[i % filters]});
        double before = scale * sums[i] + (bias.empty() ? 0.0 : bias[i % filters]);
        if (conv_.source_is_sum) before += source_values_[i];
        const double after = conv_.function(before);
        expected_[i] = after + (conv_.source && !conv_.source_is_sum ? double{conv_.beta} * source_values_[i] : 0.0);
        const bool exact = conv_.numbers != Numbers::Random;
        allowed_[i] = exact ? 0.0
                            : test::half_step(conv_.output) * std::abs(expected_[i]) * 1.001 +
                                  lost * (scale * magnitudes[i] + std::abs(before) + std::abs(expected_[i])) + 1e-7;
        if (!exact && conv_.rounds_slices) allowed_[i] += test::half_step(conv_.output) * slices[i] * 1.1;
        // The function's slope is at most 1.1 (SiLU).
        if (!exact && conv_.rounds_before_function)
            allowed_[i] += test::half_step(conv_.output) * std::abs(before) * 1.1;
    }
}

std::string ConvNumbers::judge(const Guarded& output) const {
    if (!output.intact()) return "bytes outside the output were written";
    const auto filters = static_cast<size_t>(conv_.shape.filter.k);
    double error = 0, norm = 0, largest = 0, worst = 0;
    for (size_t i = 0; i < expected_.size(); ++i) {
        const double found = load_value(conv_.output, output.data(), i);
        double expected = expected_[i];
        if (conv_.numbers != Numbers::Random) expected = test::rounded(conv_.output, expected);
        if (!(std::abs(found - expected) <= allowed_[i])) {
            return "pixel " + std::to_string(i / filters) + " channel " + std::to_string(i % filters) + " is " +
                   std::to_string(found) + ", expected " + std::to_string(expected) + " within " +
                   std::to_string(allowed_[i]);
        }
        error += (found - expected_[i]) * (found - expected_[i]);
        norm += expected_[i] * expected_[i];
        largest = std::max(largest, std::abs(expected_[i]));
        worst = std::max(worst, std::abs(found - expected_[i]));
    }
    // The whole tensor at once: one rounding to bf16 costs 1.65e-3 of the norm (numpy simulation), two less
    // than 2.5e-3.
    if (norm > 0 && std::sqrt(error / norm) > 2.5e-3) return "relative norm " + std::to_string(std::sqrt(error / norm));
    if (worst > std::ldexp(largest, -7)) return "largest error " + std::to_string(worst);
    return "";
}

}  // namespace kinetograph::sm100
