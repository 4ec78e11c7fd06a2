// The passes at both ends of a step: what comes in, and what goes out.
#pragma once

#include <kinetograph/compute/vae/step_graph.hpp>
#include <kinetograph/compute/vae/step_tensor.hpp>

namespace kinetograph::vae {

/// A step's graph, and what its passes are made of.
struct StepContext {
    graph::FrameGraph& frame;
    const NetworkDesc& network;
    const Placement& placement;
    const nn::Operators& operators;
    std::string band{};  ///< what the names of a band's passes end in

    std::string named(const std::string& key) const { return key + band; }
};

/// Where the rows of a tensor are in the picture: from row `first` on, in a picture of `height` rows.
struct PictureRows {
    std::int64_t first = 0, height = 0;
};

/// The buffers that a step's results are written to, in their newest version: bands write them one after the other.
struct Written {
    std::vector<graph::Buffer> frames;  ///< empty before the first transients are made
    graph::Buffer not_finite;
};

/// Adds the pass "unpack_latents" or "unpack_pictures", which makes `first` of the input: nn::stored_input of the
/// network. Errors: InvalidArgument (too few bytes), those of Parameters and Operators::get.
Result<Tensor> read_input(const StepContext& step, const InputBuffer& input, const Tensor& first);
/// Called before anything is written of a step that makes `shape`. Errors: InvalidArgument, as of declare_step().
Result<Written> begin_output(const nn::Network& network, const nn::Extent& shape, const StepOutput& output);
/// Writes `rows` of the picture, which are all of `x`. Errors: those of Operators::get.
Result<void> write_output(const StepContext& step, const Tensor& x, PictureRows rows, const StepOutput& output,
                          Written& written);
/// Exports what was written to the caller's memory; returns the contents of the frames.
std::vector<graph::Buffer> end_output(const StepContext& step, const StepOutput& output, Written written);
/// Adds a pass that copies `x`, rows of a module's output of extent `whole`, to the trace's memory, which the first
/// call allocates. Errors: those of Device::allocate_pinned and Operators::get.
Result<void> write_trace(const StepContext& step, const Tensor& x, PictureRows rows, const nn::Extent& whole,
                         TraceRequest& trace);

// Between the devices of a step that several compute. Each pass runs in a batch of its own, so that what comes before
// it on its lane waits for no other device.

/// Adds a pass on `lane` that copies rows of a tensor to a dense one in `memory`, which the lane reaches too.
Tensor copy_rows(graph::FrameGraph& frame, const std::string& name, graph::Lane lane, const Tensor& from,
                 graph::MemoryDomain memory);

/// Some rows of a step's frames, each in a buffer of its own: from byte `begin` of a frame on, `bytes` of it.
struct FrameRows {
    std::vector<graph::Buffer> frames;
    std::uint64_t begin = 0, bytes = 0;
};
/// Adds a pass on `lane` that copies them to their places in the frames of `written`.
void put_rows(graph::FrameGraph& frame, const std::string& name, graph::Lane lane, const FrameRows& rows,
              Written& written);

}  // namespace kinetograph::vae
