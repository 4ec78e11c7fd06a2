// The convolutions of one decoding step, each kind once: what `bench conv` times.
#pragma once

#include <kinetograph/compute/nn/fusion.hpp>
#include <kinetograph/compute/vae/decoder.hpp>

#include <string>
#include <vector>

namespace kinetograph::cli {

struct DecoderConvolution {
    std::string name;           ///< "96>96 3x3x3, 4x704x1280": channels, taps, frames and size of the output
    conv::ConvProblem problem;  ///< with bias; without residual and norm
    std::int64_t launches = 0;  ///< in a step
};

/// As tools/pytorch_layers.py names it: "96>96 3x3x3, 4x704x1280".
std::string convolution_name(const conv::ConvProblem& problem);

/// Those of the network in a step on one latent frame, a clip's first or a later one, in the order in which they first
/// run. `fuse_upsample` has the convolution double its input on the way, as decoders on a GPU do. A temporal
/// upsampling's convolution is listed whole, though decoders run its parts one after the other.
std::vector<DecoderConvolution> decoder_convolutions(const nn::Network& network, bool first_step, vae::LatentSize size,
                                                     tensor::DType dtype, bool fuse_upsample);

}  // namespace kinetograph::cli
