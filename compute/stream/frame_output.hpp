// FrameOutput: where the frames of steps go: a ring of slots, and the copies to slots that no kernel can write.
#pragma once

#include <kinetograph/compute/vae/host_copies.hpp>
#include <kinetograph/compute/vae/stack_memory.hpp>
#include <kinetograph/compute/vae/step_options.hpp>
#include <kinetograph/engine/interop/frame_ring.hpp>

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace kinetograph::stream {

/// A step's kernels write each frame to its place. In a ring of buffers that is the slot itself, in a ring of the
/// host's memory on the CPU too. For a ring of images a Vulkan queue copies the pixels from memory that both APIs see,
/// because images have a layout of the driver's own; for a ring of the host's memory beside a GPU vae::HostCopies does.
/// Copies are graphs of their own. One thread at a time makes frames; they are taken and released on any.
///
///   acquire() -> begin_step() -> the step, which writes place(i) and flag() -> copy() -> publish()
class FrameOutput {
  public:
    /// `frames` are those of a step at most. `bridge` connects the accelerator with the Vulkan device, and outlives the
    /// result. Errors: InvalidArgument (no more slots than a step makes frames, images of floats or without Vulkan),
    /// OutOfMemory (also on the device that shows the frames).
    static Result<std::unique_ptr<FrameOutput>> create(interop::Bridge& bridge, const vae::StepFrames& frames,
                                                       const vae::StepOptions& options);
    FrameOutput(const FrameOutput&) = delete;
    FrameOutput& operator=(const FrameOutput&) = delete;
    /// Waits for the copies. The lane of the steps must have ended before, and readers have released their frames.
    ~FrameOutput();

    /// What create() allocates for the accelerator, as StackMemory::io and stream.
    static vae::StackMemory memory(const interop::Bridge& bridge, const vae::StepFrames& frames,
                                   const vae::StepOptions& options);
    /// Bytes of the ring, and of the buffers that its images are copied from, on the Vulkan device; 0 without one.
    std::uint64_t shown_bytes() const { return shown_bytes_; }

    interop::FrameRing& ring() { return *ring_; }
    const interop::FrameRing& ring() const { return *ring_; }
    /// The Vulkan lane of the copies to images; null without such.
    vulkan::DisplayLane* copying() { return copying_.get(); }

    /// Holds slots for the next step, kept from call to call until there are enough. False if `timeout` passes first.
    bool acquire(std::size_t frames, Nanoseconds timeout);
    /// Whether a slot that is held was acquired before the ring's last restart.
    bool is_outdated(std::uint64_t generation) const;
    void abandon();  ///< gives the slots back
    /// Chooses and clears the flag of the next step.
    void begin_step();

    std::size_t frames() const { return slots_.size(); }  ///< of the next step
    /// Where the next step's kernels write a frame, and from when on.
    graph::Physical place(std::size_t frame) const;
    graph::Point free_at(std::size_t frame) const;
    graph::MemoryDomain domain() const { return domain_; }  ///< of the places
    /// 4 bytes that the step sets to 1 if it makes a value that is not finite.
    graph::Physical flag() const { return flag(newest_flag_); }
    /// Enqueues the copies of a step's frames, where there are any, which start once `written` is reached. Returns when
    /// the frames are ready. Errors: those of graph::Executor::execute.
    Result<graph::Point> copy(const graph::Point& written);
    /// Hands the frames to the readers. `label` is the first one's; the others follow in the clip at `fps`.
    void publish(interop::FrameLabel label, double fps, const interop::TimelinePoint& ready);
    /// Whether the step that made `record`, which is held, made only finite values; nothing until it is ready.
    std::optional<bool> is_finite(const interop::FrameRecord& record) const;

    /// The lanes of the copies. Any thread.
    void add_lane_states(std::vector<graph::LaneState>& states) const;
    /// The first error of the copies that is known, without waiting.
    Result<void> status() const;
    /// Waits up to `timeout` for the copies to the host's memory that were enqueued. Errors: those of the copies.
    Result<bool> wait_for_host_copies(Nanoseconds timeout);
    /// Waits for copies, and forgets their errors. Errors: those of vae::HostCopies::reset.
    Result<void> reset();
    void collect();     ///< records the spans of copies that are done
    void end_copies();  ///< waits for copies to the host's memory, or gives them up
    /// Keeps the frames' memory until the Vulkan device is destroyed; without one, forever.
    void leak_frames();

  private:
    /// The copies of a given number of frames to images, declared once.
    struct ImageCopies {
        graph::FrameGraph frame;
        std::vector<graph::Buffer> pixels;
        std::vector<graph::Image> images;
    };
    FrameOutput(interop::Bridge& bridge, interop::FrameRingDesc::Storage storage, graph::Lane copy_lane,
                std::uint64_t shown_bytes)
        : bridge_(bridge), storage_(storage), copy_lane_(copy_lane), shown_bytes_(shown_bytes) {}
    Result<void> check_shown(std::uint32_t slots) const;
    Result<void> make(const vae::StepFrames& frames, const vae::StepOptions& options);
    Result<void> make_image_copies(std::int64_t frames, profile::Recorder* recorder);
    void declare(ImageCopies& copies);
    Result<graph::Point> copy_to_images(const graph::Point& written);
    Result<graph::Point> copy_to_host(const graph::Point& written);
    graph::Physical flag(std::size_t index) const;
    graph::Point reusable(std::size_t frame) const { return bridge_.import_point(slots_[frame].reusable); }

    interop::Bridge& bridge_;
    const interop::FrameRingDesc::Storage storage_;
    const graph::Lane copy_lane_;
    const std::uint64_t shown_bytes_;
    graph::MemoryDomain domain_ = graph::MemoryDomain::Shared;
    std::unique_ptr<interop::FrameRing> ring_;
    std::unique_ptr<vulkan::DisplayLane> copying_;                ///< null unless slots are images
    std::vector<std::unique_ptr<interop::SharedBuffer>> pixels_;  ///< of a step, before they are copied to images
    std::map<std::size_t, ImageCopies> image_copies_;             ///< [frames of a step]
    std::unique_ptr<graph::Executor> copier_;                     ///< of the copies to images
    std::unique_ptr<vae::HostCopies> host_copies_;                ///< to a ring of the host's memory; null on the CPU
    std::size_t turn_ = 0;                                        ///< of the next step, in host_copies_
    graph::Point copied_;                                         ///< when the newest copies of either kind are done
    std::unique_ptr<accel::Memory> flags_;                        ///< pinned; one for a step, 1: not finite
    std::vector<std::size_t> flag_of_slot_;                       ///< [slot] -> flag of the step that made its frame
    std::size_t newest_flag_ = 0;                                 ///< flag of the newest step
    std::vector<interop::FrameRing::Slot> slots_;                 ///< held for the next step
};

}  // namespace kinetograph::stream
