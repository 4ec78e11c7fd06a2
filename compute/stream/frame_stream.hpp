// FrameStream: a clip that is decoded beside the application, its frames in memory of the application's own device.
#pragma once

#include <kinetograph/compute/stream/ring_decoder.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace kinetograph::stream {

struct FrameStreamOptions {
    /// Images of the bridge's Vulkan device, or buffers that the accelerator addresses too. Headless: buffers.
    interop::FrameRingDesc::Storage storage = interop::FrameRingDesc::Storage::Image;
    std::uint32_t slots = 8;  ///< frames ready and frames held by readers; more than a step makes
    bool loop = false;        ///< start over at the end, in the same generation
    graph::Lane copy_lane = graph::Lane::AsyncCompute;  ///< whose queue brings pixels to images; a Vulkan lane
    profile::Recorder* recorder = nullptr;              ///< of the copies; outlives the stream
};

struct FrameStreamStats {
    std::size_t depth = 0;     ///< frames decoded or being decoded that were not taken
    std::size_t capacity = 0;  ///< slots
    StepTimes times;           ///< of the decoder's steps
    bool finished = false;     ///< the clip is decoded to its end; never with `loop`
};

/// Decodes ahead on a thread of its own, up to the number of slots, and never drops a frame: a reader that is slow
/// makes the decoder wait. An Error of the decoder ends the clip after the frames before it: they can be taken, then
/// try_take() returns the Error again and again, until restart() begins anew. On an adopted device it submits to the
/// copy lane's queue from its thread, so the application lends the lock of that queue (vulkan::AdoptedQueue::mutex) or
/// a queue of its own.
///
///   const auto frame = stream.try_take();  ->  a submission that waits for frame->ready, reads frame->image, and
///   signals a semaphore of the application's  ->  stream.release(*frame, {semaphore, nullptr, value})
class FrameStream {
  public:
    /// Copies the clip's latents to the accelerator and starts decoding at once. `bridge` connects the decoder's
    /// accelerator and the Vulkan device, and outlives the stream, as does the decoder's device.
    /// Errors: those of vae::check_fit and RingDecoder::create.
    static Result<std::unique_ptr<FrameStream>> create(interop::Bridge& bridge, std::unique_ptr<vae::Decoder> decoder,
                                                       const vae::Latents& clip,
                                                       const FrameStreamOptions& options = {});
    FrameStream(const FrameStream&) = delete;
    FrameStream& operator=(const FrameStream&) = delete;
    /// Waits for the steps that are being decoded. Readers have given back what they took.
    ~FrameStream();

    /// The next frame whose contents are complete, held until release(); nothing if there is none. Never blocks.
    /// An Error of the decoder or of a driver is returned once all frames before it are taken.
    Result<std::optional<interop::FrameRecord>> try_take();
    /// The same, but a frame that is still being decoded will do: work that reads it can be submitted ahead, and waits
    /// on the device.
    Result<std::optional<interop::FrameRecord>> try_take_ahead();
    /// The slot is written again once `done` is reached. Errors: those of interop::FrameRing::release.
    Result<void> release(const interop::FrameRecord& record, const interop::TimelinePoint& done) {
        return decoder_->ring().release(record, done);
    }
    /// Throws away what was not taken and starts again at the clip's first frame, with a new generation.
    void restart();
    void set_loop(bool loop);
    /// Decoded to the clip's end and all frames taken; never with `loop`.
    bool finished() const;
    FrameStreamStats stats() const;
    /// When the accelerator was done with the step that made `record`; nothing while it is not, and for a record of
    /// long ago.
    std::optional<Nanoseconds> decoded_at(const interop::FrameRecord& record) const {
        return decoder_->decoded_at(record);
    }
    /// Brings the spans of everything that has completed to the recorders, also while nothing new is decoded.
    void collect() { decoder_->collect(); }

    const interop::FrameRing& ring() const { return decoder_->ring(); }

  private:
    FrameStream(std::int64_t frames, bool loop) : frames_(frames), loop_(loop) {}
    Result<void> upload(accel::Device& device, const vae::Latents& clip);
    LatentFrame latent(std::int64_t index) const;
    void run();
    bool follow_restart();
    Result<bool> decode_next();
    void end(std::optional<Error> error);

    std::unique_ptr<accel::Memory> latents_;  ///< [frames, z_dim, h, w] float32
    std::unique_ptr<RingDecoder> decoder_;
    const std::int64_t frames_;             ///< of latents
    std::uint64_t latent_bytes_ = 0;        ///< of one
    std::int64_t first_bad_ = -1;           ///< the first latent frame with a value that is not finite; -1: none
    std::optional<Error> bad_;              ///< which value
    std::int64_t next_ = 0;                 ///< latent frame; the thread's
    std::uint64_t decoded_generation_ = 0;  ///< the thread's

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t generation_ = 0;  ///< of the ring
    bool loop_;
    bool at_end_ = false;  ///< no more steps, until something changes
    std::optional<Error> error_;
    std::atomic<bool> stop_{false};
    std::thread thread_;  ///< last: starts when everything else exists
};

}  // namespace kinetograph::stream
