#include <kinetograph/kernels/cuda/sm80/winograd_plan.hpp>

#include <algorithm>
#include <array>
#include <kinetograph/kernels/conv/cheapest.hpp>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/winograd_time.hpp>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/host/tiled_plan.hpp>
#include <kinetograph/kernels/cuda/sm80/plan.hpp>
#include <kinetograph/kernels/cuda/sm80/winograd_configs.hpp>

namespace kinetograph::sm80 {
namespace {

using conv::ConvLaunch;
using conv::ConvProblem;

#define KG_NAMED(name, ...) NamedConvConfig{"sm80_winograd_" #name, winograd_##name},
constexpr std::array kConfigs{KG_SM80_WINOGRAD_CONFIGS_BF16(KG_NAMED) KG_SM80_WINOGRAD_CONFIGS_F16(KG_NAMED)};
#undef KG_NAMED

/// Of 128 at most: ConvKernel's tile of 64 x 96 moves 61,440 bytes for 64 elements of K in 526 clocks (cost.cpp).
constexpr double kSharedBytesPerClock = 61440.0 / 526;
/// Clocks of one frame's epilogue, those of ConvKernel's tiles of 64 x 96 and 64 x 192 (cost.cpp).
constexpr double kFinishNarrow = 2716, kFinishWide = 7177;

using conv::ceil_div;

/// Clocks of an SM for one block of K of one product: of shared memory or of its matrix units.
double block_clocks(const ConvConfig& c, const conv::Chip& chip) {
    const uint32_t copied = c.frames * c.bm + c.bn, read = c.frames * c.bm * c.warps_n + c.bn * c.warps_m;
    return std::max(static_cast<double>((copied + read) * row_bytes(c)) / kSharedBytesPerClock,
                    matrix_clocks(static_cast<double>(c.bm) * c.bn * c.bk, chip));
}

/// Whether the tile has the problem's element and, if there is a norm, is the narrowest that holds all channels: a
/// norm's last bit depends on the width.
bool fits_winograd(const ConvConfig& c, const ConvProblem& p) {
    if (c.element != p.input.element) return false;
    if (p.norm == conv::Norm::None) return true;
    return c.bn >= p.filter.k && std::ranges::none_of(kConfigs, [&](const NamedConvConfig& other) {
               return other.config.bn >= p.filter.k && other.config.bn < c.bn;
           });
}

/// Frames of one pair, and whether it is one frame alone.
struct Pair {
    size_t output;  ///< first of its output frames, of all samples'
    std::array<const void*, 4> input;
    bool alone;
};

std::vector<Pair> pairs_of(const ConvProblem& p, std::span<const std::byte* const> input) {
    std::vector<Pair> pairs;
    for (int64_t sample = 0; sample < p.n; ++sample) {
        for (int64_t t = 0; t < p.d_out(); t += 2) {
            Pair& pair = pairs.emplace_back(Pair{static_cast<size_t>(sample * p.d_out() + t), {}, t + 1 == p.d_out()});
            for (int64_t tap = 0; tap < 4; ++tap) {
                const int64_t frame = conv::input_frame(p, t, tap);
                if (frame >= 0 && frame < p.d)
                    pair.input[static_cast<size_t>(tap)] = input[static_cast<size_t>(sample * p.d + frame)];
            }
        }
    }
    return pairs;
}

}  // namespace

std::span<const NamedConvConfig> winograd_configs() { return kConfigs; }

double winograd_seconds(const ConvConfig& c, const ConvProblem& p, const conv::Chip& chip) {
    const int64_t blocks = ceil_div(9 * cuda::padded_channels(p.c_in), c.bk), pairs = (p.d_out() + 1) / 2;
    const double clocks =
        4 * static_cast<double>(blocks) * block_clocks(c, chip) + 2 * (c.bn > 96 ? kFinishWide : kFinishNarrow);
    const double of_a_pair = clocks * conv::frame_pairs(p) / static_cast<double>(pairs);
    const int64_t ctas = ceil_div(p.pixels_out(), c.bm) * ceil_div(p.filter.k, c.bn) * pairs * p.n;
    return wave_seconds({.shared = of_a_pair, .alone = of_a_pair}, ctas, resident_ctas(c, chip), chip);
}

const NamedConvConfig* choose_winograd_config(const ConvProblem& problem, const conv::Chip& chip) {
    return conv::cheapest(
        kConfigs, [&](const NamedConvConfig& named) { return fits_winograd(named.config, problem); },
        [&](const NamedConvConfig& named) { return winograd_seconds(named.config, problem, chip); });
}

conv::PackedParameters pack_winograd(const ConvProblem& problem, const conv::ConvParameters& parameters) {
    ConvProblem of_four_taps = problem;
    of_four_taps.filter.q = 4;
    return conv::packed_with(cuda::pack_filter(of_four_taps, cuda::winograd_filter(problem, parameters.filter)),
                             parameters);
}

std::vector<ConvLaunch> winograd_launches(const ConvConfig& config, const ConvProblem& problem,
                                          const conv::ConvTensors& tensors,
                                          const conv::ParameterAddresses& parameters) {
    std::vector<ConvLaunch> launches;
    if (problem.empty()) return launches;
    const std::vector<Pair> pairs = pairs_of(problem, tensors.input);
    ConvProblem of_four_taps = problem;
    of_four_taps.filter.q = 4;
    WinogradParams common{.conv = shape_params(config, of_four_taps, parameters), .alone = 0};
    common.conv.flags = conv::epilogue_flags(problem);
    const uint32_t m_tiles = (common.conv.pixels + config.bm - 1) / config.bm;
    for (size_t first = 0; first < pairs.size(); first += kMaxPairs) {
        const size_t count = std::min<size_t>(kMaxPairs, pairs.size() - first);
        WinogradParams params = common;
        for (size_t i = 0; i < count; ++i) {
            const Pair& pair = pairs[first + i];
            std::ranges::copy(pair.input, params.conv.input + 4 * i);
            params.alone |= (pair.alone ? 1u : 0u) << i;
            for (size_t frame = 0; frame < (pair.alone ? 1u : 2u); ++frame) {
                const size_t from = pair.output + frame, to = 2 * i + frame;
                if (!tensors.output.empty()) params.conv.output[to] = tensors.output[from];
                if (!tensors.residual.empty()) params.conv.residual[to] = tensors.residual[from];
                if (!tensors.normed.empty()) params.conv.normed[to] = tensors.normed[from];
            }
        }
        launches.push_back({.grid = {m_tiles * common.conv.n_tiles, static_cast<uint32_t>(count), 1},
                            .threads = threads(config),
                            .shared_bytes = shared_bytes(config),
                            .arguments = conv::Arguments::of(params)});
    }
    return launches;
}

conv::ConvPlan plan_winograd(const ConvProblem& problem, const conv::Chip& chip) {
    const auto [tile, in_tile] =
        cuda::take_tile(problem, [&](const ConvProblem& p) { return choose_winograd_config(p, chip); });
    return cuda::plan_tiled(
        problem, chip,
        {.kernel = {std::string(tile->kernel),
                    problem.input.element == Element::BF16 ? "winograd_time_bf16" : "winograd_time_f16"},
         .seconds = conv::kLaunchSeconds + winograd_seconds(tile->config, in_tile, chip),
         .packing = {std::string("K4RSC of F(2,3) along time, ") + element_name(problem.input.element),
                     [problem](const conv::ConvParameters& given) { return pack_winograd(problem, given); }},
         .problem = in_tile,
         .launches = [config = tile->config](const ConvProblem& p, const conv::ConvTensors& tensors,
                                             const conv::ParameterAddresses& parameters, const conv::EncodeMap&) {
             return winograd_launches(config, p, tensors, parameters);
         }});
}

}  // namespace kinetograph::sm80
