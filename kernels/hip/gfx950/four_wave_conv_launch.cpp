#include <algorithm>
#include <cmath>
#include <kinetograph/kernels/conv/cheapest.hpp>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/sub_pixel.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_launch.hpp>
#include <kinetograph/kernels/isa/amd/small_floats.hpp>
#include <utility>

namespace kinetograph::gfx950 {
namespace {

/// From this many workgroups a compute unit, every one runs several rounds, and keeping neighbours on one XCD pays.
constexpr uint32_t kLargeGrid = 4;
constexpr int64_t kThreads = 256;  // of a workgroup
/// Of an XCD of MI350X and MI355X. A device may be the whole chip or a partition of some XCDs (DPX: 4, CPX: 1).
constexpr uint32_t kComputeUnitsOfXcd = 32;
/// Clocks of a norm with SiLU in the epilogue, for each value of a lane: 26 of issue as compiled, and 24 more because
/// two of the instructions run at a quarter of the rate.
constexpr int64_t kNormClocks = 50;
constexpr uint32_t kMostSplits = 8;
/// A part of K is at least this many trips, so that filling the pipeline stays a small share of it.
constexpr int64_t kLeastTripsOfPart = 6;

/// The cost of a kernel's compiled loop, read from the machine code by `tools/gfx950/estimate.py`.
struct LoopCost {
    ConvTile tile;
    ConvPath path;
    int64_t workgroups;  ///< that share a compute unit
    int64_t trip;        ///< clocks of two k blocks, all workgroups of the unit together
    int64_t stated;      ///< the same at kStatedLdsReadBytes
    int64_t around;      ///< clocks before and after the loop
};

#define KG_NO_COST(...)
#define KG_COST(bm, bn, bk, loader, workgroups, trip, stated, around) \
    {{bm, bn, bk}, ConvPath::loader, workgroups, trip, stated, around},
constexpr LoopCost kCosts16[] = {
#define KG_COST_16 KG_COST
#define KG_COST_8 KG_NO_COST
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_costs.inc>
#undef KG_COST_16
#undef KG_COST_8
};
constexpr LoopCost kCosts8[] = {
#define KG_COST_16 KG_NO_COST
#define KG_COST_8 KG_COST
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_costs.inc>
#undef KG_COST_16
#undef KG_COST_8
};
#undef KG_COST
#undef KG_NO_COST

constexpr ConvKernel kKernels[] = {
#define KG_CONV_16(bm, bn, bk, loader, name)           \
    {"kg_conv_bf16_" #bm "x" #bn "x" #bk "_" #name,    \
     "four_wave_conv_bf16",                            \
     Element::BF16,                                    \
     {bm, bn, bk},                                     \
     ConvPath::loader},                                \
        {"kg_conv_f16_" #bm "x" #bn "x" #bk "_" #name, \
         "four_wave_conv_f16",                         \
         Element::F16,                                 \
         {bm, bn, bk},                                 \
         ConvPath::loader},
#define KG_CONV_8(bm, bn, bk, loader, name) \
    {"kg_conv_f8_" #bm "x" #bn "x" #bk "_" #name, "four_wave_conv_f8", Element::F8E4M3, {bm, bn, bk}, ConvPath::loader},
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_kernels.inc>
#undef KG_CONV_16
#undef KG_CONV_8
};

using conv::ceil_div;
int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

int64_t scale(const FourWaveConvProblem& p) { return p.upsample ? 2 : 1; }

/// The taps and pixels of one launch's tiles: an output frame, or one parity of it with the folded filter.
struct Walk {
    int64_t parities, h, w, r, s;
};
Walk walk_of(const FourWaveConvProblem& p) {
    return p.sub_pixel() ? Walk{4, p.h, p.w, 2, 2} : Walk{1, p.h_out(), p.w_out(), p.r, p.s};
}
int64_t taps(const FourWaveConvProblem& p) { return walk_of(p).r * walk_of(p).s; }

/// Channels of one tap along K.
int64_t tap_pitch(const FourWaveConvProblem& p, ConvPath path, uint32_t bk) {
    return path == ConvPath::Padded ? round_up(p.c_in, bk) : p.c_in;
}
/// k blocks of a temporal tap.
int64_t steps_per_q(const FourWaveConvProblem& p, ConvPath path, uint32_t bk) {
    return ceil_div(taps(p) * tap_pitch(p, path, bk), bk);
}
/// Elements of a packed filter row.
int64_t filter_row(const FourWaveConvProblem& p, ConvPath path, uint32_t bk) {
    return round_up(p.q * steps_per_q(p, path, bk) * bk, 256);
}

std::string to_string(const ConvTile& tile) {
    return std::to_string(tile.bm) + "x" + std::to_string(tile.bn) + "x" + std::to_string(tile.bk);
}

std::string frame_too_large(const char* name, uint64_t bytes) {
    return std::string(name) + " of " + std::to_string(bytes) +
           " bytes: one buffer descriptor spans less than 4 GiB (less 16 MiB for the last tile's ragged edge)";
}

const ConvKernel* find_kernel(Element element, ConvTile tile, ConvPath path) {
    const auto* found = std::find_if(std::begin(kKernels), std::end(kKernels), [&](const ConvKernel& kernel) {
        return kernel.element == element && kernel.tile == tile && kernel.path == path;
    });
    return found == std::end(kKernels) ? nullptr : found;
}

bool fits_path(const FourWaveConvProblem& p, ConvPath path, uint32_t bk) {
    const int64_t pixel = p.c_in * element_bytes(p.element);
    const bool one_tap = p.r <= kMostUniformTaps && p.s <= kMostUniformTaps && (!p.upsample || p.sub_pixel());
    switch (path) {
        case ConvPath::Uniform:
            return p.c_in % bk == 0 && one_tap;
        case ConvPath::Padded:
            return pixel % 16 == 0 && p.c_in % bk != 0 && one_tap;
        case ConvPath::Chunks:
            return pixel % 16 == 0;
        case ConvPath::Pieces:
            return pixel % (p.element == Element::F8E4M3 ? 4 : 8) == 0;
        case ConvPath::Elements:
            return true;
    }
    return false;
}

const LoopCost& cost_of(const ConvKernel& kernel) {
    const std::span<const LoopCost> costs =
        kernel.element == Element::F8E4M3 ? std::span<const LoopCost>(kCosts8) : std::span<const LoopCost>(kCosts16);
    return *std::find_if(costs.begin(), costs.end(),
                         [&](const LoopCost& row) { return row.tile == kernel.tile && row.path == kernel.path; });
}

/// Workgroups of all frames, for all of K.
int64_t workgroups(const FourWaveConvProblem& p, const ConvKernel& kernel) {
    const Walk walk = walk_of(p);
    return p.frames * walk.parities * ceil_div(walk.h * walk.w, kernel.tile.bm) * ceil_div(p.c_out, kernel.tile.bn);
}

/// Trips of the main loop.
int64_t trips(const FourWaveConvProblem& p, const ConvKernel& kernel) {
    return ceil_div(p.q * steps_per_q(p, kernel.path, kernel.tile.bk), 2);
}

/// Clocks of a round of workgroups: the length of its loop.
int64_t round_clocks(const FourWaveConvProblem& p, const ConvChoice& choice, const conv::Chip& chip) {
    const LoopCost& cost = cost_of(*choice.kernel);
    const ConvTile& tile = choice.kernel->tile;
    const int64_t norm = p.norm ? int64_t{tile.bm} * tile.bn / kThreads * kNormClocks : 0;
    const int64_t trip = lds_read_bytes(chip) < kStatedLdsReadBytes ? cost.trip : cost.stated;
    return ceil_div(trips(p, *choice.kernel), choice.splits) * trip + cost.around + norm;
}

/// Clocks per pixel on an endless grid.
double endless_clocks(const FourWaveConvProblem& p, const ConvKernel& kernel, const conv::Chip& chip) {
    const auto tiles = static_cast<double>(ceil_div(p.c_out, kernel.tile.bn)) / kernel.tile.bm;
    return tiles * static_cast<double>(round_clocks(p, {&kernel}, chip)) /
           static_cast<double>(cost_of(kernel).workgroups);
}

/// The tile's epilogue takes the problem's channels (four_wave_conv_config.hpp: kRagged, kNorms).
bool fits_epilogue(const FourWaveConvProblem& p, const ConvTile& tile) {
    if (p.norm && (tile.bn < p.c_out || tile.bn > kMostNormedChannels)) return false;
    return p.c_out % 8 == 0 || tile.bm * tile.bn <= 128 * 128;
}

/// The widest path for k blocks of that length.
ConvPath path_of(const FourWaveConvProblem& p, uint32_t bk) {
    for (const ConvPath path : {ConvPath::Uniform, ConvPath::Chunks, ConvPath::Pieces}) {
        if (fits_path(p, path, bk)) return path;
    }
    return ConvPath::Elements;
}

/// The kernel's loader is the problem's own, or pads what that takes chunk by chunk.
bool is_natural(const FourWaveConvProblem& p, const ConvKernel& kernel) {
    const ConvPath natural = path_of(p, kernel.tile.bk);
    return kernel.path == natural || (kernel.path == ConvPath::Padded && natural == ConvPath::Chunks);
}

/// The cheapest kernel of that path (or of the problem's own) that holds the problem and is `wanted`.
template <class Wanted, class Cost>
const ConvKernel* least_of(const FourWaveConvProblem& p, std::optional<ConvPath> path, const Wanted& wanted,
                           const Cost& cost) {
    return conv::cheapest(
        kKernels,
        [&](const ConvKernel& kernel) {
            return kernel.element == p.element && (path ? kernel.path == *path : is_natural(p, kernel)) &&
                   fits_path(p, kernel.path, kernel.tile.bk) && fits_epilogue(p, kernel.tile) && wanted(kernel);
        },
        [&](const ConvKernel& kernel) { return cost(p, kernel); });
}

FourWaveConvParams params_of(const FourWaveConvProblem& p, const ConvKernel& kernel, uint32_t splits) {
    const ConvTile& tile = kernel.tile;
    const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
    const Walk walk = walk_of(p);
    const int64_t pixels = walk.h * walk.w;
    const bool doubles = p.upsample && !p.sub_pixel();
    const int64_t steps = steps_per_q(p, kernel.path, tile.bk);
    FourWaveConvParams params{};
    params.tiles_m = u32(ceil_div(pixels, tile.bm));
    params.tiles_n = u32(ceil_div(p.c_out, tile.bn));
    params.parities = u32(walk.parities);
    params.splits = splits;
    params.h = u32(doubles ? 2 * p.h : p.h);
    params.w = u32(doubles ? 2 * p.w : p.w);
    params.w_stored = u32(p.w);
    params.c_in = u32(p.c_in);
    params.upsample = doubles ? 1 : 0;
    params.pixels = u32(pixels);
    params.c_out = u32(p.c_out);
    params.q = u32(p.q);
    params.r = u32(walk.r);
    params.s = u32(walk.s);
    params.stride_h = u32(p.stride_h);
    params.stride_w = u32(p.stride_w);
    params.dilation_h = u32(p.dilation_h);
    params.dilation_w = u32(p.dilation_w);
    params.pad_top = u32(p.pad_top);
    params.pad_left = u32(p.pad_left);
    params.taps_c = u32(taps(p) * p.c_in);
    params.steps_per_q = u32(steps);
    params.steps = u32(round_up(p.q * steps, 2));
    params.filter_pitch = u32(filter_row(p, kernel.path, tile.bk) * element_bytes(p.element));
    params.input_bytes = u32(static_cast<int64_t>(p.input_frame_bytes()));
    params.output_bytes = u32(static_cast<int64_t>(p.output_frame_bytes()));
    params.filter_bytes = params.c_out * params.filter_pitch;
    params.by_w_out = FastDivisor::of(u32(walk.w));
    params.by_c_in = FastDivisor::of(u32(p.c_in));
    params.by_s = FastDivisor::of(u32(walk.s));
    params.flags = (p.bias ? kConvBias : 0u) | (p.silu ? kConvSilu : 0u) | (p.source ? kConvResidual : 0u) |
                   (p.output ? kConvOutput : 0u) | (p.norm ? kConvNorm : 0u) |
                   (p.norm && p.norm_silu ? kConvNormSilu : 0u) | (p.output_f32 ? kConvFloat32 : 0u) |
                   (p.relu ? kConvRelu : 0u);
    params.beta = p.beta;
    params.negative_slope = p.negative_slope;
    params.sqrt_c_out = std::sqrt(static_cast<float>(p.c_out));
    return params;
}

bool nothing_to_do(const FourWaveConvProblem& p) {
    return p.frames <= 0 || p.c_out <= 0 || p.h_out() <= 0 || p.w_out() <= 0;
}

std::byte* put(std::byte* at, Element element, float value) {
    uint32_t bits = 0;
    switch (element) {
        case Element::BF16:
            bits = isa::amd::to_bf16(value);
            break;
        case Element::F16:
            bits = isa::amd::to_f16(value);
            break;
        case Element::F8E4M3:
            *at = static_cast<std::byte>(isa::amd::to_f8e4m3(value));
            return at + 1;
        default:
            break;
    }
    at[0] = static_cast<std::byte>(bits & 0xffu);
    at[1] = static_cast<std::byte>(bits >> 8);
    return at + 2;
}

}  // namespace

int64_t FourWaveConvProblem::h_out() const {
    const int64_t taps = h * scale(*this) + pad_top + pad_bottom - dilation_h * (r - 1) - 1;
    return h <= 0 || taps < 0 ? 0 : taps / stride_h + 1;
}
int64_t FourWaveConvProblem::w_out() const {
    const int64_t taps = w * scale(*this) + pad_left + pad_right - dilation_w * (s - 1) - 1;
    return w <= 0 || taps < 0 ? 0 : taps / stride_w + 1;
}
bool FourWaveConvProblem::sub_pixel() const {
    return upsample && r == 3 && s == 3 && stride_h == 1 && stride_w == 1 && dilation_h == 1 && dilation_w == 1 &&
           pad_top == 1 && pad_bottom == 1 && pad_left == 1 && pad_right == 1 && element != Element::F8E4M3;
}
uint64_t FourWaveConvProblem::input_frame_bytes() const {
    return static_cast<uint64_t>(h * w * c_in * element_bytes(element));
}
uint64_t FourWaveConvProblem::output_frame_bytes() const {
    return static_cast<uint64_t>(h_out() * w_out() * c_out * (output_f32 ? 4 : 2));
}

std::span<const ConvKernel> conv_kernels() { return kKernels; }

std::vector<std::string> declined(const FourWaveConvProblem& p) {
    constexpr uint64_t kDescriptor = (uint64_t{1} << 32) - (16 << 20);
    std::vector<std::string> reasons;
    const auto gate = [&](bool open, std::string reason) {
        if (!open) reasons.push_back(std::move(reason));
    };
    gate(p.groups == 1, std::to_string(p.groups) + " groups: the matrix product mixes all channels");
    gate(p.c_in >= 1 && p.q >= 1 && p.r >= 1 && p.s >= 1 && p.stride_h >= 1 && p.stride_w >= 1 && p.dilation_h >= 1 &&
             p.dilation_w >= 1,
         "channels, taps, strides and dilations start at 1");
    if (!reasons.empty()) return reasons;
    gate(p.q <= kMaxConvFrameTaps, std::to_string(p.q) + " temporal taps: a launch names at most " +
                                       std::to_string(kMaxConvFrameTaps) + " frames");
    gate(p.input_frame_bytes() < kDescriptor, frame_too_large("an input frame", p.input_frame_bytes()));
    gate(p.output_frame_bytes() < kDescriptor, frame_too_large("an output frame", p.output_frame_bytes()));
    const auto filter = static_cast<uint64_t>(walk_of(p).parities * round_up(p.c_out, 256) *
                                              filter_row(p, ConvPath::Padded, 128) * element_bytes(p.element));
    gate(filter < kDescriptor, frame_too_large("a packed filter", filter));
    gate(!p.norm || p.c_out <= kMostNormedChannels, std::to_string(p.c_out) +
                                                        " output channels under a norm: one tile holds at most " +
                                                        std::to_string(kMostNormedChannels) + " of a pixel's channels");
    gate(!p.norm || p.c_out % 8 == 0 || p.c_out <= 128,
         std::to_string(p.c_out) + " output channels under a norm: a tile of more than 128 holds multiples of 8");
    gate(!p.output_f32 || !p.norm, "a norm of float32 outputs: it goes over rounded ones");
    gate(!p.output_f32 || !p.source, "a float32 source: it is prefetched into registers for 16 bits a value");
    gate(p.output || p.norm, "neither the output nor its norm is stored");
    return reasons;
}

ConvPath path_of(const FourWaveConvProblem& p) { return path_of(p, p.element == Element::F8E4M3 ? 128 : 32); }

double estimated_seconds(const FourWaveConvProblem& p, const ConvChoice& choice, const conv::Chip& chip) {
    const int64_t at_once = int64_t{chip.compute_units} * cost_of(*choice.kernel).workgroups;
    const int64_t rounds = ceil_div(workgroups(p, *choice.kernel) * choice.splits, at_once);
    const double computing = static_cast<double>(rounds * round_clocks(p, choice, chip)) / chip.clocks_per_second;
    const auto output = static_cast<double>(p.frames) * static_cast<double>(p.output_frame_bytes());
    const double moved = static_cast<double>(p.frames) * static_cast<double>(p.input_frame_bytes()) +
                         output * ((p.output ? 1 : 0) + (p.source ? 1 : 0) + (p.norm ? 1 : 0));
    double seconds = std::max(computing, streaming_seconds(moved, chip));
    if (choice.splits > 1) {  // float32 sums of every part are written and read, and the output written
        const double sums = output * (p.output_f32 ? 1 : 2) * choice.splits;
        seconds += conv::kLaunchSeconds + streaming_seconds(2 * sums + output, chip);
    }
    return seconds;
}

ConvChoice choose_kernel(const FourWaveConvProblem& p, const conv::Chip& chip, std::optional<ConvPath> path) {
    return {least_of(
        p, path, [](const ConvKernel&) { return true; },
        [&](const FourWaveConvProblem& problem, const ConvKernel& kernel) {
            return estimated_seconds(problem, {&kernel}, chip);
        })};
}

ConvChoice choose_kernel_for_packing(const FourWaveConvProblem& p, const conv::Chip& chip, Splitting splitting) {
    FourWaveConvProblem plain = p, frame = p;
    plain.norm = false;
    frame.frames = 1;
    const ConvKernel* const endless = least_of(
        plain, {}, [](const ConvKernel&) { return true; },
        [&](const FourWaveConvProblem& q, const ConvKernel& kernel) { return endless_clocks(q, kernel, chip); });
    if (endless == nullptr) return {};
    const auto best = [&](const FourWaveConvProblem& problem, uint32_t splits, const auto& wanted) {
        return ConvChoice{least_of(
                              problem, {},
                              [&](const ConvKernel& kernel) {
                                  return kernel.tile.bk == endless->tile.bk &&
                                         (kernel.path == ConvPath::Padded) == (endless->path == ConvPath::Padded) &&
                                         wanted(kernel);
                              },
                              [&](const FourWaveConvProblem& q, const ConvKernel& kernel) {
                                  return estimated_seconds(q, {&kernel, splits}, chip);
                              }),
                          splits};
    };
    const auto any = [](const ConvKernel&) { return true; };
    // Sums in another order have other bits: how K is split must not depend on the number of frames.
    ConvChoice whole = best(frame, 1, any);
    if (whole.kernel == nullptr) return {};
    const bool splittable = splitting == Splitting::WherePaying && !p.norm && p.c_out % 8 == 0;
    for (uint32_t splits = 2; splittable && splits <= kMostSplits; ++splits) {
        const ConvChoice split = best(frame, splits, [&](const ConvKernel& kernel) {
            return workgroups(frame, kernel) < chip.compute_units && trips(p, kernel) / splits >= kLeastTripsOfPart;
        });
        if (split.kernel != nullptr && estimated_seconds(frame, split, chip) < estimated_seconds(frame, whole, chip))
            whole = split;
    }
    return best(p, whole.splits, any);
}

ConvPlanResult plan_four_wave_conv(const FourWaveConvProblem& problem, const ConvOverrides& overrides,
                                   const conv::Chip& chip) {
    if (const auto reasons = declined(problem); !reasons.empty()) {
        std::string error = "FourWaveConv declines";
        for (const std::string& reason : reasons) error += (&reason == &reasons.front() ? ": " : "; ") + reason;
        return {{}, error};
    }
    const ConvKernel* const kernel =
        overrides.tile ? find_kernel(problem.element, *overrides.tile, overrides.path.value_or(path_of(problem)))
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
    if (problem.norm && (problem.c_out > tile.bn || tile.bn > kMostNormedChannels)) {
        return {{},
                "a tile of " + name + " does not hold the " + std::to_string(problem.c_out) +
                    " channels that the norm goes over"};
    }
    if (!fits_epilogue(problem, tile)) {
        return {{},
                "a tile of " + name + " takes multiples of 8 output channels, not " + std::to_string(problem.c_out)};
    }
    if (overrides.splits > 1 &&
        (!problem.output_f32 || problem.bias || problem.silu || problem.relu || problem.scales)) {
        return {{}, "parts of K store float32 sums, which another pass adds, scales and activates"};
    }
    FourWaveConvPlan plan{.problem = problem,
                          .kernel = kernel,
                          .params = {},
                          .compute_units = chip.compute_units,
                          .filter_bytes = 0,
                          .channel_bytes = 0,
                          .frames_per_launch = 0};
    if (!nothing_to_do(problem)) plan.params = params_of(problem, *kernel, overrides.splits);
    plan.filter_bytes = uint64_t{plan.params.parities} * plan.params.filter_bytes;
    plan.channel_bytes = static_cast<uint64_t>(round_up(problem.c_out, 256)) * sizeof(float);
    plan.frames_per_launch = std::min(kMaxConvFrames, kMaxConvFrameTaps / static_cast<uint32_t>(problem.q));
    return {plan, {}};
}

std::vector<std::byte> pack_filter(const FourWaveConvPlan& plan, std::span<const float> filter, FilterOrder order) {
    const FourWaveConvProblem& p = plan.problem;
    const auto index = [&](int64_t k, int64_t q, int64_t rs, int64_t c) {
        switch (order) {
            case FilterOrder::Kcqrs:
                return ((k * p.c_in + c) * p.q + q) * p.r * p.s + rs;
            case FilterOrder::Kqrsc:
                return ((k * p.q + q) * p.r * p.s + rs) * p.c_in + c;
            case FilterOrder::Qrsck:
                return ((q * p.r * p.s + rs) * p.c_in + c) * p.c_out + k;
        }
        return int64_t{0};
    };
    const Walk walk = walk_of(p);
    const auto weight = [&](int64_t parity, int64_t k, int64_t q, int64_t r, int64_t s, int64_t c) {
        if (walk.parities == 1) return filter[index(k, q, r * p.s + s, c)];
        const conv::FoldedTaps rows = conv::folded_taps(parity / 2, r), columns = conv::folded_taps(parity % 2, s);
        float sum = 0;
        for (int64_t row = rows.first; row < rows.end; ++row)
            for (int64_t column = columns.first; column < columns.end; ++column)
                sum += filter[index(k, q, row * p.s + column, c)];
        return sum;
    };
    std::vector<std::byte> packed(plan.filter_bytes);
    if (packed.empty()) return packed;
    const ConvKernel& kernel = *plan.kernel;
    const int64_t tap_bytes = tap_pitch(p, kernel.path, kernel.tile.bk) * element_bytes(p.element);
    const int64_t frame_bytes = int64_t{plan.params.steps_per_q} * kernel.tile.bk * element_bytes(p.element);
    for (int64_t row = 0; row < walk.parities * p.c_out; ++row) {
        for (int64_t q = 0; q < p.q; ++q) {
            std::byte* const taps_of_q = packed.data() + row * plan.params.filter_pitch + q * frame_bytes;
            for (int64_t rs = 0; rs < walk.r * walk.s; ++rs) {
                std::byte* at = taps_of_q + rs * tap_bytes;
                for (int64_t c = 0; c < p.c_in; ++c)
                    at = put(at, p.element, weight(row / p.c_out, row % p.c_out, q, rs / walk.s, rs % walk.s, c));
            }
        }
    }
    return packed;
}

std::vector<float> pack_channels(const FourWaveConvPlan& plan, std::span<const float> values) {
    std::vector<float> packed(plan.channel_bytes / sizeof(float));
    std::copy(values.begin(), values.end(), packed.begin());
    return packed;
}

std::vector<FourWaveConvLaunch> launches(const FourWaveConvPlan& plan, const ConvAddresses& addresses) {
    std::vector<FourWaveConvLaunch> result;
    if (nothing_to_do(plan.problem)) return result;
    const auto frames = static_cast<uint32_t>(plan.problem.frames);
    result.reserve(frames / plan.frames_per_launch + 1);
    for (uint32_t first = 0; first < frames; first += plan.frames_per_launch) {
        FourWaveConvLaunch launch{.workgroups = 0, .params = plan.params};
        FourWaveConvParams& params = launch.params;
        params.frames = std::min(frames - first, plan.frames_per_launch);
        params.filter = addresses.filter;
        params.bias = static_cast<const float*>(addresses.bias);
        params.gamma = static_cast<const float*>(addresses.gamma);
        params.scales = static_cast<const float*>(addresses.scales);
        params.split_bytes = addresses.split_bytes;
        std::copy_n(addresses.input.begin() + first * params.q, params.frames * params.q, params.input);
        if (plan.problem.output) std::copy_n(addresses.output.begin() + first, params.frames, params.output);
        if (plan.problem.source) std::copy_n(addresses.source.begin() + first, params.frames, params.source);
        if (plan.problem.norm) std::copy_n(addresses.normed.begin() + first, params.frames, params.normed);
        launch.workgroups = params.frames * params.parities * params.splits * params.tiles_m * params.tiles_n;
        const bool large = launch.workgroups >= kLargeGrid * plan.compute_units;
        params.xcds = std::max(1U, plan.compute_units / kComputeUnitsOfXcd);
        params.xcd_chunk = large ? 32 : 0;
        params.group_m = large ? 8 : 1;
        result.push_back(launch);
    }
    return result;
}

}  // namespace kinetograph::gfx950
