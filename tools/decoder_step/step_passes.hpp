// A decoder's step as a list: the passes that vae::declare_step declares, without a device. A chip's planner makes
// kernels and predictions of them.
#pragma once

#include <kinetograph/compute/nn/network.hpp>
#include <kinetograph/compute/vae/model.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kinetograph::vae {

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
    std::vector<StepConvolution> convolutions;  ///< alike ones once, in the order in which they first run
    std::vector<std::variant<StepMove, StepAttention>> others;  ///< in the order of the graph
    std::vector<StepPass> passes;                               ///< all of them, in the order of the graph
};

/// What the passes depend on besides the network.
struct StepPlanner {
    std::function<std::string_view(const conv::ConvProblem&)> method_of;  ///< the dispatch's for a convolution
};

/// Of a step on a picture that fits as a whole. Where the network's end runs in two parts (network_end.hpp), their
/// convolutions count one by one.
StepPasses step_passes(const nn::Network& network, LatentSize size, tensor::DType dtype, const StepPlanner& planner,
                       StepKind kind = {.first = false});

}  // namespace kinetograph::vae
