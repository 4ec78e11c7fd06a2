// Declares one decoding step of a network into a frame graph: which passes run, on what memory, in what names.
#pragma once

#include <kinetograph/compute/nn/network.hpp>
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/compute/vae/device_step.hpp>
#include <kinetograph/compute/vae/parameters.hpp>
#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/graph/executor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kinetograph::vae {

/// What distinguishes the graphs of one decoder: temporal upsampling is skipped in the first step of a clip.
struct StepKind {
    bool first = true;
    std::int64_t frames = 1;  ///< latent frames that go in
    friend auto operator<=>(const StepKind&, const StepKind&) = default;
};

/// A network and how it is computed, whatever the size of its input.
struct NetworkDesc {
    nn::Network network{0};
    bool one_step = false;                      ///< a clip is one step: nothing is kept for another
    tensor::DType dtype = tensor::DType::BF16;  ///< of activations and filters
    conv::Sums sums = conv::Sums::Exact;        ///< of convolutions
    bool clamp = false;                         ///< output limited to [-1, 1]
    std::vector<float> scale{}, shift{};        ///< input * scale + shift per channel; empty: as it is
};

/// What steps take in.
struct StackSize {
    std::int64_t height = 0, width = 0;  ///< of the input, in its own pixels
    std::int64_t max_frames = 1;         ///< latent frames that one step may take
    friend bool operator==(const StackSize&, const StackSize&) = default;
};

/// Caller's memory that a step works on.
struct StepMemory {
    graph::Physical input;                      ///< [frames, c_in, h, w] float32
    graph::Buffer latents{};                    ///< the same as contents of the graph; nothing: `input` is imported
    graph::Physical output;                     ///< [frames_out, H, W, c_out] float32; unused in a step on the device
    std::uint32_t* not_finite = nullptr;        ///< on the device: becomes 1 if a value of `output` is not finite
    graph::Physical flag{};                     ///< the same word of a step on the device; none: not asked
    const DeviceOutput* device = nullptr;       ///< a step on the device: what becomes of its frames
    std::span<const graph::Physical> frames{};  ///< of such a step, where memory is given for them
};

/// What the passes of a step read and write.
struct DeclaredStep {
    // Imports, to be rebound where they lie elsewhere in the next step:
    graph::Buffer input;                ///< empty if the latents are contents of the graph
    std::vector<graph::Buffer> places;  ///< of the frames of a step on the device with memory given for them
    graph::Buffer flag;                 ///< of a step on the device
    // Contents:
    std::vector<graph::Buffer> frames;  ///< of a step on the device
};

/// What comes out of a step.
nn::Extent output_shape(const NetworkDesc& network, const StackSize& size, StepKind kind);
/// In memory, as float32: what goes in, and what comes out.
std::uint64_t input_bytes(const NetworkDesc& network, const StackSize& size, std::int64_t frames);
std::uint64_t output_bytes(const NetworkDesc& network, const StackSize& size, StepKind kind);

/// One module's output, copied out as float32 while the step runs.
struct TraceRequest {
    std::string module;                     ///< a module of the network: "decoder.middle.1", "decoder.head.2"
    std::unique_ptr<accel::Memory> memory;  ///< pinned; null if the module does not run
    std::size_t values = 0;                 ///< [T, H, W, C] float32 in `memory` once the step has run
};

/// Where the frames lie that the causal convolution `key` keeps from step to step, zeros at first: `bytes` for the last
/// frames that it has seen, oldest first. Called once for every such convolution of a step; with an empty key for
/// zeros that several convolutions read and none writes.
using FindKept = std::function<graph::Physical(const std::string& key, std::uint64_t bytes)>;

/// What the passes of a step are made of; all of it outlives the graph.
struct StepResources {
    Parameters& parameters;
    const nn::Operators& operators;
    const FindKept& find_kept;
};

/// Adds the passes of one step to `frame`. Passes are named like the checkpoint's tensors
/// ("decoder.middle.0.residual.2"). Errors: those of Parameters and Operators; InvalidArgument (pictures of a stack
/// that does not end in three channels).
Result<DeclaredStep> declare_step(graph::FrameGraph& frame, const NetworkDesc& network, const StackSize& size,
                                  StepKind kind, const StepResources& resources, const StepMemory& memory,
                                  TraceRequest* trace = nullptr);

}  // namespace kinetograph::vae
