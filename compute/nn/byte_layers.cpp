#include <kinetograph/compute/nn/byte_layers.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kinetograph::nn {

namespace {

constexpr float kLargestByte = 255, kLargestWeight = 127;
constexpr float kLeastOfLargest = 0.05F;  // channels that are nearly constant count as this much of the widest one

/// The convolution of the recipe that reads `value` in `pass`; null if another pass does, or none.
const primitive::Conv* reader_in(const Pass& pass, Value value, const ByteRecipe& recipe) {
    const auto* conv = std::get_if<ConvPass>(&pass);
    if (conv == nullptr || conv->input != value || conv->residual == value) return nullptr;
    const conv::Filter& filter = conv->conv->filter;
    const bool listed = std::ranges::any_of(
        recipe.layers, [&](const std::string& layer) { return conv->conv->key.starts_with(layer); });
    const bool fits = filter.r == 3 && filter.s == 3 && conv->conv->stride.all(1) && !conv->upsample &&
                      conv->shuffle == 1 && conv->conv->c_in % 4 == 0;
    return listed && fits ? conv->conv : nullptr;
}

bool reads(const Pass& pass, Value value) {
    const auto* conv = std::get_if<ConvPass>(&pass);
    const auto* attention = std::get_if<AttentionPass>(&pass);
    return input_of(pass) == value || (conv != nullptr && conv->residual == value) ||
           (attention != nullptr && attention->residual == value);
}

/// Largest absolute values of the filter [k, c_in, taps] by input channel, none below a part of the largest of all.
std::vector<float> ranges_of(std::span<const float> filter, std::size_t k, std::size_t channels) {
    std::vector<float> ranges(channels, 0.0F);
    const std::size_t taps = filter.size() / (k * channels);
    for (std::size_t i = 0; i < filter.size(); ++i) {
        float& range = ranges[i / taps % channels];
        range = std::max(range, std::abs(filter[i]));
    }
    const float least = std::max(kLeastOfLargest * std::ranges::max(ranges), 1e-12F);
    for (float& range : ranges) range = std::max(range, least);
    return ranges;
}

/// The step of `filter` [row], whose values are multiplied by `factors` [row], with the least squared error.
float step_of(std::span<const float> filter, std::span<const float> factors) {
    float largest = 1e-12F;
    for (std::size_t i = 0; i < filter.size(); ++i) largest = std::max(largest, std::abs(filter[i] * factors[i]));
    float best = largest / kLargestWeight;
    double least = std::numeric_limits<double>::infinity();
    for (const float clip : {1.0F, 0.9F, 0.8F, 0.7F, 0.6F}) {
        const float step = clip * largest / kLargestWeight;
        double error = 0;
        for (std::size_t i = 0; i < filter.size(); ++i) {
            const float value = filter[i] * factors[i];
            const float stored = std::clamp(std::nearbyint(value / step), -kLargestWeight, kLargestWeight) * step;
            error += static_cast<double>(stored - value) * (stored - value);
        }
        if (error < least) best = step;
        least = std::min(least, error);
    }
    return best;
}

}  // namespace

std::vector<ByteValue> byte_values(std::span<const Pass> passes, const ByteRecipe& recipe) {
    std::vector<ByteValue> values;
    for (const Pass& made : passes) {
        const auto* conv = std::get_if<ConvPass>(&made);
        if (conv == nullptr || !conv->norm || conv->norm->activation != conv::Activation::Silu) continue;
        const Value value = conv->norm->output;
        const primitive::Conv* reader = nullptr;
        std::int64_t readers = 0;
        for (const Pass& pass : passes) {
            readers += reads(pass, value) ? 1 : 0;
            if (const auto* found = reader_in(pass, value, recipe)) reader = found;
        }
        if (reader != nullptr && readers == 1) values.push_back({value, reader, conv->norm->norm});
    }
    return values;
}

ByteLayer byte_layer(const ByteValue& value, const ByteRecipe& recipe, std::span<const float> largest,
                     std::span<const float> filter) {
    const auto k = static_cast<std::size_t>(value.conv->filter.k), channels = largest.size();
    ByteLayer layer{.value = value.value, .conv = value.conv->key, .norm = value.norm->key};
    layer.folds.assign(channels, 1.0F);
    const float least = std::max(kLeastOfLargest * std::ranges::max(largest), 1e-6F);
    const auto top = [&](std::size_t c) { return std::max(largest[c], least); };
    if (recipe.folding == ByteRecipe::Folding::Half) {
        const std::vector<float> ranges = ranges_of(filter, k, channels);
        for (std::size_t c = 0; c < channels; ++c) layer.folds[c] = std::sqrt(ranges[c] / (top(c) - kSiluLeast));
    }
    const float below = -kSiluLeast * std::ranges::max(layer.folds);
    float above = 0;
    for (std::size_t c = 0; c < channels; ++c) above = std::max(above, top(c) * layer.folds[c]);
    const float scale = (below + above) / kLargestByte;
    layer.input = {Element::U8, scale, static_cast<std::int32_t>(std::lround(below / scale))};

    const std::size_t row = filter.size() / k, taps = row / channels;
    std::vector<float> factors(row);
    for (std::size_t i = 0; i < row; ++i) factors[i] = 1 / layer.folds[i / taps];
    for (std::size_t i = 0; i < k; ++i) layer.steps.push_back(step_of(filter.subspan(i * row, row), factors));
    return layer;
}

}  // namespace kinetograph::nn
