#include <kinetograph/kernels/cuda/sm100/winograd_model.hpp>

#include <algorithm>
#include <cmath>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/winograd_time.hpp>
#include <kinetograph/kernels/cuda/host/passes.hpp>
#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>
#include <limits>

namespace kinetograph::sm100 {
namespace {

using conv::ConvProblem;

constexpr int64_t kProducts = 4;         // per pair of frames
constexpr int64_t kLoadedHalos = 6;      // per block of K: four in the first phase, two in the second
constexpr int64_t kTransformHalos = 10;  // read or written: four become two, then two become two
constexpr int64_t kTaps = 9;             // of the image
// Clocks of a warp for 32 x 32 of P and Q: a column a clock from tensor memory or into it, 64 sums, addresses.
constexpr double kReadClocks = 2 * 32 + 8, kButterflyClocks = 2 * kReadClocks + 64;

using conv::ceil_div;
double real(int64_t value) { return static_cast<double>(value); }

bool models(const HaloConfig& c, const ConvProblem& p) {
    return c.side == 3 && c.store == HaloStore::Pieces && c.element == p.input.element &&
           c.channels == (p.c_in % 64 == 0 ? 64 : 32) && (c.sharing != HaloSharing::Pixels || p.filter.k > c.bn) &&
           (p.norm == conv::Norm::None || tile_filters(c) >= p.filter.k);
}

}  // namespace

Conv2dEstimate winograd_estimate(const HaloConfig& c, const ConvProblem& p, const ChipRates& chip, SumsTaken taken) {
    Conv2dEstimate result;
    if (p.empty()) return result;
    const int64_t places = ceil_div(p.h_out(), cta_rows(c)) * ceil_div(p.w_out(), tile_columns(c)) *
                           ceil_div(p.filter.k, tile_filters(c)) * p.n;
    const int64_t clusters = chip.clusters_at_once(c.cluster);
    const double pairs = conv::frame_pairs(p);
    result.tiles = static_cast<uint64_t>(places * ((p.d_out() + 1) / 2));
    result.rounds = static_cast<uint64_t>(ceil_div(static_cast<int64_t>(real(places) * pairs), clusters));

    // Per CTA and pair of frames. A step is 16 channels of one tap.
    const int64_t blocks = ceil_div(p.c_in, c.channels);
    const int64_t steps = blocks * kProducts * kTaps * (c.channels / 16) * c.blocks;
    const int64_t halo = blocks * halo_bytes(c), filters = blocks * kProducts * kTaps * row_bytes(c);  // of one filter
    const int64_t transfers = 1 + (p.residual ? 1 : 0) + (p.norm == conv::Norm::Beside ? 1 : 0);
    const int64_t moved = 2 * transfers * kHaloBlockPixels * c.blocks * c.bn * 2;
    const int64_t pieces = ceil_div(c.bn, kPieceChannels) * c.blocks;
    const double read = 32.0 * (kHaloBlockPixels + cta_filters(c)) * real(steps);
    const int64_t loaded_halos = kLoadedHalos * halo / (c.sharing == HaloSharing::Pixels ? 2 : 1);
    const PieceClocks epilogue = piece_clocks(p);
    const double read_sums = taken == SumsTaken::AsStored ? 2 * epilogue.sums : kReadClocks;
    const double waits = real(pieces) * (kButterflyClocks + read_sums);

    const double turns = static_cast<double>(result.rounds) / chip.clocks_per_second;
    const double shared = read + real((kLoadedHalos + kTransformHalos) * halo + filters * cta_filters(c) + 2 * moved);
    const double l2 = real(loaded_halos + filters * loaded_filters(c) + moved);
    result.mma_seconds = turns * (2.0 * kHaloBlockPixels * c.bn * 16 / chip.flops_per_clock * real(steps) + waits);
    result.shared_seconds = turns * (shared / chip.shared_bytes_per_clock + waits);
    result.l2_seconds = turns * l2 / chip.l2_bytes_per_clock;
    result.epilogue_seconds = turns * real(pieces) * (kButterflyClocks + 2 * (epilogue.sums + epilogue.norm));
    result.hbm_seconds = (real(p.frames_in()) * static_cast<double>(p.input_frame_bytes()) +
                          real(transfers * p.frames_out()) * static_cast<double>(p.output_frame_bytes()) +
                          real(p.filter_elements()) * 2 * kProducts / 3) /
                         chip.hbm_bytes_per_second;
    result.find_limit(real(places) * pairs, real(clusters), chip);
    return result;
}

namespace {

double least_seconds(const ConvProblem& problem, const conv::Chip& chip, SumsTaken taken) {
    double least = std::numeric_limits<double>::infinity();
    for (const NamedHaloConfig& tile : halo_configs())
        if (models(tile.config, problem))
            least = std::min(least, winograd_estimate(tile.config, problem, rates_of(chip), taken).seconds);
    return least;
}

}  // namespace

double winograd_seconds(const ConvProblem& problem, const conv::Chip& chip, SumsTaken taken) {
    double seconds = least_seconds(problem, chip, taken);
    if (std::isinf(seconds)) {  // no tile holds all filters
        ConvProblem in_tile = problem;
        in_tile.norm = conv::Norm::None;
        seconds = least_seconds(in_tile, chip, taken) + cuda::norm_seconds(problem, chip);
    }
    return conv::kLaunchSeconds + seconds;
}

}  // namespace kinetograph::sm100
