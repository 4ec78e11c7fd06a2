// StepLoop: the one loop between latents and frames. It takes latents from a feed, has a Stepper decode them ahead of
// the readers, and hands out the frames.
//
//            latents                        enqueued                    complete
//   feed --------------> next step -----------------------> ring --------------------> reader
//    ^                       |                                ^                           |
//    |                       | waits for latents, for slots   |          release()        |
//    |                       | and for the step before last   +---------------------------+
//    |                       v
//    |   Steps --- no latents will come --> AtEnd --- set_loop(true) ---> Steps, from the clip's first frame
//    |     |                                  |
//    |     +--- an Error ----> Failed         |
//    |     +--- cancel() ----> Cancelled      |
//    |     +--- close() -----> Closed, for good
//    |
//    +-- restart(), from every state but Closed: a new generation; once the steps before are done, Steps
#pragma once

#include <kinetograph/compute/stream/frame_source.hpp>
#include <kinetograph/compute/stream/latent_queue.hpp>
#include <kinetograph/compute/stream/stepper.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

namespace kinetograph::stream {

class StepLoop final : public FrameSource {
  public:
    /// Copies the clip's latents to the accelerator and starts a thread that decodes ahead, up to the number of slots.
    /// On an adopted device that thread submits to the copy lane's queue, so the application supplies that queue's lock
    /// (vulkan::AdoptedQueue::mutex) or a queue that it does not use itself. `bridge` connects the model's accelerator
    /// and the Vulkan device. Errors: those of vae::Model::check_takes and Stepper::create.
    static Result<std::unique_ptr<FrameSource>> of_clip(std::shared_ptr<interop::Bridge> bridge,
                                                        const std::shared_ptr<vae::Model>& model,
                                                        const vae::Latents& clip, const vae::StepOptions& options = {});
    /// The same for latents of that size, which the application pushes as they are made. Errors: those of
    /// LatentQueue::create and Stepper::create.
    static Result<PushedSource> of_pushed(std::shared_ptr<interop::Bridge> bridge,
                                          const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                          const vae::StepOptions& options = {});
    /// The same for any feed. Errors: those of the feed and of Stepper::create.
    static Result<std::unique_ptr<FrameSource>> create(std::shared_ptr<interop::Bridge> bridge,
                                                       const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                                       const FeedPlan& feed, const vae::StepOptions& options);
    /// What of_pushed() would take now, parameters that are not packed yet among it: known before it is called.
    /// Errors: those of vae::Model::declared_memory.
    static Result<vae::StackMemory> declared_memory(const interop::Bridge& bridge, vae::Model& model,
                                                    vae::LatentSize size, const vae::StepOptions& options = {});
    /// Whether one more fits the runner of `options`, with the latents that wait. Errors: those of
    /// Stepper::admission.
    static Result<vae::Admission> admission(const interop::Bridge& bridge, vae::Model& model, vae::LatentSize size,
                                            const vae::StepOptions& options);
    ~StepLoop() override;

    Result<std::optional<interop::FrameRecord>> take(Nanoseconds timeout) override;
    Result<std::optional<interop::FrameRecord>> try_take_ahead() override;
    Result<void> release(const interop::FrameRecord& record, const interop::TimelinePoint& done) override {
        return stepper_->ring().release(record, done);
    }
    void restart() override;
    void cancel() override;
    bool close(Nanoseconds timeout) override;
    void set_loop(bool loop) override;
    bool finished() const override;
    SourceStats stats() const override;
    SourceHealth health() const override;
    const SourceFacts& facts() const override { return facts_; }
    std::optional<Nanoseconds> decoded_at(const interop::FrameRecord& record) const override {
        return stepper_->decoded_at(record);
    }
    std::optional<bool> is_finite(const interop::FrameRecord& record) const override {
        return stepper_->is_finite(record);
    }
    void collect() override { stepper_->collect(); }

    // For feeds:
    /// Whether who pushes latents also steps: work is submitted to an application's Vulkan queue only in calls of the
    /// application's.
    bool steps_where_pushed() const { return !thread_.joinable(); }
    void wake();  ///< there is something new
    /// Steps until the feed has no more latents; false if `until` passes first. Errors: those of the steps; Cancelled.
    Result<bool> step_all(Nanoseconds until);
    std::uint64_t begin_anew();  ///< as restart(), also where the feed is live; returns the new generation
    /// Has who steps run `work` on the clip, as vae::Runner::between_steps does, once the latents that the feed has are
    /// enqueued; `drops_frames`: afterwards the frames that are not taken are discarded, and a new generation begins.
    /// False if `until` passes before. Errors: those of `work`; what has ended the clip; InvalidArgument (it has been
    /// decoded to its end).
    using StateWork = std::function<Result<void>(vae::Clip&, accel::Stream&)>;
    Result<bool> between_steps(const StateWork& work, Nanoseconds until, bool drops_frames = false);

  private:
    /// Whether the next step is a clip's first.
    enum class Begin : std::uint8_t {
        No,
        Around,  ///< a loop begins again, in the same generation
        Anew,    ///< after a restart: frames of the previous clip are discarded
    };
    enum class Advance : std::uint8_t { Stepped, NoLatents, NoRoom, Ended };

    explicit StepLoop(std::shared_ptr<interop::Bridge> bridge) : bridge_(std::move(bridge)) {}
    Result<void> make(const std::shared_ptr<vae::Model>& model, vae::LatentSize size, const FeedPlan& feed,
                      const vae::StepOptions& options);
    Result<void> allocate(const std::shared_ptr<vae::Model>& model, vae::LatentSize size, const FeedPlan& feed,
                          const vae::StepOptions& options);
    void state_facts(const FeedPlan& feed, const vae::StackMemory& beside, const vae::StepOptions& options);
    void run();
    Result<Advance> advance_or_finish();
    Result<Advance> advance(Nanoseconds until);
    void follow_restart();
    Result<bool> begin_clip(Nanoseconds until);
    Result<bool> wait_for_newest(Nanoseconds until);
    Result<bool> step(const Fed& fed, Nanoseconds timeout);
    Result<void> finish();
    void end(std::optional<Error> error);
    void drop_complete_frames();

    Result<std::uint64_t> begin_take() const;
    Result<std::optional<interop::FrameRecord>> fail_reader(Error error, std::uint64_t generation);
    template <class Take>
    Result<std::optional<interop::FrameRecord>> take_by(const Take& take);
    Result<std::optional<interop::FrameRecord>> take_now();
    Result<void> wait_for_frame(Nanoseconds timeout);
    Result<std::optional<interop::FrameRecord>> with_good_status(const std::optional<interop::FrameRecord>& record);
    void wait_for_start(Nanoseconds timeout) const;
    void note_taken(const interop::FrameRecord& record);
    std::optional<Error> ended_with() const;
    bool is_over(const interop::TimelinePoint& point, Nanoseconds timeout) const;
    bool is_cancelled() const;
    bool is_clip() const { return facts_.frames > 0; }
    struct StateRequest {
        const StateWork* work = nullptr;
        bool drops_frames = false, has_begun = false;
        std::optional<Result<void>> result{};
    };
    StateRequest* begin_request();
    void run_request();
    Result<void> run(const StateWork& work, bool drops_frames);

    const std::shared_ptr<interop::Bridge> bridge_;
    SourceFacts facts_;
    std::int64_t latent_frames_ = 1;  ///< that a step takes at most
    std::shared_ptr<LatentFeed> feed_;
    std::unique_ptr<Stepper> stepper_;
    std::uint64_t decoded_generation_ = 0;  ///< of who steps
    Begin begin_ = Begin::No;               ///< the same: what has to be done before the next step

    mutable Mutex mutex_;
    mutable Condition changed_;
    std::uint64_t wakes_ KG_GUARDED_BY(mutex_) = 0;       ///< grows when there is something for who steps
    bool is_idle_ KG_GUARDED_BY(mutex_) = false;          ///< who steps has met everything there was
    std::uint64_t generation_ KG_GUARDED_BY(mutex_) = 0;  ///< of the ring
    bool loop_ KG_GUARDED_BY(mutex_) = false;
    bool at_end_ KG_GUARDED_BY(mutex_) = false;            ///< no more steps, until something changes
    bool cancelled_ KG_GUARDED_BY(mutex_) = false;         ///< until restart()
    std::optional<Error> error_ KG_GUARDED_BY(mutex_);     ///< that ends the clip after the frames before it
    std::optional<Error> reported_ KG_GUARDED_BY(mutex_);  ///< returned to a reader: take() returns it until restart()
    StateRequest* request_ KG_GUARDED_BY(mutex_) = nullptr;  ///< of a caller that waits for it
    bool has_stopped_ KG_GUARDED_BY(mutex_) = false;         ///< the thread has ended
    struct Arrived {
        Nanoseconds pushed{}, input{};  ///< 0: not known
    };
    std::array<Arrived, 64> arrived_ KG_GUARDED_BY(mutex_){};  ///< [step % 64] latents of the newest steps
    std::uint64_t step_taken_ KG_GUARDED_BY(mutex_) = 0;       ///< whose first frame was taken last
    vae::ClipLatencies latencies_ KG_GUARDED_BY(mutex_){};
    mutable std::uint64_t seen_reached_ KG_GUARDED_BY(mutex_) = 0;  ///< sum of the lanes' values, seen by health()
    mutable Nanoseconds moved_ KG_GUARDED_BY(mutex_) = host_now();  ///< when that was seen to grow
    std::atomic<bool> stop_{false};
    std::thread thread_;  ///< last: starts when everything else exists
};

}  // namespace kinetograph::stream
