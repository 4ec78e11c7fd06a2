// Clip: the frame stream of a kg_clip, with the frames that its reader holds, by number.
#pragma once

#include "callers_streams.hpp"
#include "latents.hpp"

#include <kinetograph/compute/stream/host_pixels.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/profile/statistics.hpp>

#include <atomic>
#include <functional>

namespace kinetograph::c {

/// What a kg_clip_desc asks for.
struct ClipOptions {
    vae::StepOptions stream;
    std::uint32_t format = KG_FORMAT_RGBA8;         ///< a kg_format
    std::optional<stream::HostPixels> pixels{};     ///< what float frames are converted to on the host
    std::shared_ptr<profile::Recorder> recorder{};  ///< of the newest passes; null unless they are asked for

    /// Of a clip of `model`. Errors: InvalidArgument (no such storage or format, a format that the storage does not
    /// support).
    static Result<ClipOptions> of(const kg_clip_desc& desc, const Model& model);
};

/// Thread-safe, but latents are pushed by one thread.
class Clip {
  public:
    /// `pushed.latents` is null for a clip of a file, to which none are pushed.
    Clip(std::shared_ptr<const Model> model, const ClipOptions& options, stream::PushedSource pushed);
    Clip(const Clip&) = delete;
    Clip& operator=(const Clip&) = delete;
    /// Waits as kg_clip_destroy does.
    ~Clip();

    /// `pushed` also counts the latent frames before an Error. KG_TIMEOUT and KG_ERROR_BUSY are statuses.
    Outcome push(const kg_latents& latents, Nanoseconds timeout, std::uint32_t& pushed);
    Outcome acquire(std::uint32_t flags, Nanoseconds timeout, kg_frame* frame);
    Result<void> wait(std::uint64_t id, void* stream);
    /// Of a frame that has not been returned to the ring.
    Result<kg_finite> finite(std::uint64_t id);
    Result<void> release(std::uint64_t id, const kg_moment& done);
    /// Adds a reader to an acquired frame, until drop().
    Result<kg_frame> share(std::uint64_t id);
    void drop(std::uint64_t id);
    void reset();
    void cancel();
    /// KG_OK, KG_TIMEOUT or BUSY, as kg_clip_close.
    Outcome close(Nanoseconds timeout);
    /// Ends the decoding, even if tensors of frames keep the clip.
    void stop();
    kg_clip_info info() const;
    /// Of the newest passes, the dearest first. Errors: InvalidArgument (they are not recorded).
    Result<std::vector<profile::PassStatistics>> passes() const;
    /// Runs `use`, a call of LatentQueue about the clip's state that says whether it was done in time. KG_TIMEOUT and
    /// KG_ERROR_BUSY are statuses.
    Outcome use_state(const std::function<Result<bool>(stream::LatentQueue&)>& use);
    vae::LatentSize latent_size() const { return size_; }
    struct Readers {
        std::size_t acquired = 0;   ///< frames that are acquired and not released
        std::size_t returning = 0;  ///< frames that were released on a stream that is being captured
    };
    Readers readers();
    const Model& model() const { return *model_; }
    const std::shared_ptr<const Model>& shared_model() const { return model_; }
    std::uint32_t format() const { return options_.format; }

  private:
    /// A frame that was handed out. It is returned to the ring once it was released, its tensors are deleted, and the
    /// stream that it is read on is not being captured: a stream in a capture cannot tell when it has read the frame.
    struct Held {
        interop::FrameRecord record;
        kg_frame frame{};
        bool acquired = true;
        std::size_t tensors = 0;
        std::optional<void*> stream{};  ///< that it is read on
        bool is_wanted() const { return acquired || tensors > 0; }
    };
    /// Latents that were copied in the order of a caller's stream: as many as LatentQueue::push may not have read.
    struct Staging {
        std::vector<std::unique_ptr<accel::Memory>> memory;
        std::size_t next = 0;
    };
    /// Returns the frame to the ring, in the order of the stream that it was read on. Errors are logged.
    void give_back(std::uint64_t id, const Held& frame);
    /// Returns the frames that have no reader and whose stream is no longer being captured.
    void give_back_unwanted();
    Result<bool> push_frame(const LatentView& latents, std::int64_t t, Nanoseconds timeout);
    Result<bool> push_copied(const LatentView& latents, std::int64_t t, Nanoseconds timeout);
    Result<interop::TimelinePoint> point_of(const kg_moment& moment);
    Result<interop::FrameRecord> held_frame(std::uint64_t id) const;
    kg_frame describe(const interop::FrameRecord& record, std::uint64_t id) KG_REQUIRES(mutex_);
    /// Logs the clip's first frame that is not finite.
    kg_finite finite_of(const interop::FrameRecord& record) KG_REQUIRES(mutex_);
    const void* convert(const interop::FrameRecord& record) KG_REQUIRES(mutex_);

    const std::shared_ptr<const Model> model_;
    const ClipOptions options_;
    vae::LatentSize size_;  ///< of the latents that it takes
    Staging staging_;       ///< of the thread that pushes
    CallersStreams streams_;
    std::vector<float> gathered_;  ///< of the thread that pushes
    bool is_judged_ = false;       ///< the same thread's: whether the scale of a latent frame was looked at
    std::atomic<bool> pushing_{false};
    std::atomic<bool> cancelled_{false};  ///< until reset()
    mutable Mutex mutex_;
    std::map<std::uint64_t, Held> held_ KG_GUARDED_BY(mutex_);
    /// [slot] -> the frame in options_.pixels.
    std::map<std::uint32_t, std::vector<std::byte>> converted_ KG_GUARDED_BY(mutex_);
    bool told_not_finite_ KG_GUARDED_BY(mutex_) = false;
    std::shared_ptr<stream::LatentQueue> latents_;  ///< null for a clip of a file
    std::unique_ptr<stream::FrameSource> stream_;   ///< declared last: its steps end before what they read is destroyed
};

}  // namespace kinetograph::c
