#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_products.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_tiles.hpp>

/// The main loop of one warpgroup: one tile's products, out of the two rings into its accumulators.
namespace kinetograph::sm90 {

template <ConvConfig kConfig, ConvFault kFault>
class MultiplyRole {
  public:
    using Smem = ConvSmem<kConfig>;
    static constexpr ConvConfig c = kConfig;

    KG_DEVICE MultiplyRole(Smem& smem, uint32_t consumer) : smem_(smem), consumer_(consumer) {}

    /// Passes over the stages of a tile that the other warpgroup computes.
    KG_DEVICE void skip(uint32_t k_blocks) {
        input_.advance(k_blocks);
        filter_.advance(k_blocks * tap_groups(c));
    }

    /// Computes a tile of `k_blocks` blocks of K; `turn`: how many tiles this warpgroup has computed before. Sums of
    /// bytes begin with what they hold. Its last products are under way when the other warpgroup's first ones begin.
    ///
    ///   warpgroup 0   tile 0 ......| epilogue 0 ......   | tile 2 ......| epilogue 2
    ///   warpgroup 1                | tile 1 .............| epilogue 1 ......    | tile 3
    KG_DEVICE void run(Accumulators<kConfig>& sums, uint32_t k_blocks, uint32_t turn) {
        if constexpr (kFault != ConvFault::NoOrder) {
            isa::mbarrier::wait(smem_.turn[consumer_], consumer_ == 0 ? (turn & 1u) ^ 1u : turn & 1u);
        }
        if constexpr (!multiplies_bytes(c)) clear<kConfig>(sums);
        if (k_blocks == 0) {  // every temporal tap is padding
            hand_over();
            KG_UNROLL
            for (uint32_t i = 0; i < blocks(c); ++i) isa::wgmma::take(sums[i]);
            return;
        }
        uint32_t done_filter = 0, done_input = 0;  // slots of the previous batch, released once it is complete
        for (uint32_t block = 0; block < k_blocks; ++block) {
            if constexpr (kFault != ConvFault::NoInputWait) {
                isa::mbarrier::wait(smem_.input_full[input_.slot], input_.parity);
            }
            const uint32_t halo = isa::shared_address(smem_.input[input_.slot]);
            KG_UNROLL
            for (uint32_t group = 0; group < tap_groups(c); ++group) {
                if constexpr (kFault != ConvFault::NoFilterWait) {
                    constexpr uint32_t kFlip = kFault == ConvFault::WrongFilterPhase ? 1u : 0u;
                    isa::mbarrier::wait(smem_.filter_full[filter_.slot], filter_.parity ^ kFlip);
                }
                if (group == tap_groups(c) - 1 && block + 1 == k_blocks) hand_over();
                isa::wgmma::fence();
                multiply_stage<kConfig, kFault>(sums, halo, isa::shared_address(smem_.filter[filter_.slot]), group);
                isa::wgmma::commit();
                if constexpr (kFault == ConvFault::ReleasesEarly) {
                    release(smem_.filter_empty[filter_.slot]);
                } else {
                    isa::wgmma::wait<1>();
                    if (block != 0 || group != 0) release(smem_.filter_empty[done_filter]);
                }
                if (group == 0 && block != 0) release(smem_.input_empty[done_input]);
                done_filter = filter_.slot;
                filter_.advance();
            }
            done_input = input_.slot;
            input_.advance();
        }
        if constexpr (kFault != ConvFault::NoFinalWait) isa::wgmma::wait<0>();
        if constexpr (kFault != ConvFault::ReleasesEarly) release(smem_.filter_empty[done_filter]);
        release(smem_.input_empty[done_input]);
        KG_UNROLL
        for (uint32_t i = 0; i < blocks(c); ++i) isa::wgmma::take(sums[i]);
    }

  private:
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
    Ring<c.input_stages> input_;
    Ring<c.filter_stages> filter_;
};

}  // namespace kinetograph::sm90
