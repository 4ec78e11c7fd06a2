// The passes at both ends of a step: latents come in, frames go out.
#pragma once

#include <kinetograph/compute/vae/step_graph.hpp>
#include <kinetograph/compute/vae/step_tensor.hpp>

namespace kinetograph::vae {

/// A step's graph, and what its passes are made of.
struct StepContext {
    graph::FrameGraph& frame;
    const NetworkDesc& network;
    Parameters& parameters;
    const nn::Operators& operators;
};

/// The activation of shape `shape` that `latents` are. Errors: InvalidArgument (too few bytes), those of Parameters.
/// `anew`: they lie elsewhere in every step.
Result<Tensor> unpack_latents(const StepContext& step, graph::Buffer latents, const nn::Extent& shape, bool anew);
/// Errors: InvalidArgument, as of declare_step().
Result<std::vector<graph::Buffer>> write_frames(const StepContext& step, const Tensor& x, const ClipFrames& frames);
void write_values(const StepContext& step, const Tensor& x, const ClipValues& values);
/// Errors: those of Device::allocate_pinned.
Result<void> write_trace(const StepContext& step, const Tensor& x, TraceRequest& trace);

}  // namespace kinetograph::vae
