#include <algorithm>
#include <cstring>
#include <kinetograph/kernels/conv/chip.hpp>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/host/cost.hpp>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>
#include <kinetograph/kernels/cuda/sm90/frame_runs.hpp>
#include <kinetograph/kernels/cuda/sm90/frame_walk_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/frame_walk_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_plan.hpp>

namespace kinetograph::sm90 {
namespace {

using conv::ConvLaunch;
using conv::ConvProblem;
using isa::TensorMapDesc;

using conv::ceil_div;
using conv::u32;
using conv::u64;

TensorMapDesc filter_map(const ConvProblem& p, const std::byte* packed) {
    TensorMapDesc map = isa::dense_map(isa::MapMode::Tiled, p.dtype, const_cast<std::byte*>(packed), 2,
                                       {u64(cuda::padded_channels(p.c_in)), kWalkFilterRows});
    map.swizzle = isa::Swizzle::Span64;
    map.box = {kNarrowChannels, kWalkFilterRows};
    return map;
}

/// From the last product of a tile's frame to the first of the next: an output leaves, or sums that are kept. Fitted to
/// the head in bench/results/conv_h200_*.json and declared_h200_*.json.
constexpr double kOutputClocks = 2850;

int64_t tiles_x(const ConvProblem& p) { return ceil_div(p.w_out(), kWalkWidth); }
int64_t tiles_y(const ConvProblem& p) { return ceil_div(p.h_out(), kWalkRows); }

}  // namespace

bool walks_frames(const ConvProblem& p) {
    return p.filter.r == kWalkSide && p.filter.s == kWalkSide && p.filter.q <= kMaxTemporalTaps &&
           p.filter.k <= kWalkOutputs && p.c_in <= kWalkInputs;
}

std::string_view frame_walk_kernel(Element element) {
    return element == Element::BF16 ? "sm90_frame_walk_bf16" : "sm90_frame_walk_f16";
}

double frame_walk_seconds(const ConvProblem& p, const conv::Chip& chip) {
    double launches = 0, inputs = 0;
    for (const FrameRun& run : frame_runs(p)) {
        ++launches;
        inputs += static_cast<double>(run.inputs);
    }
    const int64_t tiles = tiles_x(p) * tiles_y(p);
    const auto turns = static_cast<double>(ceil_div(tiles, std::max<int64_t>(chip.compute_units, 1)));
    const double stages = inputs * static_cast<double>(ceil_div(p.c_in, kNarrowChannels));
    const double products = turns * stages * kWalkSide * kNarrowChannels / 16 * kWalkRows * kWalkPitch / kBlockPixels *
                            product_clocks(kWalkColumns);
    const double outputs = turns * static_cast<double>(p.frames_out()) * kOutputClocks;
    const double cached = static_cast<double>(tiles) * stages * kWalkStageBytes;
    const double moved =
        static_cast<double>(p.frames_in()) * static_cast<double>(p.input_frame_bytes()) +
        static_cast<double>(p.frames_out() + p.residual_frames()) * static_cast<double>(p.output_frame_bytes());
    return launches * conv::kLaunchSeconds +
           std::max({cached / kCacheBytesPerSecond, clock_seconds(products + outputs, chip),
                     cuda::traffic_seconds(moved, chip)});
}

std::vector<std::byte> pack_frame_walk_filter(const ConvProblem& p, std::span<const float> filter) {
    const int64_t channels = cuda::padded_channels(p.c_in);
    std::vector<std::byte> packed(u64(kWalkFilterRows * channels * 2));
    size_t at = 0;
    for (uint32_t k = 0; k < p.filter.k; ++k) {
        for (int64_t c = 0; c < p.c_in; ++c) {
            for (int64_t q = 0; q < p.filter.q; ++q) {
                for (uint32_t tap = 0; tap < kWalkSide * kWalkSide; ++tap) {
                    const uint16_t bits = narrow_bits(p.dtype, filter[at++]);
                    const int64_t group = p.filter.q - 1 - q;
                    const int64_t row =
                        tap / kWalkSide * kWalkColumns + group * kWalkGroupColumns + walk_column(tap % kWalkSide, k);
                    std::memcpy(packed.data() + (row * channels + c) * 2, &bits, 2);
                }
            }
        }
    }
    return packed;
}

std::vector<ConvLaunch> frame_walk_launches(const ConvProblem& problem, const conv::ConvTensors& tensors,
                                            const conv::ParameterAddresses& parameters, uint32_t sms,
                                            const conv::EncodeMap& encode) {
    std::vector<ConvLaunch> launches;
    if (problem.empty()) return launches;
    FrameWalkParams common{};
    static_cast<NarrowOutput&>(common) = narrow_output(problem, parameters);
    common.tiles_x = u32(tiles_x(problem));
    common.tiles_y = u32(tiles_y(problem));
    common.filter = encode(filter_map(problem, parameters.filter));
    for (const FrameRun& run : frame_runs(problem)) {
        FrameWalkParams params = common;
        place_outputs(params, problem, tensors, run);
        params.inputs = u32(run.inputs);
        for (int64_t i = 0; i < run.inputs; ++i)
            params.input[i] = encode(narrow_input_map(problem, tensors.input[u64(run.first_input + i)],
                                                      kWalkRows + kWalkSide - 1, kWalkPitch));
        const int64_t sample = run.first_output / problem.d_out(), t = run.first_output % problem.d_out();
        const int64_t first_input = run.first_input - sample * problem.d;
        params.newest = static_cast<int32_t>(conv::input_frame(problem, t, problem.filter.q - 1) - first_input);
        params.biased = u32(problem.carried ? problem.d : run.count);
        launches.push_back({.kernel = 0,
                            .grid = {std::min(params.tiles_x * params.tiles_y, sms), 1, 1},
                            .threads = kThreads,
                            .shared_bytes = sizeof(FrameWalkSmem),
                            .arguments = conv::Arguments::of(params)});
    }
    return launches;
}

}  // namespace kinetograph::sm90
