// Declares one decoding step of a network into a frame graph: which passes run, on what memory, under what names.
#pragma once

#include <kinetograph/compute/nn/byte_layers.hpp>
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/compute/vae/bands.hpp>
#include <kinetograph/compute/vae/parameters.hpp>
#include <kinetograph/compute/vae/placement.hpp>
#include <kinetograph/compute/vae/step_shape.hpp>
#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/graph/executor.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::vae {

/// A network and how it is computed, whatever the size of its input.
struct NetworkDesc {
    nn::Network network{0};
    std::string title{};                        ///< of the family, for messages; empty: none
    bool one_step = false;                      ///< a clip is one step: nothing is kept for another
    tensor::DType dtype = tensor::DType::BF16;  ///< of values and filters, where the network says nothing else
    conv::Sums sums = conv::Sums::Exact;        ///< of convolutions
    std::vector<nn::ByteLayer> bytes{};         ///< values that are stored as U8, and their readers
    std::string preferred_backend{};            ///< of convolutions (ConvOptions::preferred); empty: none
    bool clamp = false;                         ///< pictures limited to [-1, 1]
    std::vector<float> scale{}, shift{};        ///< latents * scale + shift per channel; empty: as they are
};

/// One module's output, copied out as float32 while the step runs.
struct TraceRequest {
    std::string module;                     ///< a module of the network: "decoder.middle.1", "decoder.head.2"
    std::unique_ptr<accel::Memory> memory;  ///< pinned; null if the module does not run, kept while it is large enough
    std::size_t values = 0;                 ///< [T, H, W, C] float32 in `memory` once the step has run
};

/// Where a step's frames go, each in a buffer of its own.
struct StepOutput {
    FrameFormat format = FrameFormat::Rgba8;
    graph::MemoryDomain domain = graph::MemoryDomain::Accelerator;  ///< of transients; Shared: Vulkan reaches it too
    std::span<const graph::Buffer> places{};  ///< imports that are written, one a frame; none: transients of the graph
    graph::Buffer not_finite{};  ///< 4 bytes that become 1 if a value is infinite or NaN; none: not checked
    std::span<TraceRequest> traces{};
};

/// What comes out of a step.
nn::Extent output_shape(const NetworkDesc& network, const StackSize& size, StepKind kind);
/// Bytes of what goes in.
std::uint64_t input_bytes(const NetworkDesc& network, const StackSize& size, std::int64_t frames,
                          tensor::DType dtype = tensor::DType::F32);

/// What the memory of FindKept's `key` is filled with before a clip: the element that stands for 0.
std::byte fill_of_kept(const NetworkDesc& network, const std::string& key);

/// Returns the memory in which the causal convolution `key` keeps frames from step to step: `bytes` for the last frames
/// that it has seen, oldest first, fill_of_kept() at first. Called once for every such convolution of a step; with a
/// key that begins with ".zeros" for zeros that several convolutions read and none writes. The key of a band's
/// convolution ends in ".band" and its number. `device` is the accelerator of the graph whose memory it is.
using FindKept = std::function<graph::Physical(const std::string& key, std::uint64_t bytes, std::uint32_t device)>;

/// One more device of a step that several compute (Model::Options).
struct Shard {
    Placement placement;
    const nn::Operators& operators;
    /// Whether the first device and this one reach each other's memory. Otherwise what they exchange goes through the
    /// host's.
    bool is_reached = false;
};

/// What the passes of a step are made of; all of it outlives the graph.
struct StepResources {
    Placement placement;
    const nn::Operators& operators;
    const FindKept& find_kept;
    /// Other devices that make bands of the picture, each its own; the first one makes the first band. None: one
    /// device makes all of it, in StackSize::bands.
    std::span<const Shard> shards{};
    std::span<const Rows> shares{};  ///< of share_rows(): the first device's, then that of each of `shards`
    std::int64_t block = block_rows(true);
};

enum class InputLayout : std::uint8_t {
    Planes,  ///< [frames, c_in, h, w]
    Pixels,  ///< [frames, h, w, c_in], as a step's frames of floats are: of networks that map no channels to others
};

/// Contents of the graph that a step takes.
struct InputBuffer {
    InputBuffer(graph::Buffer given, tensor::DType element = tensor::DType::F32,
                InputLayout order = InputLayout::Planes)
        : buffer(given), dtype(element), layout(order) {}

    graph::Buffer buffer;
    tensor::DType dtype;  ///< F32, F16 or BF16
    InputLayout layout;
};

/// Adds the passes of one step to `frame`, which takes `input`, and returns the contents of its frames. Passes
/// are named like the checkpoint's tensors ("decoder.middle.0.residual.2", "decoder.head.2.band1").
/// The convolutions must be packed (Parameters::pack) before the graph runs. Errors: those of Parameters and Operators;
/// InvalidArgument (too few bytes of input, another number of places than of frames, Rgba8 of a network that does
/// not end in pictures of three channels); Unsupported (a network that cannot be cut into such bands).
Result<std::vector<graph::Buffer>> declare_step(graph::FrameGraph& frame, const NetworkDesc& network,
                                                const StackSize& size, StepKind kind, const StepResources& resources,
                                                const InputBuffer& input, const StepOutput& output);

}  // namespace kinetograph::vae
