// Timeline: a counter that only grows, by which any party learns how far another has come.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/result.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace kinetograph::graph {

/// Signalled and waited for by lanes and by the host. Thread-safe.
///
/// The promiser of a value signals it: a lane whose device is lost, or that ends before its work, has the host signal
/// what it has promised and says in status() why. So no wait for a promised value lasts for ever.
class Timeline {
  public:
    virtual ~Timeline() = default;
    /// What it counts, for people: "lane async_compute". Set before others have it.
    const std::string& name() const { return name_; }
    void set_name(std::string name) { name_ = std::move(name); }
    virtual std::uint64_t value() const = 0;
    /// Blocks the host until the counter reaches `value`, or `timeout` has passed; false on time-out.
    virtual bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout = {}) = 0;
    virtual void signal(std::uint64_t value) = 0;  ///< from the host
    /// Why values are reached though the work before them was not done, or will not be reached at all. Asks nothing of
    /// a driver that could block.
    virtual Result<void> status() const;
    /// What status() says from now on; the first Error stays.
    void report(Error error);

    /// `view` carries the same values where another device or API sees them: the same counter imported there, or one
    /// that the signaller of this timeline signals too.
    void add_view(std::shared_ptr<Timeline> view);
    /// Before the devices of its views go.
    void forget_views();
    /// Calls `visit(const std::shared_ptr<Timeline>&)` for every view.
    template <class Visit>
    void visit_views(Visit&& visit) const {
        std::lock_guard lock(mutex_);
        for (const auto& view : views_) visit(view);
    }

  private:
    std::string name_ = "a timeline";
    std::atomic<bool> reported_{false};
    mutable std::mutex mutex_;
    std::optional<Error> error_;
    std::vector<std::shared_ptr<Timeline>> views_;
};

/// A counter of the host's own.
class HostTimeline : public Timeline {
  public:
    HostTimeline() = default;
    explicit HostTimeline(std::string name) { set_name(std::move(name)); }
    std::uint64_t value() const override;
    bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout = {}) override;
    void signal(std::uint64_t value) override;

  private:
    mutable std::mutex mutex_;
    std::condition_variable grown_;
    std::uint64_t value_ = 0;
};

/// A moment in the work of a lane, another API or an application: when the timeline reaches the value. Without a
/// timeline, or with value 0, it has passed.
struct Point {
    std::shared_ptr<Timeline> timeline{};
    std::uint64_t value = 0;
    bool reached() const { return timeline == nullptr || value == 0 || timeline->value() >= value; }
};

/// How often a wait without a time-out looks whether what it waits for may still come.
inline constexpr Nanoseconds kLook = std::chrono::milliseconds(100);
/// How long the end of an object waits for points of others at which nothing moves any more.
inline constexpr Nanoseconds kPatience = std::chrono::seconds(2);

/// Blocks the host until the point is reached, up to `timeout`; false when that has passed. Errors: Timeline::status().
Result<bool> wait_for(const Point& point, Nanoseconds timeout);
/// The same without a time-out.
Result<void> wait_for(const Point& point);

}  // namespace kinetograph::graph
