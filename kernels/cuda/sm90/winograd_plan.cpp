#include <algorithm>
#include <array>
#include <cstring>
#include <kinetograph/kernels/conv/cheapest.hpp>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/host/tiled_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_maps.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>
#include <kinetograph/kernels/cuda/sm90/pack.hpp>
#include <kinetograph/kernels/cuda/sm90/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_configs.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_frames.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_plan.hpp>

namespace kinetograph::sm90 {
namespace {

using conv::ConvLaunch;
using conv::ConvProblem;

#define KG_ROW(kernel, config) NamedWinogradConfig{#kernel, config},
constexpr std::array kConfigs{KG_SM90_WINOGRAD_BF16_TILES(KG_ROW) KG_SM90_WINOGRAD_F16_TILES(KG_ROW)};
#undef KG_ROW

// Fitted to an H200 like the constants of cost.cpp, in clocks of the rate that power leaves while products are issued
// in every clock: less busy, the chip clocks higher. None is a rate of the chip: what bounds tiles in turn, their
// energy (docs/kernels-sm90.md), goes by the term of shared memory.
constexpr double kMultiplyEfficiency = 1.01, kPortInTurn = 1.135, kPortTogether = 1.065;
// Part of an epilogue (epilogue_clocks) that products do not hide: of a warpgroup's in turn, and of both together.
constexpr double kShownInTurn = 0.2, kShownTogether = 0.7;
constexpr int64_t kBlockChannels = 32, kBlockBytes = 2 * kBlockChannels;  // of a block of K

using conv::ceil_div;
using conv::u64;

int64_t channel_blocks(const ConvProblem& p) { return ceil_div(p.c_in, kBlockChannels); }

/// Copies [k][tap][c_in rounded up to 8] to the stages' bytes in shared memory: [tile of filters][block][tap][filter],
/// with the chunks of a filter's 64 bytes where the swizzle has them.
std::vector<std::byte> in_stages(const WinogradConfig& c, const ConvProblem& p, std::span<const std::byte> rows) {
    constexpr int64_t kChunk = 16;
    const int64_t row_bytes = cuda::padded_channels(p.c_in) * 2, blocks = channel_blocks(p),
                  tap_bytes = c.bn * kBlockBytes;
    std::vector<std::byte> stages(u64(ceil_div(p.filter.k, c.bn) * blocks * kWinogradTaps * tap_bytes));
    for (int64_t k = 0; k < p.filter.k; ++k) {
        for (int64_t tap = 0; tap < kWinogradTaps; ++tap) {
            const std::byte* row = rows.data() + (k * kWinogradTaps + tap) * row_bytes;
            for (int64_t from = 0; from < row_bytes; from += kChunk) {
                const int64_t block = from / kBlockBytes, in_tap = k % c.bn * kBlockBytes + from % kBlockBytes;
                const int64_t to = ((k / c.bn * blocks + block) * kWinogradTaps + tap) * tap_bytes +
                                   isa::swizzled(swizzle(whole(c)), conv::u32(in_tap));
                std::memcpy(stages.data() + to, row + from, kChunk);
            }
        }
    }
    return stages;
}

/// The stages as rows of kFilterRowBytes, which TMA asks for in whole lines of the L2, where a row of a block's 32
/// channels would be half of one. Box: what one CTA loads of a stage.
isa::TensorMapDesc filter_map(const WinogradConfig& c, const ConvProblem& p, const std::byte* packed) {
    const int64_t rows = ceil_div(p.filter.k, c.bn) * channel_blocks(p) * kWinogradTaps * filter_rows(c);
    isa::TensorMapDesc map = isa::dense_map(isa::MapMode::Tiled, c.element, const_cast<std::byte*>(packed), 2,
                                            {kFilterRowBytes / 2, u64(rows)});
    map.box = {kFilterRowBytes / 2, filter_share_rows(c)};
    map.stored_swizzle = swizzle(whole(c));
    return map;
}

/// Clocks of one of a pair's four products over a block of channels: its multiplications, or its shared-memory traffic
/// at 128 bytes a clock if that is longer: the operands, the arriving filters, and a quarter of the halos that a pair
/// of frames moves: 6 arrive, the transform reads 6 and writes 4, or 4 of each.
double transformed_product_clocks(const WinogradConfig& c) {
    const ConvConfig tile = whole(c);
    constexpr double kSteps = 9 * kBlockChannels / 16.0;
    const double halos_a_product = (keeps(c) ? 4 + 8 : 6 + 10) / 4.0;
    const double operands = kSteps * blocks(tile) * (kBlockPixels + c.bn) * 16 * 2;
    const double filters = 9.0 * c.bn * kBlockBytes, halos = halos_a_product * halo_bytes(tile);
    return std::max(kSteps * blocks(tile) * c.bn / 2 / kMultiplyEfficiency,
                    (operands + filters + halos) / 128 / (keeps(c) ? kPortInTurn : kPortTogether));
}

}  // namespace

std::span<const NamedWinogradConfig> winograd_configs() { return kConfigs; }

bool fits(const WinogradConfig& c, const ConvProblem& p) {
    return c.element == p.input.element && (p.norm == conv::Norm::None || c.bn >= p.filter.k) &&
           (!keeps(c) || kSums * channel_blocks(p) <= c.kept_stages);
}

double winograd_seconds(const WinogradConfig& c, const ConvProblem& p, const conv::Chip& chip) {
    const ConvConfig tile = whole(c);
    const bool in_turn = c.consumers == Consumers::InTurn;
    const double product = static_cast<double>(channel_blocks(p)) * transformed_product_clocks(c);
    const double epilogue = epilogue_clocks(share(c), p) * (in_turn ? kShownInTurn : kShownTogether);  // of one frame
    const int64_t pairs = p.d_out() / 2, alone = p.d_out() % 2;
    const double clocks = static_cast<double>(pairs) * (4 * product + 2 * epilogue) +
                          static_cast<double>(alone) * (3 * product + epilogue);
    const int64_t places =
        ceil_div(ceil_div(p.h_out(), tile_rows(tile)) * ceil_div(p.w_out(), tile_columns(tile)), kClusterCtas) *
        ceil_div(p.filter.k, c.bn) * p.n;
    const int64_t turns =
        ceil_div(places * (pairs + alone), int64_t{chip.clusters.at_once(kClusterCtas, chip.compute_units)});
    return launch_seconds(static_cast<double>(turns) * clocks / static_cast<double>(pairs + alone), p, chip);
}

const NamedWinogradConfig* choose_winograd_config(const ConvProblem& problem, const conv::Chip& chip) {
    return conv::cheapest(
        kConfigs, [&](const NamedWinogradConfig& named) { return fits(named.config, problem); },
        [&](const NamedWinogradConfig& named) { return winograd_seconds(named.config, problem, chip); });
}

conv::PackedParameters pack_winograd(const WinogradConfig& config, const ConvProblem& problem,
                                     const conv::ConvParameters& parameters) {
    ConvProblem of_four_taps = problem;
    of_four_taps.filter.q = 4;
    // winograd_filter has the halves of phase 1's taps, g0 and g2, first. Here no butterfly doubles what they add.
    std::vector<float> taps = cuda::winograd_filter(problem, parameters.filter);
    constexpr int64_t kOfPhase = kWinogradTaps / 2;
    for (auto filter = taps.begin(); filter != taps.end(); filter += kWinogradTaps) {
        std::for_each(filter, filter + kOfPhase, [](float& tap) { tap *= 2; });
        std::rotate(filter, filter + kOfPhase, filter + kWinogradTaps);
    }
    const std::vector<std::byte> rows = cuda::pack_filter(of_four_taps, taps);
    return pack_with_filter(in_stages(config, problem, rows), parameters);
}

std::vector<ConvLaunch> winograd_launches(const WinogradConfig& config, const ConvProblem& problem,
                                          const conv::ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                                          uint32_t resident, const conv::EncodeMap& encode) {
    std::vector<ConvLaunch> launches;
    if (problem.empty()) return launches;
    const TileShape tile = tile_shape(whole(config));
    const ConvMaps maps(tile, problem, encode);
    WinogradParams common{.conv = shape_params(tile, problem, parameters), .pairs = {}};
    common.conv.filter = encode(filter_map(config, problem, parameters.filter));
    for (const PairRun& run : pair_runs(problem)) {
        WinogradParams params = common;
        params.conv.frames = run.pairs;
        std::copy(run.pair.begin(), run.pair.end(), params.pairs);
        for (int64_t i = 0; i < run.inputs; ++i)
            params.conv.input[i] = maps.input(tensors.input[static_cast<size_t>(run.first_input + i)]);
        maps.stored(params.conv, tensors, run.first_output, run.outputs);
        const uint32_t places = (params.conv.tiles_x * params.conv.tiles_y + kClusterCtas - 1) / kClusterCtas;
        const uint32_t clusters = std::min(places * params.conv.tiles_n * run.pairs, resident);
        launches.push_back({.grid = {clusters * kClusterCtas, 1, 1},
                            .cluster = {kClusterCtas, 1, 1},
                            .threads = kWinogradThreads,
                            .shared_bytes = shared_bytes(config),
                            .arguments = conv::Arguments::of(params)});
    }
    return launches;
}

conv::ConvPlan plan_winograd_in(const NamedWinogradConfig& tile, const ConvProblem& problem, const conv::Chip& chip) {
    const ConvProblem in_tile = without_norm_unless(fits(tile.config, problem), problem);
    const uint32_t resident = chip.clusters.at_once(kClusterCtas, chip.compute_units);
    return cuda::plan_tiled(
        problem, chip,
        {.kernel = {std::string(tile.kernel),
                    problem.input.element == Element::BF16 ? "winograd_conv_bf16" : "winograd_conv_f16"},
         .seconds = winograd_seconds(tile.config, in_tile, chip),
         .packing = {"stages of " + std::to_string(tile.config.bn) + " filters of F(2,3) along time, " +
                         element_name(problem.input.element) + ", swizzled, channels padded",
                     [problem, config = tile.config](const conv::ConvParameters& given) {
                         return pack_winograd(config, problem, given);
                     }},
         .problem = in_tile,
         .cluster = kClusterCtas,
         .clusters_at_once = resident,
         .launches = [config = tile.config, resident](const ConvProblem& p, const conv::ConvTensors& tensors,
                                                      const conv::ParameterAddresses& parameters,
                                                      const conv::EncodeMap& encode) {
             return winograd_launches(config, p, tensors, parameters, resident, encode);
         }});
}

conv::ConvPlan plan_winograd(const ConvProblem& problem, const conv::Chip& chip) {
    const auto taken = cuda::take_tile(problem, [&](const ConvProblem& p) { return choose_winograd_config(p, chip); });
    return plan_winograd_in(*taken.tile, problem, chip);
}

}  // namespace kinetograph::sm90
