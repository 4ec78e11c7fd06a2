// FrameStream: a clip that is decoded beside the application: latents go in, frames come out where they are wanted.
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
    vae::FrameFormat format = vae::FrameFormat::Rgba8;  ///< of images Rgba8
    std::uint32_t slots = 8;  ///< frames ready and frames held by readers; more than a step makes
    bool loop = false;        ///< start over at the end, in the same generation
    /// Of a clip, that a step takes after the clip's first: more are faster, need more memory and come later.
    std::int64_t latent_frames = 1;
    double fps = 24.0;  ///< of latents that are pushed, for presentation times; a clip has its own
    graph::Lane copy_lane = graph::Lane::AsyncCompute;  ///< whose queue brings pixels to images; a Vulkan lane
    profile::Recorder* recorder = nullptr;              ///< of the copies; outlives the stream
    profile::Recorder* passes = nullptr;                ///< of the decoder's passes; outlives the stream
    CallLimits limits{};                                ///< of create()
};

/// What does not change while the stream runs.
struct FrameStreamFacts {
    std::int64_t width = 0, height = 0;  ///< of frames, pixels
    std::int64_t frames = 0;             ///< of video; 0: of latents that are pushed
    std::int64_t frames_of_a_step = 0;   ///< at most
    double fps = 24.0;
    std::size_t slots = 0;
    std::string route;              ///< how frames come to the device that shows them, in a sentence
    vae::StackMemory memory;        ///< of the clip and its model, with the stream's latents and frames
    std::uint64_t shown_bytes = 0;  ///< of frames that are Vulkan's, images or buffers, on the device that shows them
};

struct FrameStreamStats {
    std::size_t depth = 0;  ///< frames decoded or being decoded that were not taken
    std::size_t held = 0;   ///< frames taken and not released
    StepTimes times;        ///< of the decoder's steps
    bool finished = false;  ///< the clip is decoded to its end; never with `loop`, nor of latents that are pushed
};

/// For a watchdog: whether the stream's work moves.
struct StreamHealth {
    std::vector<graph::LaneState> lanes;  ///< the decoder's and its copies'; graph::describe() puts them in sentences
    /// For how long, as the calls of health() have seen it, no lane has come further though one has work; 0 while they
    /// move or have none.
    Nanoseconds unmoved{};
};

/// Frames come out in order, and none is dropped: a reader that is slow makes the decoder wait. An Error ends the clip
/// after the frames before it: they can be taken, then take() returns the Error again and again, until restart() begins
/// anew. Thread-safe, but latents are pushed by one thread.
///
///   auto frame = stream->take(timeout);  ->  a submission that waits for frame->ready, reads frame->image, and signals
///   a semaphore of the application's  ->  stream->release(*frame, {semaphore, nullptr, value})
class FrameStream {
  public:
    /// Copies the clip's latents to the accelerator and decodes ahead from now on, on a thread of its own, up to the
    /// number of slots. On an adopted device that thread submits to the copy lane's queue, so the application lends the
    /// lock of that queue (vulkan::AdoptedQueue::mutex) or a queue of its own. `bridge` connects the model's
    /// accelerator and the Vulkan device. Errors: those of vae::Model::check_takes and RingDecoder::create.
    static Result<std::unique_ptr<FrameStream>> create(std::shared_ptr<interop::Bridge> bridge,
                                                       std::shared_ptr<vae::Model> model, const vae::Latents& clip,
                                                       const FrameStreamOptions& options = {});
    /// The same for latents of that size, which the application pushes as they are made. Errors: those of
    /// RingDecoder::create.
    static Result<std::unique_ptr<FrameStream>> create(std::shared_ptr<interop::Bridge> bridge,
                                                       std::shared_ptr<vae::Model> model, vae::LatentSize size,
                                                       const FrameStreamOptions& options = {});
    /// Waits for the steps that are being decoded and for the points of frames that came back. No frame is held.
    virtual ~FrameStream() = default;

    /// Enqueues the decoding of the next latent frame and returns. False: readers held too many frames for all of
    /// `timeout`, or steps from before a restart() ran all of it, and nothing has happened. Errors: those of
    /// RingDecoder::step; Cancelled; InvalidArgument for the stream of a clip. True: all steps but the newest two have
    /// read their latents. Waits for the step if its images are copied by the queue that draws, as on a device of one
    /// queue.
    virtual Result<bool> push(const LatentFrame& latent, Nanoseconds timeout) = 0;
    /// The same for [z_dim, h, w] in the host's memory, which is copied. Errors also: InvalidArgument (element count,
    /// values that are not finite), which leaves the clip as it was.
    virtual Result<bool> push(std::span<const float> latent, Nanoseconds timeout) = 0;

    /// The next frame, its contents complete, held until release(); nothing if `timeout` passes without one, or at the
    /// clip's end. An Error of the decoder or of a driver is returned once all frames before it are taken; Cancelled
    /// after cancel().
    virtual Result<std::optional<interop::FrameRecord>> take(Nanoseconds timeout) = 0;
    Result<std::optional<interop::FrameRecord>> try_take() { return take({}); }
    /// The same without waiting, but a frame that is still being decoded will do: work that reads it can be submitted
    /// ahead, and waits on the device.
    virtual Result<std::optional<interop::FrameRecord>> try_take_ahead() = 0;
    /// The slot is written again once `done` is reached. Errors: those of interop::FrameRing::release.
    virtual Result<void> release(const interop::FrameRecord& record, const interop::TimelinePoint& done = {}) = 0;

    /// Throws away what was not taken and starts again at a clip's first frame, with a new generation; frames that
    /// readers hold stay theirs.
    virtual void restart() = 0;
    /// Ends the waiting in take() and push() within 50 ms, and the decoding: both return Cancelled until restart().
    virtual void cancel() = 0;
    /// Cancels for good, and waits up to `timeout` for steps that run and for the points of frames that came back.
    /// True: nothing is left that the destructor would wait for. Not while a push() is on its way.
    virtual bool close(Nanoseconds timeout) = 0;
    virtual void set_loop(bool loop) = 0;
    /// Decoded to the clip's end and all frames taken.
    virtual bool finished() const = 0;
    virtual FrameStreamStats stats() const = 0;
    virtual StreamHealth health() const = 0;
    virtual const FrameStreamFacts& facts() const = 0;
    /// When the accelerator was done with the step that made `record`; nothing while it is not, and for a record of
    /// long ago.
    virtual std::optional<Nanoseconds> decoded_at(const interop::FrameRecord& record) const = 0;
    /// Whether the step that made `record`, which is held, made finite values only; nothing while it runs.
    virtual std::optional<bool> is_finite(const interop::FrameRecord& record) const = 0;
    /// Brings the spans of everything that has completed to the recorders, also while nothing new is decoded.
    virtual void collect() = 0;
};

}  // namespace kinetograph::stream
