#pragma once

#include <cstdint>

/// Shapes of launches that several passes share, and of attention_bf16.cu and attention_f16.cu. `frames` is at most
/// kMaxPassFrames.
namespace kinetograph::sm80 {

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
PassLaunch elements_launch(uint32_t count, uint32_t frames);
/// Bytes of the unit in which pixels of `pixel_bytes` are moved: 16, 4 or 2, as in sm80_upsample_<unit> and
/// sm80_im2col_<unit>. Frames are aligned to it.
uint32_t upsample_unit(uint32_t pixel_bytes);
/// The least width of a kernel that takes that many channels; 0 if none does.
uint32_t attention_width(int64_t channels);
/// sm80_attention_<type>_<width>
PassLaunch attention_launch(uint32_t tokens, uint32_t width, uint32_t frames);

}  // namespace kinetograph::sm80
