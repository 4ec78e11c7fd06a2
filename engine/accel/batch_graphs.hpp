// Captured batches of accelerator passes: the graph of each batch, and when it may run again.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/profile/name_table.hpp>

#include <vector>

namespace kinetograph::accel {

/// Everything that the work of a batch depends on: the plan, the batch, and where each of its resources lies in this
/// execution. Batches of equal keys enqueue equal work.
graph::Fingerprint batch_key(const graph::BatchRecord& record);

/// The time stamps of one pass.
struct PassEvents {
    profile::NameId name;
    std::shared_ptr<Event> begin, end;
};

/// One capture of a batch. Its events belong to one replay at a time: a batch that comes again before the times of its
/// last replay have been read is captured once more.
struct BatchGraph {
    std::shared_ptr<Graph> graph;
    std::vector<PassEvents> passes;    ///< recorded by the graph; empty where it records none
    std::uint64_t signal = 0;          ///< the lane's timeline value once its newest replay is done
    std::uint32_t unread_replays = 0;  ///< whose times have not been read
};

/// Keeps the graphs of the batches met most recently.
class BatchGraphs {
  public:
    struct Entry {
        graph::Fingerprint key;
        std::vector<std::unique_ptr<BatchGraph>> graphs;
        std::optional<Error> declined;  ///< why this batch cannot be captured: it stays eager
        std::uint64_t last_use = 0;
    };

    /// Captures of one batch: as many as executions may be in flight, and one to spare.
    static constexpr std::size_t kGraphsPerBatch = 4;
    /// Most entries. A steady state repeats after the least common multiple of the numbers of places that its imports
    /// rotate through: with imports of 2 and 3 places, after 6 executions.
    static constexpr std::size_t kBatches = 64;

    /// Returns the entry of `key`, adding an empty one if there is none. With kBatches entries the least recently used
    /// one is removed first, if all its replays are done: `reached` is the value of the lane's timeline.
    Entry& find(const graph::Fingerprint& key, std::uint64_t reached);
    const std::vector<std::unique_ptr<Entry>>& entries() const { return entries_; }

  private:
    std::vector<std::unique_ptr<Entry>> entries_;
    std::uint64_t uses_ = 0;
};

}  // namespace kinetograph::accel
