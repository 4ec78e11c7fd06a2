#pragma once

#include <kinetograph/kernels/conv/chip.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

/// F(2,3) along time on gfx950 as a model: no kernel is built. Pure host code.
///
/// The main loop would be FourWaveConv's with frames in LDS as they are, and their sums and differences made in
/// registers between the LDS reads and the products. A lane holds two accumulators (the P and Q of
/// docs/kernels-sm90.md), so that a tile has half of the pixels of one of a single frame.
namespace kinetograph::gfx950 {

/// Clocks of a compute unit for one tap of the image and one block of channels of a pair of frames: all four products,
/// by unit.
struct WinogradClocks {
    double products = 0, lds = 0, l2 = 0, issue = 0;  ///< each summed over the two phases
    double longest = 0;                               ///< of each phase the longest of its four, summed
};
struct WinogradTile {
    int64_t bm, bn, bk;        ///< pixels, filters, channels of a block of K
    int64_t waves_m, waves_n;  ///< along pixels and filters; four
};
WinogradClocks winograd_clocks(const WinogradTile& tile, Element element);

/// By the cheapest tile, at the share of its limits that the compiled loop of 256x192x64 reaches of its own, launches
/// and norm included. `problem` has passed winograd_gates().
double winograd_seconds(const conv::ConvProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::gfx950
