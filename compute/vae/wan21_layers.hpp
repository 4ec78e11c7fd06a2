// The Wan 2.1 decoder as data: its layers in order, named as in the original checkpoint.
// Source: the published Wan 2.1 VAE; structure and first-chunk special cases as in the golden data's description.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kinetograph::vae {

enum class LayerOp : std::uint8_t {
    PointwiseConv,  ///< 1x1x1, no history
    CausalConv,     ///< 3x3x3, history of two input frames
    Residual,    ///< norm, SiLU, 3x3x3, norm, SiLU, 3x3x3, plus the input (through a 1x1x1 `shortcut` if c_in != c_out)
    Attention,   ///< per frame, one head of width c_in
    Upsample2d,  ///< nearest 2x, then 3x3
    Upsample3d,  ///< 3x1x1 to twice the frames (skipped in step 0), then as Upsample2d
    Head,        ///< norm, SiLU, 3x3x3 to 3 channels
};

struct Layer {
    LayerOp op = LayerOp::PointwiseConv;
    std::string key;  ///< "decoder.upsamples.3"; the trace name, and the prefix of the parameters
    std::int64_t c_in = 0;
    std::int64_t c_out = 0;
};

/// `dim` is the width of the last stage (96 as published); stages are 4, 4, 2 and 1 times as wide.
std::vector<Layer> wan21_layers(std::int64_t dim, std::int64_t z_dim);

}  // namespace kinetograph::vae
