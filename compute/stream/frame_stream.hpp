// FrameStream: a clip that is decoded beside the application, its frames in memory of the application's own device.
#pragma once

#include <kinetograph/compute/vae/decode_queue.hpp>
#include <kinetograph/engine/interop/frame_ring.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace kinetograph::stream {

struct FrameStreamOptions {
    /// Images of the bridge's Vulkan device, or buffers that the accelerator addresses too. Headless: buffers.
    interop::FrameRingDesc::Storage storage = interop::FrameRingDesc::Storage::Image;
    std::uint32_t slots = 4;                            ///< frames ready and frames held by readers, together
    std::size_t queue_capacity = 8;                     ///< decoded frames that wait for a slot, at least 4
    bool loop = false;                                  ///< start over at the end, in the same generation
    graph::Lane copy_lane = graph::Lane::AsyncCompute;  ///< whose queue brings pixels to images; a Vulkan lane
    profile::Recorder* recorder = nullptr;              ///< of the passes; outlives the stream
};

/// Decodes ahead on threads of its own, up to the number of slots, and never drops a frame: a reader that is slow makes
/// the decoder wait. On an adopted device it submits to the copy lane's queue from its thread, so the application lends
/// the lock of that queue (vulkan::AdoptedQueue::mutex) or a queue of its own.
///
///   const auto frame = stream.try_take();  ->  a submission that waits for frame->ready, reads frame->image, and
///   signals a semaphore of the application's  ->  stream.release(*frame, {semaphore, nullptr, value})
class FrameStream {
  public:
    /// Starts decoding at once. `bridge` connects the decoder's accelerator and the Vulkan device, and outlives the
    /// stream, as does the decoder's device.
    /// Errors: those of vae::DecodeQueue::create, OutOfMemory (slots), InvalidArgument (images without Vulkan).
    static Result<std::unique_ptr<FrameStream>> create(interop::Bridge& bridge, std::unique_ptr<vae::Decoder> decoder,
                                                       vae::Latents clip, const FrameStreamOptions& options = {});
    FrameStream(const FrameStream&) = delete;
    FrameStream& operator=(const FrameStream&) = delete;
    /// Waits for the step that is being decoded and for the work on frames. Readers have given back what they took.
    ~FrameStream();

    /// The next frame, held until release(); nothing if none is ready. Never blocks on decoding.
    /// An Error of the decoder or of a driver is returned once all frames before it are taken.
    Result<std::optional<interop::FrameRecord>> try_take();
    /// The slot is written again once `done` is reached. Errors: those of interop::FrameRing::release.
    Result<void> release(const interop::FrameRecord& record, const interop::TimelinePoint& done) {
        return ring_->release(record, done);
    }
    /// Throws away what was not taken and starts again at the clip's first frame, with a new generation.
    void restart();
    /// Decoded to the clip's end and all frames taken; never with `loop`.
    bool finished() const;

    const interop::FrameRing& ring() const { return *ring_; }
    const vae::DecodeQueue& queue() const { return *queue_; }

  private:
    FrameStream(interop::Bridge& bridge, const FrameStreamOptions& options) : bridge_(bridge), options_(options) {}
    Result<void> make_lanes();
    Result<void> make_slots(const vae::Latents& clip);
    void run();
    bool wait_for_restart(std::uint64_t generation);
    Result<void> deliver(const vae::Frame& frame);
    std::optional<interop::FrameRing::Slot> acquire(std::uint64_t generation);
    graph::LaneBackend& declare(const interop::FrameRing::Slot& slot);
    graph::Buffer declare_staging(const interop::FrameRing::Slot& slot, graph::Buffer target);

    interop::Bridge& bridge_;
    FrameStreamOptions options_;
    std::unique_ptr<accel::AcceleratorLane> accelerator_;
    std::unique_ptr<vulkan::VulkanLane> copying_;         // null in a ring of buffers
    std::unique_ptr<graph::Executor> executor_;           // before the lanes
    std::vector<std::unique_ptr<accel::Memory>> pinned_;  // a slot's pixels on their way to the device
    std::vector<std::uint64_t> staged_;                   // the accelerator lane's value when they are there
    std::unique_ptr<interop::FrameRing> ring_;
    std::unique_ptr<vae::DecodeQueue> queue_;
    graph::FrameGraph frame_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<std::uint64_t> generation_{0};  // of the queue and of the ring
    bool at_end_ = false;                       // the queue has no more
    std::optional<Error> error_;
    std::atomic<bool> stop_{false};
    std::thread thread_;  // last: starts when everything else exists
};

}  // namespace kinetograph::stream
