// Stepper: decodes latents in memory of the accelerator to frames of a ring, one step a call, without waiting on the
// host.
#pragma once

#include <kinetograph/compute/stream/frame_output.hpp>
#include <kinetograph/compute/stream/frame_source.hpp>
#include <kinetograph/compute/stream/latent_frame.hpp>
#include <kinetograph/compute/stream/step_clock.hpp>
#include <kinetograph/compute/vae/runner.hpp>

#include <deque>
#include <functional>

namespace kinetograph::stream {

/// What became of a call to Stepper::step().
enum class Stepped : std::uint8_t {
    Enqueued,
    NoSlots,   ///< readers hold too many frames, or two steps still run: nothing has happened yet
    Outdated,  ///< the ring has been restarted since begin_clip(): nothing has happened
};

/// One thread at a time decodes; frames are taken and released on any. A step is one frame graph: a clip's passes,
/// whose last kernel writes pixels to their places (FrameOutput). It is the accelerator's alone, and its arena as large
/// as vae::StackMemory states.
///
///   stepper->step({latents, bytes, ready})  ->  ring().try_take()  ->  a submission that waits for frame.ready, reads
///   frame.image, and signals a semaphore of the application's  ->  ring().release(frame, {semaphore, nullptr, value})
class Stepper {
  public:
    /// `bridge` connects the model's accelerator with the Vulkan device, and outlives the result. `gives_up` is asked
    /// every 20 ms while step() waits for the step (vae::Copies::OnceDecoded): true ends that with Cancelled. Errors:
    /// those of FrameOutput::create, vae::Clip::create and vae::Runner::create; with StepOptions::only_if_fits those of
    /// vae::Admission::check.
    static Result<std::unique_ptr<Stepper>> create(interop::Bridge& bridge, std::shared_ptr<vae::Model> model,
                                                   vae::LatentSize size, const vae::StepOptions& options = {},
                                                   std::function<bool()> gives_up = {});
    Stepper(const Stepper&) = delete;
    Stepper& operator=(const Stepper&) = delete;
    /// Waits for the steps that were enqueued. Readers must have released their frames.
    ~Stepper();

    /// Enqueues the decoding of latent frames and hands their frames (1 of a clip's first, then 4 of each) to the ring
    /// at once: the reader of one waits for it on the device. Waits up to `timeout` for slots and for the step before
    /// the last one, with a shared runner also for its turn until `gives_up`, and with Copies::OnceDecoded for the step
    /// itself. In the steady state nothing is allocated.
    /// Errors: those of vae::Runner::execute, among them the first error of an earlier step. The slots then go back to
    /// the ring, frames of earlier steps stay in it, and decoding goes on after begin_clip().
    Result<Stepped> step(const LatentFrame& latent, Nanoseconds timeout = {});
    /// Whether steps also submit to a queue of the Vulkan device.
    bool submits_to_display() const { return output_->copying() != nullptr; }
    /// The next step is a clip's first; its frames are of the ring's generation `generation` (0 at first). Waits for
    /// the steps that were enqueued.
    Result<void> begin_clip(std::uint64_t generation);
    /// Runs `work` between two steps, as vae::Runner::between_steps does.
    Result<void> between_steps(const std::function<Result<void>(vae::Clip&, accel::Stream&)>& work);
    /// The next step continues the clip; its frames are of the ring's generation `generation`.
    void continue_in(std::uint64_t generation);
    /// The first error of the steps so far that is known, without waiting: frames that are ready by now may be wrong if
    /// there is one.
    Result<void> status() const;
    /// Makes the next step as step() does, on latents that are there, but returns the output of one module of the
    /// network, [T, H, W, C] float32; empty when the module did not run. Blocks. Errors: those of vae::Clip::declare
    /// and vae::Runner.
    Result<std::vector<float>> trace(const LatentFrame& latent, std::string_view module);

    /// The clip's lane and the copies', for watchdogs. Any thread.
    std::vector<graph::LaneState> lane_states() const;
    /// What create() allocates for the accelerator beside the clip, as StackMemory::io and stream.
    static vae::StackMemory memory_of_frames(const interop::Bridge& bridge, const vae::Model& model,
                                             vae::LatentSize size, const vae::StepOptions& options);
    /// What create() would take now, known before it is called. Errors: those of vae::Model::declared_memory.
    static Result<vae::StackMemory> declared_memory(const interop::Bridge& bridge, vae::Model& model,
                                                    vae::LatentSize size, const vae::StepOptions& options);
    /// Whether a clip fits the runner of `options`. Errors: those of vae::Model::plan.
    static Result<vae::Admission> admission(const interop::Bridge& bridge, vae::Model& model, vae::LatentSize size,
                                            const vae::StepOptions& options);

    FrameOutput& output() { return *output_; }
    interop::FrameRing& ring() { return output_->ring(); }
    const interop::FrameRing& ring() const { return output_->ring(); }
    vae::Runner& runner() { return *runner_; }
    const vae::Runner& runner() const { return *runner_; }
    vae::Clip& clip() { return *clip_; }
    const vae::Clip& clip() const { return *clip_; }
    StepTimes times() const { return clock_.times(); }
    vae::ClipFigures queue_figures() const;
    /// Of its frames, for the figures of the runner that it shares.
    void note_latencies(const vae::ClipLatencies& latencies) const;
    /// By which the memory of its runner between the passes grew for it.
    std::uint64_t arena_bytes() const { return arena_bytes_; }
    /// When the accelerator had completed the step that made `record`; nothing before that.
    std::optional<Nanoseconds> decoded_at(const interop::FrameRecord& record) const {
        const auto span = clock_.span_of(record.label.step);
        return span ? std::optional(span->end) : std::nullopt;
    }
    std::optional<bool> is_finite(const interop::FrameRecord& record) const { return output_->is_finite(record); }
    /// Waits for the steps that were enqueued. Errors: the first one of those steps; DeviceLost, with the states of the
    /// lanes, once none of them has moved for `patience`.
    Result<void> wait_for_steps(Nanoseconds patience = graph::kWorkPatience);
    /// When the frames of the newest step are ready; nothing before the first.
    const interop::TimelinePoint& newest() const { return last_; }
    double fps() const { return options_.fps; }           ///< of the frames
    std::uint64_t steps() const { return step_number_; }  ///< enqueued so far: the number of the newest
    /// Records the spans of everything that has completed; every step does this too, for the steps before it.
    void collect();

  private:
    using StepVariant = std::pair<vae::StepKind, tensor::DType>;  ///< the dtype is that of the latents
    /// One variant of a step, declared once. The addresses of its imports change from step to step.
    struct StepGraph {
        graph::FrameGraph frame;
        graph::Buffer latents, not_finite;
        std::vector<graph::Buffer> places;  ///< of the frames
    };
    /// A step in the queue of a runner that is shared.
    struct DueStep {
        std::uint64_t number = 0;
        Nanoseconds asked{}, turn{}, due{};
        std::int64_t frames = 0;
        bool is_first = false;
    };
    Stepper(interop::Bridge& bridge, const vae::StepOptions& options, std::function<bool()> gives_up);
    Result<void> make(std::shared_ptr<vae::Model> model, vae::LatentSize size);
    graph::LaneTopology topology_with_display() const;
    Result<void> declare(StepGraph& step, const LatentFrame& latent, vae::TraceRequest* trace = nullptr);
    Result<StepGraph*> graph_of(const LatentFrame& latent);
    void bind(StepGraph& step, const LatentFrame& latent);
    Result<void> wait_until_decoded(const vae::EnqueuedStep& step);
    Result<Stepped> prepare(const LatentFrame& latent, Nanoseconds timeout);
    Result<bool> wait_for_others(const LatentFrame& latent, Nanoseconds until);
    Result<bool> enqueue_in_turn(const LatentFrame& latent, Nanoseconds until);
    struct TakenTurn {
        vae::StepQueue::Turn turn;
        vae::DueTimes::Due due;
    };
    Result<std::optional<TakenTurn>> take_turn(const LatentFrame& latent, Nanoseconds until);
    vae::RunnerLoad& load() const { return options_.share->load(); }
    Result<void> join(vae::Model& model, vae::LatentSize size);
    vae::DueTimes::Due due_of(const LatentFrame& latent) const;
    std::int64_t frames_of(const LatentFrame& latent) const;  ///< that the next step makes of them
    void judge_steps() const KG_REQUIRES(unjudged_mutex_);
    void record(const DueStep& step, const StepSpan& span) const KG_REQUIRES(unjudged_mutex_);
    bool gives_up() const { return gives_up_ && gives_up_(); }
    Result<void> enqueue(const LatentFrame& latent);
    Result<void> publish(const vae::EnqueuedStep& step, const graph::Point& point);

    interop::Bridge& bridge_;
    const vae::StepOptions options_;
    const std::function<bool()> gives_up_;
    StepClock clock_;
    std::unique_ptr<FrameOutput> output_;
    std::unique_ptr<vae::Clip> clip_;
    std::map<StepVariant, StepGraph> steps_;
    std::uint64_t declared_for_ = 0;       ///< vae::Clip::addresses() of `steps_`
    std::shared_ptr<vae::Runner> runner_;  ///< its destructor waits for steps before what they use is destroyed
    std::uint64_t arena_bytes_ = 0;
    std::optional<Nanoseconds> asked_;  ///< when the step that comes next could begin
    bool was_held_back_ = false;        ///< that step, for an overload
    vae::DueTimes dues_;
    std::optional<vae::RunnerLoad::Number> number_;  ///< of the clip at a runner that is shared
    mutable Mutex unjudged_mutex_;
    mutable std::deque<DueStep> unjudged_ KG_GUARDED_BY(unjudged_mutex_);  ///< steps that were not seen to be done
    mutable Nanoseconds ended_ KG_GUARDED_BY(unjudged_mutex_){};           ///< the last of those that were
    interop::TimelinePoint last_, before_last_;  ///< when the frames of the newest two steps are ready
    std::uint64_t step_number_ = 0;              ///< of the newest, as the clock counts
    std::uint64_t generation_ = 0;
};

}  // namespace kinetograph::stream
