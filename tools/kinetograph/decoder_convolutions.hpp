// The convolutions of one decoding step, each kind once: what `bench conv` times.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

#include <string>
#include <vector>

namespace kinetograph::cli {

struct DecoderConvolution {
    std::string name;           ///< "96>96 3x3x3, 4x704x1280": channels, taps, frames and size of the output
    conv::ConvProblem problem;  ///< with bias; without residual, norm and activation
    std::int64_t launches = 0;  ///< in a step of four frames
};

/// As tools/pytorch_layers.py names it: "96>96 3x3x3, 4x704x1280".
std::string convolution_name(const conv::ConvProblem& problem);

/// Those of a Wan 2.1 decoder in a step that gives four frames, in the order in which they first run. `fuse_upsample`
/// has the convolution double its input on the way, as decoders on a GPU do. A temporal upsampling's convolution is
/// listed whole, though decoders run its two halves one after the other.
std::vector<DecoderConvolution> decoder_convolutions(std::int64_t dim, std::int64_t z_dim, vae::LatentSize size,
                                                     tensor::DType dtype, bool fuse_upsample);

}  // namespace kinetograph::cli
