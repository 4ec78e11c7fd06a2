// HostCopies: how a step's frames come from a GPU's memory to the host's while the next step computes.
//
//     accelerator     step 0 | step 1 | step 2 | step 3      writes its frames to device memory: 0, 1, 0, 1
//     copies                 | copy 0 | copy 1 | copy 2      to pinned memory of the host
//
// A kernel that writes its frames across the bus takes as long as the bus: the step after it would wait.
#pragma once

#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/graph/executor.hpp>

#include <array>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace kinetograph::vae {

/// Pinned memory for one part of a step's output, as many bytes of it as are copied.
struct HostPlace {
    graph::Physical memory;
    graph::Point free{};  ///< when it may be written
};

/// The copies are a graph of their own on a second stream of the device, Lane::Copies. Used by one thread at a
/// time, except that any thread may call state() and status().
class HostCopies {
  public:
    static constexpr std::size_t kTurns = 2;  ///< steps whose output lies on the device at a time

    /// Whether the device has memory that the host does not read. On any other device steps write where the host reads.
    static bool serve(const accel::Device& device) { return !device.info().is_host(); }
    /// Allocates the output of kTurns steps: `parts` of `part_bytes` each at most. `recorder`: of the copies; outlives
    /// the result. Errors: OutOfMemory, those of accel::AcceleratorLane::create.
    static Result<std::unique_ptr<HostCopies>> create(accel::Device& device, std::size_t parts,
                                                      std::uint64_t part_bytes, profile::Recorder* recorder = nullptr);
    HostCopies(const HostCopies&) = delete;
    HostCopies& operator=(const HostCopies&) = delete;
    /// Waits for the copies that were enqueued. The lane of their steps must have ended before.
    ~HostCopies();

    /// What create() allocates on the device.
    static std::uint64_t device_bytes(std::size_t parts, std::uint64_t part_bytes);
    /// Where a step of that turn writes the part. The caller must have waited for the turn's copy before.
    graph::Physical place_of(std::size_t turn, std::size_t part) const;
    /// Copies the turn's first parts to `places` once `written` is reached; returns at once. The result is the point at
    /// which they are there. Errors: those of graph::Executor::execute; an earlier one of the lane.
    Result<graph::Point> enqueue(std::size_t turn, std::span<const HostPlace> places, const graph::Point& written);
    /// Blocks for up to `timeout` until the copies are done whose point enqueue() returned; false when it has passed.
    /// Errors: those of the copies and of the lane that they waited for.
    Result<bool> wait(const graph::Point& copied, Nanoseconds timeout) { return lane_->wait(copied.value, timeout); }
    /// The first Error of the copies so far that is known, without waiting.
    Result<void> status() const { return lane_->stream().noted(); }
    /// Waits for the copies that were enqueued, and forgets their errors. Errors: those of a device that is lost;
    /// DeviceLost, with the lane's state, once it has not moved for graph::kWorkPatience.
    Result<void> reset();

    graph::LaneState state() const { return lane_->state(); }
    /// Records the spans of copies that are done.
    void collect() { lane_->collect(); }

  private:
    /// The copies of so many parts of so many bytes, declared once.
    struct CopyGraph {
        graph::FrameGraph frame;
        std::vector<graph::Buffer> from, to;
    };
    using CopyKind = std::pair<std::size_t, std::uint64_t>;  ///< parts, bytes of each
    explicit HostCopies(std::uint64_t part_bytes) : part_bytes_(part_bytes) {}
    static void declare(CopyGraph& copies, std::span<const HostPlace> places);

    std::uint64_t part_bytes_;
    std::array<std::unique_ptr<accel::Memory>, kTurns> outputs_;
    std::unique_ptr<accel::AcceleratorLane> lane_;
    std::map<CopyKind, CopyGraph> graphs_;
    std::unique_ptr<graph::Executor> executor_;  ///< declared last: waits before what the copies use is released
};

}  // namespace kinetograph::vae
