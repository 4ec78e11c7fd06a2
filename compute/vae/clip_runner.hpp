// ClipRunner: a clip with a lane, memory and an executor: what runs the steps of streams, tools and tests alike.
#pragma once

#include <kinetograph/compute/vae/clip.hpp>
#include <kinetograph/engine/accel/accelerator_lane.hpp>

#include <memory>
#include <optional>

namespace kinetograph::vae {

struct RunnerOptions {
    profile::Recorder* recorder = nullptr;              ///< of the clip's passes; outlives the runner
    std::int64_t max_frames = 1;                        ///< latent frames that one step may take
    accel::Batches batches = accel::Batches::Replayed;  ///< Eager: every step enqueues every pass, for comparison
    Bands bands{};                                      ///< count above 1: exactly these; else as few as fit
    CallLimits limits{};                                ///< of create()
    graph::LaneTopology topology = graph::LaneTopology::cpu_only();  ///< what memory the clip's lane reaches
};

/// A step that runs, or will.
struct EnqueuedStep {
    FrameRange frames;           ///< of the clip
    graph::Execution execution;  ///< the timeline values at which its lanes are done
};

/// An Error of execute() that is InvalidArgument leaves the clip as it was: the step can be tried again. Every other
/// Error, and any of wait(), ends the clip: its streaming state is lost, and each further step returns that Error until
/// reset() begins a new clip. If reset() returns an Error too, it is the device's, and a new device is needed.
class ClipRunner {
  public:
    /// Plans the size and packs the parameters, unless the model has done that before, then allocates what steps of
    /// every kind need. Errors: those of Model::plan_to_fit; Cancelled.
    static Result<std::unique_ptr<ClipRunner>> create(std::shared_ptr<Model> model, LatentSize size,
                                                      const RunnerOptions& options = {});
    ClipRunner(const ClipRunner&) = delete;
    ClipRunner& operator=(const ClipRunner&) = delete;
    /// Waits for the steps that were executed.
    ~ClipRunner();

    Clip& clip() { return clip_; }
    const Clip& clip() const { return clip_; }
    /// The lane on which the clip's passes run.
    accel::AcceleratorLane& lane() { return *lane_; }

    /// Submits the clip's next step, declared into `step`, and returns: in steady state the host waits for nothing and
    /// allocates nothing. Errors: those of Clip::next and of graph::Executor::execute; the first of an earlier step.
    Result<EnqueuedStep> execute(const graph::FrameGraph& step, std::int64_t latent_frames = 1);
    /// Blocks until the step is done. Errors: those of its passes and lanes; Cancelled: the step goes on, and reset()
    /// waits for it.
    Result<void> wait(const EnqueuedStep& step, const CallLimits& limits = {});
    /// Ends the clip with an Error of work that belongs to its steps and runs on another lane.
    void end(Error error) { broken_ = std::move(error); }
    /// What ended the clip, if anything has.
    Result<void> status() const;
    /// Begins a new clip. Waits for the steps that were executed. Errors: those of the device; DeviceLost, with the
    /// lane's state, once it has not moved for graph::kWorkPatience.
    Result<void> reset();

    /// Before the end: waits for the steps or gives them up, as executors and lanes do. What they use stays.
    void end_lane();

    /// For facts about the last graph: its plan, and when its exports are ready.
    const graph::Executor& executor() const { return *executor_; }
    std::uint64_t peak_device_bytes() const { return clip_.model().device().peak_bytes(); }

  private:
    explicit ClipRunner(Clip clip) : clip_(std::move(clip)) {}
    Result<graph::Execution> submit(const graph::FrameGraph& step);
    Result<void> wait_within(const EnqueuedStep& step, const CallLimits& limits);

    Clip clip_;
    std::unique_ptr<accel::AcceleratorMemory> arena_;
    std::unique_ptr<accel::AcceleratorLane> lane_;
    std::unique_ptr<graph::Executor> executor_;  ///< declared after both: waits for the lane before they are destroyed
    std::optional<Error> broken_;                ///< what ended the clip
};

}  // namespace kinetograph::vae
