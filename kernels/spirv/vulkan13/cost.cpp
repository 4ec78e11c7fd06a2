#include <algorithm>
#include <kinetograph/kernels/conv/cheapest.hpp>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/sub_pixel.hpp>
#include <kinetograph/kernels/spirv/vulkan13/cost.hpp>

namespace kinetograph::vulkan13 {
namespace {

using conv::ceil_div;
using conv::round_up;

/// Multiply-adds in float32 that a compute unit does in a clock.
constexpr double kLanes = 128;
/// What tiles reach of them: 36.9 of 67 TFLOP/s on an H200 through its Vulkan driver.
constexpr double kShare = 0.55;
/// Multiply-adds in 16 bits that a compute unit reaches in a clock by matrices: 400 TFLOP/s of an H200's 132 at 1.75
/// GHz.
constexpr double kMatrixLanes = 870;
/// Loads from shared memory that one product of a thread's tile takes, in products.
double loads(const Tile& tile) { return (tile.tm + tile.tn) / static_cast<double>(tile.tm * tile.tn); }

}  // namespace

const Tile& choose_tile(std::int64_t rows, std::int64_t columns, const conv::Chip& chip) {
    const auto cost = [&](const Tile& tile) {
        const std::int64_t tiles = ceil_div(rows, tile.bm) * ceil_div(columns, tile.bn);
        const std::int64_t waves = ceil_div(tiles, chip.compute_units);
        return static_cast<double>(waves * tile.bm * tile.bn) * (1 + loads(tile));
    };
    return *conv::cheapest(
        kTiles, [](const Tile&) { return true; }, cost);
}

double tiles_seconds(const conv::ConvProblem& problem, const Tile& tile, const conv::Chip& chip) {
    const std::int64_t group = problem.filter.k / problem.groups;
    const double padded = static_cast<double>(round_up(group, tile.bn)) / static_cast<double>(group);
    const double products = problem.flops() / 2 * padded;
    return conv::kLaunchSeconds + products / (kLanes * kShare * chip.compute_units * chip.clocks_per_second);
}

namespace {

bool holds(const SlabTile& tile, const conv::ConvProblem& problem, const conv::Chip& chip) {
    const bool folds = conv::is_sub_pixel(problem);
    const std::uint32_t rows = folds ? 2 : conv::u32(problem.filter.r),
                        columns = folds ? 2 : conv::u32(problem.filter.s);
    return tile.shared_bytes(rows, columns) <= chip.shared_bytes_per_block;
}

}  // namespace

bool holds_slab(const conv::ConvProblem& problem, const conv::Chip& chip) {
    return std::ranges::any_of(kSlabTiles, [&](const SlabTile& tile) { return holds(tile, problem, chip); });
}

const SlabTile* choose_slab(const conv::ConvProblem& problem, const conv::Chip& chip) {
    return conv::cheapest(
        kSlabTiles, [&](const SlabTile& tile) { return problem.c_in % tile.bk == 0 && holds(tile, problem, chip); },
        [&](const SlabTile& tile) {
            return static_cast<double>(round_up<std::int64_t>(problem.filter.k, tile.bn)) * tile.cost;
        });
}

double slab_seconds(const conv::ConvProblem& problem, const SlabTile& tile, const conv::Chip& chip) {
    const double padded =
        static_cast<double>(round_up<std::int64_t>(problem.filter.k, tile.bn)) / static_cast<double>(problem.filter.k);
    const double folded = conv::is_sub_pixel(problem) ? 4.0 / 9 : 1;
    const double products = problem.flops() / 2 * padded * folded * tile.cost;
    return conv::kLaunchSeconds + products / (kMatrixLanes * chip.compute_units * chip.clocks_per_second);
}

double traffic_seconds(double bytes, const conv::Chip& chip) {
    return conv::kLaunchSeconds + bytes / chip.memory_bytes_per_second;
}

}  // namespace kinetograph::vulkan13
