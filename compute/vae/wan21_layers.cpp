#include <kinetograph/compute/vae/wan21_layers.hpp>

#include <array>
#include <optional>

namespace kinetograph::vae {

std::vector<Layer> wan21_layers(std::int64_t dim, std::int64_t z_dim) {
    const std::int64_t widest = 4 * dim;
    std::vector<Layer> layers{
        {LayerOp::PointwiseConv, "conv2", z_dim, z_dim},
        {LayerOp::CausalConv, "decoder.conv1", z_dim, widest},
        {LayerOp::Residual, "decoder.middle.0", widest, widest},
        {LayerOp::Attention, "decoder.middle.1", widest, widest},
        {LayerOp::Residual, "decoder.middle.2", widest, widest},
    };

    struct Stage {
        std::int64_t c_in, c_out;
        std::optional<LayerOp> up;  // halves the width
    };
    const std::array<Stage, 4> stages{{{widest, widest, LayerOp::Upsample3d},
                                       {widest / 2, widest, LayerOp::Upsample3d},
                                       {widest / 2, 2 * dim, LayerOp::Upsample2d},
                                       {dim, dim, std::nullopt}}};
    int index = 0;
    const auto next_key = [&index] { return "decoder.upsamples." + std::to_string(index++); };
    for (const Stage& stage : stages) {
        for (int block = 0; block < 3; ++block)
            layers.push_back({LayerOp::Residual, next_key(), block == 0 ? stage.c_in : stage.c_out, stage.c_out});
        if (stage.up) layers.push_back({*stage.up, next_key(), stage.c_out, stage.c_out / 2});
    }
    layers.push_back({LayerOp::Head, "decoder.head", dim, 3});
    return layers;
}

}  // namespace kinetograph::vae
