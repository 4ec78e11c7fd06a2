// The convolutions of a decoder's step as gfx950 runs them: the network's own layers, the dispatch's own plans.
#pragma once

#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>

#include <string>
#include <vector>

namespace kinetograph::gfx950 {

struct DecoderLayer {
    std::string key;            ///< the checkpoint's: "decoder.upsamples.0.residual.2", of the first such layer
    conv::ConvProblem problem;  ///< with residual and norm, as a decoder asks for it
    std::int64_t launches = 0;  ///< in a step
    std::string kernels;        ///< "256x192x64_uniform, then rms_norm_bf16"; parts of K: "128x192x64_uniform / 3, ..."
    FourWaveConvParams params;  ///< of its launch
    double seconds = 0;         ///< predicted, of one of them
};

/// The layers of a later step of a family's published decoder (one latent to the frames of height x width that follow)
/// in bf16, alike ones once, in the order in which they first run.
std::vector<DecoderLayer> decoder_layers(const families::Family& family, std::int64_t height, std::int64_t width,
                                         const conv::Chip& chip);

}  // namespace kinetograph::gfx950
