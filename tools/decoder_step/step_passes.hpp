// A decoder's step as a list: the passes that vae::declare_step declares, without a device. A chip's planner derives
// kernels and predictions from them, `bench conv` times their convolutions.
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
    conv::ConvProblem layer;      ///< the whole layer: all frames and output channels, with all that is fused into it
    conv::ConvProblem problem;    ///< of this launch, with what is fused into it: upsampling, residual, norm, kept sums
    std::int64_t frame_step = 1;  ///< 2: stores every second frame, as the parts of a time shuffle do
};

/// The launches of a step that solve one problem.
struct StepConvolution {
    std::string key;            ///< the checkpoint's, of the first one: "decoder.upsamples.12.residual.2"
    conv::ConvProblem problem;  ///< with what is fused into it: upsampling, residual, norm
    std::int64_t launches = 0;  ///< in a step; a time shuffle counts once for each of its parts
};

/// A pass that reads and writes values without matrix products.
struct StepMove {
    std::string kind;  ///< "latents in", "kept frames", "frames out", "norms", "moved pixels"
    std::string name;
    std::int64_t launches = 0;  ///< of kernels, or copies
    std::uint64_t bytes = 0;    ///< read and written
};

struct StepAttention {
    std::string key;
    std::int64_t frames = 0, tokens = 0, channels = 0;  ///< tokens of a frame
    bool adds = false;                                  ///< conv::AttentionProblem::adds
    double operations() const;
    /// Where another kernel adds: a launch a frame, which reads and writes as many bytes as four outputs have.
    StepMove sum_and_norm() const;
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

    /// The launches grouped by problem, in the order in which each problem first runs.
    std::vector<StepConvolution> convolutions() const;
};

/// The passes of a step on a picture that is decoded as a whole, not in bands. Where the network's end runs in two
/// parts (network_end.hpp), the convolutions of both are listed. A network whose clips are one step has only first
/// steps, whatever `kind` says. `method_of`: the method that the dispatch takes for a convolution. Errors: those of
/// nn::fuse.
Result<StepPasses> step_passes(const NetworkDesc& network, LatentSize size,
                               const std::function<std::string_view(const conv::ConvProblem&)>& method_of,
                               StepKind kind = {.first = false});

}  // namespace kinetograph::vae
