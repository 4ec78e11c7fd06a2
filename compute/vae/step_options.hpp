// StepOptions: how a clip's steps run and where their frames go, the same from a front door down to the device.
#pragma once

#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/compute/vae/placement.hpp>
#include <kinetograph/compute/vae/step_shape.hpp>
#include <kinetograph/engine/accel/batches.hpp>
#include <kinetograph/engine/base/call_limits.hpp>
#include <kinetograph/engine/graph/handles.hpp>
#include <kinetograph/engine/interop/frame_storage.hpp>

#include <memory>
#include <optional>

namespace kinetograph::profile {
class Recorder;
}

namespace kinetograph::vae {

/// When pixels are copied to images.
enum class Copies : std::uint8_t {
    Ahead,  ///< submitted with the step: the copy lane's queue waits for the accelerator
    /// Submitted once the step is done, which the host waits for. For queues that also draw: work that is submitted to
    /// them later does not wait for the decoder.
    OnceDecoded,
};

class RunnerShare;

struct StepOptions {
    /// Images of a Vulkan device, buffers that the accelerator addresses too, or the host's memory. Nothing: images
    /// where there is Vulkan, else the host's memory.
    std::optional<interop::FrameStorage> storage{};
    FrameFormat format = FrameFormat::Rgba8;  ///< images are Rgba8
    /// Frames that are decoded ahead or held by readers, more than a step makes; the default is three steps of four.
    std::uint32_t slots = 12;
    bool loop = false;  ///< a clip starts over at its end, in the same generation
    /// How many latent frames of a clip a step takes at most; a clip's first step takes one. More are faster, but need
    /// more memory, and their frames come later.
    std::int64_t latent_frames = 1;
    /// Steps that a clip can be rewound by: each takes as much of the device as the clip's state, and a copy of it.
    std::int64_t rewind_steps = 0;
    double fps = 0;  ///< of the video; 0: the clip's, of latents that are pushed the family's, else 24
    /// Lane, working memory and executor that the clip shares with others; null: its own. Steps of clips that share are
    /// submitted in the order in which they are due at `fps` (DueTimes).
    std::shared_ptr<RunnerShare> share{};
    double weight = 1;          ///< its share where there is too much to do
    bool background = false;    ///< an eighth of that share, and what others leave
    bool only_if_fits = false;  ///< with `share`: refused where a further clip of its size and `fps` has no room
    LatentsChoices latents{};   ///< how a file of latents is read, besides `fps`
    Placement placement{};      ///< in the graphs of the clip's steps
    Bands bands{};              ///< count above 1: exactly these; else as few as fit
    graph::Lane copy_lane = graph::Lane::AsyncCompute;  ///< whose queue brings pixels to images; a Vulkan lane
    std::optional<Copies> copies{};         ///< nothing: OnceDecoded where the copy lane's queue also draws, else Ahead
    profile::Recorder* recorder = nullptr;  ///< of passes, copies and the host's work; outlives what runs the steps
    accel::Batches batches = accel::Batches::Replayed;  ///< Eager: every step enqueues every pass, for comparison
    CallLimits limits{};                                ///< of opening: packing and uploading weights, uploading a clip
};

}  // namespace kinetograph::vae
