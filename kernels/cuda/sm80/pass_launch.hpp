#pragma once

#include <cstdint>

/// Shapes of the launches of frame_passes.cu, attention_bf16.cu and attention_f16.cu. `frames` is at most
/// kMaxPassFrames.
namespace kinetograph::sm80 {

struct PassLaunch {
    uint32_t grid[3] = {0, 0, 0};
    uint32_t threads = 0;
    uint32_t shared_bytes = 0;
    /// Nothing to do: drivers refuse a launch without CTAs.
    bool empty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }
};

/// sm80_rms_norm_<type>
PassLaunch rms_norm_launch(uint32_t pixels, uint32_t frames);
/// Channels of a pixel that a thread of sm80_unpack_latent_<type> makes.
inline constexpr uint32_t kUnpackedChannels = 16;
/// sm80_unpack_latent_<type>
PassLaunch unpack_latent_launch(uint32_t pixels, uint32_t channels, uint32_t frames);
/// sm80_store_picture_<type> of pixels; sm80_keep_frames of units; sm80_store_float_<type>, sm80_add_slice_<type> and
/// sm80_finish_slices_<type> of elements, sm80_im2col_<unit> of units of the widest slab times rows; `frames` are its
/// slabs.
PassLaunch elements_launch(uint32_t count, uint32_t frames);
/// Bytes of the unit in which pixels of `pixel_bytes` are moved: 16, 4 or 2, as in sm80_upsample_<unit> and
/// sm80_im2col_<unit>. Frames are aligned to it.
uint32_t upsample_unit(uint32_t pixel_bytes);
/// row_units: of an input row; height: of the input.
PassLaunch upsample_launch(uint32_t row_units, uint32_t height, uint32_t frames);
/// Elements of `element_bytes` that a thread of sm80_depth_to_space_<element_bytes> takes where pixels are whole
/// multiples of them, otherwise one.
constexpr uint32_t depth_to_space_vector(uint32_t element_bytes) { return 16 / element_bytes; }
/// width, height: of the input.
PassLaunch depth_to_space_launch(uint32_t width, uint32_t height, uint32_t channels_out, uint32_t element_bytes,
                                 uint32_t frames);
/// The least width of a kernel that takes that many channels; 0 if none does.
uint32_t attention_width(int64_t channels);
/// sm80_attention_<type>_<width>
PassLaunch attention_launch(uint32_t tokens, uint32_t width, uint32_t frames);

}  // namespace kinetograph::sm80
