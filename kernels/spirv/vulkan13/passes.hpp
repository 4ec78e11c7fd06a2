#pragma once

#include <algorithm>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/operator.hpp>
#include <kinetograph/kernels/spirv/vulkan13/shader.hpp>

/// Passes over frames: their shaders' parameters, in scalar layout as here, and their launches.
namespace kinetograph::vulkan13 {

inline constexpr std::size_t kMaxPassFrames = 32;  ///< of one launch
inline constexpr std::uint32_t kPassThreads = 256;

struct FrameTable {
    std::uint64_t input[kMaxPassFrames], output[kMaxPassFrames];
};
struct RmsNormParams {
    FrameTable frames;
    std::uint64_t sums[kMaxPassFrames];
    std::uint64_t gamma;
    std::uint32_t pixels, channels, silu, adds;
};
struct UnpackLatentParams {
    FrameTable frames;
    std::uint64_t map;
    std::uint32_t pixels, channels;
    float soft_limit;
    std::uint32_t latent;
};
struct UpsampleParams {
    FrameTable frames;
    std::uint32_t row_elements, channels, elements;
};
struct DepthToSpaceParams {
    FrameTable frames;
    std::uint32_t width, channels_in, channels_out, columns_first, elements;
};
struct StoreFloatParams {
    FrameTable frames;
    std::uint64_t not_finite;
    std::uint32_t elements;
    float limit;
    std::uint32_t half;
};
struct StorePictureParams {
    FrameTable frames;
    std::uint64_t not_finite;
    std::uint32_t pixels;
};

/// Appends launches of `kernel` over any number of frames, each with `threads` threads a frame; params.frames is filled
/// in, and params.sums if there are sums.
template <class Params>
void append_pass(std::vector<conv::ConvStep>& steps, std::uint32_t kernel, Params params,
                 const conv::OpTensors& tensors, std::int64_t threads) {
    for (std::size_t first = 0; first < tensors.input.size() && threads > 0; first += kMaxPassFrames) {
        const std::size_t count = std::min(kMaxPassFrames, tensors.input.size() - first);
        for (std::size_t i = 0; i < count; ++i) {
            params.frames.input[i] = address(tensors.input[first + i]);
            params.frames.output[i] = address(tensors.output[first + i]);
            if constexpr (requires { params.sums; })
                params.sums[i] = tensors.sum.empty() ? 0 : address(tensors.sum[first + i]);
        }
        steps.emplace_back(conv::ConvLaunch{.kernel = kernel,
                                            .grid = {conv::u32(conv::ceil_div<std::int64_t>(threads, kPassThreads)),
                                                     conv::u32(static_cast<std::int64_t>(count)), 1},
                                            .threads = kPassThreads,
                                            .arguments = conv::Arguments::of(params)});
    }
}

/// The launches of a norm; its pipeline is norm_pipeline().
void append_norm(std::vector<conv::ConvStep>& steps, std::uint32_t kernel, const conv::NormProblem& problem,
                 const conv::OpTensors& tensors);
conv::KernelName norm_pipeline(Element element, std::int64_t channels);

/// The attention of a frame: scores of a block of queries, their softmax, and its product with the values.
conv::OpMethod attention_by_matrices();
conv::OpMethod attention_by_tiles();

}  // namespace kinetograph::vulkan13
