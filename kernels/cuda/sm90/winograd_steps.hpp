#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_tiles.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_params.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_smem.hpp>

/// The order in which all roles go through a tile: two phases, in each the blocks of channels, in each of those one or
/// two operands. The filters and the sums:
///
///   phase   operand     of halos   filter             added to
///   0       d1 + d2     d1, d2     (g0 + g1 + g2)/2   P
///           d2 - d1                (g0 - g1 + g2)/2   Q
///   1       d0 - d2     d2, d0     g0                 P
///           d3 - d1     d1, d3     g2                 Q          not for a frame alone
///
/// After phase 0 the sums (P, Q) become (P + Q, P - Q); phase 1 adds the rest of either frame to them.
///
/// Operands take the place of halos. Where they are kept, a block's four frames are loaded once: d1 and d2 become the
/// operands of phase 0, d0 and d3 those of phase 1, which wait for theirs. Otherwise two frames are loaded for each
/// phase's pair: in phase 1 the second becomes the operand and the first is spent.
namespace kinetograph::sm90 {

inline constexpr uint32_t kPhases = 2;

/// Which of the four input frames becomes a phase's operand, and which is spent for one of phase 1.
KG_DEVICE uint32_t frame_of(uint32_t phase, uint32_t sum) { return phase == 0 ? 1 + sum : 3 * sum; }
KG_DEVICE uint32_t spent_for(uint32_t sum) { return 2 - sum; }
/// Operands of a block of channels, which are added to sum 0, or to sums 0 and 1.
KG_DEVICE uint32_t operands_of(uint32_t phase, uint32_t outputs) { return phase == 0 ? kSums : outputs; }
KG_DEVICE bool adds_to(uint32_t sum, uint32_t phase, const FramePair& pair) {
    return sum < operands_of(phase, pair.outputs);
}

/// The slot of a tile's n-th operand of a phase. Where operands are kept, both phases have slots of their own.
/// Otherwise slot 0 is for the spent frames of phase 1: a frame on its way to an operand's slot then waits for the
/// operand before the last one, not for the last.
template <WinogradConfig kConfig>
KG_DEVICE uint32_t operand_slot(uint32_t phase, uint32_t n) {
    constexpr WinogradConfig c = kConfig;
    if (phase == 0) return n % c.halo_stages;
    return keeps(c) ? c.halo_stages + n : 1 + n % (c.halo_stages - 1);
}

/// How often a role has waited for each slot's barrier: its parity, a bit a slot.
struct SlotParities {
    uint32_t bits = 0;
    /// The parity to wait for, once a turn.
    KG_DEVICE uint32_t take(uint32_t slot) {
        const uint32_t parity = bits >> slot & 1u;
        bits ^= 1u << slot;
        return parity;
    }
};

/// Where a consumer stands among the operands.
template <WinogradConfig kConfig>
class OperandSlots {
  public:
    static constexpr WinogradConfig c = kConfig;

    KG_DEVICE void start(uint32_t phase) { slot_ = operand_slot<kConfig>(phase, 0); }
    KG_DEVICE uint32_t slot() const { return slot_; }
    KG_DEVICE uint32_t parity() const { return parities_ >> slot_ & 1u; }
    KG_DEVICE void advance(uint32_t phase) {
        parities_ ^= 1u << slot_;
        if (++slot_ == end(phase)) slot_ = operand_slot<kConfig>(phase, 0);
    }
    KG_DEVICE uint32_t slot_before(uint32_t phase) const {
        return (slot_ == operand_slot<kConfig>(phase, 0) ? end(phase) : slot_) - 1;
    }
    /// Passes over a tile of kept operands.
    KG_DEVICE void skip(const FramePair& pair, uint32_t channel_blocks) {
        const uint32_t of_phase_0 = (1u << operands_of(0, pair.outputs) * channel_blocks) - 1;
        const uint32_t of_phase_1 = (1u << operands_of(1, pair.outputs) * channel_blocks) - 1;
        const uint32_t slots = (1u << c.halo_stages) - 1;
        parities_ ^= (of_phase_0 & slots) ^ of_phase_0 >> c.halo_stages ^ of_phase_1 << c.halo_stages;
    }

  private:
    KG_DEVICE static uint32_t end(uint32_t phase) { return phase == 0 ? c.halo_stages : halos(c); }

    uint32_t slot_ = 0, parities_ = 0;
};

/// Stages of the filter ring that a tile takes.
template <WinogradConfig kConfig>
KG_DEVICE uint32_t filter_stages_of(const FramePair& pair, uint32_t channel_blocks) {
    return (operands_of(0, pair.outputs) + operands_of(1, pair.outputs)) * channel_blocks * tap_groups(whole(kConfig));
}

/// A warpgroup's share of a tile, in the first frame of its pair.
template <WinogradConfig kConfig>
KG_DEVICE ConvTile share_of(const ConvParams& p, uint32_t index, uint32_t consumer) {
    ConvTile tile = tile_at<whole(kConfig), kClusterCtas>(p, index);
    tile.frame *= 2;
    tile.y += static_cast<int32_t>(consumer * rows_between(kConfig));
    tile.x += static_cast<int32_t>(consumer * columns_between(kConfig));
    return tile;
}

}  // namespace kinetograph::sm90
