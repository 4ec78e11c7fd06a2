// The convolutions of a decoding step as a decoder creates them: what tests pin of a whole decoder is asked of these.
#pragma once

#include <kinetograph/compute/nn/network.hpp>
#include <kinetograph/compute/vae/model.hpp>

#include <string>
#include <vector>

namespace kinetograph::vae {

struct StepConvolution {
    std::string key;            ///< of the first one: "decoder.upsamples.12.residual.2"
    conv::ConvProblem problem;  ///< with what it takes along: upsampling, residual, norm
    std::int64_t launches = 0;  ///< in a step
};

/// Of a step on one latent frame, not a clip's first, in the order in which they first run, each kind once. The parts
/// of a convolution whose channels become frames count one by one.
std::vector<StepConvolution> step_convolutions(const nn::Network& network, LatentSize size, tensor::DType dtype);

}  // namespace kinetograph::vae
