// RingDecoder: decodes latents in memory of the accelerator to frames of a ring, one step a call, without waiting on
// the host.
#pragma once

#include <kinetograph/compute/stream/latent_frame.hpp>
#include <kinetograph/compute/stream/step_clock.hpp>
#include <kinetograph/compute/vae/clip_runner.hpp>
#include <kinetograph/compute/vae/host_copies.hpp>
#include <kinetograph/engine/interop/frame_ring.hpp>

#include <functional>

namespace kinetograph::stream {

/// When pixels are copied to images.
enum class Copies : std::uint8_t {
    Ahead,  ///< submitted with the step: the copy lane's queue waits for the accelerator
    /// Submitted once the step is done, which step() waits for. For queues that also draw: work that is submitted to
    /// them later does not wait for the decoder.
    OnceDecoded,
};

struct RingDecoderOptions {
    /// Images of the bridge's Vulkan device, buffers that the accelerator addresses too, or the host's memory. Without
    /// a Vulkan device images become buffers.
    interop::FrameRingDesc::Storage storage = interop::FrameRingDesc::Storage::Image;
    vae::FrameFormat format = vae::FrameFormat::Rgba8;  ///< images are Rgba8
    std::uint32_t slots = 8;  ///< frames: those that a step writes, and those that are ready or held by readers
    std::int64_t max_latent_frames = 1;                 ///< that one step may take
    graph::Lane copy_lane = graph::Lane::AsyncCompute;  ///< whose queue brings pixels to images; a Vulkan lane
    Copies copies = Copies::Ahead;
    double fps = 24.0;                      ///< of the clip, for the frames' presentation times
    profile::Recorder* recorder = nullptr;  ///< of the copies and of the host's work; outlives the decoder
    profile::Recorder* passes = nullptr;    ///< of the clip's passes; outlives the decoder
    CallLimits limits{};                    ///< of create()
    /// Asked every 20 ms while step() waits for the step (Copies::OnceDecoded): true ends that with Cancelled.
    std::function<bool()> gives_up{};
};

/// What became of a call to RingDecoder::step().
enum class Stepped : std::uint8_t {
    Enqueued,
    NoSlots,   ///< readers hold too many frames, or two steps still run: nothing has happened yet
    Outdated,  ///< the ring has been restarted since begin_clip(): nothing has happened
};

/// One thread at a time decodes; frames are taken and released on any. A step is one frame graph: a clip's passes,
/// whose last kernel writes pixels to memory that both APIs see. If frames are to lie elsewhere, copies follow in a
/// graph of their own. For a ring of images a Vulkan queue copies, because images have a layout of the driver's own,
/// which no kernel can write; for a ring of host memory with a GPU, vae::HostCopies does. A step's graph is thus the
/// accelerator's alone, and its arena as large as vae::StackMemory states.
///
///   decoder->step({latents, bytes, ready})  ->  ring().try_take()  ->  a submission that waits for frame.ready, reads
///   frame.image, and signals a semaphore of the application's  ->  ring().release(frame, {semaphore, nullptr, value})
class RingDecoder {
  public:
    /// `bridge` connects the model's accelerator with the Vulkan device, and outlives the result. Errors:
    /// InvalidArgument (no more slots than a step makes frames, images of floats), those of vae::ClipRunner::create,
    /// OutOfMemory (of the frames too, on the device that shows them).
    static Result<std::unique_ptr<RingDecoder>> create(interop::Bridge& bridge, std::shared_ptr<vae::Model> model,
                                                       vae::LatentSize size, const RingDecoderOptions& options = {});
    RingDecoder(const RingDecoder&) = delete;
    RingDecoder& operator=(const RingDecoder&) = delete;
    /// Waits for the steps that were enqueued. Readers must have released their frames.
    ~RingDecoder();

    /// Enqueues the decoding of latent frames and hands their frames (1 of a clip's first, then 4 of each) to the ring
    /// at once: the reader of one waits for it on the device. Waits up to `timeout` for slots and for the step before
    /// the last one, and with Copies::OnceDecoded for the step itself. In the steady state nothing is allocated.
    /// Errors: those of vae::ClipRunner::execute, among them the first error of an earlier step. The slots then go back
    /// to the ring, frames of earlier steps stay in it, and decoding goes on after begin_clip().
    Result<Stepped> step(const LatentFrame& latent, Nanoseconds timeout = {});
    /// What step() does first: checks the latents, and waits. Enqueued: start() enqueues the step; nothing else is
    /// called between, except by readers.
    Result<Stepped> prepare(const LatentFrame& latent, Nanoseconds timeout);
    Result<void> start(const LatentFrame& latent);
    /// Whether steps also submit to a queue of the Vulkan device.
    bool submits_to_display() const { return copying_ != nullptr; }
    /// The next step is a clip's first; its frames are of the ring's generation `generation` (0 at first). Waits for
    /// the steps that were enqueued.
    Result<void> begin_clip(std::uint64_t generation);
    /// The first error of the steps so far that is known, without waiting: frames that are ready by now may be wrong if
    /// there is one.
    Result<void> status() const;

    /// The clip's lane and the copies', for watchdogs. Any thread.
    std::vector<graph::LaneState> lane_states() const;
    /// Bytes of the ring, and of the buffers that its images are copied from, on the Vulkan device; 0 without one.
    std::uint64_t shown_bytes() const;
    /// What create() allocates for the accelerator beside the clip, as StackMemory::io and stream.
    static vae::StackMemory memory_of_frames(const interop::Bridge& bridge, const vae::Model& model,
                                             vae::LatentSize size, const RingDecoderOptions& options);

    interop::FrameRing& ring() { return *ring_; }
    const interop::FrameRing& ring() const { return *ring_; }
    vae::ClipRunner& runner() { return *runner_; }
    const vae::Clip& clip() const { return runner_->clip(); }
    StepTimes times() const { return clock_.times(); }
    /// When the accelerator had completed the step that made `record`; nothing before that.
    std::optional<Nanoseconds> decoded_at(const interop::FrameRecord& record) const {
        return clock_.end_of(record.label.step);
    }
    /// Whether the step that made `record`, which is held, made only finite values; nothing until the step is done.
    std::optional<bool> is_finite(const interop::FrameRecord& record) const;
    /// Waits for the steps that were enqueued. Errors: the first one of those steps; DeviceLost, with the states of the
    /// lanes, once none of them has moved for `patience`.
    Result<void> wait_for_steps(Nanoseconds patience = graph::kWorkPatience);
    /// Called before the destructor if a reader may still read: keeps the frames' memory until the Vulkan device is
    /// destroyed; without one, forever.
    void leak_frames();
    /// When the frames of the newest step are ready; nothing before the first.
    const interop::TimelinePoint& newest() const { return last_; }
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
    /// The copies of a given number of frames to images, declared once.
    struct CopyGraph {
        graph::FrameGraph frame;
        std::vector<graph::Buffer> pixels;
        std::vector<graph::Image> images;
    };
    RingDecoder(interop::Bridge& bridge, const RingDecoderOptions& options)
        : bridge_(bridge), options_(options), clock_(bridge.accelerator()) {}
    Result<void> make_ring(vae::StepFrames frames);
    Result<void> make_copies(vae::StepFrames frames);
    Result<void> make_image_copies();
    Result<void> check_shown() const;
    Result<void> make_flags();
    Result<void> make_runner(std::shared_ptr<vae::Model> model, vae::LatentSize size);
    graph::Physical flag(std::size_t index) const;
    std::size_t unused_flag() const;
    graph::Physical place_of(std::size_t frame) const;
    Result<void> declare(StepGraph& step, const LatentFrame& latent);
    Result<StepGraph*> bound_graph(const LatentFrame& latent);
    void declare(CopyGraph& copies);
    Result<void> wait_until_decoded(const vae::EnqueuedStep& step);
    Result<void> copy_to_images();
    Result<void> copy_to_host();
    Stepped acquire(std::int64_t latent_frames, Nanoseconds timeout);
    void abandon();
    Result<vae::EnqueuedStep> enqueue(const LatentFrame& latent);
    Result<void> publish(const vae::EnqueuedStep& step);
    graph::Point ready_point() const;
    graph::Point reusable(std::size_t frame) const { return bridge_.import_point(slots_[frame].reusable); }

    interop::Bridge& bridge_;
    RingDecoderOptions options_;
    StepClock clock_;
    std::unique_ptr<interop::FrameRing> ring_;
    std::unique_ptr<vulkan::VulkanLane> copying_;                 ///< null in a ring of buffers
    std::vector<std::unique_ptr<interop::SharedBuffer>> pixels_;  ///< of a step, before they are copied to images
    std::unique_ptr<graph::Executor> copier_;                     ///< of those copies; null in a ring of buffers
    std::unique_ptr<vae::HostCopies> host_copies_;                ///< to a ring of the host's memory; null on the CPU
    std::size_t turn_ = 0;                                        ///< of the next step, in host_copies_
    graph::Point copied_;                                         ///< when the newest copies of either kind are done
    std::unique_ptr<accel::Memory> flags_;                        ///< pinned; one for a step, 1: not finite
    std::vector<std::size_t> flag_of_slot_;                       ///< [slot] -> flag of the step that made its frame
    std::size_t newest_flag_ = 0;                                 ///< flag of the newest step
    std::map<StepVariant, StepGraph> steps_;
    StepVariant newest_;                           ///< of the newest step
    std::map<std::size_t, CopyGraph> copies_;      ///< [frames of a step]
    std::unique_ptr<vae::ClipRunner> runner_;      ///< its destructor waits for steps before what they use is destroyed
    std::vector<interop::FrameRing::Slot> slots_;  ///< acquired for the next step
    interop::TimelinePoint last_, before_last_;    ///< when the frames of the newest two steps are ready
    bool first_ = true;                            ///< the next step is a clip's first
    std::uint64_t step_number_ = 0;                ///< of the newest, as the clock counts
    std::uint64_t generation_ = 0;
    std::uint64_t frame_bytes_ = 0, frames_of_a_step_ = 0;  ///< the most of one step
};

}  // namespace kinetograph::stream
