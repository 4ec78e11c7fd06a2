#pragma once

#include <kinetograph/kernels/cuda/sm100/halo_config.hpp>
#include <kinetograph/kernels/isa/mbarrier.hpp>

/// Shared memory of one CTA; every swizzled tile starts on a multiple of its pattern.
namespace kinetograph::sm100 {

template <HaloConfig kConfig>
struct HaloSmem {
    static constexpr HaloConfig c = CheckedHaloConfig<kConfig>::c;
    static constexpr uint32_t kStagingWarps = c.store == HaloStore::Pieces ? kEpilogueWarps : 1;
    static constexpr bool kExchanges = c.sharing == HaloSharing::Pixels;
    static constexpr uint32_t kStagedBytes = c.store == HaloStore::Pieces ? kPieceBytes : 16;

    alignas(1024) uint8_t input[c.input_stages][input_stage_bytes(c)];     ///< [pixel of the halo][channels]
    alignas(1024) uint8_t filter[c.filter_stages][filter_stage_bytes(c)];  ///< [tap][filter of this CTA][channels]
    alignas(1024) uint8_t output[kStagingWarps][kHaloOutputSlots][kStagedBytes];  ///< [pixel][channels]
    alignas(1024) uint8_t source[kHaloSourceSlots][kStagingWarps][kStagedBytes];  ///< likewise, of the residual

    /// Sums of squares of this CTA's pixels over the other pair's filters.
    float squares[kExchanges ? kHaloSquareSlots : 1][kExchanges ? kEpilogueWarps : 1][kExchanges ? 32 : 1];

    isa::mbarrier::Barrier input_full[c.input_stages], input_empty[c.input_stages];        // load <-> MMA
    isa::mbarrier::Barrier filter_full[c.filter_stages], filter_empty[c.filter_stages];    // load <-> MMA
    isa::mbarrier::Barrier accumulated[kHaloSumStages];                                    // MMA -> epilogue
    isa::mbarrier::Barrier drained[kHaloSumStages];                                        // epilogue -> MMA
    isa::mbarrier::Barrier source_full[kHaloSourceSlots], source_empty[kHaloSourceSlots];  // residual load <-> epilogue
    isa::mbarrier::Barrier squares_full[kHaloSquareSlots];  // epilogue of the other pair -> epilogue
    isa::mbarrier::Barrier deallocate;  // epilogue (of both CTAs of a pair) -> MMA: tensor memory may be freed
    uint32_t tensor_address;
};

}  // namespace kinetograph::sm100
