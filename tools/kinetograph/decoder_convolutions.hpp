// The convolutions of one decoding step, each kind once, for `bench conv`.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/vae/model.hpp>

#include <string>
#include <vector>

namespace kinetograph::cli {

struct DecoderConvolution {
    std::string name;           ///< "96>96 3x3x3, 4x704x1280": channels, taps, frames and size of the output
    conv::ConvProblem problem;  ///< with bias; without residual and norm
    std::int64_t launches = 0;  ///< in a step
};

/// The name that bench/peers/pytorch_layers.py uses: "96>96 3x3x3, 4x704x1280".
std::string convolution_name(const conv::ConvProblem& problem);

/// What it does in addition to sums and bias: "residual, norm beside", "one frame of 2"; empty: nothing.
std::string epilogue_text(const conv::ConvProblem& problem, std::int64_t frame_step = 1);

/// The convolutions of the network in a step on one latent frame (a clip's only step if it has but one, otherwise a
/// later one), in the order in which they first run. The convolution of a temporal upsampling is listed whole,
/// although decoders run its parts one after the other. Errors: those of nn::fuse.
Result<std::vector<DecoderConvolution>> decoder_convolutions(const vae::NetworkDesc& network, vae::LatentSize size);

/// A launch as a decoder declares it: one of the parts in which a layer runs, with all that is fused into it.
struct DeclaredConvolution {
    std::string pass;        ///< of the graph, the first such: "decoder.upsamples.12.residual.2.tail"
    std::string key;         ///< the checkpoint's: "decoder.upsamples.12.residual.2"
    std::string layer;       ///< the whole layer, as convolution_name() has it
    std::string epilogue{};  ///< of the layer: "residual, norm beside"; empty: bias alone
    conv::ConvProblem problem;
    std::int64_t frame_step = 1;  ///< 2: stores every second frame, as the parts of a temporal upsampling do
    bool in_place = false;        ///< the output overwrites the residual
    std::int64_t launches = 0;    ///< in a step
    std::int64_t layers = 0;      ///< in a step that have this shape and epilogue, which these launches are parts of
};

/// Every launch of a convolution in that step on `device`, in order, each listed separately. The picture is decoded as
/// a whole, not in bands. Errors: those of nn::fuse.
Result<std::vector<DeclaredConvolution>> declared_launches(const vae::NetworkDesc& network, vae::LatentSize size,
                                                           const accel::DeviceInfo& device);
/// The same, with equal launches merged and counted.
Result<std::vector<DeclaredConvolution>> declared_convolutions(const vae::NetworkDesc& network, vae::LatentSize size,
                                                               const accel::DeviceInfo& device);

}  // namespace kinetograph::cli
