#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_config.hpp>
#include <kinetograph/kernels/isa/tensor_map.hpp>

/// What the device reads, passed as a `const __grid_constant__` parameter. Only conv2d_launch makes it.
namespace kinetograph::sm100 {

/// Frames that one launch of Activation::Window3d can address: 2 of history, 4 new ones and 2 spare.
inline constexpr uint32_t kWindowFrames = 8;

KG_HOST_DEVICE uint32_t activation_maps(const Conv2dConfig& c) {
    return c.activation == Activation::Window3d ? kWindowFrames : 1;
}

/// The convolution in the kernel's terms. A group is a range of output pixels in one output map: all of them, or one
/// frame of a window. d axes are 1, 0, 0 for Frames2d.
struct Conv2dGeometry {
    uint32_t m = 0;  ///< output pixels of a group
    uint32_t c_in = 0, c_out = 0;
    uint32_t w_out = 0, h_out = 0, d_out = 0;
    uint32_t frames_in = 0;  ///< d of the activation; Window3d skips taps outside it
    uint32_t q = 1, r = 1, s = 1;
    int32_t stride_w = 1, stride_h = 1, stride_d = 1;
    int32_t lower_w = 0, lower_h = 0, lower_d = 0;  ///< first base of the im2col walk: -pad_front
    uint32_t dilation_w = 1, dilation_h = 1, dilation_d = 1;
    uint32_t first_pixel = 0;  ///< the pixel index that epilogue functions see for this launch's pixel 0
    uint32_t cluster_columns = 0, cluster_rows = 0;  ///< clusters along x (pixels) and y (filters)
    uint32_t panel = 1;  ///< clusters of pixels that are walked with all their filters before the next ones
};

template <Conv2dConfig kConfig, class Epilogue>
struct Conv2dParams {
    isa::TensorMap activation[activation_maps(kConfig)];  ///< one per frame for Window3d
    isa::TensorMap filter;                                ///< {c_in, taps, c_out}
    isa::TensorMap output[activation_maps(kConfig)];      ///< {c_out, pixels of the group}, one per group
    isa::TensorMap source[kConfig.source == Source::None ? 1 : activation_maps(kConfig)];
    Conv2dGeometry geometry;
    const float* bias = nullptr;    ///< [c_out], 16-byte aligned, or null
    const float* scales = nullptr;  ///< [c_out], 16-byte aligned: a factor of each channel's products; or null
    float alpha = 1;                ///< scales the products: the operands' quantisation steps for fp8
    float beta = 0;                 ///< of Source::Residual
    Epilogue epilogue{};
};

}  // namespace kinetograph::sm100
