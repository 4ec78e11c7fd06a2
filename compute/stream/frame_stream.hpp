// FrameStream: decodes a clip while the application runs: latents go in, frames come out in memory that it chooses.
#pragma once

#include <kinetograph/compute/stream/latent_frame.hpp>
#include <kinetograph/compute/stream/step_clock.hpp>
#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/engine/graph/lane_state.hpp>
#include <kinetograph/engine/interop/frame_record.hpp>
#ifndef KINETOGRAPH_WITHOUT_VULKAN
#include <kinetograph/compute/stream/ring_decoder.hpp>
#endif

namespace kinetograph::interop {
class Bridge;
}

namespace kinetograph::stream {

struct FrameStreamOptions {
    /// Images of the bridge's Vulkan device, buffers that the accelerator addresses too, or the host's memory.
    interop::FrameStorage storage = interop::FrameStorage::Image;
    vae::FrameFormat format = vae::FrameFormat::Rgba8;  ///< images are Rgba8
    std::uint32_t slots = 8;  ///< for frames that are ready or held by readers; more than a step makes
    bool loop = false;        ///< start over at the end, in the same generation
    /// Latent frames that a clip's steps take after the first: more are faster, but need more memory and come later.
    std::int64_t latent_frames = 1;
    double fps = 24.0;  ///< of pushed latents, for presentation times; a clip has its own
    graph::Lane copy_lane = graph::Lane::AsyncCompute;  ///< a Vulkan lane: its queue copies pixels to images
    profile::Recorder* recorder = nullptr;              ///< of the copies; outlives the stream
    profile::Recorder* passes = nullptr;                ///< of the decoder's passes; outlives the stream
    CallLimits limits{};                                ///< of create()
};

/// What does not change while the stream runs.
struct FrameStreamFacts {
    std::int64_t width = 0, height = 0;  ///< of frames, pixels
    std::int64_t frames = 0;             ///< of video; 0 for pushed latents
    std::int64_t frames_of_a_step = 0;   ///< at most
    double fps = 24.0;
    std::size_t slots = 0;
    std::string route;              ///< how frames reach the device that shows them, in a sentence
    vae::StackMemory memory;        ///< of the clip and its model, with the stream's latents and frames
    std::uint64_t shown_bytes = 0;  ///< of frames in Vulkan's images or buffers, on the device that shows them
};

struct FrameStreamStats {
    std::size_t depth = 0;  ///< frames decoded or being decoded, not taken yet
    std::size_t held = 0;   ///< frames taken and not released
    StepTimes times;        ///< of the decoder's steps
    bool finished = false;  ///< the clip is decoded to its end; never with `loop` or for pushed latents
};

/// For a watchdog: whether the stream's work advances.
struct StreamHealth {
    std::vector<graph::LaneState> lanes;  ///< of the decoder and its copies; graph::describe() puts them in sentences
    /// For how long, as seen by the calls of health(), no lane has advanced although one has work; 0 while lanes
    /// advance or none has work.
    Nanoseconds unmoved{};
};

/// Frames come out in order and none is dropped: a slow reader makes the decoder wait. After an Error the frames before
/// it can still be taken; then every take() returns the Error, until restart(). Thread-safe, except that latents are
/// pushed by one thread.
///
///   auto frame = stream->take(timeout);  ->  a submission that waits for frame->ready, reads frame->image, and signals
///   a semaphore of the application's  ->  stream->release(*frame, {semaphore, nullptr, value})
class FrameStream {
  public:
    /// Copies the clip's latents to the accelerator and starts a thread that decodes ahead, up to the number of slots.
    /// On an adopted device that thread submits to the copy lane's queue, so the application supplies that queue's lock
    /// (vulkan::AdoptedQueue::mutex) or a queue that it does not use itself. `bridge` connects the model's
    /// accelerator and the Vulkan device. Errors: those of vae::Model::check_takes and RingDecoder::create.
    static Result<std::unique_ptr<FrameStream>> create(std::shared_ptr<interop::Bridge> bridge,
                                                       const std::shared_ptr<vae::Model>& model,
                                                       const vae::Latents& clip,
                                                       const FrameStreamOptions& options = {});
    /// The same for latents of that size, which the application pushes as they are made. Errors: those of
    /// RingDecoder::create.
    static Result<std::unique_ptr<FrameStream>> create(std::shared_ptr<interop::Bridge> bridge,
                                                       const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                                       const FrameStreamOptions& options = {});
    /// Waits for running steps and for the points of released frames. All frames must have been released.
    virtual ~FrameStream() = default;

    /// Takes the next latent frame and returns. A thread of the stream enqueues its decoding, or, if frames are images,
    /// which are copied on a Vulkan queue, this call does. True: all steps but the newest two have read their
    /// latents. False: nothing was done, because for the whole of `timeout` readers held too many frames, or steps
    /// from before a restart() were running. If the queue that draws also copies the images, as on a device with one
    /// queue, this waits for the step. Errors: those of RingDecoder::step, which a later call returns if the thread has
    /// met them; Cancelled; InvalidArgument (too few bytes, the stream of a clip), which leaves the clip as it was.
    virtual Result<bool> push(const LatentFrame& latent, Nanoseconds timeout) = 0;
    /// The same for [z_dim, h, w] in the host's memory, which is copied. Errors also: InvalidArgument (element count,
    /// values that are not finite), which leaves the clip as it was.
    virtual Result<bool> push(std::span<const float> latent, Nanoseconds timeout) = 0;

    /// The next frame, its contents complete, held until release(); nothing if `timeout` passes without one, or at the
    /// clip's end. An Error of the decoder or of a driver is returned once all frames before it are taken; Cancelled
    /// after cancel().
    virtual Result<std::optional<interop::FrameRecord>> take(Nanoseconds timeout) = 0;
    Result<std::optional<interop::FrameRecord>> try_take() { return take({}); }
    /// The same without waiting for the device, and also for a frame that is still being decoded: work that reads it
    /// can be submitted at once, and waits on the device. If there is no frame, this waits on the host until the step
    /// of the latents that were pushed last is enqueued.
    virtual Result<std::optional<interop::FrameRecord>> try_take_ahead() = 0;
    /// The slot is written again once `done` is reached. Errors: those of interop::FrameRing::release.
    virtual Result<void> release(const interop::FrameRecord& record, const interop::TimelinePoint& done = {}) = 0;

    /// Discards the frames not taken yet and starts at a clip's first frame, with a new generation. Readers keep the
    /// frames that they hold.
    virtual void restart() = 0;
    /// Ends the decoding, and waits in take() and push() within 50 ms: both return Cancelled until restart().
    virtual void cancel() = 0;
    /// Cancels for good, and waits up to `timeout` for running steps and for the points of released frames. True: the
    /// destructor has nothing left to wait for. Not to be called during a push().
    virtual bool close(Nanoseconds timeout) = 0;
    virtual void set_loop(bool loop) = 0;
    /// Decoded to the clip's end and all frames taken.
    virtual bool finished() const = 0;
    /// Whether frames are a small decoder's, until a large one takes over (previewed_stream.hpp).
    virtual bool previews() const { return false; }
    virtual FrameStreamStats stats() const = 0;
    virtual StreamHealth health() const = 0;
    virtual const FrameStreamFacts& facts() const = 0;
    /// When the accelerator finished the step that made `record`. Empty before that, and for steps too long ago to be
    /// known.
    virtual std::optional<Nanoseconds> decoded_at(const interop::FrameRecord& record) const = 0;
    /// Whether the step that made `record`, which is held, made only finite values; empty while it runs.
    virtual std::optional<bool> is_finite(const interop::FrameRecord& record) const = 0;
    /// Hands the spans of all completed work to the recorders, also while nothing new is decoded.
    virtual void collect() = 0;
};

}  // namespace kinetograph::stream
