// Timeline: a counter that only grows and shows how far a lane, a device or the host has come.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kinetograph::graph {

/// Signalled and waited for by lanes and by the host. Thread-safe.
///
/// Every promised value is signalled, so no wait for one blocks forever: if a lane's device is lost, or the lane ends
/// before its work is done, the host signals the values that the lane has promised, and status() says why.
class Timeline {
  public:
    virtual ~Timeline() = default;
    /// What it counts, for people: "lane async_compute". Set before others have it.
    const std::string& name() const { return name_; }
    void set_name(std::string name) { name_ = std::move(name); }
    /// The device whose queues or streams can wait for it, as an address to compare: timelines of one owner are of one
    /// class. Null: only the host can.
    virtual const void* owner() const { return nullptr; }
    /// A number of the counter itself, for profilers: equal for objects that stand for one counter.
    virtual std::uint64_t counter() const { return counter_; }
    virtual std::uint64_t value() const = 0;
    /// Blocks the host until the counter reaches `value`, or `timeout` has passed; false on time-out.
    virtual bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout = {}) = 0;
    virtual void signal(std::uint64_t value) = 0;  ///< from the host
    /// Why values are reached although the work before them was not done, or will never be reached. Makes no driver
    /// call that could block.
    virtual Result<void> status() const;
    /// What status() says from now on; the first Error stays.
    void report(Error error);
    /// Calls `told` once with the Error of report(): in that call, or now if it came before. `told` may take leaf locks
    /// only (docs/reliability.md).
    void on_report(std::function<void(const Error&)> told);

    /// `view` carries the same values where another device or API sees them: the same counter imported there, or one
    /// that the signaller of this timeline signals too.
    void add_view(std::shared_ptr<Timeline> view);
    /// Call before the devices of its views are destroyed.
    void forget_views();
    /// Calls `visit(std::uint64_t)` with counter() and with the counters of the first kMostCounters views that were
    /// ever added. Takes no lock.
    template <class Visit>
    void visit_counters(Visit&& visit) const {
        visit(counter());
        for (const auto& each : view_counters_)
            if (const std::uint64_t known = each.load(std::memory_order_acquire); known != 0) visit(known);
    }
    static constexpr std::size_t kMostCounters = 4;
    /// Calls `visit(const std::shared_ptr<Timeline>&)` for every view.
    template <class Visit>
    void visit_views(Visit&& visit) const {
        const Lock lock(mutex_);
        for (const auto& view : views_) visit(view);
    }

  private:
    static std::uint64_t next_counter();
    std::uint64_t counter_ = next_counter();
    std::array<std::atomic<std::uint64_t>, kMostCounters> view_counters_{};  ///< 0: unused
    std::string name_ = "a timeline";
    std::atomic<bool> reported_{false};
    mutable Mutex mutex_;
    std::optional<Error> error_ KG_GUARDED_BY(mutex_);
    std::vector<std::function<void(const Error&)>> told_ KG_GUARDED_BY(mutex_);  ///< until then
    std::vector<std::shared_ptr<Timeline>> views_ KG_GUARDED_BY(mutex_);
};

/// A counter in host memory.
class HostTimeline : public Timeline {
  public:
    HostTimeline() = default;
    explicit HostTimeline(std::string name) { set_name(std::move(name)); }
    std::uint64_t value() const override;
    bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout = {}) override;
    void signal(std::uint64_t value) override;

  private:
    mutable Mutex mutex_;
    Condition grown_;
    std::uint64_t value_ KG_GUARDED_BY(mutex_) = 0;
};

/// A moment in the work of a lane, another API or an application: when the timeline reaches the value. Without a
/// timeline, or with value 0, it has passed.
struct Point {
    std::shared_ptr<Timeline> timeline{};
    std::uint64_t value = 0;
    bool reached() const { return timeline == nullptr || value == 0 || timeline->value() >= value; }
};

/// How often a wait without a time-out checks whether its value can still be reached.
inline constexpr Nanoseconds kLook = std::chrono::milliseconds(100);
/// How long a destructor waits for points outside its object while their timelines do not change.
inline constexpr Nanoseconds kPatience = std::chrono::seconds(2);

/// Blocks the host until the point is reached, up to `timeout`; false when that has passed. Errors: Timeline::status().
Result<bool> wait_for(const Point& point, Nanoseconds timeout);
/// The same without a time-out.
Result<void> wait_for(const Point& point);

}  // namespace kinetograph::graph
