// Steps that stay on the device: latents and frames in its memory, work that is enqueued and not waited for.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace kinetograph::vae {

enum class FrameFormat : std::uint8_t {
    Rgba8,    ///< [height, width, 4], 8 bits, sRGB-encoded as the model makes it, alpha 255
    Float32,  ///< [height, width, 3], nominal range [-1, 1]
};
constexpr std::uint64_t bytes_per_pixel(FrameFormat format) { return format == FrameFormat::Rgba8 ? 4 : 12; }

/// What becomes of the frames of steps on the device: said once, before the first of them.
struct DeviceOutput {
    /// Whose memory a step's frames are written to.
    enum class Memory : std::uint8_t {
        Given,      ///< DeviceStep::frames
        Transient,  ///< of the graph, for as long as `then` uses it
    };
    FrameFormat format = FrameFormat::Rgba8;
    Memory memory = Memory::Given;
    graph::MemoryDomain domain = graph::MemoryDomain::Accelerator;  ///< of that memory; Shared: Vulkan reaches it too

    /// Declares passes of the caller's that go on with a step's frames, in the same graph and on any lane below. Called
    /// once for every kind of step, at the first step of that kind; `frames` are as many as the step makes.
    std::function<void(graph::FrameGraph& frame, std::span<const graph::Buffer> frames)> then{};

    std::vector<graph::LaneBackend*> lanes{};  ///< beside the decoder's own; outlive the decoder
    std::vector<std::pair<graph::MemoryDomain, graph::MemoryBackend*>>
        backends{};  ///< of other domains; outlive it too
    graph::LaneTopology topology = graph::LaneTopology::cpu_only();
};

/// One step on the device.
struct DeviceStep {
    graph::Physical latents;                    ///< [z_dim, h, w] float32, where kernels address it
    std::span<const graph::Physical> frames{};  ///< with DeviceOutput::Memory::Given, one each
    graph::Physical
        not_finite{};  ///< 4 bytes that become 1 if a value of the frames is infinite or NaN; none: not asked
    /// Called before the step is executed: FrameGraph::rebind() of what DeviceOutput::then has imported.
    std::function<void(graph::FrameGraph& frame)> bind{};
};

/// A step that runs, or will.
struct EnqueuedStep {
    std::int64_t first_index = 0;  ///< of its frames, in the clip, from 0
    std::int64_t count = 0;        ///< 1 in step 0, afterwards Decoder::step_frames().most
    graph::Execution execution;    ///< its values of the lanes' timelines
};

}  // namespace kinetograph::vae
