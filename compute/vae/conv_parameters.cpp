#include <kinetograph/compute/vae/conv_parameters.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace kinetograph::vae {

namespace {

using nn::primitive::Conv;

/// [k, q * c_in, r, s], newest frame first, to [k, c_in, q, r, s], oldest frame first.
std::vector<float> with_time_axis(const std::vector<float>& weight, const Conv& conv) {
    const auto [k_all, q, r, s] = conv.filter;
    const std::int64_t k = k_all / conv.growth, taps = r * s;
    std::vector<float> filter(weight.size());
    for (std::int64_t row = 0; row < k * conv.c_in; ++row)
        for (std::int64_t t = 0; t < q; ++t) {
            const std::int64_t channel = (q - 1 - t) * conv.c_in + row % conv.c_in;
            const auto from = weight.begin() + (row / conv.c_in * q * conv.c_in + channel) * taps;
            std::copy(from, from + taps, filter.begin() + (row * q + t) * taps);
        }
    return filter;
}

/// `filter` [k / growth, c_in, taps] times each part of `grown` [growth * c_in, c_in]: [k, c_in, taps].
std::vector<float> product(const std::vector<float>& filter, const std::vector<float>& grown, const Conv& conv) {
    const std::int64_t c = conv.c_in, k = conv.filter.k / conv.growth;
    const std::int64_t taps = conv.filter.q * conv.filter.r * conv.filter.s;
    std::vector<float> result(static_cast<std::size_t>(conv.growth * k * c * taps));
    float* to = result.data();
    for (std::int64_t part = 0; part < conv.growth; ++part)
        for (std::int64_t row = 0; row < k; ++row)
            for (std::int64_t in = 0; in < c; ++in, to += taps)
                for (std::int64_t between = 0; between < c; ++between) {
                    const float factor = grown[static_cast<std::size_t>((part * c + between) * c + in)];
                    const float* from = filter.data() + (row * c + between) * taps;
                    for (std::int64_t tap = 0; tap < taps; ++tap) to[tap] += factor * from[tap];
                }
    return result;
}

/// `filter` [k, c_in, taps] after `pool` [c_in, q * c_in], oldest frame first: [k, c_in, q, taps].
std::vector<float> pooled(const std::vector<float>& filter, const std::vector<float>& pool, const Conv& conv) {
    const auto [k, q, r, s] = conv.filter;
    const std::int64_t c = conv.c_in, taps = r * s;
    std::vector<float> result(static_cast<std::size_t>(k * c * q * taps));
    float* to = result.data();
    for (std::int64_t row = 0; row < k; ++row)
        for (std::int64_t in = 0; in < c; ++in)
            for (std::int64_t t = 0; t < q; ++t, to += taps)
                for (std::int64_t between = 0; between < c; ++between) {
                    const float factor = pool[static_cast<std::size_t>((between * q + t) * c + in)];
                    const float* from = filter.data() + (row * c + between) * taps;
                    for (std::int64_t tap = 0; tap < taps; ++tap) to[tap] += factor * from[tap];
                }
    return result;
}

/// A filter of blocks [k, c_in * block^2, q, r / block, s / block] as one of pixels [k, c_in, q, r, s].
std::vector<float> of_pixels(const std::vector<float>& filter, const Conv& conv) {
    const auto [k, q, r, s] = conv.filter;
    const std::int64_t block = conv.block, rows = r / block, columns = s / block;
    const bool rows_first = conv.block_order == conv::PixelOrder::RowsFirst;
    std::vector<float> result;
    result.reserve(filter.size());
    for (std::int64_t row = 0; row < k * conv.c_in; ++row)
        for (std::int64_t t = 0; t < q; ++t)
            for (std::int64_t y = 0; y < r; ++y)
                for (std::int64_t x = 0; x < s; ++x) {
                    const std::int64_t major = (rows_first ? y : x) % block, minor = (rows_first ? x : y) % block;
                    const std::int64_t channel = (row * block + major) * block + minor;
                    result.push_back(
                        filter[static_cast<std::size_t>(((channel * q + t) * rows + y / block) * columns + x / block)]);
                }
    return result;
}

/// The filter [k, c_in, q, r, s] of Conv::averages.
std::vector<float> averaging(const Conv& conv) {
    const auto [k, q, r, s] = conv.filter;
    const std::int64_t of_frame = r * s, of_channel = conv.averages * of_frame, group = conv.c_in * of_channel / k;
    std::vector<float> filter(static_cast<std::size_t>(k * conv.c_in * q * of_frame));
    float* to = filter.data();
    for (std::int64_t row = 0; row < k; ++row)
        for (std::int64_t c = 0; c < conv.c_in; ++c)
            for (std::int64_t i = of_channel - q * of_frame; i < of_channel; ++i)
                *to++ = (c * of_channel + i) / group == row ? 1.0F / static_cast<float>(group) : 0.0F;
    return filter;
}

/// The tensor of a convolution, or those of its parts one after the other.
std::vector<float> joined(const Conv& conv, const std::string& leaf, const LoadTensor& load) {
    if (conv.parts.empty()) return load(conv.key + leaf);
    std::vector<float> all;
    for (const std::string& part : conv.parts) {
        const std::vector<float> values = load(part + leaf);
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

/// to [row] += factors [count] * rows [count, row].
void add_product(const float* factors, const float* rows, float* to, std::int64_t count, std::int64_t row) {
    for (std::int64_t i = 0; i < count; ++i, rows += row)
        for (std::int64_t j = 0; j < row; ++j) to[j] += factors[i] * rows[j];
}

/// Applies Conv::projected_by to the last third of the output channels.
void project_values(std::vector<float>& filter, std::vector<float>& bias, const Conv& conv, const LoadTensor& load) {
    const std::vector<float> weight = load(conv.projected_by + ".weight"), added = load(conv.projected_by + ".bias");
    const std::int64_t channels = std::ssize(added), row = std::ssize(filter) / conv.filter.k;
    const std::vector<float> values(filter.end() - channels * row, filter.end());
    const std::vector<float> value_biases(bias.end() - channels, bias.end());
    std::fill(filter.end() - channels * row, filter.end(), 0.0F);
    std::ranges::copy(added, bias.end() - channels);
    for (std::int64_t c = 0; c < channels; ++c) {
        const float* const factors = weight.data() + c * channels;
        add_product(factors, values.data(), filter.data() + (2 * channels + c) * row, channels, row);
        add_product(factors, value_biases.data(), bias.data() + 2 * channels + c, channels, 1);
    }
}

/// [k, c_in, q, r, s], with all temporal taps that the checkpoint has.
std::vector<float> whole_filter(const Conv& conv, const LoadTensor& load) {
    std::vector<float> filter = conv.averages > 0 ? averaging(conv) : joined(conv, ".weight", load);
    if (conv.block > 1) filter = of_pixels(filter, conv);
    if (conv.taps == Conv::Taps::InputChannels) filter = with_time_axis(filter, conv);
    if (!conv.grown_by.empty()) filter = product(filter, load(conv.grown_by + ".weight"), conv);
    if (!conv.pooled_by.empty()) filter = pooled(filter, load(conv.pooled_by + ".weight"), conv);
    return filter;
}

/// The same without Conv::older_taps.
std::vector<float> filter_of(const Conv& conv, const LoadTensor& load) {
    if (conv.older_taps == 0) return whole_filter(conv, load);
    Conv whole = conv;
    whole.filter.q += std::exchange(whole.older_taps, 0);
    const std::vector<float> all = whole_filter(whole, load);
    const std::int64_t taps = conv.filter.r * conv.filter.s, row = whole.filter.q * taps, newest = conv.filter.q * taps;
    std::vector<float> filter;
    for (auto end = all.begin() + row;; end += row) {
        filter.insert(filter.end(), end - newest, end);
        if (end == all.end()) return filter;
    }
}

}  // namespace

std::vector<float> pixel_map(const std::vector<float>& scale, const std::vector<float>& shift, const Conv* conv,
                             const LoadTensor& load) {
    const auto all = [](const std::vector<float>& values, float value) {
        return std::ranges::all_of(values, [value](float each) { return each == value; });
    };
    if (conv == nullptr && all(scale, 1) && all(shift, 0)) return {};
    const std::size_t channels =
        conv != nullptr ? static_cast<std::size_t>(conv->c_in) : std::max(scale.size(), shift.size());
    const auto parameters = conv != nullptr ? load_parameters(*conv, {}, "", load) : conv::HostParameters{};
    std::vector<float> map((channels + 1) * channels);
    float* const added = map.data() + channels * channels;
    for (std::size_t c = 0; c < channels; ++c) {
        if (!parameters.bias.empty()) added[c] = parameters.bias[c];
        for (std::size_t i = 0; i < channels; ++i) {
            const float weight = conv != nullptr ? parameters.filter[c * channels + i] : i == c ? 1.0F : 0.0F;
            map[i * channels + c] = scale.empty() ? weight : weight * scale[i];
            if (!shift.empty()) added[c] += weight * shift[i];
        }
    }
    return map;
}

conv::HostParameters load_parameters(const Conv& conv, OutputChannels channels, const std::string& norm_key,
                                     const LoadTensor& load) {
    std::vector<float> filter = filter_of(conv, load);
    std::vector<float> bias(static_cast<std::size_t>(conv.filter.k), 0.0F);
    if (conv.bias) bias = joined(conv, ".bias", load);
    if (!conv.projected_by.empty()) project_values(filter, bias, conv, load);
    for (float& value : filter) value *= conv.scale;
    for (float& value : bias) value = value * conv.scale + conv.shift;

    const auto per_channel = static_cast<std::ptrdiff_t>(filter.size() / bias.size());
    const auto all = static_cast<std::ptrdiff_t>(bias.size());
    const std::ptrdiff_t first = channels.first, end = channels.count > 0 ? first + channels.count : all;
    const bool has_bias = conv.bias || conv.shift != 0;
    return {.filter = {filter.begin() + first * per_channel, filter.begin() + end * per_channel},
            .bias = has_bias ? std::vector<float>{bias.begin() + first, bias.begin() + end} : std::vector<float>{},
            .gamma = norm_key.empty() ? std::vector<float>{} : load(norm_key + ".gamma"),
            .scales = {}};
}

conv::HostParameters in_bytes(conv::HostParameters parameters, std::span<const nn::ByteLayer> layers,
                              const std::string& key, const std::string& norm_key) {
    for (const nn::ByteLayer& layer : layers) {
        if (layer.norm == norm_key) parameters.folds = layer.folds;
        if (layer.conv != key) continue;
        const std::size_t row = parameters.filter.size() / layer.steps.size(), taps = row / layer.folds.size();
        for (std::size_t i = 0; i < parameters.filter.size(); ++i) {
            const float value = parameters.filter[i] / layer.folds[i % row / taps];
            parameters.filter[i] = std::clamp(std::nearbyint(value / layer.steps[i / row]), -127.0F, 127.0F);
        }
        parameters.scales = layer.steps;
    }
    return parameters;
}

}  // namespace kinetograph::vae
