#pragma once

#include <kinetograph/kernels/cuda/sm100/attention_config.hpp>
#include <kinetograph/kernels/isa/mbarrier.hpp>

/// Shared memory of one CTA; every block starts on a multiple of its swizzle's pattern.
namespace kinetograph::sm100 {

template <AttentionConfig kConfig>
struct AttentionSmem {
    static constexpr AttentionConfig c = CheckedAttentionConfig<kConfig>::c;
    static constexpr uint32_t kStages = ring_stages(c);

    alignas(1024) uint8_t query[width_blocks(c)][kQueryTile * kSpanBytes];  ///< [query][channels]; results at the end
    alignas(1024) uint8_t stage[kStages][width_blocks(c)][kKeyBlockBytes];  ///< [key][channels]
    alignas(1024) uint8_t weights[kQueryTile * kSpanBytes];                 ///< [query][key]

    isa::mbarrier::Barrier query_full;
    isa::mbarrier::Barrier stage_full[kStages], stage_empty[kStages];               // load <-> MMA
    isa::mbarrier::Barrier scores_full[kScoreBuffers], scores_free[kScoreBuffers];  // MMA <-> softmax
    isa::mbarrier::Barrier weights_full, weights_free;                              // softmax <-> MMA
    isa::mbarrier::Barrier sums_full;                                               // MMA -> softmax
    uint32_t tensor_address;
};

}  // namespace kinetograph::sm100
