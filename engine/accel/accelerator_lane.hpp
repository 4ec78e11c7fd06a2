// The graph's accelerator lane, on any accel::Device.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/accel/batch_graphs.hpp>
#include <kinetograph/engine/accel/batches.hpp>
#include <kinetograph/engine/accel/graph_memory.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/graph/patience.hpp>
#include <kinetograph/engine/graph/relay.hpp>
#include <kinetograph/engine/profile/recorder.hpp>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

namespace kinetograph::accel {

/// What a pass on an accelerator's lane sees: device addresses of its declared resources and the stream to enqueue on.
class PassContext final : public graph::PassContext {
  public:
    static constexpr bool serves(graph::Lane lane) { return lane.kind() == graph::LaneKind::Accelerator; }
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

/// The name of the device in a profile::Recorder, for the tracks of its lanes and for their ceilings.
std::string recorded_device(const DeviceInfo& info);

/// Runs batches of accelerator passes on one stream; every pass becomes a profile span when `recorder` is given.
/// Replayed batches are timed pass by pass in the first 16 executions and one of 32 later ones, where the device stamps
/// events inside graphs (DeviceInfo::can_time_graphs); any other replayed batch is one span named "12 passes from
/// conv_in to head". Batches signal the lane's timeline and those of its views that the stream sees. A timeline that
/// the stream sees neither directly nor through a view is waited for by a relay thread, which then signals a timeline
/// of the device. If its owner fails, the stream goes on with undefined contents, and wait() reports it.
///
/// While values are owed, a thread of the lane watches its progress: if the device is lost, or a timeline that the
/// stream waits for fails, it has all owed values signalled, so that nothing waits forever.
class AcceleratorLane final : public graph::LaneBackend {
  public:
    /// `lane` is any accelerator lane, of the application's choice; two lanes may use the same device.
    static Result<std::unique_ptr<AcceleratorLane>> create(Device& device, profile::Recorder* recorder = nullptr,
                                                           Batches batches = Batches::Eager,
                                                           graph::Lane lane = graph::Lane::Accelerator);
    /// Waits for what was submitted, with a graph::Patience. If that work is given up, its stream is never released,
    /// and the host signals the values that the stream owes.
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
    /// Passes whose events the stream may not have passed yet: those of one batch.
    struct Timed {
        std::uint64_t execution = 0;
        profile::PlanId plan = profile::kNoPlan;
        std::vector<PassEvents> passes;  ///< recorded for this batch alone
        BatchGraph* replayed = nullptr;  ///< whose events are read instead, once `done` is passed
        std::shared_ptr<Event> done;
    };
    AcceleratorLane(Device& device, graph::Lane lane, std::unique_ptr<Stream> stream,
                    std::shared_ptr<Timeline> timeline, profile::Recorder* recorder, Batches batches);
    Result<std::shared_ptr<Event>> take_event() KG_REQUIRES(mutex_);
    void give_back(std::shared_ptr<Event> event) KG_REQUIRES(mutex_);
    Result<PassEvents> take_events(std::string_view name) KG_REQUIRES(mutex_);
    Result<std::vector<PassEvents>> take_chained_events(const graph::BatchRecord& record) KG_REQUIRES(mutex_);
    /// A timeline that the stream sees and in which the values of `timeline` appear; null if there is none.
    std::shared_ptr<Timeline> seen(const std::shared_ptr<Timeline>& timeline) const;
    std::vector<std::shared_ptr<Timeline>> views_to_signal() const;
    void look_after();
    void tell_of_loss(const Result<void>& status);
    void release_from_lost(const graph::PendingWaits::Wait& wait);
    void signal_from_another_stream(const graph::Point& point);
    bool passes(Stream& stream, Timeline& timeline);
    void watch();
    void owe(std::uint64_t value);
    void wake_watch();
    bool owes_a_value() const;
    bool settle(graph::Patience patience);
    Result<void> enqueue(const graph::BatchRecord& record) KG_REQUIRES(mutex_);
    Result<void> resolve_waits(const graph::BatchRecord& record) KG_REQUIRES(mutex_);
    Result<void> enqueue_waits(const graph::BatchRecord& record) KG_REQUIRES(mutex_);
    void count(std::uint64_t BatchCounts::*which);
    Result<void> execute(const graph::BatchRecord& record, const std::vector<PassEvents>& events);
    Result<void> run_eagerly(const graph::BatchRecord& record) KG_REQUIRES(mutex_);
    Result<BatchGraph*> graph_for(const graph::BatchRecord& record) KG_REQUIRES(mutex_);
    Result<std::unique_ptr<BatchGraph>> capture(const graph::BatchRecord& record) KG_REQUIRES(mutex_);
    Result<void> replay(const graph::BatchRecord& record, BatchGraph& graph) KG_REQUIRES(mutex_);
    bool times_graphs() const;
    static bool is_stamped(std::uint64_t execution);
    Timed timed_of(const graph::BatchRecord& record);
    void collect_locked() KG_REQUIRES(mutex_);
    bool collect(Timed& batch) KG_REQUIRES(mutex_);

    Device& device_;
    graph::Lane lane_;
    std::shared_ptr<Timeline> timeline_;
    profile::Recorder* recorder_;
    profile::LaneTrack track_;  ///< of its spans, if there is a recorder
    Batches batches_;
    /// submit() holds it across calls of the driver, which may block while its queue is full: nothing else waits for
    /// it.
    Mutex mutex_;
    mutable Mutex points_mutex_ KG_ACQUIRED_AFTER(mutex_);  ///< held for no call of a driver
    /// Made when first needed; outlives the stream.
    std::unique_ptr<graph::Relay> relay_ KG_GUARDED_BY(points_mutex_);
    std::vector<graph::Point> waits_ KG_GUARDED_BY(mutex_), relayed_ KG_GUARDED_BY(mutex_);  ///< of the newest batch
    graph::PendingWaits pending_;
    std::deque<Timed> timed_ KG_GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<Event>> free_events_ KG_GUARDED_BY(mutex_);
    BatchGraphs graphs_ KG_GUARDED_BY(mutex_);
    BatchCounts counts_ KG_GUARDED_BY(points_mutex_);
    std::unique_ptr<Stream> stream_;         ///< after the rest: its worker ends before what its tasks refer to
    std::atomic<std::uint64_t> owed_{0};     ///< newest value given to the stream
    std::atomic<bool> watch_sleeps_{false};  ///< until something is owed again
    Mutex watch_mutex_;
    Condition watch_wakes_;
    bool watch_ends_ KG_GUARDED_BY(watch_mutex_) = false;
    bool told_ = false;                   ///< the loss of the device was logged; by the watch, then by the destructor
    std::vector<graph::Point> released_;  ///< signalled by the watch from another stream, or tried to; one per timeline
    std::thread watch_;                   ///< last: starts when the rest exists
};

}  // namespace kinetograph::accel
