#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_tiles.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_params.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_smem.hpp>

/// The order in which all roles go through a tile: two phases, in each the blocks of channels, in each of those one or
/// two pairs of halos.
///
///   phase   halos loaded   operand            filter             added to
///   0       d2, d0         d0 - d2            g0 / 2             P
///           d1, d3         d3 - d1            g2 / 2             Q          not for a frame alone
///   1       d1, d2         d1 + d2            (g0 + g1 + g2)/2   P
///                          d2 - d1            (g0 - g1 + g2)/2   Q
///
/// The second halo of a pair becomes second - first. The first one is spent in phase 0; in phase 1 it becomes the sum.
/// After each phase the sums (P, Q) become (P + Q, P - Q). With Pi and Qi for what phase i adds, the results are
///
///   frame 0 = 2 P0 + P1 + Q1        frame 1 = 2 Q0 + P1 - Q1
namespace kinetograph::sm90 {

inline constexpr uint32_t kPhases = 2, kSums = 2;

/// Pairs of halos of one block of channels.
KG_DEVICE uint32_t halo_pairs(uint32_t phase, const FramePair& pair) { return phase == 0 ? pair.outputs : 1u; }
/// Which of the four input frames is loaded first and second.
KG_DEVICE uint32_t first_frame(uint32_t phase, uint32_t of_block) { return phase == 0 && of_block == 0 ? 2u : 1u; }
KG_DEVICE uint32_t second_frame(uint32_t phase, uint32_t of_block) { return phase == 1 ? 2u : of_block == 0 ? 0u : 3u; }
/// Whether a block of channels adds to that sum.
KG_DEVICE bool adds_to(uint32_t sum, uint32_t phase, const FramePair& pair) {
    return sum == 0 || phase == 1 || pair.outputs == 2;
}

/// Stages of the two rings that a tile takes.
KG_DEVICE uint32_t halos_of(const FramePair& pair, uint32_t channel_blocks) {
    return 2 * (halo_pairs(0, pair) + halo_pairs(1, pair)) * channel_blocks;
}
template <WinogradConfig kConfig>
KG_DEVICE uint32_t filter_stages_of(const FramePair& pair, uint32_t channel_blocks) {
    return (pair.outputs + kSums) * channel_blocks * tap_groups(whole(kConfig));
}

}  // namespace kinetograph::sm90
