#pragma once

#include <kinetograph/kernels/cuda/sm90/attention_faults.hpp>
#include <kinetograph/kernels/cuda/sm90/limits.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/element.hpp>
#include <kinetograph/kernels/isa/swizzle.hpp>

/// What one instance of the SM90 attention is made of. A CTA is two warpgroups of 64 queries each and goes over the
/// keys 64 at a time. A warpgroup keeps the sums of its queries over all channels in registers: for 384 channels 192 a
/// thread, and 32 scores. The SM's registers do not suffice for a third warpgroup that only loads: thread 0 issues the
/// first loads, then one thread of the second warpgroup all others but those of a sum's rows (attention_load.hpp).
namespace kinetograph::sm90 {

struct AttentionConfig {
    Element element = Element::BF16;
    uint32_t width = 0;  ///< channels of the head; narrower heads are padded with zeros

    friend bool operator==(const AttentionConfig&, const AttentionConfig&) = default;
};

inline constexpr uint32_t kAttentionConsumers = 2, kAttentionThreads = 128 * kAttentionConsumers;
inline constexpr uint32_t kWarpgroupQueries = 64, kQueryTile = kAttentionConsumers * kWarpgroupQueries, kKeyTile = 64;
/// Shared memory holds blocks of rows; a row is one span of the swizzle: 64 channels of one token.
inline constexpr uint32_t kSpanChannels = 64, kSpanBytes = 128;
inline constexpr uint32_t kQueryBlockBytes = kWarpgroupQueries * kSpanBytes, kKeyBlockBytes = kKeyTile * kSpanBytes;
inline constexpr isa::Swizzle kAttentionSwizzle = isa::Swizzle::Span128;

KG_HOST_DEVICE uint32_t width_blocks(const AttentionConfig& c) { return c.width / kSpanChannels; }
/// Blocks in a stage of keys or values; its channels are the N of one product with the values. A stage costs some 120
/// cycles besides its products: on an H200 a frame takes 0.52 ms in stages of 192 channels, 0.66 of 128, 1.0 of 64.
KG_HOST_DEVICE uint32_t stage_blocks(const AttentionConfig& c) { return width_blocks(c) % 3 == 0 ? 3 : 2; }
KG_HOST_DEVICE uint32_t stage_channels(const AttentionConfig& c) { return stage_blocks(c) * kSpanChannels; }
KG_HOST_DEVICE uint32_t stage_bytes(const AttentionConfig& c) { return stage_blocks(c) * kKeyBlockBytes; }
/// Stages of the keys, or of the values, of one tile.
KG_HOST_DEVICE uint32_t tile_stages(const AttentionConfig& c) { return width_blocks(c) / stage_blocks(c); }
/// Bytes of queries, weights and barriers; the rest of shared memory holds stages.
KG_HOST_DEVICE uint32_t fixed_bytes(const AttentionConfig& c) {
    return kAttentionConsumers * (width_blocks(c) + 1) * kQueryBlockBytes + 1024;
}
KG_HOST_DEVICE uint32_t attention_stages(const AttentionConfig& c) {
    const uint32_t fit = (kSharedLimit - fixed_bytes(c)) / stage_bytes(c);
    return fit < 12 ? fit : 12;
}

/// Every limit that a config can break, each with its own message.
template <AttentionConfig kConfig>
struct CheckedAttentionConfig {
    static constexpr AttentionConfig c = kConfig;
    static_assert(c.element == Element::BF16 || c.element == Element::F16, "16-bit elements");
    static_assert(c.width % kSpanChannels == 0 && c.width > 0, "rows are whole spans of the swizzle");
    static_assert(width_blocks(c) % stage_blocks(c) == 0, "a tile is whole stages");
    static_assert(c.width / 2 <= 192, "more accumulators than a thread has registers for");
    static_assert(attention_stages(c) >= 4, "each warpgroup holds two stages while their products are under way");
};

}  // namespace kinetograph::sm90
