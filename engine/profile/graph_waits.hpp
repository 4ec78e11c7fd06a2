// GraphWaits: which execution of which graph a batch waited for, from the points that lanes report.
#pragma once

#include <kinetograph/engine/profile/recorder.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <span>
#include <vector>

namespace kinetograph::profile {

/// A batch of one step waited for a batch of another one.
struct GraphWait {
    StepKey step;
    std::uint32_t batch = kNone;  ///< PlanFacts::batches of its plan
    StepKey from;
    std::uint32_t from_batch = kNone;
    friend bool operator==(const GraphWait&, const GraphWait&) = default;
};

/// Bounded: keeps the newest kMost signals and the newest kMost waits, or as many of each as make_room() asked for.
class GraphWaits {
  public:
    static constexpr std::size_t kMost = 1U << 13U;

    /// Makes room for at least `points` of each kind: for points that come all at once, for example from a file.
    void make_room(std::size_t points) { most_ = std::max(most_, points); }
    void add(const PointRecord& point);
    /// What the batches of `step` waited for in other steps, without repetition, in the order in which it was reported.
    std::vector<GraphWait> of(StepKey step) const;
    /// Those of all steps.
    std::vector<GraphWait> all() const;

  private:
    struct Point {
        std::uint64_t counter = 0, value = 0;
        auto operator<=>(const Point&) const = default;
    };
    struct Batch {
        StepKey step;
        std::uint32_t batch = kNone;
    };
    struct Wait {
        Point point;
        std::uint32_t batch = kNone;
    };
    using Step = std::pair<PlanId, std::uint64_t>;

    std::size_t most_ = kMost;
    std::map<Point, Batch> signals_;
    std::deque<Point> order_;  // of signals_, oldest first
    std::map<Step, std::vector<Wait>> waits_;
    std::deque<Step> waiting_;  // an entry for each wait, oldest first
};

}  // namespace kinetograph::profile
