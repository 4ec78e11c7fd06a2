#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_config.hpp>

/// What one instance of the narrow product is made of.
namespace kinetograph::sm90 {

inline constexpr uint32_t kNarrowChannels = 32;  ///< of a block of K: rows of 64 bytes
inline constexpr uint32_t kNarrowStages = 4;

struct NarrowConfig {
    Element element = Element::BF16;
    uint32_t side = 3;                  ///< taps along rows and along columns
    uint32_t columns = 0;               ///< taps of the image times output channels, at most
    uint32_t rows = 0, row_pixels = 0;  ///< pixels that are read for a tile

    friend bool operator==(const NarrowConfig&, const NarrowConfig&) = default;
};

KG_HOST_DEVICE uint32_t pixels(const NarrowConfig& c) { return c.rows * c.row_pixels; }
/// Output pixels of a tile: those whose taps are all read.
KG_HOST_DEVICE uint32_t tile_rows(const NarrowConfig& c) { return c.rows - c.side + 1; }
KG_HOST_DEVICE uint32_t tile_columns(const NarrowConfig& c) { return c.row_pixels - c.side + 1; }
/// Output channels that are gathered and stored at once, of which c_out is a multiple.
KG_HOST_DEVICE uint32_t channels_together(const NarrowConfig& c) { return c.columns > 32 ? 4 : 1; }

KG_HOST_DEVICE uint32_t input_stage_bytes(const NarrowConfig& c) { return pixels(c) * kNarrowChannels * 2; }
KG_HOST_DEVICE uint32_t filter_stage_bytes(const NarrowConfig& c) { return c.columns * kNarrowChannels * 2; }
/// Floats from one column of a tile's sums to the next: + 4, so that a warp's store (8 pixels of columns 0, 2, 4 and 6)
/// hits 32 different banks.
KG_HOST_DEVICE uint32_t sums_pitch(const NarrowConfig& c) { return pixels(c) + 4; }
KG_HOST_DEVICE uint32_t shared_bytes(const NarrowConfig& c) {
    return kNarrowStages * (input_stage_bytes(c) + filter_stage_bytes(c)) + c.columns * sums_pitch(c) * 4 +
           1024;  // the barriers
}

/// For up to 32 output channels under one tap.
KG_HOST_DEVICE NarrowConfig narrow_config(Element element) { return {element, 1, 32, 16, 32}; }
/// For 4, 8 or 12 output channels under 3x3 taps. Fewer pixels, because all their sums must fit into shared memory.
KG_HOST_DEVICE NarrowConfig wide_narrow_config(Element element) { return {element, 3, 112, 16, 16}; }

// Every instance that is built. X(kernel, its NarrowConfig)
#define KG_SM90_NARROW_INSTANCES(X)                               \
    X(sm90_narrow_bf16_1, narrow_config(Element::BF16))           \
    X(sm90_narrow_bf16_3_wide, wide_narrow_config(Element::BF16)) \
    X(sm90_narrow_f16_1, narrow_config(Element::F16))             \
    X(sm90_narrow_f16_3_wide, wide_narrow_config(Element::F16))

}  // namespace kinetograph::sm90
