#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_faults.hpp>
#include <kinetograph/kernels/cuda/sm90/limits.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/descriptors.hpp>
#include <kinetograph/kernels/isa/element.hpp>

/// What one instance of the SM90 convolution is made of. A tile is a rectangle of blocks of 8 x 8 pixels, each block
/// the 64 rows of one wgmma, times `bn` filters; one consumer warpgroup computes all of it.
namespace kinetograph::sm90 {

enum class Epilogues : uint8_t {
    InTurn,   ///< the two warpgroups share staging buffers: one's epilogue begins when the other's has ended
    Overlap,  ///< each has its own, for tiles whose epilogues take longer than their products
};

struct ConvConfig {
    Element element = Element::BF16;      ///< of the input: of U8 the filters are I8 and the results BF16
    uint32_t blocks_y = 0, blocks_x = 0;  ///< of 8 x 8 pixels
    uint32_t bn = 0;                      ///< filters of a tile
    uint32_t channels = 0;                ///< of one block of K: a span of the swizzle of 32, 64 or 128 bytes
    uint32_t side = 3;                    ///< taps along rows and along columns: 1, 2 or 3
    uint32_t stage_taps = 1;              ///< taps whose filters share a stage
    uint32_t input_stages = 0, filter_stages = 0;
    Epilogues epilogues = Epilogues::InTurn;
    bool fp32_sums = false;   ///< launches may first add fp32 sums from memory, and store fp32 sums as their results
    bool byte_norms = false;  ///< launches may store their norm as U8

    friend bool operator==(const ConvConfig&, const ConvConfig&) = default;
};

inline constexpr uint32_t kConsumers = 2;  ///< warpgroups that take tiles in turn
inline constexpr uint32_t kThreads = 128 * (1 + kConsumers);
inline constexpr uint32_t kBlockPixels = 64, kBlockSide = 8;

KG_HOST_DEVICE bool multiplies_bytes(const ConvConfig& c) { return c.element == Element::U8; }
/// Of results and residuals.
KG_HOST_DEVICE Element stored_element(const ConvConfig& c) { return multiplies_bytes(c) ? Element::BF16 : c.element; }
/// The swizzle whose span is so many bytes.
KG_HOST_DEVICE isa::Swizzle swizzle_of(uint32_t bytes) {
    return bytes == 128 ? isa::Swizzle::Span128 : bytes == 64 ? isa::Swizzle::Span64 : isa::Swizzle::Span32;
}
/// Bytes of one row (pixel or filter) of a block of K.
KG_HOST_DEVICE uint32_t row_bytes(const ConvConfig& c) { return c.channels * element_bytes(c.element); }
KG_HOST_DEVICE isa::Swizzle swizzle(const ConvConfig& c) { return swizzle_of(row_bytes(c)); }
/// Products of one row: each takes 32 bytes of it.
KG_HOST_DEVICE uint32_t row_steps(const ConvConfig& c) { return row_bytes(c) / 32; }
KG_HOST_DEVICE uint32_t blocks(const ConvConfig& c) { return c.blocks_y * c.blocks_x; }
KG_HOST_DEVICE uint32_t tile_rows(const ConvConfig& c) { return c.blocks_y * kBlockSide; }
KG_HOST_DEVICE uint32_t tile_columns(const ConvConfig& c) { return c.blocks_x * kBlockSide; }
/// Pixels that the taps of a tile read: its own and those beyond its edges.
KG_HOST_DEVICE uint32_t halo_rows(const ConvConfig& c) { return tile_rows(c) + c.side - 1; }
KG_HOST_DEVICE uint32_t halo_columns(const ConvConfig& c) { return tile_columns(c) + c.side - 1; }
KG_HOST_DEVICE uint32_t halo_bytes(const ConvConfig& c) { return halo_rows(c) * halo_columns(c) * row_bytes(c); }
KG_HOST_DEVICE uint32_t input_stage_bytes(const ConvConfig& c) { return (halo_bytes(c) + 1023) / 1024 * 1024; }
KG_HOST_DEVICE uint32_t filter_stage_bytes(const ConvConfig& c) { return c.stage_taps * c.bn * row_bytes(c); }
/// Filter stages of one block of K: all its taps.
KG_HOST_DEVICE uint32_t tap_groups(const ConvConfig& c) { return c.side * c.side / c.stage_taps; }
/// One block's results in shared memory, before TMA stores them: 64 pixels of bn channels, in pieces of one swizzle
/// span. A tile of 48 filters fills part of a 64-channel piece; it takes no problem of more, so TMA clips the rest.
KG_HOST_DEVICE uint32_t piece_channels(const ConvConfig& c) { return c.bn % 64 == 32 ? 32 : 64; }
KG_HOST_DEVICE bool has_part_of_a_piece(const ConvConfig& c) { return c.bn % piece_channels(c) != 0; }
KG_HOST_DEVICE uint32_t staging_pieces(const ConvConfig& c) {
    return (c.bn + piece_channels(c) - 1) / piece_channels(c);
}
KG_HOST_DEVICE uint32_t staging_bytes(const ConvConfig& c) {
    return kBlockPixels * staging_pieces(c) * piece_channels(c) * 2;
}
KG_HOST_DEVICE isa::Swizzle staging_swizzle(const ConvConfig& c) { return swizzle_of(piece_channels(c) * 2); }
/// Of norms in bytes: pieces of whole spans.
KG_HOST_DEVICE uint32_t byte_piece_channels(const ConvConfig& c) {
    return c.bn % 128 == 0 ? 128u : c.bn % 64 == 0 ? 64u : 32u;
}
KG_HOST_DEVICE uint32_t staging_sets(const ConvConfig& c) { return c.epilogues == Epilogues::Overlap ? kConsumers : 1; }
/// A buffer for each block, and one more so that a block's raw and normed results can be stored together.
KG_HOST_DEVICE uint32_t staging_buffers(const ConvConfig& c) { return blocks(c) + 1; }
KG_HOST_DEVICE uint32_t shared_bytes(const ConvConfig& c) {
    return c.input_stages * input_stage_bytes(c) + c.filter_stages * filter_stage_bytes(c) +
           staging_sets(c) * staging_buffers(c) * staging_bytes(c) + 1024;  // the barriers
}

/// Every limit that a config can break, each with its own message.
template <ConvConfig kConfig>
struct CheckedConvConfig {
    static constexpr ConvConfig c = kConfig;
    static_assert(c.element == Element::BF16 || c.element == Element::F16 || c.element == Element::U8,
                  "16-bit elements or bytes");
    static_assert(span_bytes(swizzle(c)) == row_bytes(c) && (row_bytes(c) > 32 || multiplies_bytes(c)),
                  "a block of K is one span of a swizzle");
    static_assert(!c.byte_norms || c.bn % 32 == 0, "norms in bytes leave in whole pieces");
    static_assert(!multiplies_bytes(c) || !c.fp32_sums, "integer sums stay in registers");
    static_assert(c.bn % 16 == 0 && c.bn <= 256, "filters of one wgmma");
    static_assert(!has_part_of_a_piece(c) || staging_pieces(c) == 1, "results leave in whole pieces, or in one");
    static_assert(blocks(c) * c.bn / 2 <= 192, "more accumulators than a thread has registers for");
    static_assert(c.side >= 1 && c.side <= 3, "1, 2 or 3 taps a side");
    static_assert(c.side * c.side % c.stage_taps == 0, "a block of K is whole filter stages");
    static_assert(halo_rows(c) <= 256 && halo_columns(c) <= 256, "a TMA box has at most 256 elements an axis");
    static_assert(filter_stage_bytes(c) % 1024 == 0 && staging_bytes(c) % 1024 == 0, "stages start on the swizzle");
    static_assert(c.input_stages >= 2 && c.filter_stages >= 2, "a ring needs two stages");
    static_assert(2 * (c.input_stages + c.filter_stages) + 2 * kConsumers <= 128, "more barriers than their KiB holds");
    static_assert(shared_bytes(c) <= kSharedLimit, "more shared memory than a block may have");
};

}  // namespace kinetograph::sm90
