// FrameSource: frames that come out in order, in memory that the application chooses, while it runs.
#pragma once

#include <kinetograph/compute/stream/step_clock.hpp>
#include <kinetograph/compute/vae/runner_load.hpp>
#include <kinetograph/compute/vae/stack_memory.hpp>
#include <kinetograph/engine/graph/lane_state.hpp>
#include <kinetograph/engine/interop/frame_record.hpp>

#include <optional>
#include <string>
#include <vector>

namespace kinetograph::stream {

/// What does not change while a source runs.
struct SourceFacts {
    std::int64_t width = 0, height = 0;  ///< of frames, pixels
    std::int64_t frames = 0;             ///< of video; 0 for latents that are made while it runs
    std::int64_t frames_of_a_step = 0;   ///< at most
    double fps = 24.0;
    std::size_t slots = 0;
    std::string route;              ///< how frames reach the device that shows them, in a sentence
    vae::StackMemory memory;        ///< of the clip and its model, with the latents and frames
    std::uint64_t shown_bytes = 0;  ///< of frames in Vulkan's images or buffers, on the device that shows them
};

struct SourceStats {
    std::size_t depth = 0;           ///< frames decoded or being decoded, not taken yet
    std::size_t held = 0;            ///< frames taken and not released
    StepTimes times;                 ///< of the decoder's steps
    bool finished = false;           ///< decoded to its end; never with `loop`
    vae::ClipLatencies latencies{};  ///< until frames were taken
    vae::ClipFigures queue{};        ///< at a runner that is shared
};

/// For a watchdog: whether the work advances.
struct SourceHealth {
    std::vector<graph::LaneState> lanes;  ///< of the decoder and its copies; graph::describe() puts them in sentences
    /// For how long, as seen by the calls of health(), no lane has advanced although one has work; 0 while lanes
    /// advance or none has work.
    Nanoseconds unmoved{};
};

/// Frames come out in order and none is dropped: a slow reader makes the decoder wait. After an Error the frames before
/// it can still be taken; then every take() returns the Error, until restart(). Thread-safe.
///
///   auto frame = source->take(timeout);  ->  a submission that waits for frame->ready, reads frame->image, and signals
///   a semaphore of the application's  ->  source->release(*frame, {semaphore, nullptr, value})
class FrameSource {
  public:
    FrameSource() = default;
    FrameSource(const FrameSource&) = delete;
    FrameSource& operator=(const FrameSource&) = delete;
    /// Waits for running steps and for the points of released frames. All frames must have been released.
    virtual ~FrameSource() = default;

    /// The next frame, its contents complete, held until release(); nothing if `timeout` passes without one, or at the
    /// end. An Error of the latents, the decoder or a driver is returned once all frames before it are taken; Cancelled
    /// after cancel().
    virtual Result<std::optional<interop::FrameRecord>> take(Nanoseconds timeout) = 0;
    Result<std::optional<interop::FrameRecord>> try_take() { return take({}); }
    /// The same without waiting for the device, and also for a frame that is still being decoded: work that reads it
    /// can be submitted at once, and waits on the device. If there is no frame, this waits on the host until the step
    /// of the latents that were pushed last is enqueued.
    virtual Result<std::optional<interop::FrameRecord>> try_take_ahead() = 0;
    /// The slot is written again once `done` is reached. Errors: those of interop::FrameRing::release.
    virtual Result<void> release(const interop::FrameRecord& record, const interop::TimelinePoint& done = {}) = 0;

    /// Discards the frames and latents that are not taken yet and starts at a clip's first frame, with a new
    /// generation. Where a generator decides what a clip is, only complete frames are discarded. Readers keep the
    /// frames that they hold.
    virtual void restart() = 0;
    /// Ends the decoding, and waits of take() and of who pushes latents within 50 ms: they return Cancelled until
    /// restart().
    virtual void cancel() = 0;
    /// Cancels for good, and waits up to `timeout` for running steps and for the points of released frames. True: the
    /// destructor has nothing left to wait for. Not to be called while latents are pushed.
    virtual bool close(Nanoseconds timeout) = 0;
    virtual void set_loop(bool loop) = 0;  ///< of a clip
    /// Decoded to the end and all frames taken.
    virtual bool finished() const = 0;
    /// Whether frames are a small decoder's, until a large one takes over (previewed_source.hpp).
    virtual bool previews() const { return false; }
    virtual SourceStats stats() const = 0;
    virtual SourceHealth health() const = 0;
    virtual const SourceFacts& facts() const = 0;
    /// When the accelerator finished the step that made `record`. Empty before that, and for steps too long ago to be
    /// known.
    virtual std::optional<Nanoseconds> decoded_at(const interop::FrameRecord& record) const = 0;
    /// Whether the step that made `record`, which is held, made only finite values; empty while it runs.
    virtual std::optional<bool> is_finite(const interop::FrameRecord& record) const = 0;
    /// Hands the spans of all completed work to the recorder, also while nothing new is decoded.
    virtual void collect() = 0;
};

}  // namespace kinetograph::stream
