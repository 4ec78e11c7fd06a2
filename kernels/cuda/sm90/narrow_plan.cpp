#include <algorithm>
#include <array>
#include <cstring>
#include <kinetograph/kernels/conv/chip.hpp>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/host/cost.hpp>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>
#include <kinetograph/kernels/cuda/sm90/frame_walk_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_plan.hpp>
#include <kinetograph/kernels/isa/convert.hpp>

namespace kinetograph::sm90 {
namespace {

using conv::ConvLaunch;
using conv::ConvProblem;
using isa::TensorMapDesc;

using conv::ceil_div;
using conv::kLaunchSeconds;
using conv::u32;
using conv::u64;

#define KG_ROW(kernel, config) NamedNarrowConfig{#kernel, config},
constexpr std::array kInstances{KG_SM90_NARROW_INSTANCES(KG_ROW)};
#undef KG_ROW

TensorMapDesc filter_map(const NarrowConfig& c, const ConvProblem& p, const std::byte* packed) {
    TensorMapDesc map = isa::dense_map(isa::MapMode::Tiled, p.dtype, const_cast<std::byte*>(packed), 3,
                                       {u64(cuda::padded_channels(p.c_in)), c.columns, u64(p.filter.q)});
    map.swizzle = isa::Swizzle::Span64;
    map.box = {kNarrowChannels, c.columns, 1};
    return map;
}

int64_t tiles_x(const NarrowConfig& c, const ConvProblem& p) { return ceil_div(p.w_out(), tile_columns(c)); }
int64_t tiles_y(const NarrowConfig& c, const ConvProblem& p) { return ceil_div(p.h_out(), tile_rows(c)); }

/// Sums of a tile that are stored to or gathered from shared memory in one clock. Nothing overlaps this.
/// Fitted to 96 > 3 channels in 32 columns on an H200.
constexpr double kSumsAClock = 7.6;

}  // namespace

const NamedNarrowConfig* choose_narrow_config(const ConvProblem& p) {
    const auto* found = std::ranges::find_if(kInstances, [&](const NamedNarrowConfig& named) {
        const NarrowConfig& c = named.config;
        return c.element == p.dtype && c.side == p.filter.r && p.filter.r * p.filter.s * p.filter.k <= c.columns &&
               p.filter.k % channels_together(c) == 0;
    });
    return found != kInstances.end() ? found : nullptr;
}

double narrow_seconds(const NarrowConfig& c, const ConvProblem& p, const conv::Chip& chip) {
    const int64_t tiles = tiles_x(c, p) * tiles_y(c, p) * p.frames_out();
    const auto turns = static_cast<double>(ceil_div(tiles, std::max<int64_t>(chip.compute_units, 1)));
    const auto blocks = static_cast<double>(p.filter.q * ceil_div(p.c_in, kNarrowChannels));
    const double cached = static_cast<double>(tiles) * blocks * (pixels(c) + c.columns) * kNarrowChannels * 2;
    const double products =
        turns * blocks * kNarrowChannels / 16 * pixels(c) / kBlockPixels * product_clocks(c.columns);
    const auto gathered = static_cast<double>(p.filter.r * p.filter.s * p.filter.k);
    const double sums = turns * (c.columns * pixels(c) + gathered * tile_rows(c) * c.row_pixels) / kSumsAClock;
    const double moved =
        static_cast<double>(p.frames_in()) * static_cast<double>(p.input_frame_bytes()) +
        (p.residual ? 2.0 : 1.0) * static_cast<double>(p.frames_out()) * static_cast<double>(p.output_frame_bytes());
    const double tiled = std::max(cached / kCacheBytesPerSecond, clock_seconds(products, chip));
    return kLaunchSeconds + std::max(tiled + clock_seconds(sums, chip), cuda::traffic_seconds(moved, chip));
}

std::vector<std::byte> pack_narrow_filter(const NarrowConfig& config, const ConvProblem& p,
                                          std::span<const float> filter) {
    const int64_t channels = cuda::padded_channels(p.c_in), taps = p.filter.r * p.filter.s;
    std::vector<std::byte> packed(u64(p.filter.q * config.columns * channels * 2));
    for (int64_t k = 0; k < p.filter.k; ++k) {
        for (int64_t c = 0; c < p.c_in; ++c) {
            for (int64_t q = 0; q < p.filter.q; ++q) {
                for (int64_t tap = 0; tap < taps; ++tap) {
                    const uint16_t bits =
                        narrow_bits(p.dtype, filter[u64(((k * p.c_in + c) * p.filter.q + q) * taps + tap)]);
                    const int64_t row = q * config.columns + tap * p.filter.k + k;
                    std::memcpy(packed.data() + (row * channels + c) * 2, &bits, 2);
                }
            }
        }
    }
    return packed;
}

namespace {

/// `make`: the launches from tensors, parameters and maps.
template <class Make>
conv::ConvPlan plan_launches(std::string_view kernel, double seconds, conv::ParameterPacking packing,
                             const Make& make) {
    conv::ConvPlan plan;
    plan.kernels = {{std::string(kernel), "narrow_conv"}};
    plan.seconds = seconds;
    plan.packing = std::move(packing);
    plan.steps = [make](const conv::ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                        const conv::EncodeMap& encode) {
        const std::vector<ConvLaunch> launches = make(tensors, parameters, encode);
        return std::vector<conv::ConvStep>(launches.begin(), launches.end());
    };
    return plan;
}

}  // namespace

conv::ConvPlan plan_narrow_gemm(const ConvProblem& problem, const conv::Chip& chip) {
    using conv::ConvTensors, conv::EncodeMap, conv::ParameterAddresses;
    const uint32_t sms = chip.compute_units;
    const std::string element(element_name(problem.dtype));
    if (walks_frames(problem))
        return plan_launches(
            frame_walk_kernel(problem.dtype), frame_walk_seconds(problem, chip),
            {"columns of all temporal taps " + element,
             [problem](const conv::ConvParameters& parameters) {
                 return conv::packed_with(pack_frame_walk_filter(problem, parameters.filter), parameters);
             }},
            [=](const ConvTensors& tensors, const ParameterAddresses& parameters, const EncodeMap& encode) {
                return frame_walk_launches(problem, tensors, parameters, sms, encode);
            });
    const NamedNarrowConfig& named = *choose_narrow_config(problem);
    return plan_launches(named.kernel, narrow_seconds(named.config, problem, chip),
                         {"taps as columns " + element,
                          [problem, config = named.config](const conv::ConvParameters& parameters) {
                              return conv::packed_with(pack_narrow_filter(config, problem, parameters.filter),
                                                       parameters);
                          }},
                         [=, config = named.config](const ConvTensors& tensors, const ParameterAddresses& parameters,
                                                    const EncodeMap& encode) {
                             return narrow_launches(config, problem, tensors, parameters, sms, encode);
                         });
}

NarrowOutput narrow_output(const ConvProblem& problem, const conv::ParameterAddresses& parameters) {
    NarrowOutput output{};
    output.bias = problem.bias ? parameters.bias : nullptr;
    output.channel_blocks = u32(ceil_div(problem.c_in, kNarrowChannels));
    output.c_out = u32(problem.filter.k);
    output.h_out = u32(problem.h_out());
    output.w_out = u32(problem.w_out());
    output.pad_top = static_cast<int32_t>(problem.pad.top);
    output.pad_left = static_cast<int32_t>(problem.pad.left);
    output.silu = problem.activation == conv::Activation::Silu ? 1 : 0;
    output.relu = problem.activation == conv::Activation::Relu ? 1 : 0;
    output.float32 = problem.output_dtype == Element::F32 ? 1 : 0;
    output.beta = problem.beta;
    output.negative_slope = problem.negative_slope;
    return output;
}

void place_outputs(NarrowOutput& to, const ConvProblem& problem, const conv::ConvTensors& tensors,
                   const FrameRun& run) {
    to.frames = u32(run.count);
    for (int64_t i = 0; i < run.count; ++i) {
        const int64_t frame = run.first_output + i;
        to.output[i] = tensors.output[u64(frame)];
        if (frame < problem.residual_frames()) to.residual[i] = tensors.residual[u64(frame)];
    }
}

TensorMapDesc narrow_input_map(const ConvProblem& problem, const std::byte* frame, uint32_t rows, uint32_t columns) {
    TensorMapDesc map = isa::dense_map(isa::MapMode::Tiled, problem.dtype, const_cast<std::byte*>(frame), 3,
                                       {u64(problem.c_in), u64(problem.w), u64(problem.h)});
    map.swizzle = isa::Swizzle::Span64;
    map.box = {kNarrowChannels, columns, rows};
    return map;
}

uint16_t narrow_bits(Element element, float value) {
    return static_cast<uint16_t>(element == Element::BF16 ? isa::bfloat16_bits(value) : isa::float16_bits(value));
}

std::vector<ConvLaunch> narrow_launches(const NarrowConfig& config, const ConvProblem& problem,
                                        const conv::ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                                        uint32_t sms, const conv::EncodeMap& encode) {
    std::vector<ConvLaunch> launches;
    if (problem.empty()) return launches;
    NarrowConvParams common{};
    static_cast<NarrowOutput&>(common) = narrow_output(problem, parameters);
    common.filter = encode(filter_map(config, problem, parameters.filter));
    common.tiles_x = u32(tiles_x(config, problem));
    common.tiles_y = u32(tiles_y(config, problem));
    for (const FrameRun& run : frame_runs(problem)) {
        NarrowConvParams params = common;
        place_outputs(params, problem, tensors, run);
        std::copy(run.taps.begin(), run.taps.end(), params.taps);
        for (int64_t i = 0; i < run.inputs; ++i)
            params.input[i] = encode(
                narrow_input_map(problem, tensors.input[u64(run.first_input + i)], config.rows, config.row_pixels));
        launches.push_back({.grid = {std::min(params.tiles_x * params.tiles_y * params.frames, sms), 1, 1},
                            .threads = kThreads,
                            .shared_bytes = shared_bytes(config),
                            .arguments = conv::Arguments::of(params)});
    }
    return launches;
}

}  // namespace kinetograph::sm90
