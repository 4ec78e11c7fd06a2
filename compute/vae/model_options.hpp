// ModelOptions: how a checkpoint is read, and how its network is computed.
#pragma once

#include <kinetograph/compute/conv/sums.hpp>
#include <kinetograph/compute/nn/byte_layers.hpp>
#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/compute/vae/latents.hpp>

#include <string>
#include <string_view>

namespace kinetograph::vae {

/// What the person who opens a checkpoint says about it.
struct CheckpointChoices {
    std::string family{};      ///< "lighttaew2.1"; empty: by its tensors, class, name and widths
    std::string statistics{};  ///< of its latents, as chosen_statistics() takes them; empty: the file's, the family's
};

enum class Precision : std::uint8_t { Fp32, Bf16, Fp16 };
std::string_view to_string(Precision precision);
tensor::DType dtype_of(Precision precision);  ///< of activations

struct ModelOptions {
    Precision precision = Precision::Bf16;
    conv::Sums sums = conv::Sums::Exact;       ///< Int8: with Bf16, of families that have a recipe
    std::vector<nn::ByteLayer> byte_layers{};  ///< of Int8; empty: the checkpoint's calibration
    /// A method of convolution to take wherever it is open, even if another ranks higher. Empty: none.
    std::string preferred_backend{};
    LatentScale latents = LatentScale::Auto;  ///< Raw: nothing is applied to what the decoder is given
    bool clamp = true;                        ///< frames clamped to [-1, 1]
};

}  // namespace kinetograph::vae
