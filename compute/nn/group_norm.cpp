#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/conv/fast_exp.hpp>
#include <kinetograph/compute/nn/cpu_operators.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <algorithm>
#include <cmath>

namespace kinetograph::nn {
namespace {

using conv::GroupNormProblem;

constexpr std::int64_t kTileElements = 16384;  // that a thread takes at a time, from its first-level cache the 2nd time

inline float value_at(const float* values, std::int64_t i) { return values[i]; }
inline float value_at(const std::uint16_t* values, std::int64_t i) { return tensor::from_bf16(values[i]); }
inline void store_at(float* values, std::int64_t i, float value) { values[i] = value; }
inline void store_at(std::uint16_t* values, std::int64_t i, float value) { values[i] = tensor::to_bf16(value); }

/// Of each channel of a tile: means [channels], then sums of squared differences from them [channels]. Means are summed
/// as differences from the first pixel, so that a large one costs no precision.
template <class T>
[[gnu::always_inline]] inline void tile_moments(const T* input, float* moments, std::int64_t pixels,
                                                std::int64_t channels) {
    float* const squares = moments + channels;
    std::fill_n(moments, 2 * channels, 0.0F);
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
#pragma omp simd
        for (std::int64_t c = 0; c < channels; ++c)
            moments[c] += value_at(input, pixel * channels + c) - value_at(input, c);
    }
    const float part = 1 / static_cast<float>(pixels);
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) moments[c] = value_at(input, c) + part * moments[c];
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
#pragma omp simd
        for (std::int64_t c = 0; c < channels; ++c) {
            const float difference = value_at(input, pixel * channels + c) - moments[c];
            squares[c] += difference * difference;
        }
    }
}
constexpr conv::CpuClones<tile_moments<float>> moments_f32;
constexpr conv::CpuClones<tile_moments<std::uint16_t>> moments_bf16;

/// factors: means [channels], scales [channels], biases [channels].
template <class T>
[[gnu::always_inline]] inline void norm_tile(const T* input, T* output, const float* factors, std::int64_t pixels,
                                             std::int64_t channels, bool silu) {
    const float *scale = factors + channels, *bias = scale + channels;
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        const T* in = input + pixel * channels;
        T* out = output + pixel * channels;
        if (silu) {
#pragma omp simd
            for (std::int64_t c = 0; c < channels; ++c)
                store_at(out, c, conv::fast_silu((value_at(in, c) - factors[c]) * scale[c] + bias[c]));
        } else {
#pragma omp simd
            for (std::int64_t c = 0; c < channels; ++c)
                store_at(out, c, (value_at(in, c) - factors[c]) * scale[c] + bias[c]);
        }
    }
}
constexpr conv::CpuClones<norm_tile<float>> norm_f32;
constexpr conv::CpuClones<norm_tile<std::uint16_t>> norm_bf16;

/// A frame's tiles of pixels.
struct Tiles {
    std::int64_t each, count;
    explicit Tiles(const GroupNormProblem& p)
        : each(std::max<std::int64_t>(1, kTileElements / p.channels)), count((p.pixels + each - 1) / each) {}
    std::int64_t pixels(const GroupNormProblem& p, std::int64_t tile) const {
        return std::min(each, p.pixels - tile * each);
    }
    std::int64_t moments(const GroupNormProblem& p) const { return 2 * count * p.channels; }  ///< in the workspace
};

/// norm_tile()'s factors of a frame whose tiles have these moments. Summed in fp64, of one tile after the other.
void make_factors(const GroupNormProblem& p, const float* moments, const float* parameters, float* factors) {
    const Tiles tiles(p);
    const std::int64_t width = p.channels / p.groups;
    for (std::int64_t group = 0; group < p.groups; ++group) {
        const auto sum = [&](const auto& of_channel) {
            double all = 0;
            for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
                const float* const of = moments + 2 * tile * p.channels;
                for (std::int64_t c = group * width; c < (group + 1) * width; ++c)
                    all += of_channel(static_cast<double>(tiles.pixels(p, tile)), of[c], of[p.channels + c]);
            }
            return all / static_cast<double>(p.pixels * width);
        };
        const double mean = sum([](double pixels, float its_mean, float) { return pixels * its_mean; });
        const double variance = sum([mean](double pixels, float its_mean, float squares) {
            return squares + pixels * (its_mean - mean) * (its_mean - mean);
        });
        const double scale = 1 / std::sqrt(variance + p.epsilon);
        for (std::int64_t c = group * width; c < (group + 1) * width; ++c) {
            factors[c] = static_cast<float>(mean);
            factors[p.channels + c] = static_cast<float>(scale * parameters[c]);
            factors[2 * p.channels + c] = parameters[p.channels + c];
        }
    }
}

template <class T>
void run_frame(const GroupNormProblem& p, const T* input, T* output, const conv::OpTensors& tensors,
               const conv::CpuClones<tile_moments<T>>& tile_moments, const conv::CpuClones<norm_tile<T>>& norm_tile) {
    const Tiles tiles(p);
    auto* const moments = reinterpret_cast<float*>(tensors.workspace);
    float* const factors = moments + tiles.moments(p);
    for_tasks(tiles.count, [&](std::int64_t tile, int) {
        tile_moments(input + tile * tiles.each * p.channels, moments + 2 * tile * p.channels, tiles.pixels(p, tile),
                     p.channels);
    });
    make_factors(p, moments, tensors.parameters, factors);
    for_tasks(tiles.count, [&](std::int64_t tile, int) {
        const std::int64_t at = tile * tiles.each * p.channels;
        norm_tile(input + at, output + at, factors, tiles.pixels(p, tile), p.channels,
                  p.activation == conv::Activation::Silu);
    });
}

void run(const GroupNormProblem& p, const conv::OpTensors& tensors) {
    for (std::size_t i = 0; i < tensors.input.size(); ++i) {
        const std::byte* const from = tensors.input[i];
        std::byte* const to = tensors.output[i];
        if (p.input.element == Element::F32)
            run_frame(p, reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to), tensors, moments_f32,
                      norm_f32);
        else
            run_frame(p, reinterpret_cast<const std::uint16_t*>(from), reinterpret_cast<std::uint16_t*>(to), tensors,
                      moments_bf16, norm_bf16);
    }
}

}  // namespace

conv::OpMethod group_norm_on_cpu() {
    return conv::OpMethodOf<GroupNormProblem>{
        "group-norm-cpu", is_cpu, kF32OrBf16<GroupNormProblem, &GroupNormProblem::input>,
        [](const GroupNormProblem& p, const conv::Chip&) {
            conv::OpPlan plan = plan_on_cpu([p](const conv::OpTensors& tensors) { run(p, tensors); });
            plan.workspace_bytes = static_cast<std::uint64_t>(Tiles(p).moments(p) + 3 * p.channels) * sizeof(float);
            return plan;
        }};
}

}  // namespace kinetograph::nn
