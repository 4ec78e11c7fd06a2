#include <algorithm>
#include <array>
#include <cassert>
#include <kinetograph/kernels/conv/cheapest.hpp>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/host/upsample.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_rows.hpp>
#include <kinetograph/kernels/cuda/sm80/cost.hpp>

namespace kinetograph::sm80 {
namespace {

using conv::Chip;
using conv::ConvProblem;
using conv::Norm;

#define KG_NAMED(name, ...) NamedConvConfig{"sm80_conv_" #name, name},
constexpr std::array kConfigs{KG_SM80_CONV_CONFIGS_BF16(KG_NAMED) KG_SM80_CONV_CONFIGS_F16(KG_NAMED)};
#undef KG_NAMED

using conv::ceil_div;

/// Clocks of an SM for one CTA, fitted to the times of 13 layers of the Wan 2.1 decoder on an H200 (sm_90, 1.8 GHz),
/// which they predict within 6 to 16 % (root mean square), docs/performance.md. Not fitted: 128 x 48, which is given
/// the mean of its neighbours, and narrow copies, of which only one tile of each width can run.
struct TileClocks {
    uint32_t bm, bn;
    double multiply;  ///< of the pipes, for 64 elements of K
    double finish;    ///< additional clocks of the pipes per tile
    double alone;     ///< for each 64 elements of K when the CTA has the SM to itself
    double start;     ///< additional, when it is alone
};
constexpr std::array kTileClocks{
    TileClocks{128, 128, 1290, 5731, 1240, 15516}, TileClocks{128, 96, 927, 3682, 978, 20359},
    TileClocks{128, 64, 651, 4817, 925, 159},      TileClocks{128, 48, 546, 3579, 1020, 5438},
    TileClocks{128, 32, 440, 2340, 1115, 10717},   TileClocks{128, 16, 262, 2668, 1388, 4582},
    TileClocks{64, 192, 964, 7177, 2017, 38},      TileClocks{64, 96, 526, 2716, 631, 486},
    TileClocks{64, 64, 375, 2060, 2181, 4783},
};
const TileClocks& clocks_of(const ConvConfig& config) {
    const auto found = std::ranges::find_if(
        kTileClocks, [&](const TileClocks& tile) { return tile.bm == config.bm && tile.bn == config.bn; });
    assert(found != kTileClocks.end());
    return *found;
}

/// Bytes that one copy of input channels may have. Copies of 16 bytes use MaskedRow, narrower ones PlacedRow.
uint32_t widest_copy(const ConvProblem& p) {
    const bool masked = cuda::upsample_of(p) != cuda::Upsample::Nearest2x && p.filter.r <= kMostMaskedTaps &&
                        p.filter.s <= kMostMaskedTaps;
    if (p.c_in % 8 == 0 && masked) return 16;
    return p.c_in % 2 == 0 ? 4 : 2;
}

/// Whether the tile has the problem's element and copies as wide as its channels require.
bool copies(const ConvConfig& config, const ConvProblem& problem) {
    return config.element == problem.input.element && config.copy_bytes == widest_copy(problem);
}

/// Filters of the narrowest tile that holds all channels of a pixel; 0 if none does.
uint32_t norm_width(const ConvProblem& problem) {
    uint32_t width = 0;
    for (const NamedConvConfig& named : kConfigs) {
        const ConvConfig& c = named.config;
        if (copies(c, problem) && c.bn >= problem.filter.k && (width == 0 || c.bn < width)) width = c.bn;
    }
    return width;
}

}  // namespace

std::span<const NamedConvConfig> conv_configs() { return kConfigs; }

bool fits(const ConvConfig& config, const ConvProblem& problem) {
    return copies(config, problem) && (problem.norm == Norm::None || config.bn == norm_width(problem));
}

bool some_tile_fits(const ConvProblem& problem) {
    return std::ranges::any_of(kConfigs, [&](const NamedConvConfig& named) { return fits(named.config, problem); });
}

uint32_t resident_ctas(const ConvConfig& config, const Chip& chip) {
    constexpr uint32_t kOfTheSystem = 1024;  // of an SM's shared memory, reserved for each block
    const uint32_t by_memory = (chip.shared_bytes_per_block + kOfTheSystem) / (shared_bytes(config) + kOfTheSystem);
    return std::max(1u, std::min(by_memory, config.ctas_per_sm));
}

int64_t conv_ctas(const ConvConfig& config, const ConvProblem& p) {
    const bool sub_pixel = cuda::upsample_of(p) == cuda::Upsample::SubPixel;
    const int64_t pixels = sub_pixel ? p.h * p.w : p.pixels_out();
    return ceil_div(pixels, config.bm) * ceil_div(p.filter.k, config.bn) * p.frames_out() * (sub_pixel ? 4 : 1);
}

double matrix_clocks(double multiply_adds, const Chip& chip) {
    const int architecture = chip.cuda_architecture();
    if (architecture == 80) return multiply_adds / 1024;
    switch (architecture / 10) {
        case 8:
        case 12:  // GeForce; the professional cards of these architectures have twice the rate
            return multiply_adds / 256;
        default:
            return 0;
    }
}

double wave_seconds(const CtaClocks& clocks, int64_t ctas, int64_t resident, const Chip& chip) {
    // CTAs of one SM share its pipes. Few CTAs do not fill them, and then each takes its own latency.
    const auto together = [&](int64_t count) {
        return count == 0 ? 0.0 : std::max(static_cast<double>(count) * clocks.shared, clocks.alone);
    };
    const int64_t slots = chip.compute_units * resident, waves = ctas / slots;
    const double all =
        static_cast<double>(waves) * together(resident) + together(ceil_div(ctas % slots, int64_t{chip.compute_units}));
    return all / chip.clocks_per_second;
}

double conv_seconds(const ConvConfig& config, const ConvProblem& p, const Chip& chip) {
    const TileClocks clocks = clocks_of(config);
    const int64_t taps = cuda::upsample_of(p) == cuda::Upsample::SubPixel ? p.filter.q * 4 : p.taps();
    const auto depth = static_cast<double>(taps * cuda::padded_channels(p.c_in)) / 64;
    const double products = matrix_clocks(64.0 * config.bm * config.bn, chip);
    return wave_seconds({.shared = std::max(clocks.multiply, products) * depth + clocks.finish,
                         .alone = std::max(clocks.alone, products) * depth + clocks.start},
                        conv_ctas(config, p), resident_ctas(config, chip), chip);
}

const NamedConvConfig& choose_config(const ConvProblem& problem, const Chip& chip) {
    const NamedConvConfig* tile = conv::cheapest(
        kConfigs, [&](const NamedConvConfig& named) { return fits(named.config, problem); },
        [&](const NamedConvConfig& named) { return conv_seconds(named.config, problem, chip); });
    assert(tile != nullptr);
    return *tile;
}

}  // namespace kinetograph::sm80
