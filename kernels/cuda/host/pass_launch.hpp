#pragma once

#include <kinetograph/kernels/conv/counts.hpp>

/// Passes over frames that plans of every chip since sm_80 launch: their parameters, a kernel's only one by value, and
/// the shapes of their launches. The kernels are sm80's frame_passes.hpp. `frames` is at most kMaxPassFrames.
namespace kinetograph::cuda {

/// Frames of one launch; more frames take several launches.
inline constexpr uint32_t kMaxPassFrames = 32;

/// Frame addresses, because the frames of a ring are not contiguous.
struct FrameTable {
    const void* input[kMaxPassFrames];
    void* output[kMaxPassFrames];
};

inline constexpr uint32_t kPassThreads = 256;

struct PassLaunch {
    uint32_t grid[3] = {0, 0, 0};
    uint32_t threads = 0;
    uint32_t shared_bytes = 0;
    /// Nothing to do: drivers refuse a launch without CTAs.
    bool empty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }
};

/// sm80_store_picture_<type> of pixels; sm80_keep_frames of units; sm80_store_float_<type>, sm80_add_slice_<type> and
/// sm80_finish_slices_<type> of elements, sm80_im2col_<unit> of units of the widest slab times rows; `frames` are its
/// slabs.
inline PassLaunch elements_launch(uint32_t count, uint32_t frames) {
    return {.grid = {conv::ceil_div(count, kPassThreads), frames, 1}, .threads = kPassThreads};
}
/// Bytes of the unit in which pixels of `pixel_bytes` are moved: 16, 4 or 2, as in sm80_upsample_<unit> and
/// sm80_im2col_<unit>. Frames are aligned to it.
constexpr uint32_t upsample_unit(uint32_t pixel_bytes) {
    return pixel_bytes % 16 == 0 ? 16 : pixel_bytes % 4 == 0 ? 4 : 2;
}

/// out = x * sqrt(channels) / max(||x||_2, 1e-12) * gamma for every pixel's channels, then SiLU or not; x = in, or
/// sum += in. A frame may be its own output, but not of bytes: those are folds * out + zero_point, rounded and limited.
struct RmsNormParams {
    FrameTable frames;   ///< [pixels, channels]
    const float* gamma;  ///< [channels]
    uint32_t pixels, channels;
    uint32_t silu;
    float sqrt_channels;
    void* sum = nullptr;           ///< the only frame's; null: none
    const float* folds = nullptr;  ///< [channels], of sm80_rms_norm_bf16_u8
    float zero_point = 0;          ///< likewise
};

/// Lanes that share one pixel in RmsNormKernel.
inline constexpr uint32_t kNormLanes = 16;
inline PassLaunch rms_norm_launch(uint32_t pixels, uint32_t frames) {
    return {.grid = {conv::ceil_div(pixels, kPassThreads / kNormLanes), frames, 1}, .threads = kPassThreads};
}

/// Every pixel becomes a 2 x 2 block. Moves units of 16, 4 or 2 bytes, the largest that divides a pixel.
struct UpsampleParams {
    FrameTable frames;  ///< [height, width] pixels to [2 height, 2 width]
    uint32_t row_units, pixel_units;
};

/// row_units: of an input row; height: of the input.
inline PassLaunch upsample_launch(uint32_t row_units, uint32_t height, uint32_t frames) {
    return {.grid = {conv::ceil_div(row_units, kPassThreads), height, frames}, .threads = kPassThreads};
}

}  // namespace kinetograph::cuda
