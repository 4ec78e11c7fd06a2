// LaneWaits: what the batches of a device's lane wait for, and how the lane ends.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/graph/patience.hpp>
#include <kinetograph/engine/graph/relay.hpp>

namespace kinetograph::graph {

/// Separates what a batch waits for into what the lane's device waits for and what a thread of the host relays.
/// resolve() is for the thread that submits; the other functions for any.
class LaneWaits {
  public:
    /// own      the lane's timeline, which its batches reach in order
    /// sees     whether the lane's queue or stream can wait for a timeline
    /// create   makes a timeline that it can wait for, for the relay
    LaneWaits(std::shared_ptr<Timeline> own, std::function<bool(const Timeline&)> sees,
              std::function<Result<std::shared_ptr<Timeline>>()> create);

    /// What the device has to wait for before the batch runs, for the caller to take. Errors: those of `create`.
    Result<std::span<Point>> resolve(const BatchRecord& record);
    /// A timeline that the device sees and in which the values of `timeline` appear; null if there is none.
    std::shared_ptr<Timeline> seen(const std::shared_ptr<Timeline>& timeline) const;
    /// Whether the batch waits for a timeline that the device does not see.
    bool are_relayed(const BatchRecord& record) const;
    /// Those of unfinished batches that are not met yet, oldest batch first.
    std::vector<PendingWaits::Wait> unmet() const { return pending_.unmet(own_->value()); }

    /// The first failure of a point that the relay waited for: it signals then too.
    Result<void> status() const;
    /// The timeline that the relay signals; null as long as there was nothing to relay.
    std::shared_ptr<Timeline> relayed() const;
    /// Has the relay signal without waiting any longer; false if there is none.
    bool give_up_relay();

  private:
    template <class Visit>
    static void visit_points(const BatchRecord& record, const Visit& visit);

    std::shared_ptr<Timeline> own_;
    std::function<bool(const Timeline&)> sees_;
    std::function<Result<std::shared_ptr<Timeline>>()> create_;
    PendingWaits pending_;
    std::vector<Point> of_device_, of_relay_;  ///< of the newest batch
    mutable Mutex mutex_;
    std::unique_ptr<Relay> relay_ KG_GUARDED_BY(mutex_);  ///< made when first needed
};

/// For a lane's destructor: waits, with a Patience, until `done()`, which itself waits for up to kLook. If the work
/// does not end, the relay is given up, and a shorter wait follows. If it then has not ended either, the lane's
/// timeline reports the Error that is returned: "lane transfer has ended at value 3, before value 4" (Cancelled).
std::optional<Error> end_of_lane(const LaneBackend& lane, LaneWaits& waits, const std::function<bool()>& done);

}  // namespace kinetograph::graph
