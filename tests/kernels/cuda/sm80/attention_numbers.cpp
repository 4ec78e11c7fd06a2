#include "attention_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace kinetograph::sm80 {

AttentionNumbers::AttentionNumbers(const AttentionCase& attention, Element value)
    : case_(attention),
      value_(value),
      qkv_(attention.frames, int64_t{attention.tokens} * 3 * attention.channels * 2, attention.tokens),
      output_(attention.frames, int64_t{attention.tokens} * attention.channels * 2, 9),
      before_(output_),
      normed_(output_),
      gamma_(attention.channels) {
    std::mt19937 dice(attention.tokens);
    std::normal_distribution<double> normal;
    const size_t row = size_t{3} * attention.channels;
    for (size_t frame = 0; frame < qkv_.size(); ++frame) {
        for (size_t i = 0; i < attention.tokens * row; ++i) {
            const double spread = i % row < attention.channels ? attention.spread : 1;
            store_value(value, qkv_.frame(frame), i, spread * normal(dice));
        }
    }
    if (!attention.adds) return;
    for (float& gamma : gamma_) gamma = static_cast<float>(normal(dice));
    for (size_t frame = 0; frame < output_.size(); ++frame)
        for (size_t i = 0; i < size_t{attention.tokens} * attention.channels; ++i)
            store_value(value, output_.frame(frame), i, normal(dice));
    before_ = output_;
}

std::string AttentionNumbers::judge_norm(size_t frame, uint32_t token) const {
    const size_t first = size_t{token} * case_.channels;
    double squares = 0;
    for (uint32_t c = 0; c < case_.channels; ++c)
        squares += std::pow(load_value(value_, output_.frame(frame), first + c), 2);
    const double scale = std::sqrt(static_cast<double>(case_.channels)) / std::max(std::sqrt(squares), 1e-12);
    for (uint32_t c = 0; c < case_.channels; ++c) {
        const double norm = load_value(value_, output_.frame(frame), first + c) * scale * gamma_[c];
        const double wanted = norm / (1 + std::exp(-norm)), found = load_value(value_, normed_.frame(frame), first + c);
        const double step = std::ldexp(1.0, value_ == Element::BF16 ? -8 : -11) + std::ldexp(1.0, -18);
        if (!(std::abs(found - wanted) <= step * std::abs(wanted) + 1e-5))
            return "norm of token " + std::to_string(token) + " channel " + std::to_string(c) + " is " +
                   std::to_string(found) + ", expected " + std::to_string(wanted);
    }
    return "";
}

std::string AttentionNumbers::judge(uint32_t queries) const {
    if (!output_.intact() || !normed_.intact()) return "bytes outside the output were written";
    const uint32_t tokens = case_.tokens, channels = case_.channels;
    const double half_step = std::ldexp(1.0, value_ == Element::BF16 ? -8 : -11);
    const double scale = 1 / std::sqrt(static_cast<double>(channels));
    std::vector<double> weights(tokens), sums(channels), magnitudes(channels), qkv(size_t{tokens} * 3 * channels);
    for (size_t row = 0; row < size_t{case_.frames} * queries; ++row) {
        const size_t frame = row / queries;
        const auto query = static_cast<uint32_t>(row % queries);
        if (query == 0)
            for (size_t i = 0; i < qkv.size(); ++i) qkv[i] = load_value(value_, qkv_.frame(frame), i);
        const double* const q = qkv.data() + size_t{query} * 3 * channels;
        double highest = -1e300, total = 0, largest_sum = 0;
        for (uint32_t key = 0; key < tokens; ++key) {
            const double* const k = qkv.data() + (size_t{key} * 3 + 1) * channels;
            double score = 0, magnitude = 0;
            for (uint32_t c = 0; c < channels; ++c) {
                const double product = q[c] * k[c];
                score += product;
                magnitude += std::abs(product);
            }
            weights[key] = score * scale;
            highest = std::max(highest, weights[key]);
            largest_sum = std::max(largest_sum, magnitude * scale);
        }
        for (double& weight : weights) total += weight = std::exp(weight - highest);
        std::fill(sums.begin(), sums.end(), 0.0);
        std::fill(magnitudes.begin(), magnitudes.end(), 0.0);
        for (uint32_t key = 0; key < tokens; ++key) {
            if (weights[key] < 1e-15 * total) continue;
            const double weight = weights[key] / total;
            const double* const v = qkv.data() + (size_t{key} * 3 + 2) * channels;
            for (uint32_t c = 0; c < channels; ++c) {
                sums[c] += weight * v[c];
                magnitudes[c] += weight * std::abs(v[c]);
            }
        }
        // fp32 scores: channels additions, which the exponential turns into relative errors of the weights.
        const double score_error = 2 * channels * std::ldexp(1.0, -24) * largest_sum;
        for (uint32_t c = 0; c < channels; ++c) {
            const size_t at = size_t{query} * channels + c;
            const double found = load_value(value_, output_.frame(frame), at);
            if (case_.adds) sums[c] += load_value(value_, before_.frame(frame), at);
            const double allowed = half_step * std::abs(sums[c]) + (half_step + 2 * score_error) * magnitudes[c] + 1e-5;
            if (!(std::abs(found - sums[c]) <= allowed)) {
                return "token " + std::to_string(row) + " channel " + std::to_string(c) + " is " +
                       std::to_string(found) + ", expected " + std::to_string(sums[c]) + " within " +
                       std::to_string(allowed);
            }
        }
        if (!case_.adds) continue;
        if (const std::string wrong = judge_norm(frame, query); !wrong.empty()) return wrong;
    }
    return "";
}

}  // namespace kinetograph::sm80
