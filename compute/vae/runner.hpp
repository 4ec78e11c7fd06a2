// Runner: where steps of clips run on a device: a lane, the memory between their passes, and an executor.
#pragma once

#include <kinetograph/compute/vae/clip.hpp>
#include <kinetograph/engine/accel/accelerator_lane.hpp>

#include <functional>
#include <memory>

namespace kinetograph::vae {

/// A step that runs, or will.
struct EnqueuedStep {
    FrameRange frames;           ///< of the clip
    graph::Execution execution;  ///< the timeline values at which its lanes are done
};

/// Runs steps of any clips of one device, one after the other, which all outlive it. Clip says in what state an Error
/// leaves a clip. Used by one thread at a time.
class Runner {
  public:
    /// For `clip` and others that need no more memory between their passes: allocates that, and begins the clip. Of
    /// `options`: batches and recorder. `topology`: what memory the lane reaches. Errors: OutOfMemory, those of
    /// accel::AcceleratorLane::create and of the device.
    static Result<std::unique_ptr<Runner>> create(
        Clip& clip, const StepOptions& options = {},
        const graph::LaneTopology& topology = graph::LaneTopology::without_vulkan());
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;
    /// Waits for the steps that were executed.
    ~Runner();

    /// The lane on which the passes run.
    accel::AcceleratorLane& lane() { return *lane_; }
    const accel::AcceleratorLane& lane() const { return *lane_; }

    /// Submits the clip's next step, declared into `step`, and returns: in steady state the host waits for nothing and
    /// allocates nothing. Errors: those of Clip::next and of graph::Executor::execute; what has ended the clip.
    Result<EnqueuedStep> execute(Clip& clip, const graph::FrameGraph& step, std::int64_t latent_frames = 1);
    /// Blocks until the clip's step is done. Errors: those of its passes and lanes, which end the clip; Cancelled,
    /// which ends it too: the step goes on, and reset() waits for it.
    Result<void> wait(Clip& clip, const EnqueuedStep& step, const CallLimits& limits = {});
    /// Runs `work`, calls of Clip that change or read its state, on a stream of its own, on which the steps that were
    /// executed are done. Errors: those of the steps and of `work`, which end the clip except for InvalidArgument and
    /// OutOfMemory.
    Result<void> between_steps(Clip& clip, const std::function<Result<void>(accel::Stream&)>& work);
    /// Begins the clip anew. Waits for all steps that were executed. Errors: those of the device; DeviceLost, with the
    /// lane's state, once it has not moved for graph::kWorkPatience.
    Result<void> reset(Clip& clip);

    /// Before the end: waits for the steps or gives them up, as executors and lanes do. What they use stays.
    void end_lane();

    /// For facts about the last graph: its plan, and when its exports are ready.
    const graph::Executor& executor() const { return *executor_; }

  private:
    Runner() = default;
    Result<graph::Execution> submit(const graph::FrameGraph& step);
    Result<void> wait_within(const EnqueuedStep& step, const CallLimits& limits);

    std::unique_ptr<accel::AcceleratorMemory> arena_;
    std::unique_ptr<accel::AcceleratorLane> lane_;
    std::unique_ptr<accel::Stream> states_;      ///< of between_steps(), made when it is first called
    std::unique_ptr<graph::Executor> executor_;  ///< declared after both: waits for the lane before they are destroyed
};

}  // namespace kinetograph::vae
