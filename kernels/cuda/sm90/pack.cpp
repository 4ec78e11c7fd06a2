#include <algorithm>
#include <cmath>
#include <cstring>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>
#include <kinetograph/kernels/cuda/sm90/pack.hpp>
#include <numeric>

namespace kinetograph::sm90 {
namespace {

constexpr size_t kWidestTile = 256;  // filters

std::vector<float> padded(std::vector<float> values) {
    if (!values.empty()) values.resize(values.size() + kWidestTile, 0.0F);
    return values;
}

/// [k][q][r][s][c_in] of s8 from [k][c_in][q][r][s].
std::vector<int8_t> byte_filter(const conv::ConvProblem& p, std::span<const float> filter) {
    std::vector<int8_t> bytes(filter.size());
    const auto taps = static_cast<size_t>(p.taps()), channels = static_cast<size_t>(p.c_in);
    for (size_t i = 0; i < filter.size(); ++i) {
        const size_t k = i / (taps * channels), c = i / taps % channels, tap = i % taps;
        bytes[(k * taps + tap) * channels + c] =
            static_cast<int8_t>(std::clamp(std::nearbyint(filter[i]), -127.0F, 127.0F));
    }
    return bytes;
}

/// ConvParams::starts, and zeros to the end of the widest tile.
std::vector<int32_t> starts_of(const conv::ConvProblem& p, std::span<const int8_t> filter) {
    const auto k = static_cast<size_t>(p.filter.k), channels = static_cast<size_t>(p.c_in),
               taps = static_cast<size_t>(p.taps());
    std::vector<int32_t> starts(kTapSets * kEdges * k + kWidestTile, 0);
    for (size_t row = 0; row < k * taps; ++row) {
        const int32_t sum = std::accumulate(filter.begin() + static_cast<ptrdiff_t>(row * channels),
                                            filter.begin() + static_cast<ptrdiff_t>((row + 1) * channels), 0);
        const size_t tap = row % taps, q = tap / 9, r = tap / 3 % 3, s = tap % 3;
        const uint32_t outside = (r == 0 ? kFirstRow : 0U) | (r == 2 ? kLastRow : 0U) | (s == 0 ? kFirstColumn : 0U) |
                                 (s == 2 ? kLastColumn : 0U);
        for (uint32_t set = 0; set < kTapSets; ++set)
            for (uint32_t edges = 0; edges < kEdges; ++edges)
                if ((set >> q & 1U) != 0 && (edges & outside) == 0)
                    starts[(set * kEdges + edges) * k + row / taps] -= p.input.zero * sum;
    }
    return starts;
}

/// ConvParams::lines.
std::vector<float> lines_of(const conv::ConvProblem& p, const conv::ConvParameters& parameters) {
    std::vector<float> lines(2 * (static_cast<size_t>(p.filter.k) + kWidestTile), 0.0F);
    for (size_t k = 0; k < static_cast<size_t>(p.filter.k); ++k) {
        float* line = lines.data() + k / 2 * 4 + k % 2;
        line[0] = p.product_scale() * (p.channel_scales ? parameters.scales[k] : 1.0F);
        line[2] = p.bias ? parameters.bias[k] : 0.0F;
    }
    return lines;
}

/// The filter, and the starts after it.
std::vector<std::byte> pack_byte_filter(const conv::ConvProblem& p, std::span<const float> given) {
    const std::vector<int8_t> filter = byte_filter(p, given);
    const std::vector<int32_t> starts = starts_of(p, filter);
    std::vector<std::byte> packed(starts_offset(p) + starts.size() * sizeof(int32_t));
    std::memcpy(packed.data(), filter.data(), filter.size());
    std::memcpy(packed.data() + starts_offset(p), starts.data(), starts.size() * sizeof(int32_t));
    return packed;
}

}  // namespace

uint64_t starts_offset(const conv::ConvProblem& p) { return static_cast<uint64_t>(p.filter.k * p.taps() * p.c_in); }

conv::PackedParameters pack_parameters(const conv::ConvProblem& problem, const conv::ConvParameters& parameters) {
    const bool bytes = problem.multiplies_integers();
    conv::PackedParameters packed = pack_with_filter(
        bytes ? pack_byte_filter(problem, parameters.filter) : cuda::pack_filter(problem, parameters.filter),
        parameters);
    for (float& fold : packed.folds) fold /= problem.normed.scale;
    packed.folds = padded(std::move(packed.folds));
    if (!bytes) return packed;
    packed.scales = lines_of(problem, parameters);
    return packed;
}

conv::PackedParameters pack_with_filter(std::vector<std::byte> filter, const conv::ConvParameters& parameters) {
    conv::PackedParameters packed = conv::packed_with(std::move(filter), parameters);
    packed.bias = padded(std::move(packed.bias));
    packed.gamma = padded(std::move(packed.gamma));
    return packed;
}

std::string packing_layout(const conv::ConvProblem& problem) {
    if (problem.multiplies_integers())
        return "KQRSC s8, then starts of zero point " + std::to_string(problem.input.zero) +
               (problem.bias ? ", biased" : "");
    return std::string(problem.upsample ? "sub-pixel KQRSC " : "KQRSC ") + element_name(problem.input.element) +
           ", channels padded";
}

}  // namespace kinetograph::sm90
