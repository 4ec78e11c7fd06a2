#pragma once

#include <kinetograph/kernels/conv/element.hpp>

/// Attention of one frame, one head as wide as the channels: softmax(q k^T / sqrt(C)) v in one sweep over the keys,
/// without a token-by-token matrix in memory. A workgroup has 128 queries, a wave 16; keys and values come in tiles
/// through LDS.
///
/// Everything is computed transposed, so that a lane stays with one query. The scores S^T = K Q^T leave lane l with
/// query l % 16 and four keys of each 16; with permuted keys this is already the operand of O^T = V^T P^T. Only two
/// maxima per tile move between lanes. The values kernel makes V^T beforehand with that permutation of keys:
///
///   place in a group of 32 keys    8 g + 0..3     8 g + 4..7        (g = 0..3, the lane's group l / 16)
///   key                            4 g + 0..3     16 + 4 g + 0..3
///
/// LDS: a ring of three tiles, each 128 bytes x kWidth, in the order K0 V0 K1 V1 ...
///
///   tile of K   kKeys rows of kWidth elements      16-byte chunk c of row r is at chunk c ^ swizzle(r)
///   tile of V   kWidth rows of kKeys elements      likewise
///
///   step      needs (landed)   in flight       then issues into the slot that the previous step has emptied
///   K of t    K(t)             V(t)            K(t+1)
///   V of t    V(t)             K(t+1)          V(t+1)
///
/// Registers per lane at kWidth 384, 16-bit: 96 for O^T, 48 for Q, 16 for S^T, 8 for P: two waves per SIMD (256
/// registers).
namespace kinetograph::gfx950 {

template <Element kElementOf, uint32_t kWidthOf>
struct AttentionConfig {
    static constexpr Element kElement = kElementOf;
    static constexpr uint32_t kWidth = kWidthOf;  ///< channels, padded by zeros: 64, 128, 256, 384
    static constexpr uint32_t kBytes = element_bytes(kElement);
    static constexpr uint32_t kWaves = 8;
    static constexpr uint32_t kThreads = 64 * kWaves;
    static constexpr uint32_t kQueries = 16 * kWaves;  ///< of a workgroup
    static constexpr uint32_t kKeys = 128 / kBytes;    ///< of a tile
    static constexpr uint32_t kStages = 3;
    static constexpr uint32_t kTileBytes = kKeys * kWidth * kBytes;
    static constexpr uint32_t kLdsBytes = kStages * kTileBytes;
    static constexpr uint32_t kLoads = kTileBytes / (1024 * kWaves);  ///< direct-to-LDS loads a wave issues for a tile

    static_assert(kWidth % 32 == 0, "the products sum over 32 channels at a time");
    static_assert(kTileBytes % (1024 * kWaves) == 0, "every wave loads the same number of KiB of a tile");
    static_assert(2 * kLoads <= 63, "two tiles in flight must fit the 6-bit counter");
    static_assert(kLdsBytes <= 160 * 1024, "a workgroup has at most 160 KiB of LDS");
};

struct AttentionParams {
    const void* qkv;      ///< [tokens, 3 * channels]: query, key, value
    const void* values;   ///< [width, padded_tokens], keys permuted, zeros beyond channels and tokens
    void* output;         ///< [tokens, channels]; with one split only
    float* partial;       ///< [splits, tokens, channels]: sums not yet divided; with more splits than one
    float* partial_rows;  ///< [splits, tokens, 2]: largest exponent and sum of weights of each
    uint32_t tokens, channels, padded_tokens;
    uint32_t split_tokens;  ///< keys of a split (grid y), a multiple of the tile's
    uint32_t splits;
    float scale;  ///< log2(e) / sqrt(channels): scores times scale are exponents of two
};

/// values[c][place of token] = v[token][c].
struct AttentionValuesParams {
    const void* qkv;
    void* values;
    uint32_t tokens, channels, padded_tokens, width;
};

/// Combines the splits of the keys.
struct AttentionJoinParams {
    const float* partial;
    const float* partial_rows;
    void* output;
    uint32_t tokens, channels, splits;
};

}  // namespace kinetograph::gfx950
