#pragma once

#include <cstdint>
#include <kinetograph/kernels/conv/epilogue_flags.hpp>
#include <kinetograph/kernels/hip/gfx950/fast_divisor.hpp>
#include <type_traits>

/// The parameters of one launch of FourWaveConv, passed by value; four_wave_conv_launch.cpp fills them in.
namespace kinetograph::gfx950 {

/// Of a frame, less than the 4 GiB that a buffer descriptor spans by 16 MiB for the last tile's ragged edge.
inline constexpr uint64_t kDescriptorBytes = (uint64_t{1} << 32) - (16 << 20);

/// Output frames of one launch, and frame taps (output frames times temporal taps) of one launch.
inline constexpr uint32_t kMaxConvFrames = 32, kMaxConvFrameTaps = 64;

/// Rows, and columns, of taps that the uniform loader distinguishes, a bit each.
inline constexpr uint32_t kMostUniformTaps = 16;

/// Channels of a pixel that a tile with a norm holds.
inline constexpr uint32_t kMostNormedChannels = 192;

using enum conv::EpilogueFlags;

struct FourWaveConvParams {
    const void* input[kMaxConvFrameTaps];  ///< [frame][q]: [h, w, c_in] blocks; null: a frame of zeros
    void* output[kMaxConvFrames];          ///< [frame]: [h_out, w_out, c_out]
    const void* source[kMaxConvFrames];    ///< [frame]: as the output, added times beta
    void* normed[kMaxConvFrames];          ///< [frame]: as the output
    const void* filter;                    ///< FQRSC rows of filter_pitch bytes: pack_filter
    const float* bias;                     ///< [c_out rounded up to 256]: pack_channels
    const float* gamma;                    ///< the same
    const float* scales;                   ///< the same: factors of the sums; null: none

    uint32_t frames;            ///< output frames
    uint32_t parities;          ///< 4: each of a doubled frame's 2 x 2 subsets of pixels with its own filter; else 1
    uint32_t splits;            ///< parts of K, each with its own workgroups and float32 outputs
    uint32_t tiles_m, tiles_n;  ///< of one output frame, or of one parity of it
    uint32_t xcds, xcd_chunk, group_m;  ///< four_wave_conv_order.hpp
    uint32_t h, w;                      ///< of an input frame as the taps see it: twice the stored one with upsample 1
    uint32_t w_stored, c_in;            ///< of an input frame in memory
    uint32_t upsample;                  ///< 1: nearest 2x between the stored frame and the taps
    uint32_t pixels, c_out;             ///< of an output frame, all its images, or of one parity of it
    uint32_t q, r, s;                   ///< taps
    uint32_t stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    uint32_t taps_c;              ///< r * s * c_in: K of one temporal tap, without padding
    uint32_t steps_per_q, steps;  ///< k blocks of one temporal tap; of all, rounded up to an even number
    uint32_t input_bytes, output_bytes, filter_bytes;  ///< of a frame, a frame, one parity's filter: below 4 GiB
    uint64_t split_bytes;                              ///< from an output frame of one part of K to that of the next
    uint32_t filter_pitch;                             ///< bytes
    FastDivisor by_w_out, by_c_in, by_s;
    FastDivisor by_image;  ///< pixels of an output image; images that follow each other in memory are one frame
    uint32_t image_pitch;  ///< bytes from an input image to the next one of the frame
    uint32_t flags;        ///< EpilogueFlags
    float beta;
    float negative_slope;  ///< of kConvRelu
    float sqrt_c_out;
};
static_assert(std::is_trivially_copyable_v<FourWaveConvParams> && sizeof(FourWaveConvParams) <= 2048);

}  // namespace kinetograph::gfx950
