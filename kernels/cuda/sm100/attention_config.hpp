#pragma once

#include <kinetograph/kernels/cuda/sm100/attention_faults.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_config.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_params.hpp>

/// What one instance of the SM100 attention is made of: a CTA takes 128 queries and goes over the keys twice, 64 at
/// a time. Tiles, widths, maps and parameters are the Hopper kernel's.
namespace kinetograph::sm100 {

using sm90::AttentionConfig, sm90::AttentionParams;
using sm90::kKeyBlockBytes, sm90::kKeyTile, sm90::kQueryBlockBytes, sm90::kQueryTile, sm90::kSpanBytes,
    sm90::kSpanChannels, sm90::width_blocks;

inline constexpr uint32_t kAttentionWarps = 6, kAttentionThreads = kAttentionWarps * 32;
inline constexpr uint32_t kScoreBuffers = 2;

/// A stage is the keys or the values of one tile, in blocks of one span of channels.
KG_HOST_DEVICE uint32_t attention_stage_bytes(const AttentionConfig& c) { return width_blocks(c) * kKeyBlockBytes; }
/// Bytes of queries, weights and barriers; the rest of shared memory holds stages.
KG_HOST_DEVICE uint32_t attention_fixed_bytes(const AttentionConfig& c) {
    return (width_blocks(c) + 1) * 2 * kQueryBlockBytes + 1024;
}
KG_HOST_DEVICE uint32_t ring_stages(const AttentionConfig& c) {
    const uint32_t fit = (kSharedLimit - attention_fixed_bytes(c)) / attention_stage_bytes(c);
    return fit < 6 ? fit : 6;
}
/// Channels of one product of weights and values: N is at most 256.
KG_HOST_DEVICE uint32_t value_columns(const AttentionConfig& c) { return c.width <= 256 ? c.width : c.width / 2; }
/// Columns of tensor memory: sums over all channels, and two tiles' scores.
KG_HOST_DEVICE uint32_t attention_columns(const AttentionConfig& c) {
    uint32_t columns = 32;
    while (columns < c.width + kScoreBuffers * kKeyTile) columns *= 2;
    return columns;
}

/// Every limit that a config can break, each with its message.
template <AttentionConfig kConfig>
struct CheckedAttentionConfig {
    static constexpr AttentionConfig c = kConfig;
    static_assert(c.element == Element::BF16 || c.element == Element::F16, "16-bit elements");
    static_assert(c.width % kSpanChannels == 0 && c.width > 0, "rows are whole spans of the swizzle");
    static_assert(value_columns(c) % 16 == 0 && value_columns(c) <= 256, "N is a multiple of 16, at most 256");
    static_assert(attention_columns(c) <= 512, "tensor memory has 512 columns");
    static_assert(ring_stages(c) >= 2, "keys and values need a stage each");
};

}  // namespace kinetograph::sm100
