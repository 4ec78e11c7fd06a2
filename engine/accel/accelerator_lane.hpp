// The graph's accelerator lane, on any accel::Device.
#pragma once

#include <kinetograph/engine/accel/batches.hpp>
#include <kinetograph/engine/accel/graph_memory.hpp>
#include <kinetograph/engine/accel/lane_watch.hpp>
#include <kinetograph/engine/accel/pass_stamps.hpp>

namespace kinetograph::accel {

/// What a pass on an accelerator's lane sees: device addresses of its declared resources and the stream to enqueue on.
class PassContext final : public graph::PassContext {
  public:
    static constexpr bool serves(graph::Lane lane) { return lane.is_of_accelerator(); }
    PassContext(const graph::PassRecord& pass, std::uint64_t execution, Stream& stream)
        : graph::PassContext(pass.planned->name, execution, pass.entries), stream_(stream) {}

    Stream& stream() const { return stream_; }
    std::byte* address(graph::Buffer buffer) const { return physical(buffer).address(); }

  private:
    Stream& stream_;
};

/// How the lane's batches have run so far.
struct BatchCounts {
    std::uint64_t eager = 0, captured = 0, replayed = 0;
    std::string declined;  ///< why the newest batch that could not be captured stayed eager; empty: none
};

/// Runs batches of accelerator passes on one stream; every pass becomes a profile span when `recorder` is given.
/// Replayed batches are timed pass by pass in the first 16 executions and one of 32 later ones, where the device stamps
/// events inside graphs (DeviceInfo::can_time_graphs); any other replayed batch is one span named "12 passes from
/// conv_in to head". Batches signal the lane's timeline and those of its views that the stream sees. A timeline that
/// the stream sees neither directly nor through a view is waited for by a relay thread, which then signals a timeline
/// of the device. If its owner fails, the stream goes on with undefined contents, and wait() reports it. By a LaneWatch
/// nothing waits forever for a value that the device will not signal.
class AcceleratorLane final : public graph::LaneBackend {
  public:
    /// `lane` is any accelerator lane, of the application's choice; two lanes may use the same device.
    static Result<std::unique_ptr<AcceleratorLane>> create(Device& device, profile::Recorder* recorder = nullptr,
                                                           Batches batches = Batches::Eager,
                                                           graph::Lane lane = graph::Lane::Accelerator);
    /// Waits for what was submitted (graph::end_of_lane). If that work is given up, its stream is never released, and
    /// the host signals the outstanding values.
    ~AcceleratorLane() override;
    graph::Lane lane() const override { return lane_; }
    Result<void> submit(const graph::BatchRecord& record) override;
    using LaneBackend::wait;
    /// Errors: those of the stream and of lanes that it waited for; DeviceLost may come before the value is reached.
    Result<bool> wait(std::uint64_t value, Nanoseconds timeout) override;
    Stream& stream() { return *stream_; }
    std::shared_ptr<Timeline> timeline() const override { return timeline_; }
    graph::LaneState state() const override;
    BatchCounts batch_counts() const;
    /// Of how many executions, after the first 16, one has the time of every pass, if there is a recorder; 1: all have.
    /// 0: none, as batches are replayed on a device that stamps nothing inside graphs.
    std::uint64_t timed_every() const;
    /// Records the spans of everything that has completed; not while a batch is being submitted. submit() and wait() do
    /// this too.
    void collect();
    Device& device() const { return device_; }

  private:
    AcceleratorLane(Device& device, graph::Lane lane, std::unique_ptr<Stream> stream,
                    std::shared_ptr<Timeline> timeline, profile::Recorder* recorder, Batches batches);
    Result<void> enqueue(const graph::BatchRecord& record) KG_REQUIRES(mutex_);
    Result<void> enqueue_waits(const graph::BatchRecord& record) KG_REQUIRES(mutex_);
    void count(std::uint64_t BatchCounts::*which);
    Result<void> execute(const graph::BatchRecord& record, const std::vector<PassEvents>& events);
    Result<void> run_eagerly(const graph::BatchRecord& record) KG_REQUIRES(mutex_);
    Result<BatchGraph*> graph_for(const graph::BatchRecord& record) KG_REQUIRES(mutex_);
    Result<std::unique_ptr<BatchGraph>> capture(const graph::BatchRecord& record) KG_REQUIRES(mutex_);
    Result<void> replay(const graph::BatchRecord& record, BatchGraph& graph) KG_REQUIRES(mutex_);

    Device& device_;
    graph::Lane lane_;
    std::shared_ptr<Timeline> timeline_;
    Batches batches_;
    /// submit() holds it across calls of the driver, which may block while its queue is full: nothing else waits for
    /// it.
    Mutex mutex_;
    PassStamps stamps_ KG_GUARDED_BY(mutex_);
    BatchGraphs graphs_ KG_GUARDED_BY(mutex_);
    mutable Mutex counts_mutex_ KG_ACQUIRED_AFTER(mutex_);  ///< held for no call of a driver
    BatchCounts counts_ KG_GUARDED_BY(counts_mutex_);
    graph::LaneWaits waits_;          ///< outlives the stream: so does its relay
    std::unique_ptr<Stream> stream_;  ///< after the rest: its worker ends before what its tasks refer to
    LaneWatch watch_;                 ///< last: its thread uses the rest
};

}  // namespace kinetograph::accel
