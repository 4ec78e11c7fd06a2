#pragma once

#include <kinetograph/kernels/cuda/sm90/attention_config.hpp>
#include <kinetograph/kernels/isa/tensor_map.hpp>
#include <type_traits>

/// What one launch of AttentionKernel reads, by value, as a `const __grid_constant__` parameter; filled in by
/// attention_plan.cpp.
namespace kinetograph::sm90 {

/// The most frames of one launch; more take several launches.
inline constexpr uint32_t kMaxAttentionFrames = 7;

struct AttentionParams {
    isa::TensorMap query[kMaxAttentionFrames];      ///< {channels, tokens}; box: one span of a warpgroup's queries
    isa::TensorMap key_value[kMaxAttentionFrames];  ///< {channels, key / value, tokens}; box: one span of a key tile
    isa::TensorMap output[kMaxAttentionFrames];     ///< as query
    isa::TensorMap normed[kMaxAttentionFrames];     ///< as query; with gamma only
    uint32_t tokens, channels;
    float scale;         ///< log2(e) / sqrt(channels): weights are powers of two
    const float* gamma;  ///< [channels]: results are added to the output, normed too. Null: they are the output
    float sqrt_channels;
    uint32_t norm_silu;  ///< 1: SiLU of the norm
};
static_assert(std::is_trivially_copyable_v<AttentionParams> && sizeof(AttentionParams) <= 4096,
              "4 KiB of kernel parameters");

KG_HOST_DEVICE uint32_t key_tiles(const AttentionParams& p) { return (p.tokens + kKeyTile - 1) / kKeyTile; }

}  // namespace kinetograph::sm90
