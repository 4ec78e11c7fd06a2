#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>

#include <algorithm>
#include <kinetograph/kernels/conv/cheapest.hpp>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/host/tiled_plan.hpp>
#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_configs.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_params.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_maps.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>
#include <kinetograph/kernels/cuda/sm90/frame_runs.hpp>
#include <kinetograph/kernels/cuda/sm90/pack.hpp>

namespace kinetograph::sm100 {
namespace {

using conv::ConvLaunch;
using conv::ConvProblem;

#define KG_ROW(kernel, config) NamedHaloConfig{#kernel, config},
constexpr std::array kConfigs{KG_SM100_HALO_BF16_TILES(KG_ROW) KG_SM100_HALO_F16_TILES(KG_ROW)};
#undef KG_ROW

using conv::ceil_div;
double real(int64_t value) { return static_cast<double>(value); }

/// Values moved per output element: stores, and the load of a residual.
int64_t transfers(const ConvProblem& p) { return 1 + (p.residual ? 1 : 0) + (p.norm == conv::Norm::Beside ? 1 : 0); }

/// Whether results are stored by HaloStore::Pixels.
bool stores_pixels(const ConvProblem& p) {
    return p.filter.k <= 16 && !p.residual && p.norm == conv::Norm::None && !p.upsample;
}

sm90::TileShape tile_shape(const HaloConfig& c) {
    return {.element = c.element,
            .stored = c.element,
            .rows = cta_rows(c),
            .columns = tile_columns(c),
            .filters = tile_filters(c),
            .channels = c.channels,
            .side = c.side,
            .swizzle = swizzle(c),
            .halo_rows = halo_rows(c),
            .halo_columns = halo_columns(c),
            .stage_filters = loaded_filters(c),
            .stage_taps = c.stage_taps,
            .piece_rows = kPieceRows,
            .piece_columns = kHaloBlockColumns,
            .piece_channels = kPieceChannels,
            .piece_swizzle = isa::Swizzle::Span64};
}

int64_t tiles_of(const HaloConfig& c, const ConvProblem& p) {
    const sm90::Walk walk = sm90::walk_of(p);
    return ceil_div(walk.h, cta_rows(c)) * ceil_div(walk.w, tile_columns(c)) * walk.parities * p.frames_out() *
           ceil_div(p.filter.k, tile_filters(c));
}

}  // namespace

std::span<const NamedHaloConfig> halo_configs() { return kConfigs; }

bool fits(const HaloConfig& c, const ConvProblem& p) {
    if (c.element != p.input.element || c.side != (p.upsample ? 2 : p.filter.r)) return false;
    if (c.store == HaloStore::Pixels || stores_pixels(p)) return c.store == HaloStore::Pixels && stores_pixels(p);
    // If pairs share pixels, both must have filters.
    if (c.sharing == HaloSharing::Pixels && (p.filter.k <= c.bn || p.filter.k > tile_filters(c))) return false;
    return c.channels == (p.c_in % 64 == 0 ? 64 : 32) && (p.norm == conv::Norm::None || tile_filters(c) >= p.filter.k);
}

Conv2dEstimate estimate(const HaloConfig& c, const ConvProblem& p, const ChipRates& chip) {
    Conv2dEstimate result;
    if (p.empty()) return result;
    const int64_t tiles = tiles_of(c, p), clusters = chip.clusters_at_once(c.cluster);
    result.tiles = static_cast<uint64_t>(tiles);
    result.rounds = static_cast<uint64_t>(ceil_div(tiles, clusters));

    // Per CTA and tile. A step is 16 channels of one tap.
    const int64_t k_blocks = p.filter.q * ceil_div(p.c_in, c.channels), taps = c.side * c.side;
    const int64_t steps = k_blocks * taps * (c.channels / 16) * c.blocks;
    const int64_t halos = k_blocks * halo_bytes(c), filters = k_blocks * taps * row_bytes(c);  // of one filter
    const int64_t tile_bytes = int64_t{kHaloBlockPixels} * c.blocks * c.bn * element_bytes(p.output.element);
    const int64_t staged = c.store == HaloStore::Pieces ? transfers(p) * tile_bytes : 0;
    const double step_clocks = 2.0 * kHaloBlockPixels * c.bn * 16 / chip.flops_per_clock;
    const double read = 32.0 * (kHaloBlockPixels + cta_filters(c)) * real(steps);

    const double turns = static_cast<double>(result.rounds) / chip.clocks_per_second;
    result.mma_seconds = turns * real(steps) * step_clocks;
    result.shared_seconds =
        turns * (read + real(halos + filters * cta_filters(c) + 2 * staged)) / chip.shared_bytes_per_clock;
    const PieceClocks piece = piece_clocks(p);
    const double loaded_halos = real(c.sharing == HaloSharing::Pixels ? halos / 2 : halos) /
                                (row_bytes(c) == 64 ? chip.narrow_halo_share : 1.0);
    result.l2_seconds = turns * (loaded_halos + real(filters * loaded_filters(c) + transfers(p) * tile_bytes)) /
                        chip.l2_bytes_per_clock;
    result.epilogue_seconds = turns * (piece.sums + piece.norm) * real(ceil_div(c.bn, kPieceChannels) * c.blocks);
    result.hbm_seconds = (real(p.frames_in()) * static_cast<double>(p.input_frame_bytes()) +
                          real(transfers(p) * p.frames_out()) * static_cast<double>(p.output_frame_bytes()) +
                          real(p.filter_elements()) * element_bytes(p.input.element)) /
                         chip.hbm_bytes_per_second;
    result.find_limit(real(tiles), real(clusters), chip);
    return result;
}

const NamedHaloConfig* choose_halo_config(const ConvProblem& problem, const ChipRates& chip) {
    return conv::cheapest(
        kConfigs, [&](const NamedHaloConfig& named) { return fits(named.config, problem); },
        [&](const NamedHaloConfig& named) { return estimate(named.config, problem, chip).cost(); });
}

std::vector<ConvLaunch> halo_launches(const HaloConfig& config, const ConvProblem& problem,
                                      const conv::ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                                      uint32_t clusters, const conv::EncodeMap& encode) {
    std::vector<ConvLaunch> launches;
    if (problem.empty()) return launches;
    const sm90::TileShape tile = tile_shape(config);
    const sm90::ConvMaps maps(tile, problem, encode);
    HaloParams common{.conv = sm90::shape_params(tile, problem, parameters),
                      .pixels = {},
                      .h_out = static_cast<uint32_t>(problem.h_out()),
                      .w_out = static_cast<uint32_t>(problem.w_out()),
                      .c_out = static_cast<uint32_t>(problem.filter.k)};
    common.conv.filter = maps.filter(parameters.filter);
    for (const sm90::FrameRun& run : sm90::frame_runs(problem)) {
        HaloParams params = common;
        sm90::ConvParams& p = params.conv;
        p.frames = static_cast<uint32_t>(run.count);
        std::ranges::copy(run.taps, p.taps);
        for (int64_t i = 0; i < run.inputs; ++i)
            p.input[i] = maps.input(tensors.input[static_cast<size_t>(run.first_input + i)]);
        if (config.store == HaloStore::Pixels) {
            std::ranges::copy(
                tensors.output.subspan(static_cast<size_t>(run.first_output), static_cast<size_t>(run.count)),
                params.pixels);
        } else {
            maps.stored(p, tensors, run.first_output, run.count);
        }
        const uint32_t tiles = p.tiles_x * p.tiles_y * p.frames * p.parities * p.tiles_n;
        launches.push_back({.grid = {std::min(tiles, clusters) * config.cluster, 1, 1},
                            .cluster = {config.cluster, 1, 1},
                            .threads = kThreads,
                            .shared_bytes = shared_bytes(config),
                            .arguments = conv::Arguments::of(params)});
    }
    return launches;
}

namespace {

using Taken = cuda::TakenTile<NamedHaloConfig>;

conv::ConvPlan plan_taken(const ConvProblem& problem, const conv::Chip& chip, const Taken& taken) {
    assert(taken.tile != nullptr);  // gates admit only what is built
    const ChipRates rates = rates_of(chip);
    const auto launches = static_cast<double>(sm90::frame_runs(problem).size());
    const uint32_t clusters = rates.clusters_at_once(taken.tile->config.cluster);
    return cuda::plan_tiled(
        problem, chip,
        {.kernel = {std::string(taken.tile->kernel),
                    problem.input.element == Element::BF16 ? "halo_conv_bf16" : "halo_conv_f16"},
         .seconds = launches * conv::kLaunchSeconds + estimate(taken.tile->config, taken.problem, rates).seconds,
         .packing = {sm90::packing_layout(problem),
                     [problem](const conv::ConvParameters& given) { return sm90::pack_parameters(problem, given); }},
         .problem = taken.problem,
         .cluster = taken.tile->config.cluster,
         .clusters_at_once = clusters,
         .launches = [config = taken.tile->config, clusters](const ConvProblem& p, const conv::ConvTensors& tensors,
                                                             const conv::ParameterAddresses& parameters,
                                                             const conv::EncodeMap& encode) {
             return halo_launches(config, p, tensors, parameters, clusters, encode);
         }});
}

ConvProblem without_norm(ConvProblem problem) {
    problem.norm = conv::Norm::None;
    return problem;
}

}  // namespace

conv::ConvPlan plan_implicit_gemm(const ConvProblem& problem, const conv::Chip& chip) {
    const auto choose = [rates = rates_of(chip)](const ConvProblem& p) { return choose_halo_config(p, rates); };
    return plan_taken(problem, chip, cuda::take_tile(problem, choose));
}

std::vector<std::string_view> halo_kernels(const ConvProblem& problem, const conv::Chip& chip) {
    std::vector<const NamedHaloConfig*> fitting;
    for (const NamedHaloConfig& tile : kConfigs)
        if (fits(tile.config, without_norm(problem))) fitting.push_back(&tile);
    std::ranges::stable_sort(fitting, {}, [&](const NamedHaloConfig* tile) {
        return estimate(tile->config, problem, rates_of(chip)).cost();
    });
    std::vector<std::string_view> names;
    names.reserve(fitting.size());
    for (const NamedHaloConfig* tile : fitting) names.push_back(tile->kernel);
    return names;
}

conv::ConvPlan plan_implicit_gemm_with(const ConvProblem& problem, const conv::Chip& chip, std::string_view kernel) {
    const auto* const tile = std::ranges::find(kConfigs, kernel, &NamedHaloConfig::kernel);
    return plan_taken(problem, chip, {tile, fits(tile->config, problem) ? problem : without_norm(problem)});
}

}  // namespace kinetograph::sm100
