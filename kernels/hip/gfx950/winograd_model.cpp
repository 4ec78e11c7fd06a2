#include <kinetograph/kernels/hip/gfx950/winograd_model.hpp>

#include <algorithm>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/winograd_time.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>
#include <limits>

namespace kinetograph::gfx950 {
namespace {

using conv::ConvProblem;

// Of a compute unit: docs/kernels-gfx950.md names the sources.
constexpr double kFlopsPerClock = 4096, kLdsBytesPerClock = 128, kL2BytesPerClock = 64;
constexpr double kIssueClocks = 4;       // of a wave's instruction; a SIMD has one wave
constexpr double kLoadInstructions = 5;  // of a load of 1 KiB to LDS, with its addresses
constexpr int64_t kWaves = 4, kLanes = 64, kProductPixels = 16, kProductChannels = 32;
/// Vector instructions for two packed sums, and for a sum and a difference of the same operands. fp16 adds packed; bf16
/// has no packed addition before gfx1250 and goes through float32: as compiled by clang 21, two to widen an operand, an
/// addition, a rounding.
struct SumInstructions {
    double alone, both;
};
constexpr SumInstructions kF16Sums{1, 2}, kBf16Sums{6, 8};
/// Clocks of a trip of 256x192x64's compiled loop, whose accumulators take as many registers, by
/// tools/gfx950/estimate.py (four_wave_conv_costs.inc), and of its longest unit, the products. What surrounds a loop is
/// taken from it too.
constexpr double kReplayedTrip = 3524, kTripOfProducts = 2 * 2.0 * 256 * 192 * 64 / kFlopsPerClock, kAround = 10424;

constexpr WinogradTile kTiles[] = {{128, 192, 64, 2, 2}, {128, 256, 64, 2, 2}, {256, 96, 32, 4, 1}};

using conv::ceil_div;
double real(int64_t value) { return static_cast<double>(value); }

/// One of the phases reads `frames` frames' pixels and two filters' rows, for two products.
void add_phase(WinogradClocks& clocks, const WinogradTile& t, int64_t frames, double sum_instructions) {
    const int64_t row = 2 * t.bk, pixels = frames * t.bm, filters = 2 * t.bn;
    const int64_t wave_pixels = pixels / t.waves_m, wave_filters = filters / t.waves_n;
    const double arriving = real((pixels + filters) * row);
    const double read = real(kWaves * (wave_pixels + wave_filters) * row);
    const double products =
        real(2 * (t.bm / t.waves_m / kProductPixels) * (t.bn / t.waves_n / kProductPixels) * (t.bk / kProductChannels));
    const double operands = real(2 * t.bm / t.waves_m * row) / (4 * kLanes);  // registers of sums and differences
    const double instructions = products + read / kWaves / (16 * kLanes) +
                                kLoadInstructions * arriving / kWaves / (16 * kLanes) + operands * sum_instructions;
    const double of_products = 2 * 2.0 * real(t.bm * t.bn * t.bk) / kFlopsPerClock;
    const double of_lds = (arriving + read) / kLdsBytesPerClock, of_l2 = arriving / kL2BytesPerClock;
    const double of_issue = instructions * kIssueClocks;
    clocks.products += of_products;
    clocks.lds += of_lds;
    clocks.l2 += of_l2;
    clocks.issue += of_issue;
    clocks.longest += std::max({of_products, of_lds, of_l2, of_issue});
}

double tile_seconds(const WinogradTile& t, const ConvProblem& p, const conv::Chip& chip) {
    const int64_t blocks = 9 * ceil_div(p.c_in, t.bk);
    const double clocks =
        real(blocks) * winograd_clocks(t, p.input.element).longest * kReplayedTrip / kTripOfProducts + kAround;
    const double workgroups =
        real(ceil_div(p.pixels_out(), t.bm) * ceil_div(p.filter.k, t.bn) * p.n) * conv::frame_pairs(p);
    const auto rounds = real(ceil_div(static_cast<int64_t>(workgroups), std::max(chip.compute_units, 1U)));
    const double output = real(p.frames_out()) * static_cast<double>(p.output_frame_bytes());
    const double moved =
        real(p.frames_in()) * static_cast<double>(p.input_frame_bytes()) + (p.residual ? 2 : 1) * output;
    return std::max(rounds * clocks / chip.clocks_per_second, streaming_seconds(moved, chip));
}

}  // namespace

WinogradClocks winograd_clocks(const WinogradTile& tile, Element element) {
    const SumInstructions sums = element == Element::F16 ? kF16Sums : kBf16Sums;
    WinogradClocks clocks;
    add_phase(clocks, tile, 4, sums.alone);
    add_phase(clocks, tile, 2, sums.both / 2);
    return clocks;
}

double winograd_seconds(const ConvProblem& problem, const conv::Chip& chip) {
    ConvProblem bare = problem;
    bare.norm = conv::Norm::None;
    double least = std::numeric_limits<double>::infinity();
    for (const WinogradTile& tile : kTiles) least = std::min(least, tile_seconds(tile, bare, chip));
    const double norm = plan_four_wave(problem, chip).seconds - plan_four_wave(bare, chip).seconds;
    return conv::kLaunchSeconds + least + std::max(norm, 0.0);
}

}  // namespace kinetograph::gfx950
