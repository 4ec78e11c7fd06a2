#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_config.hpp>
#include <kinetograph/kernels/isa/mbarrier.hpp>

/// Shared memory of one CTA; every swizzled tile starts on a multiple of its pattern.
namespace kinetograph::sm90 {

template <ConvConfig kConfig>
struct ConvSmem {
    static constexpr ConvConfig c = CheckedConvConfig<kConfig>::c;

    alignas(1024) uint8_t input[c.input_stages][input_stage_bytes(c)];     ///< [pixel of the halo][channels]
    alignas(1024) uint8_t filter[c.filter_stages][filter_stage_bytes(c)];  ///< [tap][filter][channels]
    alignas(1024) uint8_t staging[staging_sets(c)][staging_buffers(c)][staging_bytes(c)];  ///< [piece][pixel][channels]

    isa::mbarrier::Barrier input_full[c.input_stages], input_empty[c.input_stages];      // load <-> multiply
    isa::mbarrier::Barrier filter_full[c.filter_stages], filter_empty[c.filter_stages];  // load <-> multiply
    isa::mbarrier::Barrier turn[kConsumers];           ///< [w]: warpgroup w may enter its main loop
    isa::mbarrier::Barrier staging_ready[kConsumers];  ///< [w]: buffers are free for w and hold its tile's residual
};

}  // namespace kinetograph::sm90
