#include <algorithm>
#include <kinetograph/kernels/conv/cheapest.hpp>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/sm100/cost.hpp>
#include <utility>

namespace kinetograph::sm100 {
namespace {

using conv::ceil_div;
using conv::ConvProblem;

// Clocks of an epilogue warp for one piece of 32 x 32, counted in the halo kernel's compiled instructions: a quarter of
// an SM issues one a clock, but a special function only every eight clocks (SiLU has two).
constexpr double kPieceClocks = 300, kSiluClocks = 512, kResidualClocks = 100, kNormClocks = 250;

bool silu(conv::Activation activation) { return activation == conv::Activation::Silu; }

/// Clusters along the pixels: a window's are tiled frame by frame, otherwise all frames together.
uint64_t cluster_columns(const Conv2dConfig& config, const ConvProblem& p) {
    const auto pixels = static_cast<uint64_t>(p.frames_out() * p.pixels_out());
    const uint64_t each = uint64_t{config.block.m} * config.cluster.x;
    if (config.activation != Activation::Window3d) return ceil_div(pixels, each);
    const auto frames = static_cast<uint64_t>(p.frames_out());
    return frames * ceil_div(pixels / frames, each);
}

/// Bytes of operands that a walk in panels reads from HBM. Clusters that run at once share what they read; the filters
/// are read again for every panel, and a panel's activations for every row of clusters, unless both stay in L2.
double operand_bytes(const Conv2dConfig& config, const ConvProblem& p, const ChipRates& chip, uint64_t panel) {
    const double element = element_bytes(p.input.element);
    const double activation = element * static_cast<double>(p.frames_in() * p.h_seen() * p.w_seen() * p.c_in);
    const double filter = element * static_cast<double>(p.filter.k * p.taps() * p.c_in);
    const uint64_t columns = cluster_columns(config, p);
    const uint64_t rows = ceil_div(static_cast<uint64_t>(p.filter.k), uint64_t{config.mma.n} * config.cluster.y);
    const uint64_t at_once = ceil_div(uint64_t{chip.clusters_at_once(config.cluster.size())}, rows);
    const uint64_t width = std::min(std::max(panel, at_once), columns);
    const double of_panel = activation * static_cast<double>(width) / static_cast<double>(columns);
    if (filter + of_panel <= chip.l2_bytes) return activation + filter;
    const double panels = static_cast<double>(ceil_div(columns, width));
    const bool stays = of_panel + filter / static_cast<double>(rows) <= chip.l2_bytes;
    return filter * panels + activation * (stays ? 1.0 : static_cast<double>(rows));
}

double result_bytes(const Conv2dConfig& config, const ConvProblem& p) {
    const double source = config.source == Source::None ? 0.0 : element_bytes(config.source_value);
    return static_cast<double>(p.frames_out() * p.pixels_out() * p.filter.k) * (element_bytes(config.output) + source);
}

/// Clusters of more than an MMA's CTAs leave SMs idle: while it is not known how many run at once, they have to win by
/// 2 %.
double cost(const Conv2dEntry& entry, const ConvProblem& p, const ChipRates& chip) {
    constexpr double kOfLargerClusters = 1.02;
    const bool larger =
        chip.clusters == conv::ResidentClusters{} && entry.config.cluster.size() > entry.config.cta_group;
    return (larger ? kOfLargerClusters : 1) * estimate(entry.config, p, chip).cost();
}

bool computes(const Conv2dEntry& entry, const EntryRequest& request) {
    if (entry.function == request.function) return true;
    return !request.kernel.empty() && request.function == EntryFunction::SiluInRegisters &&
           entry.function == EntryFunction::SiluAfterSharedMemory;
}

/// Swizzles that cost as much as those of one width, and take more loads.
bool by_name_only(const Conv2dConfig& c) { return c.swizzle_a != c.swizzle_b || c.swizzle_a == isa::Swizzle::Span32; }

bool serves(const Conv2dEntry& entry, const ConvProblem& p, const EntryRequest& request) {
    const Conv2dConfig& c = entry.config;
    return computes(entry, request) && (request.kernel.empty() || request.kernel == entry.name) &&
           (!by_name_only(c) || !request.kernel.empty()) && c.element == p.input.element &&
           c.filter_element == p.weight.element && c.activation == request.activation && c.source == request.source &&
           element_bytes(c.output) == request.output_bytes;
}

/// Clocks of an epilogue warp for a tile: each has 32 rows of tensor memory's lanes, and the columns in them.
double epilogue_clocks(const Conv2dConfig& config, const ConvProblem& p) {
    ConvProblem stored = p;
    stored.residual = config.source != Source::None;
    const double values = element_bytes(config.output) / 2.0;  // fp32 takes two sweeps of stores
    return ceil_div(part_columns(config), config.output_tile.n) * piece_clocks(stored).sums * values;
}

}  // namespace

PieceClocks piece_clocks(const ConvProblem& p) {
    PieceClocks clocks;
    clocks.sums = kPieceClocks + (silu(p.activation) ? kSiluClocks : 0) + (p.residual ? kResidualClocks : 0);
    if (p.norm != conv::Norm::None) clocks.norm = kNormClocks + (silu(p.norm_activation) ? kSiluClocks : 0);
    return clocks;
}

Conv2dEstimate estimate(const Conv2dConfig& config, const ConvProblem& p, const ChipRates& chip) {
    Conv2dEstimate result;
    if (p.empty()) return result;
    const auto filters = static_cast<uint64_t>(p.filter.k), channels = static_cast<uint64_t>(p.c_in);
    const auto taps = static_cast<uint64_t>(p.taps());
    const uint32_t cluster = config.cluster.size();
    const uint64_t columns = cluster_columns(config, p);
    const uint64_t clusters = columns * ceil_div(filters, uint64_t{config.mma.n} * config.cluster.y);
    result.tiles = clusters * cluster / config.cta_group;
    result.rounds = ceil_div(clusters, uint64_t{chip.clusters_at_once(cluster)});

    const uint64_t steps = taps * ceil_div(channels, config.mma.k), blocks = taps * ceil_div(channels, config.block.k);
    // A step is 32 bytes of k: 8-bit operands do twice the work in the same clocks.
    const uint32_t full_rows = config.cta_group == 2 ? chip.full_rows_of_pairs : 128;
    const double step_clocks = 2.0 * std::max(config.block.m, full_rows) * config.mma.n * 16 / chip.flops_per_clock;
    const double block_bytes = static_cast<double>(activation_tile_bytes(config)) / config.cluster.y +
                               static_cast<double>(filter_tile_bytes(config)) * config.cta_group / config.cluster.x;
    // Filling and draining a tile's pipeline is not in the model and weighs more on smaller tiles: they have to win by
    // 2 %.
    const double margin = config.block.m < 128 ? 1.02 : 1.0;
    const auto clocks = margin * static_cast<double>(result.rounds) / chip.clocks_per_second;
    result.mma_seconds = clocks * static_cast<double>(steps) * step_clocks;
    result.l2_seconds = clocks * static_cast<double>(blocks) * block_bytes / chip.l2_bytes_per_clock;
    const double step_bytes = 32.0 * (config.block.m + config.block.n);
    const double arriving = activation_tile_bytes(config) + filter_tile_bytes(config);
    result.shared_seconds = clocks *
                            (static_cast<double>(steps) * step_bytes + static_cast<double>(blocks) * arriving) /
                            chip.shared_bytes_per_clock;
    double fewest = operand_bytes(config, p, chip, 1);
    for (uint32_t panel = 2; panel / 2 < columns; panel *= 2) {
        const double bytes = operand_bytes(config, p, chip, panel);
        if (bytes < fewest) fewest = bytes, result.panel = panel;
    }
    result.hbm_seconds = (fewest + result_bytes(config, p)) / chip.hbm_bytes_per_second;
    result.epilogue_seconds = clocks * epilogue_clocks(config, p);
    result.find_limit(static_cast<double>(clusters), chip.clusters_at_once(cluster), chip);
    return result;
}

void Conv2dEstimate::find_limit(double tiles_of_clusters, double places, const ChipRates& chip) {
    power_seconds = mma_seconds * tiles_of_clusters / (static_cast<double>(rounds) * places) / chip.power_share;
    const std::pair<double, Limit> parts[] = {
        {mma_seconds, Limit::Mma}, {shared_seconds, Limit::Shared},     {l2_seconds, Limit::L2},
        {hbm_seconds, Limit::Hbm}, {epilogue_seconds, Limit::Epilogue}, {power_seconds, Limit::Power}};
    const auto* const longest = std::ranges::max_element(parts, {}, &std::pair<double, Limit>::first);
    seconds = longest->first;
    limit = longest->second;
}

const Conv2dEntry* choose_entry(const ConvProblem& p, const EntryRequest& request, const ChipRates& chip) {
    return conv::cheapest(
        kConv2dEntries, [&](const Conv2dEntry& entry) { return serves(entry, p, request); },
        [&](const Conv2dEntry& entry) { return cost(entry, p, chip); });
}

std::vector<const Conv2dEntry*> entries_for(const ConvProblem& p, const EntryRequest& request, const ChipRates& chip) {
    std::vector<const Conv2dEntry*> entries;
    for (const Conv2dEntry& entry : kConv2dEntries) {
        EntryRequest named = request;
        named.kernel = entry.name;
        if (serves(entry, p, named)) entries.push_back(&entry);
    }
    std::ranges::stable_sort(entries, {}, [&](const Conv2dEntry* entry) { return cost(*entry, p, chip); });
    return entries;
}

}  // namespace kinetograph::sm100
