// The convolutions of one decoding step, each kind once, for `bench conv`.
#pragma once

#include <kinetograph/compute/nn/fusion.hpp>
#include <kinetograph/compute/vae/model.hpp>

#include <string>
#include <vector>

namespace kinetograph::cli {

struct DecoderConvolution {
    std::string name;           ///< "96>96 3x3x3, 4x704x1280": channels, taps, frames and size of the output
    conv::ConvProblem problem;  ///< with bias; without residual and norm
    std::int64_t launches = 0;  ///< in a step
};

/// The name that tools/pytorch_layers.py uses: "96>96 3x3x3, 4x704x1280".
std::string convolution_name(const conv::ConvProblem& problem);

/// The convolutions of the network in a step on one latent frame, a clip's first or a later one, in the order in which
/// they first run. The convolution of a temporal upsampling is listed whole, although decoders run its parts one after
/// the other. Errors: those of nn::fuse.
Result<std::vector<DecoderConvolution>> decoder_convolutions(const nn::Network& network, bool first_step,
                                                             vae::LatentSize size, tensor::DType dtype);

}  // namespace kinetograph::cli
