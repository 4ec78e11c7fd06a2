// PassStamps: the times of a lane's passes, by events on its stream, as spans of a recorder.
#pragma once

#include <kinetograph/engine/accel/batch_graphs.hpp>
#include <kinetograph/engine/profile/recorder.hpp>

#include <deque>

namespace kinetograph::accel {

/// A batch whose events the stream may not have passed yet.
struct TimedBatch {
    std::uint64_t execution = 0;
    profile::PlanId plan = profile::kNoPlan;
    std::vector<PassEvents> passes{};  ///< recorded for this batch alone
    BatchGraph* replayed = nullptr;    ///< whose events are read instead, once `done` is passed
    std::shared_ptr<Event> done{};
};

/// One thread at a time. Without a recorder there are no events.
class PassStamps {
  public:
    static constexpr std::uint64_t kEvery =
        32;  ///< executions of which one stamps its replayed passes, after the first 16
    PassStamps(Device& device, profile::Recorder* recorder, graph::Lane lane);

    /// Whether a graph that is replayed in that execution has the time of every pass. A stamp inside a graph costs the
    /// device and the replaying thread two microseconds each, and separates kernels that would overlap: a decoder's
    /// step takes a tenth longer with a stamp after every pass (H200). So most executions have none.
    bool are_in_graph(std::uint64_t execution) const;
    /// Events around every pass of a graph. A pass begins where the one before it ends, so n passes need n + 1.
    Result<std::vector<PassEvents>> take_for_graph(const graph::BatchRecord& record);

    /// A batch to be filled in, enqueued and added; its plan is noted with the recorder.
    TimedBatch begin(const graph::BatchRecord& record, const Timeline& timeline) const;
    /// Events of their own for every pass.
    Result<void> take_for_passes(TimedBatch& batch, const graph::BatchRecord& record);
    /// For a replay of `graph`: an event after it if the graph records its passes, else two around it, as one span.
    Result<void> take_for_replay(TimedBatch& batch, const graph::BatchRecord& record, BatchGraph& graph);
    void add(TimedBatch batch);
    /// Records the spans of the batches that the stream has passed.
    void collect();

  private:
    Result<std::shared_ptr<Event>> take_event();
    void give_back(std::shared_ptr<Event> event);
    Result<PassEvents> take_events(std::string_view name);
    bool collect(TimedBatch& batch);

    Device& device_;
    profile::Recorder* recorder_;
    profile::LaneTrack track_;  ///< of its spans, if there is a recorder
    std::deque<TimedBatch> timed_;
    std::vector<std::shared_ptr<Event>> free_events_;
};

/// The name of the device in a profile::Recorder, for the tracks of its lanes and for their ceilings.
std::string recorded_device(const DeviceInfo& info);

}  // namespace kinetograph::accel
