// LatentQueue: latents, or pictures for an encoder, that are pushed as they are made, until a StepLoop takes them.
#pragma once

#include <kinetograph/compute/stream/frame_source.hpp>
#include <kinetograph/compute/stream/latent_feed.hpp>
#include <kinetograph/compute/vae/clip_state.hpp>
#include <kinetograph/compute/vae/step_shape.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace kinetograph::vae {
class Model;
}

namespace kinetograph::stream {

/// One thread pushes; latents are taken on another. Of an encoder's queue "latent frame" below means what one step
/// takes: a clip's first picture alone (or a whole group, nn::Rates::first), then as many as become one latent frame,
/// [pictures, 3, height, width].
class LatentQueue : public LatentFeed {
  public:
    /// Latents of one size, of which `capacity` wait at most. Memory for so many and for those of running steps is
    /// pinned, which the accelerator reads in place. Errors: those of vae::Model::check; OutOfMemory.
    static Result<std::shared_ptr<LatentQueue>> create(const vae::Model& model, vae::LatentSize size,
                                                       std::size_t capacity);
    static std::uint64_t bytes(const vae::Model& model, vae::LatentSize size, std::size_t capacity);
    /// As many latent frames as the slots, or 256 of them, hold frames of.
    static std::size_t capacity_for(const vae::Model& model, vae::LatentSize size, std::uint32_t slots);

    /// Takes the next latent frame and returns: steps begin on another thread. If frames are images, which are copied
    /// on a Vulkan queue, this call begins them; if that queue also draws, as on a device with one queue, it waits for
    /// the step. The memory stays untouched until a frame of its step is complete, or until capacity() + 3 later calls
    /// have returned true. False: nothing was done, because for the whole of `timeout` the queue was full. Errors:
    /// Cancelled; InvalidArgument (too few bytes, a second latent frame where a clip is one), which leaves the clip as
    /// it was; what has ended the clip.
    Result<bool> push(const LatentFrame& latent, Nanoseconds timeout);
    /// The same for [z_dim, h, w] in the host's memory, which is copied. Errors also: InvalidArgument (element count,
    /// values that are not finite), which leaves the clip as it was. `input`: LatentFrame::input.
    Result<bool> push(std::span<const float> latent, Nanoseconds timeout, Nanoseconds input = {});
    /// The same of values that are known to be finite.
    Result<bool> push_finite(std::span<const float> values, Nanoseconds timeout);
    /// What every push now fails with.
    Result<void> status() const;
    /// Latent frames or pictures that the next push takes.
    std::int64_t next_count() const;
    /// Waits until push() finds room: the memory of a push capacity() + 3 calls earlier is not read any more. False
    /// after `timeout`. Errors: what has ended the clip.
    Result<bool> wait_for_room(Nanoseconds timeout);
    std::size_t capacity() const { return capacity_; }
    std::size_t queued() const;  ///< latent frames that wait

    // The clip's state, after the latents that were pushed so far. These are calls of the thread that pushes; false:
    // nothing was done, because for the whole of `timeout` readers held the frames of latents that wait. Errors of all:
    // what has ended the clip; InvalidArgument, which leaves it as it was.
    /// Errors: those of vae::Clip::save.
    Result<std::optional<vae::ClipState>> save(Nanoseconds timeout);
    /// The next latents continue the state's clip. Latents that wait and frames that are not taken are discarded, as by
    /// FrameSource::restart(). Errors: those of vae::Clip::load, after which a new clip has begun.
    Result<bool> load(const vae::ClipState& state, Nanoseconds timeout);
    /// The clip of `other`, of which no step was made, continues as a branch of this one. Errors: those of
    /// vae::Clip::branch_from.
    Result<bool> branch_to(LatentQueue& other, Nanoseconds timeout);
    /// Goes back to before the last `steps` latent frames, of up to StepOptions::rewind_steps; frames that are not
    /// taken are discarded. Errors: those of vae::Clip::rewind.
    Result<bool> rewind(std::int64_t steps, Nanoseconds timeout);
    /// The state leaves the device's memory for the host's until resume(). A parked clip takes no latents, and is
    /// resumed by FrameSource::restart() too. Errors: those of vae::Clip::park and resume: after OutOfMemory the clip
    /// is as it was.
    Result<bool> park(Nanoseconds timeout);
    Result<bool> resume(Nanoseconds timeout);

    /// The next latent frame is a clip's first: as FrameSource::restart().
    void begin_anew();
    void finish();           ///< no more will come; once all are decoded the source is finished
    void fail(Error error);  ///< the same for this reason, which readers get after the frames before it

    Result<Fed> next(std::int64_t most) override;
    void taken() override;
    void begin_clip() override;
    void attach(StepLoop* loop) override;
    void free_memory() override;
    void restart() override;
    void refuse(const Error& reason) override;

  protected:
    LatentQueue() = default;
    Result<void> make(const vae::Model& model, vae::LatentSize size, std::size_t capacity);
    /// `arrived`: when the latents came; `before`: what comes before their number in messages.
    Result<bool> push(std::span<const float> latent, Nanoseconds timeout, Nanoseconds arrived,
                      const std::string& before, Nanoseconds input = {});

  private:
    static constexpr std::size_t kCallers = ~std::size_t{0};  ///< in place of a buffer: memory of who pushes
    static constexpr std::size_t kReading = 2;                ///< steps that may not have read their latents yet
    struct Waiting {
        LatentFrame latent{};
        std::size_t buffer = kCallers;
        std::uint64_t epoch = 0;
        std::string place{};
        Nanoseconds arrived{};
    };
    Result<void> check_open() const KG_REQUIRES(mutex_);
    Result<bool> wait_for_room(Lock& lock, Nanoseconds until) KG_REQUIRES(mutex_);
    std::int64_t count_of_next() const KG_REQUIRES(mutex_) { return pushed_ == 0 ? first_ : group_; }
    Result<std::string> place_of_next(const std::string& before) const;
    Result<void> check_count(std::span<const float> values, const std::string& place) const;
    Result<bool> put_copy(std::span<const float> values, Waiting waiting, Nanoseconds until);
    Result<bool> put(Waiting waiting, Nanoseconds until);
    Result<StepLoop*> open_loop() const;
    Result<bool> move_state(bool parks, Nanoseconds timeout);
    void continue_at(std::int64_t latent_frame);
    void withdraw();
    void free(const Waiting& waiting) KG_REQUIRES(mutex_);

    std::size_t capacity_ = 0;
    std::int64_t pixels_ = 0, channels_ = 0;  ///< of a latent frame or picture
    std::int64_t first_ = 1, group_ = 1;      ///< of them that a clip's first step and a later one take
    std::string_view word_ = "latent frame";  ///< what one is called in messages
    bool one_latent_frame_ = false;           ///< a clip is
    std::vector<std::unique_ptr<accel::Memory>> buffers_;

    mutable Mutex mutex_;
    mutable Condition changed_;
    StepLoop* loop_ KG_GUARDED_BY(mutex_) = nullptr;
    std::deque<Waiting> queue_ KG_GUARDED_BY(mutex_);
    std::optional<Waiting> in_hand_ KG_GUARDED_BY(mutex_);  ///< of the next step
    std::deque<Waiting> reading_ KG_GUARDED_BY(mutex_);     ///< of running steps
    std::vector<std::size_t> free_ KG_GUARDED_BY(mutex_);   ///< buffers
    std::uint64_t epoch_ KG_GUARDED_BY(mutex_) = 0;         ///< grows with restart()
    std::int64_t pushed_ KG_GUARDED_BY(mutex_) = 0;         ///< latent frames or pictures since then
    bool is_finished_ KG_GUARDED_BY(mutex_) = false;
    bool is_parked_ KG_GUARDED_BY(mutex_) = false;
    std::optional<Error> failed_ KG_GUARDED_BY(mutex_);   ///< in the place of the next latents
    std::optional<Error> refusal_ KG_GUARDED_BY(mutex_);  ///< why no more are taken
};

/// The frames of latents that are pushed, and where to push them.
struct PushedSource {
    std::unique_ptr<FrameSource> frames;
    std::shared_ptr<LatentQueue> latents;
};

}  // namespace kinetograph::stream
