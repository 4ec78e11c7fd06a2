#pragma once

#include <kinetograph/kernels/cuda/sm90/attention_config.hpp>
#include <kinetograph/kernels/isa/mbarrier.hpp>

/// Shared memory of one CTA; every block starts on a multiple of the swizzle's pattern.
namespace kinetograph::sm90 {

template <AttentionConfig kConfig>
struct AttentionSmem {
    static constexpr AttentionConfig c = CheckedAttentionConfig<kConfig>::c;

    /// A warpgroup's queries; after their last product, what its results are added to; then the results, then their
    /// norm.
    alignas(1024) uint8_t query[kAttentionConsumers][width_blocks(c)][kQueryBlockBytes];
    alignas(1024) uint8_t weights[kAttentionConsumers][kQueryBlockBytes];  ///< [query][key of the tile]
    alignas(1024) uint8_t stage[attention_stages(c)][stage_bytes(c)];

    isa::mbarrier::Barrier query_full[kAttentionConsumers];
    isa::mbarrier::Barrier stage_full[attention_stages(c)], stage_empty[attention_stages(c)];  // load <-> multiply
};

}  // namespace kinetograph::sm90
