#pragma once

#include <kinetograph/kernels/isa/element.hpp>

/// Attention of one frame, one head as wide as the channels: softmax(q k^T / sqrt(C)) v in one sweep over the keys,
/// without a token-by-token matrix in memory. A wave has 16 queries; keys and values come in tiles through LDS.
///
/// A head wider than the registers and LDS allow is taken in slices: every workgroup adds up the scores slice by slice
/// and sums only its own slice of the values, so that 1024 channels cost 2.5 times the products, of which a decoder has
/// few.
///
/// Everything is computed transposed, so that a lane stays with one query. The scores S^T = K Q^T leave lane l with
/// query l % 16 and four keys of each 16; with permuted keys this is already the operand of O^T = V^T P^T. Only two
/// maxima per tile move between lanes. The values kernel makes V^T beforehand with that permutation of keys:
///
///   place in a group of 32 keys    8 g + 0..3     8 g + 4..7        (g = 0..3, the lane's group l / 16)
///   key                            4 g + 0..3     16 + 4 g + 0..3
///
/// LDS: a ring of three tiles, each 128 bytes x kSlice, in the order K0 V0 K1 V1 ...; with slices A to D of the keys
/// and the workgroup's own of the values K0A K0B K0C K0D V0 K1A ...
///
///   tile of K   kKeys rows of kSlice elements      16-byte chunk c of row r is at chunk c ^ swizzle(r)
///   tile of V   kSlice rows of kKeys elements      likewise
///
///   step      needs (landed)   in flight       then issues into the slot that the previous step has emptied
///   K of t    K(t)             V(t)            K(t+1)
///   V of t    V(t)             K(t+1)          V(t+1)
///
/// Registers per lane at kWidth 384, 16-bit: 96 for O^T, 48 for Q, 16 for S^T, 8 for P: two waves per SIMD (256
/// registers). At kWidth 1024 in slices of 256: 64, 128 (float32: 256), 16 and 8: one wave per SIMD (512).
namespace kinetograph::gfx950 {

inline constexpr uint32_t kAttentionSlice = 256;  ///< of heads wider than 384

template <Element kElementOf, uint32_t kWidthOf, uint32_t kSliceOf = kWidthOf>
struct AttentionConfig {
    static constexpr Element kElement = kElementOf;
    static constexpr uint32_t kWidth = kWidthOf;  ///< channels, padded by zeros: 64, 128, 256, 384, 1024
    static constexpr uint32_t kSlice = kSliceOf;  ///< of a tile, and of what a workgroup sums
    static constexpr uint32_t kSlices = kWidth / kSlice;
    static constexpr uint32_t kBytes = element_bytes(kElement);
    static constexpr uint32_t kWaves = kSlices == 1 ? 8 : 4;
    static constexpr uint32_t kThreads = 64 * kWaves;
    static constexpr uint32_t kQueries = 16 * kWaves;  ///< of a workgroup
    static constexpr uint32_t kKeys = 128 / kBytes;    ///< of a tile
    static constexpr uint32_t kStages = 3;
    static constexpr uint32_t kTileBytes = kKeys * kSlice * kBytes;
    static constexpr uint32_t kLdsBytes = kStages * kTileBytes;
    static constexpr uint32_t kLoads = kTileBytes / (1024 * kWaves);  ///< direct-to-LDS loads a wave issues for a tile

    static_assert(kWidth % kSlice == 0, "slices are all as wide");
    static_assert(kSlice % 32 == 0, "the products sum over 32 channels at a time");
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
