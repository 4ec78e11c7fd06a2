#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_config.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_params.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_problem.hpp>
#include <span>
#include <vector>

/// From a problem and its addresses to launches. Pure host code.
namespace kinetograph::sm80 {

/// Addresses as the device sees them. Frame (i, t) is pointer i * d + t (i * d_out + t), a dense [h, w, c] block;
/// frames may lie anywhere, so a history ring is read in place. Alignment: filter 16 bytes, input as many as the config
/// copies at once, others 4 elements where c_out is a multiple of 4, else 1.
struct ConvAddresses {
    std::span<const void* const> input;          ///< n * d frames; null: a frame of zeros
    std::span<void* const> output;               ///< n * d_out frames; empty with Norm::Instead
    std::span<const void* const> residual = {};  ///< n * d_out frames, or empty; a frame may be its output frame
    std::span<const void* const> addend = {};    ///< n * d_out fp32 frames, or empty; may be an fp32 output
    std::span<void* const> normed = {};          ///< n * d_out frames of the output's type; empty without norm
    const void* filter = nullptr;                ///< pack_filter
    const float* bias = nullptr;                 ///< [c_out], or null
    const float* gamma = nullptr;                ///< [c_out] of the norm
};

/// One launch: `params` by value is the kernel's only parameter.
struct ConvLaunch {
    uint32_t grid[2] = {0, 0};  ///< CTAs along x and y
    uint32_t threads = 0;
    uint32_t shared_bytes = 0;
    ConvParams params;
};

/// The launches of one convolution, in any order; none if it is empty, several if its frames do not fit into the
/// parameters of one. The shape is not declined (conv_tiles.hpp) and `config` copies its channels.
std::vector<ConvLaunch> plan_conv(const ConvConfig& config, const ConvShape& shape, const ConvEpilogue& epilogue,
                                  const ConvAddresses& addresses);

}  // namespace kinetograph::sm80
