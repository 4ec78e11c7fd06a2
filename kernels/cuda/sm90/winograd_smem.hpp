#pragma once

#include <kinetograph/kernels/cuda/sm90/winograd_config.hpp>
#include <kinetograph/kernels/isa/mbarrier.hpp>

/// Shared memory of one CTA; every swizzled tile starts on a multiple of its pattern.
namespace kinetograph::sm90 {

template <WinogradConfig kConfig>
struct WinogradSmem {
    static constexpr WinogradConfig c = CheckedWinogradConfig<kConfig>::c;
    static constexpr ConvConfig kShare = share(c);

    alignas(1024) uint8_t halo[c.halo_stages][halo_stage_bytes(c)];             ///< [pixel][channels]: frame, operand
    alignas(1024) uint8_t filter[c.filter_stages][filter_stage_bytes(kShare)];  ///< [tap][filter][channels]
    /// A set per warpgroup, or one that both use in turn; a buffer is [piece][pixel][channels].
    alignas(1024) uint8_t staging[staging_sets(c)][staging_buffers(kShare)][staging_bytes(kShare)];

    isa::mbarrier::Barrier halo_full[c.halo_stages];                                     // load -> transform
    isa::mbarrier::Barrier operand_full[c.halo_stages];                                  // transform -> multiply
    isa::mbarrier::Barrier halo_empty[c.halo_stages];                                    // both -> load
    isa::mbarrier::Barrier filter_full[c.filter_stages], filter_empty[c.filter_stages];  // load <-> multiply
    isa::mbarrier::Barrier turn[kConsumers];  ///< [w]: warpgroup w may enter its main loop
    isa::mbarrier::Barrier
        staging_ready[kConsumers];  ///< [w]: buffers are free for w and hold the residual of its next frame
};

}  // namespace kinetograph::sm90
