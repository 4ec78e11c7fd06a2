#include <algorithm>
#include <array>
#include <kinetograph/kernels/conv/cheapest.hpp>
#include <kinetograph/kernels/conv/chip.hpp>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/host/cost.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>

namespace kinetograph::sm90 {
namespace {

#define KG_ROW(kernel, config) NamedConvConfig{#kernel, config},
constexpr std::array kConfigs{KG_SM90_BF16_TILES(KG_ROW) KG_SM90_F16_TILES(KG_ROW) KG_SM90_BYTE_TILES(KG_ROW)
                                  KG_SM90_BYTE_NORM_TILES(KG_ROW)};
constexpr std::array kSumConfigs{KG_SM90_SUM_TILES(KG_ROW)};
#undef KG_ROW

// Fitted to bench/results/conv_h200_*.json; docs/kernels-sm90.md has the error of every layer. Descriptions of the chip
// give an H200's clock as 1.8 GHz; while the tensor cores are busy, power holds it at 1.58 (docs/performance.md).
constexpr double kDescribedClocksPerSecond = 1.8e9, kLoadedClocksPerSecond = 1.58e9;
constexpr double kByteClocks = 1.75e9 / 1.58e9;  // products of bytes draw less power
constexpr double kIssueEfficiency = 0.97;
// What an SM loads in a clock while all do, out of the L2: the most that a recorded layer has, 384>768 3x1x1 1x88x160.
constexpr double kLoadedBytesPerClock = 52;
// Clocks of an epilogue for each filter of a block.
constexpr double kStoreClocks = 13.5, kNormClocks = 18, kResidualClocks = 3;
constexpr double kStartSeconds = 2.6e-6;  // per launch, before its first tile and after its last

using conv::ceil_div;

int64_t side_of(const conv::ConvProblem& p) { return p.upsample ? 2 : p.filter.r; }

/// Input, residual and outputs, each moved once.
double traffic_bytes(const conv::ConvProblem& p) {
    const auto outputs = static_cast<double>(p.frames_out()) * static_cast<double>(p.output_frame_bytes());
    const double stores = p.norm == conv::Norm::Beside ? 2 : 1, loads = p.residual ? 1 : 0;
    return static_cast<double>(p.frames_in()) * static_cast<double>(p.input_frame_bytes()) + (stores + loads) * outputs;
}

/// Overlapping epilogues cost stages of both rings, and gain nothing where products take longer.
bool gains_by_overlap(const ConvConfig& c, const conv::ConvProblem& p) {
    return c.epilogues == Epilogues::InTurn || epilogue_clocks(c, p) > tile_clocks(c, p);
}

const NamedConvConfig* cheapest_of(std::span<const NamedConvConfig> configs, const conv::ConvProblem& problem,
                                   const conv::Chip& chip) {
    return conv::cheapest(
        configs,
        [&](const NamedConvConfig& named) {
            return fits(named.config, problem) && gains_by_overlap(named.config, problem);
        },
        [&](const NamedConvConfig& named) { return conv_seconds(named.config, problem, chip); });
}

}  // namespace

std::span<const NamedConvConfig> conv_configs() { return kConfigs; }
std::span<const NamedConvConfig> sum_configs() { return kSumConfigs; }

Walk walk_of(const conv::ConvProblem& p) { return p.upsample ? Walk{p.h, p.w, 4} : Walk{p.h_out(), p.w_out(), 1}; }

conv::ConvProblem product_problem(int64_t rows, int64_t c_in, int64_t k, Element dtype, Element output) {
    conv::ConvProblem product;
    product.h = rows / kProductColumns;
    product.w = kProductColumns;
    product.c_in = c_in;
    product.filter.k = k;
    product.input = product.weight = dtype;
    product.output = product.normed = output;
    product.bias = false;
    return product;
}

conv::ConvProblem flattened(conv::ConvProblem p) {
    const bool own_pixels = p.filter.r == 1 && p.filter.s == 1 && p.h_out() == p.h && p.w_out() == p.w;
    if (!own_pixels || p.pixels_out() % kProductColumns != 0) return p;
    p.h = p.pixels_out() / kProductColumns;
    p.w = kProductColumns;
    return p;
}

int64_t conv_tiles(const ConvConfig& c, const conv::ConvProblem& p) {
    const Walk walk = walk_of(flattened(p));
    return ceil_div(walk.h, tile_rows(c)) * ceil_div(walk.w, tile_columns(c)) * walk.parities * p.frames_out() *
           ceil_div(p.filter.k, c.bn);
}

double epilogue_clocks(const ConvConfig& c, const conv::ConvProblem& p) {
    const double clocks_per_filter = kStoreClocks + (p.norm == conv::Norm::None ? 0 : kNormClocks) +
                                     (p.norm == conv::Norm::Beside ? kStoreClocks : 0) +
                                     (p.residual ? kResidualClocks : 0);
    return clocks_per_filter * blocks(c) * c.bn;
}

double product_clocks(uint32_t filters) { return std::max(filters / 2.0, (kBlockPixels + filters) * 16 * 2 / 128.0); }

double tile_clocks(const ConvConfig& c, const conv::ConvProblem& p) {
    const uint32_t steps = c.side * c.side * row_steps(c);
    const double taps = c.side * c.side;
    const double products = steps * blocks(c) * product_clocks(c.bn) / kIssueEfficiency;
    const double loads = (halo_bytes(c) + taps * c.bn * row_bytes(c)) / kLoadedBytesPerClock;
    return static_cast<double>(p.filter.q * ceil_div(p.c_in, c.channels)) * std::max(products, loads);
}

double clock_seconds(double clocks, const conv::Chip& chip) {
    const double rate = chip.clocks_per_second > 0 ? chip.clocks_per_second / kDescribedClocksPerSecond : 1;
    return clocks / (kLoadedClocksPerSecond * rate);
}

double launch_seconds(double clocks, const conv::ConvProblem& p, const conv::Chip& chip) {
    return kStartSeconds + std::max(clock_seconds(clocks, chip), cuda::traffic_seconds(traffic_bytes(p), chip));
}

double conv_seconds(const ConvConfig& c, const conv::ConvProblem& p, const conv::Chip& chip) {
    const double faster = multiplies_bytes(c) ? kByteClocks : 1;
    const double products = tile_clocks(c, p) / faster, epilogue = epilogue_clocks(c, p) / faster;
    // One warpgroup's products overlap the other's epilogue: a tile takes the longer of the two, the last tile both. If
    // epilogues overlap, both warpgroups are always at work: a tile takes half of both, or the products.
    const double longer = c.epilogues == Epilogues::Overlap ? (products + epilogue) / 2 : epilogue;
    const auto turns = static_cast<double>(ceil_div(conv_tiles(c, p), std::max<int64_t>(chip.compute_units, 1)));
    return launch_seconds((turns - 1) * std::max(products, longer) + products + epilogue, p, chip);
}

bool fits(const ConvConfig& c, const conv::ConvProblem& p) {
    const uint32_t bytes = element_bytes(c.element), least = 32, most = 128 / bytes;
    uint32_t channels = most;
    while (channels > least && p.c_in % channels != 0) channels /= 2;
    const bool norms = p.norms_to_bytes() ? c.byte_norms && p.filter.k % 16 == 0 : multiplies_bytes(c) || !c.byte_norms;
    return c.element == p.input.element && c.side == side_of(p) && c.channels == channels && norms &&
           (c.bn >= p.filter.k || (p.norm == conv::Norm::None && !has_part_of_a_piece(c)));
}

const NamedConvConfig* choose_config(const conv::ConvProblem& problem, const conv::Chip& chip) {
    return cheapest_of(kConfigs, problem, chip);
}
const NamedConvConfig* choose_sum_config(const conv::ConvProblem& problem, const conv::Chip& chip) {
    return cheapest_of(kSumConfigs, problem, chip);
}

}  // namespace kinetograph::sm90
