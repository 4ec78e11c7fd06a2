// Runner: where steps of clips run: a lane of each device of their model, the memory between their passes, and an
// executor.
#pragma once

#include <kinetograph/compute/vae/clip.hpp>
#include <kinetograph/compute/vae/runner_load.hpp>
#include <kinetograph/compute/vae/step_queue.hpp>
#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/graph/patience.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace kinetograph::vae {

/// A step that runs, or will.
struct EnqueuedStep {
    FrameRange frames;           ///< of the clip
    graph::Execution execution;  ///< the timeline values at which its lanes are done
};

/// Runs steps of any clips of one device, one after the other. Clip says in what state an Error leaves a clip. Used by
/// one thread at a time, which is the one that has the turn() where clips of several threads share it; calls that say
/// so need none. A clip outlives its runner, or at least wait_for() it.
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

    /// Makes room between the passes for another clip, and begins it; steps of others go on. Returns by how many bytes
    /// the memory between the passes has grown. Needs no turn. Errors: OutOfMemory, those of reset().
    Result<std::uint64_t> admit(Clip& clip);
    /// Waits until no step that is due earlier waits, and at most one is on the lane: a step that is due soon and comes
    /// late waits for two. Nothing once `gives_up`. `is_skipped`: after all steps that are not. Needs no turn.
    Result<std::optional<StepQueue::Turn>> turn(Nanoseconds due, const StepQueue::GivesUp& gives_up = {},
                                                bool is_skipped = false);
    const StepQueue& queue() const { return queue_; }
    /// Blocks until the clip's steps are done. Needs no turn. Errors: DeviceLost, once the lane has not moved for
    /// `patience`.
    Result<void> wait_for(const Clip& clip, Nanoseconds patience = graph::kWorkPatience);
    /// Keeps what work may use that has not ended: until the lane has.
    void keep(std::shared_ptr<void> used);

    /// The lane on which the passes run; of several devices' the first.
    accel::AcceleratorLane& lane() { return *lane_; }
    const accel::AcceleratorLane& lane() const { return *lane_; }
    /// That and the lanes of a model's further devices.
    const std::vector<accel::AcceleratorLane*>& lanes() const { return lanes_; }

    /// Submits the clip's next step, declared into `step`, and returns: in steady state the host waits for nothing and
    /// allocates nothing. Errors: those of Clip::next and of graph::Executor::execute; what has ended the clip.
    Result<EnqueuedStep> execute(Clip& clip, const graph::FrameGraph& step, std::int64_t latent_frames = 1);
    /// Blocks until the clip's step is done. Errors: those of its passes and lanes, which end the clip; Cancelled,
    /// which ends it too: the step goes on, and reset() waits for it.
    Result<void> wait(Clip& clip, const EnqueuedStep& step, const CallLimits& limits = {});
    /// Runs `work`, calls of Clip that change or read its state, on the clip's own stream once its steps are done.
    /// Needs no turn. Errors: those of the steps and of `work`, which end the clip except for InvalidArgument and
    /// OutOfMemory.
    Result<void> between_steps(Clip& clip, const std::function<Result<void>(accel::Stream&)>& work);
    /// Begins the clip anew. Waits for its steps; after an error of the lane, or where the runner is not shared, for
    /// all. Needs no turn. Errors: those of the device; DeviceLost, with the lane's state, once it has not moved for
    /// graph::kWorkPatience.
    Result<void> reset(Clip& clip);

    /// Before the end: waits for the steps or gives them up, as executors and lanes do. What they use stays.
    void end_lane();

    std::uint64_t arena_bytes() const { return arena_bytes_; }
    /// For facts about the last graph: its plan, and when its exports are ready.
    const graph::Executor& executor() const { return *executor_; }

  private:
    Runner() = default;
    Result<void> make_lanes(Clip& clip, const StepOptions& options);
    Result<void> check_lanes() const;
    Result<bool> wait_for_newest(const Clip& clip, Nanoseconds timeout);
    Result<graph::Execution> submit(const graph::FrameGraph& step);
    Result<void> reset_after_all(Clip& clip);
    Result<void> wait_within(const EnqueuedStep& step, const CallLimits& limits);

    StepQueue queue_;
    std::atomic<bool> is_shared_{false};
    std::atomic<std::uint64_t> newest_{0}, before_newest_{0};  ///< steps, as values of the lane's timeline
    std::uint64_t arena_bytes_ = 0;
    Mutex kept_mutex_;
    std::vector<std::shared_ptr<void>> kept_ KG_GUARDED_BY(kept_mutex_);
    /// Of a further device of the model.
    struct Other {
        std::unique_ptr<accel::AcceleratorMemory> arena;
        std::unique_ptr<accel::AcceleratorLane> lane;
    };
    std::unique_ptr<accel::AcceleratorMemory> arena_;
    std::unique_ptr<accel::PinnedMemory> pinned_;  ///< through which devices exchange rows
    std::vector<Other> others_;
    std::unique_ptr<accel::AcceleratorLane> lane_;
    std::vector<accel::AcceleratorLane*> lanes_;
    graph::Execution newest_execution_;
    std::unique_ptr<graph::Executor> executor_;  ///< declared after both: waits for the lane before they are destroyed
};

/// The runner that clips of one device share, while there are any. Thread-safe.
class RunnerShare {
  public:
    struct Admitted {
        std::shared_ptr<Runner> runner;
        std::uint64_t arena_bytes = 0;  ///< by which its memory has grown
    };
    /// Admits the clip to the runner, which the first one makes. Errors: those of Runner::create and Runner::admit.
    Result<Admitted> admit(Clip& clip, const StepOptions& options);
    /// Bytes between the passes that the runner holds; 0 without one.
    std::uint64_t arena_bytes() const;
    /// What the clips want of the device's time. What was measured stays when the last clip ends.
    RunnerLoad& load() { return load_; }

  private:
    RunnerLoad load_;
    mutable Mutex mutex_;
    std::weak_ptr<Runner> runner_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::vae
