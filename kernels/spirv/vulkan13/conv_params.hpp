#pragma once

#include <cstdint>

/// The parameters of the shaders that convolve: conv_params.glsl has the same structure, in scalar layout.
namespace kinetograph::vulkan13 {

inline constexpr std::int64_t kMaxConvFrames = 64;      ///< of one launch
inline constexpr std::int64_t kMaxConvFrameTaps = 192;  ///< of all frames of one launch

/// Addresses are the device's; 0: none.
struct ConvParams {
    std::uint64_t filter, bias, scales;
    std::uint32_t h, w;                       ///< of the image that the taps see
    std::uint32_t w_stored;                   ///< of the frame in memory
    std::uint32_t upsample;                   ///< 1: the taps see it doubled
    std::uint32_t c_in, c_group, k, k_group;  ///< channels of a pixel and of a group, in and out
    std::uint32_t q, r, s;
    std::uint32_t h_out, w_out;
    std::uint32_t parities;  ///< 4: four filters of 2x2 taps, one for each place in a doubled pixel (sub_pixel.hpp)
    std::uint32_t n_tiles;   ///< of a group's filters
    std::int32_t stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    float scale, beta, negative_slope;
    std::uint32_t flags;  ///< EpilogueFlags
    std::uint32_t reserved;
    std::uint64_t input[kMaxConvFrameTaps];  ///< [frame][q]; 0: in the padding
    std::uint64_t output[kMaxConvFrames], residual[kMaxConvFrames];
};
static_assert(sizeof(ConvParams) <= 4096);

}  // namespace kinetograph::vulkan13
