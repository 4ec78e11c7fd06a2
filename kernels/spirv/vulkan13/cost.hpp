#pragma once

#include <kinetograph/kernels/conv/gate.hpp>
#include <kinetograph/kernels/spirv/vulkan13/conv_configs.hpp>

/// Which tile a convolution gets, and how long it would take on a device whose rates are known.
namespace kinetograph::vulkan13 {

/// The tile that computes the fewest products that are not needed.
const Tile& choose_tile(std::int64_t rows, std::int64_t columns, const conv::Chip& chip);
/// Of the problem's products in float32, two a clock and lane.
double tiles_seconds(const conv::ConvProblem& problem, const Tile& tile, const conv::Chip& chip);
/// Whether the device's shared memory holds some tile of conv_slab.comp with the problem's taps.
bool holds_slab(const conv::ConvProblem& problem, const conv::Chip& chip);
/// The tile of conv_slab.comp with the fewest products that fits the device's shared memory; null if none does.
const SlabTile* choose_slab(const conv::ConvProblem& problem, const conv::Chip& chip);
double slab_seconds(const conv::ConvProblem& problem, const SlabTile& tile, const conv::Chip& chip);
/// Of a pass that reads and writes that many bytes.
double traffic_seconds(double bytes, const conv::Chip& chip);

}  // namespace kinetograph::vulkan13
