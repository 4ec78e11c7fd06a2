// StepClock: how long steps take on the accelerator, from events around them.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <array>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace kinetograph::stream {

struct StepTimes {
    std::uint64_t steps = 0;     ///< enqueued since the start
    Nanoseconds last_step{};     ///< the newest one that is done
    Nanoseconds average_step{};  ///< of steps after a clip's first that are done
};

struct StepSpan {
    Nanoseconds begin{}, end{};
};

/// Thread-safe. Its events are recycled: once there are as many as steps in flight, nothing is allocated.
class StepClock {
  public:
    explicit StepClock(accel::Device& device) : device_(device) {}

    /// Held from begin() to end() by the thread that enqueues a step: the driver may block then, if a queue is full,
    /// and readers do not query it meanwhile.
    Mutex& enqueuing() KG_RETURNS(enqueuing_mutex_) { return enqueuing_mutex_; }
    /// begin() and end() are called before and after a step is enqueued on its stream.
    Result<void> begin(accel::Stream& stream) KG_REQUIRES(enqueuing_mutex_);
    /// Returns the step's number; the first is 1.
    Result<std::uint64_t> end(accel::Stream& stream, bool is_first) KG_REQUIRES(enqueuing_mutex_);
    StepTimes times() const;
    /// When step `number` ran, on the host axis; nothing until it is done, and once 64 later steps are.
    std::optional<StepSpan> span_of(std::uint64_t number) const;

  private:
    struct Step {
        std::shared_ptr<accel::Event> begin, end;
        bool is_first = false;
    };
    Result<std::shared_ptr<accel::Event>> take();
    void collect() const;
    void collect_locked() const KG_REQUIRES(mutex_);

    accel::Device& device_;
    mutable Mutex enqueuing_mutex_;
    std::shared_ptr<accel::Event> begun_ KG_GUARDED_BY(enqueuing_mutex_);
    mutable Mutex mutex_ KG_ACQUIRED_AFTER(enqueuing_mutex_);
    mutable std::deque<Step> running_ KG_GUARDED_BY(mutex_);
    mutable std::vector<std::shared_ptr<accel::Event>> free_ KG_GUARDED_BY(mutex_);
    mutable StepTimes times_ KG_GUARDED_BY(mutex_);
    /// [number % 64] of the newest steps that are done.
    mutable std::array<StepSpan, 64> spans_ KG_GUARDED_BY(mutex_){};
    mutable std::uint64_t ended_ KG_GUARDED_BY(mutex_) = 0;
    mutable std::uint64_t counted_ KG_GUARDED_BY(mutex_) = 0;
    mutable Nanoseconds sum_ KG_GUARDED_BY(mutex_){};
};

}  // namespace kinetograph::stream
