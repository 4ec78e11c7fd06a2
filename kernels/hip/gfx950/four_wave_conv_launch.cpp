#include <algorithm>
#include <cmath>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/gates.hpp>
#include <kinetograph/kernels/hip/gfx950/pack.hpp>

namespace kinetograph::gfx950 {
namespace {

using conv::Activation;
using conv::ceil_div;
using conv::ConvProblem;
using conv::Norm;
using conv::u32;

/// From this many workgroups a compute unit, every one runs several rounds, and keeping neighbours on one XCD pays.
constexpr uint32_t kLargeGrid = 4;
/// Of an XCD of MI350X and MI355X. A device may be the whole chip or a partition of some XCDs (DPX: 4, CPX: 1).
constexpr uint32_t kComputeUnitsOfXcd = 32;

std::string to_string(const ConvTile& tile) {
    return std::to_string(tile.bm) + "x" + std::to_string(tile.bn) + "x" + std::to_string(tile.bk);
}

const ConvKernel* find_kernel(Element element, ConvTile tile, ConvPath path) {
    const auto* found = std::find_if(std::begin(kConvKernels), std::end(kConvKernels), [&](const ConvKernel& kernel) {
        return kernel.element == element && kernel.tile == tile && kernel.path == path;
    });
    return found == std::end(kConvKernels) ? nullptr : found;
}

FourWaveConvParams params_of(const ConvProblem& p, const ConvKernel& kernel, uint32_t splits) {
    const ConvTile& tile = kernel.tile;
    const Walk walk = walk_of(p);
    const int64_t pixels = walk.h * walk.w;
    const bool doubles = p.upsample && !is_folded(p);
    const int64_t steps = steps_per_q(p, kernel.path, tile.bk);
    FourWaveConvParams params{};
    params.tiles_m = u32(ceil_div(pixels, tile.bm));
    params.tiles_n = u32(ceil_div(p.filter.k, tile.bn));
    params.parities = u32(walk.parities);
    params.splits = splits;
    params.h = u32(doubles ? 2 * p.h : p.h);
    params.w = u32(doubles ? 2 * p.w : p.w);
    params.w_stored = u32(p.w);
    params.c_in = u32(p.c_in);
    params.upsample = doubles ? 1 : 0;
    params.pixels = u32(pixels);
    params.c_out = u32(p.filter.k);
    params.q = u32(p.filter.q);
    params.r = u32(walk.r);
    params.s = u32(walk.s);
    params.stride_h = u32(p.stride.h);
    params.stride_w = u32(p.stride.w);
    params.dilation_h = u32(p.dilation.h);
    params.dilation_w = u32(p.dilation.w);
    params.pad_top = u32(p.pad.top);
    params.pad_left = u32(p.pad.left);
    params.taps_c = u32(walk.r * walk.s * p.c_in);
    params.steps_per_q = u32(steps);
    params.steps = u32(conv::round_up(p.filter.q * steps, 2));
    params.filter_pitch = u32(filter_row(p, kernel.path, tile.bk) * element_bytes(p.input.element));
    params.input_bytes = static_cast<uint32_t>(p.input_frame_bytes());
    params.output_bytes = static_cast<uint32_t>(p.output_frame_bytes());
    params.filter_bytes = params.c_out * params.filter_pitch;
    params.by_w_out = FastDivisor::of(u32(walk.w));
    params.by_image = FastDivisor::of(u32(pixels));
    params.by_c_in = FastDivisor::of(u32(p.c_in));
    params.by_s = FastDivisor::of(u32(walk.s));
    const bool norm = p.norm != Norm::None;
    params.flags = (p.bias ? kConvBias : 0u) | (p.activation == Activation::Silu ? kConvSilu : 0u) |
                   (p.residual ? kConvResidual : 0u) | (p.norm != Norm::Instead ? kConvOutput : 0u) |
                   (norm ? kConvNorm : 0u) | (norm && p.norm_activation == Activation::Silu ? kConvNormSilu : 0u) |
                   (p.output.element == Element::F32 ? kConvFloat32 : 0u) |
                   (p.activation == Activation::Relu ? kConvRelu : 0u);
    params.beta = p.beta;
    params.negative_slope = p.negative_slope;
    params.sqrt_c_out = std::sqrt(static_cast<float>(p.filter.k));
    return params;
}

/// Bytes from each address to the next, where that is the same number for all; none if one is null.
template <class Void>
std::optional<uint64_t> pitch_of(std::span<Void* const> frames, size_t first, size_t step) {
    const auto at = [&](size_t i) { return reinterpret_cast<uintptr_t>(frames[first + i * step]); };
    const size_t count = (frames.size() - first + step - 1) / step;
    const uint64_t pitch = at(1) - at(0);
    for (size_t i = 0; i < count; ++i)
        if (at(i) == 0 || at(i) != at(0) + i * pitch) return {};
    return pitch;
}

/// The parameters of a launch whose frames are one: those that follow each other in memory at the same distance for
/// every tap, outputs without gaps. None where they do not, or where a descriptor would not span them.
std::optional<FourWaveConvParams> as_one_frame(const FourWaveConvPlan& plan, const ConvAddresses& addresses) {
    const auto frames = static_cast<uint64_t>(plan.problem.frames_out());
    FourWaveConvParams params = plan.params;
    if (frames < 2 || !joins_images(plan.problem, plan.kernel->path)) return {};
    const auto dense = [&](auto outputs) {
        return outputs.empty() || pitch_of(outputs, 0, 1) == uint64_t{params.output_bytes};
    };
    if (!dense(addresses.output) || !dense(addresses.source) || !dense(addresses.normed)) return {};
    const auto pitch = pitch_of(addresses.input, 0, params.q);
    for (size_t tap = 1; pitch && tap < params.q; ++tap)
        if (pitch_of(addresses.input, tap, params.q) != pitch) return {};
    if (!pitch || *pitch >= kDescriptorBytes || *pitch * (frames - 1) + params.input_bytes >= kDescriptorBytes ||
        params.output_bytes * frames >= kDescriptorBytes)
        return {};
    params.image_pitch = static_cast<uint32_t>(*pitch);
    params.input_bytes += static_cast<uint32_t>(*pitch * (frames - 1));
    params.output_bytes *= static_cast<uint32_t>(frames);
    params.pixels *= static_cast<uint32_t>(frames);
    params.tiles_m = u32(ceil_div(params.pixels, plan.kernel->tile.bm));
    params.frames = 1;
    return params;
}

/// Completes the parameters of a launch of params.frames frames, from `first` on.
FourWaveConvLaunch launch_of(const FourWaveConvPlan& plan, FourWaveConvParams params, const ConvAddresses& addresses,
                             uint32_t first) {
    params.filter = addresses.filter;
    params.bias = static_cast<const float*>(addresses.bias);
    params.gamma = static_cast<const float*>(addresses.gamma);
    params.scales = static_cast<const float*>(addresses.scales);
    params.split_bytes = addresses.split_bytes;
    std::copy_n(addresses.input.begin() + first * params.q, params.frames * params.q, params.input);
    if (plan.problem.norm != Norm::Instead) std::copy_n(addresses.output.begin() + first, params.frames, params.output);
    if (plan.problem.residual) std::copy_n(addresses.source.begin() + first, params.frames, params.source);
    if (plan.problem.norm != Norm::None) std::copy_n(addresses.normed.begin() + first, params.frames, params.normed);
    const uint32_t workgroups = params.frames * params.parities * params.splits * params.tiles_m * params.tiles_n;
    const bool large = workgroups >= kLargeGrid * plan.compute_units;
    params.xcds = std::max(1U, plan.compute_units / kComputeUnitsOfXcd);
    params.xcd_chunk = large ? 32 : 0;
    params.group_m = large ? 8 : 1;
    return {workgroups, params};
}

}  // namespace

ConvPlanResult plan_four_wave_conv(const ConvProblem& problem, const ConvOverrides& overrides, const conv::Chip& chip) {
    if (const auto reasons = launch_reasons(problem); !reasons.empty()) return {{}, "FourWaveConv " + reasons};
    const ConvKernel* const kernel =
        overrides.tile ? find_kernel(problem.input.element, *overrides.tile, overrides.path.value_or(path_of(problem)))
                       : choose_kernel(problem, chip, overrides.path).kernel;
    if (kernel == nullptr) {
        return {{},
                "FourWaveConv has no kernel of " +
                    (overrides.tile ? "tile " + to_string(*overrides.tile) : "that path") + " for this type" +
                    (overrides.tile ? " and path" : " and these channels")};
    }
    const ConvTile tile = kernel->tile;
    const std::string name = to_string(tile);
    if (!fits_path(problem, kernel->path, tile.bk)) {
        return {{}, std::string(kernel->name) + " does not take " + std::to_string(problem.c_in) + " input channels"};
    }
    if (problem.norm != Norm::None && (problem.filter.k > tile.bn || tile.bn > kMostNormedChannels)) {
        return {{},
                "a tile of " + name + " does not hold the " + std::to_string(problem.filter.k) +
                    " channels that the norm goes over"};
    }
    if (!fits_epilogue(problem, tile)) {
        return {{},
                "a tile of " + name + " takes multiples of 8 output channels, not " + std::to_string(problem.filter.k)};
    }
    if (overrides.splits > 1 && (problem.output.element != Element::F32 || problem.bias ||
                                 problem.activation != conv::Activation::None || !problem.unscaled())) {
        return {{}, "parts of K store float32 sums, which another pass adds, scales and activates"};
    }
    FourWaveConvPlan plan{.problem = problem,
                          .kernel = kernel,
                          .params = {},
                          .compute_units = chip.compute_units,
                          .frames_per_launch = 0};
    if (!problem.empty()) plan.params = params_of(problem, *kernel, overrides.splits);
    plan.frames_per_launch = std::min(kMaxConvFrames, kMaxConvFrameTaps / static_cast<uint32_t>(problem.filter.q));
    return {plan, {}};
}

std::vector<FourWaveConvLaunch> launches(const FourWaveConvPlan& plan, const ConvAddresses& addresses) {
    std::vector<FourWaveConvLaunch> result;
    if (plan.problem.empty()) return result;
    if (const auto one = as_one_frame(plan, addresses)) return {launch_of(plan, *one, addresses, 0)};
    const auto frames = static_cast<uint32_t>(plan.problem.frames_out());
    result.reserve(frames / plan.frames_per_launch + 1);
    for (uint32_t first = 0; first < frames; first += plan.frames_per_launch) {
        FourWaveConvParams params = plan.params;
        params.frames = std::min(frames - first, plan.frames_per_launch);
        result.push_back(launch_of(plan, params, addresses, first));
    }
    return result;
}

}  // namespace kinetograph::gfx950
