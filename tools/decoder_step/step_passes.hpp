// A decoder's step as a list: the passes that vae::declare_step declares, without a device. A chip's planner makes
// kernels and predictions of them, `bench conv` times their convolutions.
#pragma once

#include <kinetograph/compute/vae/model.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kinetograph::vae {

/// One launch of a convolution: a layer, a part of its frames, or a part of a time shuffle.
struct StepLaunch {
    std::string pass;             ///< of the graph: "decoder.upsamples.12.residual.2.tail"
    std::string key;              ///< the checkpoint's: "decoder.upsamples.12.residual.2"
    conv::ConvProblem layer;      ///< the whole: all frames, all output channels, with what the layer takes along
    conv::ConvProblem problem;    ///< with what it takes along: upsampling, residual, norm, kept sums
    std::int64_t frame_step = 1;  ///< 2: stores every second frame, as the parts of a time shuffle do
};

/// Convolutions of one shape.
struct StepConvolution {
    std::string key;            ///< the checkpoint's, of the first one: "decoder.upsamples.12.residual.2"
    conv::ConvProblem problem;  ///< with what it takes along: upsampling, residual, norm
    std::int64_t launches = 0;  ///< in a step; a time shuffle counts once for each of its parts
};

/// A pass that reads and writes values without products.
struct StepMove {
    std::string kind;  ///< "latents in", "kept frames", "frames out", "norms", "moved pixels"
    std::string name;
    std::int64_t launches = 0;  ///< of kernels, or copies
    std::uint64_t bytes = 0;    ///< read and written
};

struct StepAttention {
    std::string key;
    std::int64_t frames = 0, tokens = 0, channels = 0;  ///< tokens of a frame
    double operations() const;
};

/// One pass of the step's graph.
struct StepPass {
    std::string name;
    double operations = 0;  ///< of matrix products
};

struct StepPasses {
    std::vector<StepLaunch> launches;                           ///< of convolutions, in the order of the graph
    std::vector<std::variant<StepMove, StepAttention>> others;  ///< in the order of the graph
    std::vector<StepPass> passes;                               ///< all of them, in the order of the graph

    /// The launches, alike ones once, in the order in which they first run.
    std::vector<StepConvolution> convolutions() const;
};

/// Of a step on a picture that fits as a whole. Where the network's end runs in two parts (network_end.hpp), their
/// convolutions count one by one. A network whose clips are one step has only a first one, whatever `kind` says.
/// `method_of`: the dispatch's for a convolution. Errors: those of nn::fuse.
Result<StepPasses> step_passes(const NetworkDesc& network, LatentSize size,
                               const std::function<std::string_view(const conv::ConvProblem&)>& method_of,
                               StepKind kind = {.first = false});

}  // namespace kinetograph::vae
