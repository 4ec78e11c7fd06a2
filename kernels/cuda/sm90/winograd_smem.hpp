#pragma once

#include <kinetograph/kernels/cuda/sm90/winograd_config.hpp>
#include <kinetograph/kernels/isa/mbarrier.hpp>

/// Shared memory of one CTA; every swizzled tile starts on a multiple of its pattern.
namespace kinetograph::sm90 {

template <WinogradConfig kConfig>
struct WinogradSmem {
    static constexpr WinogradConfig c = CheckedWinogradConfig<kConfig>::c;
    static constexpr ConvConfig kShare = share(c);

    alignas(1024) uint8_t halo[halos(c)][halo_stage_bytes(c)];                  ///< [pixel][channels]: frame, operand
    alignas(1024) uint8_t filter[c.filter_stages][filter_stage_bytes(kShare)];  ///< [tap][filter][channels]
    alignas(1024) uint8_t staging[staging_buffers(c)][staging_bytes(kShare)];   ///< [piece][pixel][channels]

    isa::mbarrier::Barrier halo_full[halos(c)];                                          // load -> transform
    isa::mbarrier::Barrier operand_full[halos(c)];                                       // transform -> multiply
    isa::mbarrier::Barrier halo_empty[halos(c)];                                         // both -> load
    isa::mbarrier::Barrier filter_full[c.filter_stages], filter_empty[c.filter_stages];  // load <-> multiply
    isa::mbarrier::Barrier turn[kConsumers];  ///< [w]: warpgroup w may enter its main loop
    /// [w][buffer]: it is warpgroup w's and holds the residual of its next results; it holds results.
    isa::mbarrier::Barrier staging_ready[kConsumers][staging_buffers(c)], staged[kConsumers][staging_buffers(c)];
};

}  // namespace kinetograph::sm90
