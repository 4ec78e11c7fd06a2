#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_faults.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/descriptors.hpp>

/// The parameters of one instance of the SM100 convolution. A plain value, so that presets are constants and tests vary
/// one field; every limit is a static_assert that names it.
namespace kinetograph::sm100 {

/// Rows, columns, depth of a tile in elements.
struct TileShape {
    uint32_t m, n, k;
};
/// CTAs of a cluster along output pixels (x) and along filters (y).
struct ClusterShape {
    uint32_t x, y;
    KG_HOST_DEVICE uint32_t size() const { return x * y; }
};

/// How output pixels become rows of the matrix A.
enum class Activation : uint8_t {
    Frames2d,  ///< rank-4 im2col map {c, w, h, n}
    Volume3d,  ///< rank-5 im2col map {c, w, h, d, n}: causal 3-D in one launch
    Window3d,  ///< one rank-4 map per frame, chosen by the temporal tap: frames at any addresses (a history ring)
};

/// The purpose of the source C.
enum class Source : uint8_t {
    None,
    Residual,    ///< D = compute(conv + bias) + beta * C
    Accumulate,  ///< D = compute(conv + C + bias): C is a partial sum of the same convolution
};

struct Conv2dConfig {
    Element element = Element::BF16;         ///< of activations
    Element filter_element = Element::BF16;  ///< of filters: the same, or of fp8 the other format
    Element output = Element::BF16;          ///< of D
    Element source_value = Element::BF16;    ///< of C
    Activation activation = Activation::Frames2d;
    Source source = Source::None;
    uint32_t cta_group = 1;  ///< CTAs that share one MMA: 1, or 2 along x
    TileShape block{};       ///< rows of A per CTA, rows of B per CTA, k of one block: the wider span of channels
    TileShape mma{};         ///< the instruction: cta_group * block.m, cta_group * block.n, 32 bytes of k
    TileShape output_tile{128, 32, 1};  ///< lanes and columns that are stored (or, for C, loaded) together
    uint32_t stages = 0;                ///< of the main ring; with_most_stages fills the shared memory
    uint32_t k_group = 1;               ///< k blocks of one stage: they share a barrier
    uint32_t accumulator_stages = 2;
    uint32_t scheduler_stages = 2;
    uint32_t output_stages = 2;
    uint32_t source_stages = 2;  ///< output tiles of C in shared memory; counted only with a source
    ClusterShape cluster{1, 1};
    isa::Swizzle swizzle_a = isa::Swizzle::Span128, swizzle_b = isa::Swizzle::Span128;
    isa::Swizzle swizzle_c = isa::Swizzle::Span64;
};

inline constexpr uint32_t kSharedLimit = 232448;  // 227 KiB: opt-in limit of one block on sm_100
inline constexpr uint32_t kEpilogueWarps = 4, kWarps = 8, kThreads = kWarps * 32;

/// Channels in one row of an operand's tile.
KG_HOST_DEVICE uint32_t span_elements(const Conv2dConfig& c, isa::Swizzle swizzle) {
    return isa::span_bytes(swizzle) / element_bytes(c.element);
}
/// Parts of an operand's k block, one after another in its stage, each [rows][span]: one, or more where the other
/// operand's span is wider.
KG_HOST_DEVICE uint32_t slabs(const Conv2dConfig& c, isa::Swizzle swizzle) {
    return c.block.k / span_elements(c, swizzle);
}
KG_HOST_DEVICE uint32_t activation_tile_bytes(const Conv2dConfig& c) {
    return c.block.m * c.block.k * element_bytes(c.element);
}
KG_HOST_DEVICE uint32_t filter_tile_bytes(const Conv2dConfig& c) {
    return c.block.n * c.block.k * element_bytes(c.element);
}
KG_HOST_DEVICE uint32_t stage_bytes(const Conv2dConfig& c) {
    return c.k_group * (activation_tile_bytes(c) + filter_tile_bytes(c));
}
KG_HOST_DEVICE uint32_t output_tile_bytes(const Conv2dConfig& c) {
    return c.output_tile.m * c.output_tile.n * element_bytes(c.output);
}
KG_HOST_DEVICE uint32_t source_tile_bytes(const Conv2dConfig& c) {
    return c.output_tile.m * c.output_tile.n * element_bytes(c.source_value);
}
KG_HOST_DEVICE uint32_t source_tiles(const Conv2dConfig& c) { return c.source == Source::None ? 0 : c.source_stages; }
/// The swizzle whose rows are one output tile's rows of the source.
KG_HOST_DEVICE isa::Swizzle source_swizzle(const Conv2dConfig& c) {
    return c.output_tile.n * element_bytes(c.source_value) == 128 ? isa::Swizzle::Span128 : isa::Swizzle::Span64;
}
/// Parts of D's columns that are stacked in the lanes of tensor memory. PTX ISA, tcgen05, data path layouts:
///
///   128 rows per CTA        D, A   lane = row                                                        1 part
///   64 rows of one CTA      F      rows in the first 16 of every 32 lanes                            1 part
///   64 rows per CTA, pair   B      lanes 0-63: lower half of the columns; lanes 64-127: upper half   2 parts
KG_HOST_DEVICE uint32_t column_parts(const Conv2dConfig& c) { return c.cta_group == 2 && c.block.m == 64 ? 2 : 1; }
KG_HOST_DEVICE uint32_t part_columns(const Conv2dConfig& c) { return c.mma.n / column_parts(c); }
/// Rows of D in the lanes that one epilogue warp reads: 32, or the first 16 lanes' in layout F.
KG_HOST_DEVICE uint32_t warp_rows(const Conv2dConfig& c) { return c.output_tile.m / kEpilogueWarps; }
/// Columns of tensor memory from one accumulator to the next; allocations are powers of two.
KG_HOST_DEVICE uint32_t accumulator_columns(const Conv2dConfig& c) {
    uint32_t columns = 32;
    while (columns < part_columns(c)) columns *= 2;
    return columns;
}
KG_HOST_DEVICE uint32_t tensor_columns(const Conv2dConfig& c) {
    uint32_t columns = 32;
    while (columns < c.accumulator_stages * accumulator_columns(c)) columns *= 2;
    return columns;
}
/// 8 bytes per barrier, 16 per answer of cluster launch control, the address word; rounded up to the alignment.
KG_HOST_DEVICE uint32_t control_bytes(const Conv2dConfig& c) {
    const uint32_t barriers =
        2 * c.stages + 2 * c.accumulator_stages + 2 * c.scheduler_stages + 2 * source_tiles(c) + 3;
    return (barriers * 8 + c.scheduler_stages * 16 + 4 + 1023) / 1024 * 1024;
}
KG_HOST_DEVICE uint32_t shared_bytes(const Conv2dConfig& c) {
    return c.stages * stage_bytes(c) + c.output_stages * output_tile_bytes(c) + source_tiles(c) * source_tile_bytes(c) +
           control_bytes(c);
}

/// The config with as many main stages as a block's shared memory holds beside output tiles, source tiles and barriers.
KG_HOST_DEVICE Conv2dConfig with_most_stages(Conv2dConfig c) {
    c.stages = 1;
    while (shared_bytes(c) <= kSharedLimit) ++c.stages;
    --c.stages;
    return c;
}

/// Every limit that a config can break, each with its message.
template <Conv2dConfig kConfig>
struct CheckedConfig {
    static constexpr Conv2dConfig c = kConfig;
    static_assert(c.cta_group == 1 || c.cta_group == 2, "one CTA or a pair issues an MMA");
    static_assert(c.block.m == 128 || c.block.m == 64, "an MMA has 64 or 128 rows a CTA");
    static_assert(c.mma.m == c.cta_group * c.block.m, "the MMA's M is that of its CTAs together");
    static_assert(c.mma.n == c.cta_group * c.block.n, "each CTA of the MMA holds its share of the filters");
    static_assert(c.mma.k * element_bytes(c.element) == 32, "one MMA takes 32 bytes of k");
    static_assert(part_columns(c) % 32 == 0 && c.mma.n <= 256, "N is whole output tiles, at most 256");
    static_assert(c.element == c.filter_element || (is_fp8(c.element) && is_fp8(c.filter_element)),
                  "operands of one type (tcgen05.mma, kind::f16), or any two of fp8 (kind::f8f6f4)");
    static_assert(c.block.k == span_elements(c, c.swizzle_a) || c.block.k == span_elements(c, c.swizzle_b),
                  "a k block is one span of channels");
    static_assert(slabs(c, c.swizzle_a) >= 1 && slabs(c, c.swizzle_b) >= 1, "a k block is the wider operand's span");
    static_assert(c.swizzle_a != isa::Swizzle::None && c.swizzle_b != isa::Swizzle::None, "128B, 64B or 32B swizzles");
    static_assert(c.output_tile.m == c.block.m * column_parts(c), "an output tile has its rows' lanes");
    static_assert(c.output_tile.n == 32, "an epilogue warp stores 32 columns at once");
    static_assert(isa::span_bytes(c.swizzle_c) == c.output_tile.n * element_bytes(c.output),
                  "a row of the output tile is one span of its swizzle");
    static_assert(c.source == Source::None || element_bytes(c.source_value) >= element_bytes(c.output),
                  "C is as wide as D or wider: a chunk of D takes whole chunks of C");
    static_assert(c.cluster.x % c.cta_group == 0, "pairs lie along x");
    static_assert(c.cluster.size() <= 8, "8 CTAs: the portable cluster size");
    static_assert(c.block.m / c.cluster.y % 8 == 0, "a multicast slice of A is whole groups of 8 rows");
    static_assert(c.block.n / (c.cluster.x / c.cta_group) % 8 == 0, "a multicast slice of B is whole groups of 8 rows");
    static_assert(tensor_columns(c) <= 512, "tensor memory has 512 columns");
    static_assert(c.stages >= 2, "fewer than two stages fit the shared memory");
    static_assert(c.k_group >= 1 && c.scheduler_stages >= 2 && c.output_stages >= 1);
    static_assert(shared_bytes(c) <= kSharedLimit, "more shared memory than a block may have");
};

}  // namespace kinetograph::sm100
