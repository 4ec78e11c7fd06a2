#include <algorithm>
#include <kinetograph/kernels/conv/cheapest.hpp>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/hip/gfx950/cost.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_params.hpp>
#include <kinetograph/kernels/hip/gfx950/pack.hpp>
#include <kinetograph/kernels/hip/gfx950/rates.hpp>

namespace kinetograph::gfx950 {
namespace {

using conv::ceil_div;
using conv::ConvProblem;

constexpr int64_t kThreads = 256;  // of a workgroup
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
    int64_t workgroups;                 ///< that share a compute unit
    int64_t trip, alone;                ///< clocks of two k blocks, all workgroups of the unit together; one alone
    int64_t stated_trip, stated_alone;  ///< the same at kStatedLdsReadBytes
    int64_t around;                     ///< clocks before and after the loop
};

#define KG_NO_COST(...)
#define KG_COST(bm, bn, bk, loader, workgroups, trip, alone, stated_trip, stated_alone, around) \
    {{bm, bn, bk}, ConvPath::loader, workgroups, trip, alone, stated_trip, stated_alone, around},
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

const LoopCost& cost_of(const ConvKernel& kernel) {
    const std::span<const LoopCost> costs =
        kernel.element == Element::F8E4M3 ? std::span<const LoopCost>(kCosts8) : std::span<const LoopCost>(kCosts16);
    return *std::find_if(costs.begin(), costs.end(),
                         [&](const LoopCost& row) { return row.tile == kernel.tile && row.path == kernel.path; });
}

/// Workgroups of all frames, for all of K.
int64_t workgroups(const ConvProblem& p, const ConvKernel& kernel) {
    const Walk walk = walk_of(p);
    const int64_t images = p.frames_out() * walk.parities, pixels = walk.h * walk.w, columns = p.filter.k;
    const int64_t tiles = joins_images(p, kernel.path) && p.filter.q == 1 ? ceil_div(images * pixels, kernel.tile.bm)
                                                                          : images * ceil_div(pixels, kernel.tile.bm);
    return tiles * ceil_div(columns, kernel.tile.bn);
}

/// Trips of the main loop.
int64_t trips(const ConvProblem& p, const ConvKernel& kernel) {
    return ceil_div(p.filter.q * steps_per_q(p, kernel.path, kernel.tile.bk), 2);
}

/// Clocks of a round of workgroups, one alone on each compute unit or as many as share it.
int64_t round_clocks(const ConvProblem& p, const ConvChoice& choice, const conv::Chip& chip, bool alone = false) {
    const LoopCost& cost = cost_of(*choice.kernel);
    const ConvTile& tile = choice.kernel->tile;
    const int64_t norm = p.norm != conv::Norm::None ? int64_t{tile.bm} * tile.bn / kThreads * kNormClocks : 0;
    const bool stated = lds_read_bytes(chip) >= kStatedLdsReadBytes;
    const int64_t shared = stated ? cost.stated_trip : cost.trip, single = stated ? cost.stated_alone : cost.alone;
    return ceil_div(trips(p, *choice.kernel), choice.splits) * (alone ? single : shared) + cost.around + norm;
}

/// Clocks per pixel on an endless grid.
double endless_clocks(const ConvProblem& p, const ConvKernel& kernel, const conv::Chip& chip) {
    const auto tiles = static_cast<double>(ceil_div(p.filter.k, kernel.tile.bn)) / kernel.tile.bm;
    return tiles * static_cast<double>(round_clocks(p, {&kernel}, chip)) /
           static_cast<double>(cost_of(kernel).workgroups);
}

/// The widest path for k blocks of that length.
ConvPath path_of(const ConvProblem& p, uint32_t bk) {
    for (const ConvPath path : {ConvPath::Uniform, ConvPath::Chunks, ConvPath::Pieces}) {
        if (fits_path(p, path, bk)) return path;
    }
    return ConvPath::Elements;
}

/// The kernel's loader is the problem's own, or pads what that takes chunk by chunk.
bool is_natural(const ConvProblem& p, const ConvKernel& kernel) {
    const ConvPath natural = path_of(p, kernel.tile.bk);
    return kernel.path == natural || (kernel.path == ConvPath::Padded && natural == ConvPath::Chunks);
}

/// The cheapest kernel of that path (or of the problem's own) that holds the problem and is `wanted`.
template <class Wanted, class Cost>
const ConvKernel* least_of(const ConvProblem& p, std::optional<ConvPath> path, const Wanted& wanted, const Cost& cost) {
    return conv::cheapest(
        kConvKernels,
        [&](const ConvKernel& kernel) {
            return kernel.element == p.input.element && (path ? kernel.path == *path : is_natural(p, kernel)) &&
                   fits_path(p, kernel.path, kernel.tile.bk) && fits_epilogue(p, kernel.tile) && wanted(kernel);
        },
        [&](const ConvKernel& kernel) { return cost(p, kernel); });
}

}  // namespace

bool fits_path(const ConvProblem& p, ConvPath path, uint32_t bk) {
    const int64_t pixel = p.c_in * element_bytes(p.input.element);
    const bool one_tap =
        p.filter.r <= kMostUniformTaps && p.filter.s <= kMostUniformTaps && (!p.upsample || is_folded(p));
    switch (path) {
        case ConvPath::Uniform:
            return p.c_in % bk == 0 && one_tap;
        case ConvPath::Padded:
            return pixel % 16 == 0 && p.c_in % bk != 0 && one_tap;
        case ConvPath::Chunks:
            return pixel % 16 == 0;
        case ConvPath::Pieces:
            return pixel % (p.input.element == Element::F8E4M3 ? 4 : 8) == 0;
        case ConvPath::Elements:
            return true;
    }
    return false;
}

bool fits_epilogue(const ConvProblem& p, const ConvTile& tile) {
    if (p.norm != conv::Norm::None && (tile.bn < p.filter.k || tile.bn > kMostNormedChannels)) return false;
    return p.filter.k % 8 == 0 || tile.bm * tile.bn <= 128 * 128;
}

ConvPath path_of(const ConvProblem& p) { return path_of(p, p.input.element == Element::F8E4M3 ? 128 : 32); }

bool joins_images(const ConvProblem& p, ConvPath path) {
    return (path == ConvPath::Uniform || path == ConvPath::Padded) && walk_of(p).parities == 1;
}

ConvProblem of_frames(ConvProblem p, int64_t count) {
    p.n = 1;
    p.d = p.dilation.d * (p.filter.q - 1) + 1 + (count - 1) * p.stride.d;
    p.pad.front = p.pad.back = 0;
    return p;
}

double estimated_seconds(const ConvProblem& p, const ConvChoice& choice, const conv::Chip& chip) {
    const int64_t at_once = int64_t{chip.compute_units} * cost_of(*choice.kernel).workgroups;
    const int64_t all = workgroups(p, *choice.kernel) * choice.splits, left = all % at_once;
    int64_t clocks = all / at_once * round_clocks(p, choice, chip);
    if (left > 0) clocks += round_clocks(p, choice, chip, left <= int64_t{chip.compute_units});
    const double computing = static_cast<double>(clocks) / chip.clocks_per_second;
    const auto output = static_cast<double>(p.frames_out()) * static_cast<double>(p.output_frame_bytes());
    const double moved = static_cast<double>(p.frames_out()) * static_cast<double>(p.input_frame_bytes()) +
                         output * (1 + (p.residual ? 1 : 0) + (p.norm == conv::Norm::Beside ? 1 : 0));
    double seconds = std::max(computing, streaming_seconds(moved, chip));
    if (choice.splits > 1) {  // float32 sums of every part are written and read, and the output written
        const double sums = output * (p.output.element == Element::F32 ? 1 : 2) * choice.splits;
        seconds += conv::kLaunchSeconds + streaming_seconds(2 * sums + output, chip);
    }
    return seconds;
}

ConvChoice choose_kernel(const ConvProblem& p, const conv::Chip& chip, std::optional<ConvPath> path) {
    return {least_of(
        p, path, [](const ConvKernel&) { return true; },
        [&](const ConvProblem& problem, const ConvKernel& kernel) {
            return estimated_seconds(problem, {&kernel}, chip);
        })};
}

ConvChoice choose_kernel_of_tile(const ConvProblem& p, const conv::Chip& chip, const ConvTile& tile, uint32_t parts) {
    const auto choice = [&](const ConvKernel& kernel) {
        return ConvChoice{&kernel, std::clamp<uint32_t>(parts, 1, static_cast<uint32_t>(trips(p, kernel)))};
    };
    const ConvKernel* const kernel = least_of(
        p, {}, [&](const ConvKernel& each) { return each.tile == tile; },
        [&](const ConvProblem& problem, const ConvKernel& each) {
            return estimated_seconds(problem, choice(each), chip);
        });
    return kernel == nullptr ? ConvChoice{} : choice(*kernel);
}

ConvChoice choose_kernel_for_packing(const ConvProblem& p, const conv::Chip& chip, Splitting splitting) {
    ConvProblem plain = p;
    const ConvProblem frame = of_frames(p, 1), many = of_frames(p, kMaxConvFrames);
    plain.norm = conv::Norm::None;
    const ConvKernel* const endless = least_of(
        plain, {}, [](const ConvKernel&) { return true; },
        [&](const ConvProblem& q, const ConvKernel& kernel) { return endless_clocks(q, kernel, chip); });
    if (endless == nullptr) return {};
    const auto best = [&](const ConvProblem& problem, uint32_t splits, const auto& wanted) {
        return ConvChoice{least_of(
                              problem, {},
                              [&](const ConvKernel& kernel) {
                                  return kernel.tile.bk == endless->tile.bk &&
                                         (kernel.path == ConvPath::Padded) == (endless->path == ConvPath::Padded) &&
                                         wanted(kernel);
                              },
                              [&](const ConvProblem& q, const ConvKernel& kernel) {
                                  return estimated_seconds(q, {&kernel, splits}, chip);
                              }),
                          splits};
    };
    const auto any = [](const ConvKernel&) { return true; };
    // Sums in another order have other bits: how K is split must not depend on the number of frames. So it is what
    // takes the least time for one frame and for as many as a launch names, by the product of both.
    const auto seconds = [&](const ConvProblem& problem, const ConvChoice& choice) {
        return conv::kLaunchSeconds + estimated_seconds(problem, choice, chip);
    };
    const ConvChoice whole = best(frame, 1, any);
    if (whole.kernel == nullptr) return {};
    double least = seconds(frame, whole) * seconds(many, best(many, 1, any));
    uint32_t splits = 1;
    const bool splittable = splitting == Splitting::WherePaying && p.norm == conv::Norm::None && p.filter.k % 8 == 0;
    for (uint32_t parts = 2; splittable && parts <= kMostSplits; ++parts) {
        const auto long_parts = [&](const ConvKernel& kernel) { return trips(p, kernel) / parts >= kLeastTripsOfPart; };
        const ConvChoice split = best(frame, parts, [&](const ConvKernel& kernel) {
            return workgroups(frame, kernel) < chip.compute_units && long_parts(kernel);
        });
        if (split.kernel == nullptr) continue;
        const double product = seconds(frame, split) * seconds(many, best(many, parts, long_parts));
        if (product < least) {
            least = product;
            splits = parts;
        }
    }
    return best(p, splits, any);
}

}  // namespace kinetograph::gfx950
