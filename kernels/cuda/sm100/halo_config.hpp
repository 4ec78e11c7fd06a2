#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_config.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_faults.hpp>

/// What one instance of the halo convolution is made of. A CTA's tile is `blocks` blocks of 16 x 8 pixels, one below
/// the other, times `bn` filters; a block is the 128 rows of one MMA. The CTAs of a pair take blocks side by side and
/// hold half of the filters' rows each; a cluster is one CTA, a pair, or two pairs that share loads.
namespace kinetograph::sm100 {

/// How results leave the registers.
enum class HaloStore : uint8_t {
    Pieces,  ///< 32 pixels x 32 channels through shared memory and a tensor map; 16-bit elements
    Pixels,  ///< each lane stores its pixel's channels: any number up to 16, in 16 or 32 bits; no residual, no norm
};

/// What two pairs of a cluster share.
enum class HaloSharing : uint8_t {
    None,     ///< there is one pair, or one CTA
    Filters,  ///< they take tiles side by side; each loads half of the filters and sends them to both
    Pixels,   ///< they take the same pixels, `bn` filters each; each loads every second halo and sends it to both, and
              ///< a norm adds the sums of squares of both
};

struct HaloConfig {
    Element element = Element::BF16;
    uint32_t cta_group = 2;  ///< CTAs that share one MMA
    uint32_t cluster = 2;    ///< CTAs: an MMA's, or those of two
    HaloSharing sharing = HaloSharing::None;
    uint32_t bn = 0;          ///< filters of one MMA
    uint32_t blocks = 1;      ///< of a CTA
    uint32_t channels = 0;    ///< of one block of K: 32 (64-byte swizzle) or 64 (128-byte swizzle)
    uint32_t side = 3;        ///< taps along rows and along columns: 1, 2 or 3
    uint32_t stage_taps = 1;  ///< taps whose filters share a stage
    HaloStore store = HaloStore::Pieces;
    uint32_t input_stages = 0, filter_stages = 0;

    friend bool operator==(const HaloConfig&, const HaloConfig&) = default;
};

inline constexpr uint32_t kHaloBlockRows = 16, kHaloBlockColumns = 8, kHaloBlockPixels = 128;
inline constexpr uint32_t kHaloSumStages = 2, kHaloOutputSlots = 2, kHaloSourceSlots = 2, kHaloSquareSlots = 2;
/// What a warp stores at once: a pixel per lane, 4 rows of 8, by 32 channels.
inline constexpr uint32_t kPieceRows = 4, kPieceChannels = 32, kPieceBytes = 32 * kPieceChannels * 2;

KG_HOST_DEVICE isa::Swizzle swizzle(const HaloConfig& c) {
    return c.channels == 64 ? isa::Swizzle::Span128 : isa::Swizzle::Span64;
}
/// Bytes of one row (pixel or filter) of a block of K.
KG_HOST_DEVICE uint32_t row_bytes(const HaloConfig& c) { return c.channels * 2; }
KG_HOST_DEVICE uint32_t cta_rows(const HaloConfig& c) { return c.blocks * kHaloBlockRows; }
/// Columns and filters of a cluster's tile.
KG_HOST_DEVICE uint32_t tile_columns(const HaloConfig& c) {
    return (c.sharing == HaloSharing::Pixels ? c.cta_group : c.cluster) * kHaloBlockColumns;
}
KG_HOST_DEVICE uint32_t tile_filters(const HaloConfig& c) {
    return c.sharing == HaloSharing::Pixels ? c.cluster / c.cta_group * c.bn : c.bn;
}
/// Pixels that the taps of a CTA's blocks read: their own and those beyond their edges.
KG_HOST_DEVICE uint32_t halo_rows(const HaloConfig& c) { return cta_rows(c) + c.side - 1; }
KG_HOST_DEVICE uint32_t halo_columns(const HaloConfig& c) { return kHaloBlockColumns + c.side - 1; }
KG_HOST_DEVICE uint32_t halo_bytes(const HaloConfig& c) { return halo_rows(c) * halo_columns(c) * row_bytes(c); }
KG_HOST_DEVICE uint32_t input_stage_bytes(const HaloConfig& c) { return (halo_bytes(c) + 1023) / 1024 * 1024; }
/// Filters that one CTA holds.
KG_HOST_DEVICE uint32_t cta_filters(const HaloConfig& c) { return c.bn / c.cta_group; }
/// Filters that one CTA loads.
KG_HOST_DEVICE uint32_t loaded_filters(const HaloConfig& c) {
    return c.sharing == HaloSharing::Filters ? c.bn / c.cluster : cta_filters(c);
}
KG_HOST_DEVICE uint32_t filter_stage_bytes(const HaloConfig& c) { return c.stage_taps * cta_filters(c) * row_bytes(c); }
/// Filter stages of one block of K: all its taps.
KG_HOST_DEVICE uint32_t tap_groups(const HaloConfig& c) { return c.side * c.side / c.stage_taps; }
/// Columns of tensor memory for one block's sums, and for all sums.
KG_HOST_DEVICE uint32_t block_columns(const HaloConfig& c) {
    uint32_t columns = 32;
    while (columns < c.bn) columns *= 2;
    return columns;
}
KG_HOST_DEVICE uint32_t tensor_columns(const HaloConfig& c) { return kHaloSumStages * c.blocks * block_columns(c); }
KG_HOST_DEVICE uint32_t staging_bytes(const HaloConfig& c) {
    if (c.store == HaloStore::Pixels) return 1024;  // none: the next member's alignment
    return kEpilogueWarps * (kHaloOutputSlots + kHaloSourceSlots) * kPieceBytes;
}
/// The other pair's sums of squares for the pixels of a tile, and of the next tile.
KG_HOST_DEVICE uint32_t squares_bytes(const HaloConfig& c) {
    return c.sharing == HaloSharing::Pixels ? kHaloSquareSlots * kHaloBlockPixels * 4 : 0;
}
KG_HOST_DEVICE uint32_t shared_bytes(const HaloConfig& c) {
    return c.input_stages * input_stage_bytes(c) + c.filter_stages * filter_stage_bytes(c) + staging_bytes(c) +
           squares_bytes(c) + 1024;  // the barriers
}

/// Every limit that a config can break, each with its message.
template <HaloConfig kConfig>
struct CheckedHaloConfig {
    static constexpr HaloConfig c = kConfig;
    static_assert(c.element == Element::BF16 || c.element == Element::F16, "16-bit elements");
    static_assert(c.cta_group == 1 || c.cta_group == 2, "one CTA or a pair issues an MMA");
    static_assert(c.cluster == (c.sharing == HaloSharing::None ? 1 : 2) * c.cta_group, "one MMA's CTAs or two's");
    static_assert(c.sharing != HaloSharing::Filters || c.stage_taps == 1, "parts of a stage lie side by side");
    static_assert(c.sharing != HaloSharing::Pixels || c.store == HaloStore::Pieces, "a head has few filters");
    static_assert(c.channels == 32 || c.channels == 64, "a block of K is one span of the 64- or 128-byte swizzle");
    static_assert(c.bn % (16 * c.cta_group) == 0 && c.bn <= 256, "N is a multiple of 16, of 32 for a pair");
    static_assert(c.store == HaloStore::Pixels ? c.bn == 16 : c.bn % kPieceChannels == 0, "results are whole pieces");
    static_assert(c.side >= 1 && c.side <= 3, "1, 2 or 3 taps a side");
    static_assert(c.side * c.side % c.stage_taps == 0, "a block of K is whole filter stages");
    static_assert(halo_rows(c) <= 256, "a TMA box has at most 256 elements an axis");
    static_assert(filter_stage_bytes(c) % 1024 == 0, "stages start on the swizzle");
    static_assert(tensor_columns(c) <= 512, "tensor memory has 512 columns");
    static_assert(c.input_stages >= 2 && c.filter_stages >= 2, "a ring needs two stages");
    static_assert(2 * (c.input_stages + c.filter_stages) <= 64, "more barriers than their KiB holds");
    static_assert(shared_bytes(c) <= kSharedLimit, "more shared memory than a block may have");
};

}  // namespace kinetograph::sm100
