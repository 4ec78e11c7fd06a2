#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_products.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_steps.hpp>
#include <kinetograph/kernels/isa/cluster.hpp>

/// The main loop of one warpgroup: a tile or its share of one, out of the two rings into the sums of both frames.
namespace kinetograph::sm90 {

template <WinogradConfig kConfig, ConvFault kFault>
class WinogradMultiplyRole {
  public:
    using Smem = WinogradSmem<kConfig>;
    static constexpr WinogradConfig c = kConfig;
    static constexpr ConvConfig kShare = share(c);
    static constexpr bool kInTurn = c.consumers == Consumers::InTurn;
    using Sums = Accumulators<kShare>;

    KG_DEVICE WinogradMultiplyRole(Smem& smem, uint32_t consumer) : smem_(smem), consumer_(consumer) {}

    /// Passes over the stages of a tile that the other warpgroup computes.
    KG_DEVICE void skip(uint32_t channel_blocks, const FramePair& pair) {
        operands_.skip(pair, channel_blocks);
        filter_.advance(filter_stages_of<kConfig>(pair, channel_blocks));
    }

    /// sums[0] and sums[1] become the two output frames; of a frame alone only sums[0] is one. `turn`: how many tiles
    /// this warpgroup has computed before.
    KG_DEVICE void run(Sums (&sums)[kSums], uint32_t channel_blocks, const FramePair& pair, uint32_t turn) {
        if constexpr (kInTurn && kFault != ConvFault::NoOrder) {
            isa::mbarrier::wait(smem_.turn[consumer_], consumer_ == 0 ? (turn & 1u) ^ 1u : turn & 1u);
        }
        clear<kShare>(sums[0]);
        clear<kShare>(sums[1]);
        KG_ROLLED
        for (uint32_t phase = 0; phase < kPhases; ++phase) {
            bool first = true;
            operands_.start(phase);
            KG_ROLLED
            for (uint32_t block = 0; block < channel_blocks; ++block) {
                KG_UNROLL
                for (uint32_t sum = 0; sum < kSums; ++sum) {
                    if (!adds_to(sum, phase, pair)) continue;
                    multiply_operand(sums[sum], phase, first,
                                     phase == 1 && block + 1 == channel_blocks && sum + 1 == pair.outputs);
                    first = false;
                }
            }
            if constexpr (kFault != ConvFault::NoFinalWait) isa::wgmma::wait<0>();
            if constexpr (kFault != ConvFault::ReleasesEarly)
                release_filters(smem_.filter_empty[filter_.slot_before()]);
            release(smem_.halo_empty[operands_.slot_before(phase)]);
            KG_UNROLL
            for (uint32_t block = 0; block < blocks(kShare); ++block) {
                isa::wgmma::take(sums[0][block]);
                isa::wgmma::take(sums[1][block]);
                if (phase == 0) butterfly(sums[0][block], sums[1][block]);
                isa::wgmma::pin(sums[0][block]);
                isa::wgmma::pin(sums[1][block]);
            }
        }
    }

  private:
    /// All taps of the image on one operand. `first`: the phase's first, so that no earlier stage is still to be
    /// released; `last`: the tile's last.
    KG_DEVICE void multiply_operand(Sums& sums, uint32_t phase, bool first, bool last) {
        wait_for_operand();
        constexpr uint32_t kColumns = halo_columns(whole(c));
        constexpr uint32_t kBetween = (rows_between(c) * kColumns + columns_between(c)) * row_bytes(kShare);
        const uint32_t halo = isa::shared_address(smem_.halo[operands_.slot()]) + consumer_ * kBetween;
        KG_UNROLL
        for (uint32_t group = 0; group < tap_groups(kShare); ++group) {
            if constexpr (kFault != ConvFault::NoFilterWait) {
                constexpr uint32_t kFlip = kFault == ConvFault::WrongFilterPhase ? 1u : 0u;
                isa::mbarrier::wait(smem_.filter_full[filter_.slot], filter_.parity ^ kFlip);
            }
            if (kInTurn && last && group == tap_groups(kShare) - 1) hand_over();
            isa::wgmma::fence();
            multiply_stage<kShare, kFault, kColumns>(sums, halo, isa::shared_address(smem_.filter[filter_.slot]),
                                                     group);
            isa::wgmma::commit();
            if constexpr (kFault == ConvFault::ReleasesEarly) {
                release_filters(smem_.filter_empty[filter_.slot]);
            } else {
                isa::wgmma::wait<1>();
                if (group != 0 || !first) release_filters(smem_.filter_empty[filter_.slot_before()]);
            }
            if (group == 0 && !first) release(smem_.halo_empty[operands_.slot_before(phase)]);
            filter_.advance();
        }
        operands_.advance(phase);
    }

    KG_DEVICE void wait_for_operand() {
        constexpr uint32_t kFlip = kFault == ConvFault::WrongOperandPhase ? 1u : 0u;
        if constexpr (kFault != ConvFault::NoOperandWait)
            isa::mbarrier::wait(smem_.operand_full[operands_.slot()], operands_.parity() ^ kFlip);
    }

    /// (P, Q) becomes (P + Q, P - Q), one register at a time.
    KG_DEVICE static void butterfly(float (&p)[c.bn / 2], float (&q)[c.bn / 2]) {
        KG_UNROLL
        for (uint32_t i = 0; i < c.bn / 2; ++i) {
            p[i] += q[i];
            q[i] = __builtin_fmaf(-2.0f, q[i], p[i]);  // the compiler would make 2 q by an addition
        }
    }

    /// One arrival a warp in each CTA: either may be the one that loads the stage's next filters.
    KG_DEVICE static void release_filters(isa::mbarrier::Barrier& empty) {
        if constexpr (kFault == ConvFault::ReleasesOwnStage) return release(empty);
        const uint32_t rank = isa::lane_index();
        if (rank < kClusterCtas) isa::mbarrier::arrive(isa::map_to_rank(&empty, rank));
    }

    /// One arrival a warp.
    KG_DEVICE static void release(isa::mbarrier::Barrier& empty) {
        if (isa::lane_index() == 0) isa::mbarrier::arrive(empty);
    }

    /// Passes the main loop on. Every lane has waited for every stage of this tile: the next ones are the other's.
    KG_DEVICE void hand_over() {
        isa::sync_warp();
        if (isa::lane_index() == 0) isa::mbarrier::arrive(smem_.turn[consumer_ ^ 1u]);
    }

    Smem& smem_;
    uint32_t consumer_;
    OperandSlots<kConfig> operands_;
    Ring<c.filter_stages> filter_;
};

}  // namespace kinetograph::sm90
