// The Wan 2.1 decoder's parameters as a list: names and shapes follow from two numbers.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>

#include <string>
#include <vector>

namespace kinetograph::vae {

struct Parameter {
    std::string name;     ///< original state-dict key, "decoder.upsamples.3.time_conv.weight"
    tensor::Shape shape;  ///< PyTorch order; a conv3d weight is [C_out, C_in, Q, R, S]
};

/// All 108 in state-dict order, `conv2` first, for widths dim * {4, 4, 4, 2, 1} and `z_dim` latent channels.
/// The names do not depend on the two numbers.
std::vector<Parameter> wan21_parameters(std::int64_t dim, std::int64_t z_dim);

}  // namespace kinetograph::vae
