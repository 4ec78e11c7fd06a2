#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_tiles.hpp>

/// Scheduler warp: one thread of the cluster's first CTA asks cluster launch control for the next tile while the load
/// warp works on this one, and passes the answer to every CTA.
namespace kinetograph::sm100 {

template <Conv2dConfig kConfig, Fault kFault>
struct SchedulerRole {
    using Smem = Conv2dSmem<kConfig>;
    static constexpr Conv2dConfig c = kConfig;

    KG_DEVICE static void run(Smem& smem) {
        Ring<c.scheduler_stages> answer{0, 1};
        uint32_t begun = 0;
        bool more = true;
        while (more) {
            isa::mbarrier::wait(smem.throttle, begun);  // claims no tile that it could not start soon
            begun ^= 1;
            isa::mbarrier::wait(smem.heard[answer.slot], answer.parity);
            ask(smem, answer.slot);
            isa::mbarrier::wait(smem.answered[answer.slot], answer.parity ^ 1);
            more = isa::clc::query(smem.answers[answer.slot]).valid;
            isa::fence_async_shared();
            isa::mbarrier::arrive(smem.heard[answer.slot]);
            answer.advance();
        }
        if constexpr (kFault == Fault::AsksAfterTheEnd) ask(smem, answer.slot);
    }

  private:
    KG_DEVICE static void ask(Smem& smem, uint32_t slot) {
        constexpr uint32_t kAnswerBytes = sizeof(isa::clc::Response);
        if constexpr (c.cluster.size() == 1) {
            isa::mbarrier::arrive_expect(smem.answered[slot], kAnswerBytes);
            isa::clc::try_cancel(smem.answers[slot], smem.answered[slot]);
        } else {
            for (uint32_t rank = 0; rank < c.cluster.size(); ++rank) {
                isa::mbarrier::arrive_expect(isa::map_to_rank(&smem.answered[slot], rank), kAnswerBytes);
            }
            isa::clc::try_cancel_multicast(smem.answers[slot], smem.answered[slot]);
        }
    }
};

}  // namespace kinetograph::sm100
