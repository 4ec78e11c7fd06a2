// Decoder: a clip of a model on a lane of its own. Feed one latent frame, get one frame, then as many as the family
// makes of each (Wan 2.1: 4).
#pragma once

#include <kinetograph/compute/vae/device_step.hpp>
#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/profile/recorder.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::vae {

struct DecoderOptions {
    profile::Recorder* recorder = nullptr;  ///< outlives the decoder
};

/// Frames of one step, in host memory owned by the decoder, valid until the next step() or reset().
struct DecodedFrames {
    std::int64_t first_index = 0;  ///< of the clip, from 0
    std::int64_t count = 0;        ///< 1 in step 0, afterwards step_frames().most
    std::int64_t height = 0, width = 0;
    std::span<const float> thwc;  ///< [count, height, width, 3] float32, nominal range [-1, 1]
    Nanoseconds duration{};       ///< of the step
    std::int64_t not_finite = 0;  ///< values that are infinite or no number: overflow, from latents that were finite
};

/// An Error that step(), trace() and enqueue() return before anything runs (InvalidArgument) leaves the clip as it was:
/// the step can be tried again. Every other Error ends the clip: its streaming state is lost, and each further step
/// returns that Error until reset() or attach() begins a new clip. One that these return too is the device's, and is
/// mended by a new device only.
class Decoder {
  public:
    /// Plans the size and packs the parameters, unless the model has done that before; nothing is compiled or allocated
    /// later, except on the first step of each kind.
    /// Errors: those of Model::plan; OutOfMemory (states the bytes needed before starting).
    static Result<std::unique_ptr<Decoder>> create(std::shared_ptr<Model> model, LatentSize size,
                                                   const DecoderOptions& options = {});
    /// The same for a clip's size, after checking that its channels and number of frames are what the checkpoint takes.
    static Result<std::unique_ptr<Decoder>> create_for(std::shared_ptr<Model> model, const Latents& clip,
                                                       const DecoderOptions& options = {});
    virtual ~Decoder() = default;

    /// Decodes one latent frame `latent` [z_dim, h, w] float32 and blocks until its frames are in memory.
    /// Errors: InvalidArgument (element count, values that are not finite).
    virtual Result<DecodedFrames> step(std::span<const float> latent) = 0;
    /// Starts a new clip: the next step is step 0 again. Waits for the steps that were enqueued.
    virtual Result<void> reset() = 0;

    /// Before the first enqueue(): what steps on the device do with their frames. Starts a new clip.
    /// Errors: OutOfMemory, InvalidArgument (two back ends of one lane or domain).
    virtual Result<void> attach(DeviceOutput output) = 0;
    /// Decodes one latent frame that the device holds, and returns at once: in steady state the host waits for nothing,
    /// allocates nothing and copies nothing. Values that are not finite spread over the picture and later frames.
    /// Errors: InvalidArgument (memory that is missing or too small), and the first error of a step before.
    virtual Result<EnqueuedStep> enqueue(const DeviceStep& step) = 0;
    /// The lane on which it computes: for interop::Bridge::connect(), and to make the next step wait for its latents.
    virtual accel::AcceleratorLane& lane() = 0;

    /// Runs step(), then returns one module's output, for tests and for `--trace`: name as in the checkpoint
    /// ("decoder.middle.1"), contents [T, H, W, C] float32. Empty when the module did not run.
    virtual Result<std::vector<float>> trace(std::span<const float> latent, std::string_view module) = 0;
    /// What trace() takes, in the order in which it runs.
    virtual std::vector<std::string> modules() const = 0;

    virtual LatentSize latent_size() const = 0;
    virtual std::uint64_t latent_bytes() const = 0;  ///< of one latent frame
    virtual StepFrames step_frames() const = 0;
    /// Frames of video that a clip's first `latent_frames` decode to.
    std::int64_t frames_of(std::int64_t latent_frames) const {
        return latent_frames < 1 ? 0 : 1 + step_frames().most * (latent_frames - 1);
    }
    virtual const graph::Plan* plan() const = 0;  ///< of the last step; null before the first
    /// The plan of step kind 0 (first) or 1 (later), compiled without running.
    virtual Result<graph::Plan> compile_plan(int step_kind) const = 0;
    virtual std::uint64_t peak_device_bytes() const = 0;
    /// What the decoder and its model take, stated by create() before it allocated; peak_device_bytes() stays within it
    /// on a device on which nothing else allocates.
    virtual StackMemory memory() const = 0;
};

/// The first module whose output in step `step` of the clip is not finite; empty if all are. Decodes the clip up to
/// that step a few times over, and leaves the decoder at a clip's beginning. Errors: those of reset(), step() and
/// trace().
Result<std::string> first_module_not_finite(Decoder& decoder, const Latents& clip, std::int64_t step);

/// Whether the decoder takes the clip. Errors: InvalidArgument (a clip of another size than the decoder's, without
/// frames, or with too few values).
Result<void> check_fit(const Decoder& decoder, const Latents& clip);

}  // namespace kinetograph::vae
