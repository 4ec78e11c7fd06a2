// StepQueue: whose step is next on a lane that clips share.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace kinetograph::vae {

/// The due times of a clip's steps: a step's frames take their own time to show, which begins when the step could begin
/// and the step before was due. Where there is too much to do, what orders the steps is a time that falls behind the
/// host's as far as the queue does, in which clips advance by their weights: each has its share, and none waits for
/// ever.
class DueTimes {
  public:
    /// In the background a clip has an eighth of its weight.
    explicit DueTimes(double weight = 1, bool background = false) : weight_(background ? weight / 8 : weight) {}

    struct Due {
        Nanoseconds wanted{};  ///< when the frames are
        Nanoseconds order{};   ///< for StepQueue::enter
    };
    /// Of a step that could begin at `asked`, whose frames take `duration`, in a queue whose last turn was of `served`.
    Due next(Nanoseconds asked, Nanoseconds duration, Nanoseconds served) const;
    void take(const Due& due);  ///< that step has been submitted

  private:
    double weight_;
    Due last_{};
};

/// One step at a time is submitted, that which is due first; among equals the one that came first. Thread-safe.
class StepQueue {
  public:
    /// The right to submit, until it is destroyed.
    class Turn {
      public:
        explicit Turn(StepQueue& queue) : queue_(&queue) {}
        Turn(Turn&& other) noexcept : queue_(std::exchange(other.queue_, nullptr)) {}
        Turn& operator=(Turn&&) = delete;
        ~Turn() {
            if (queue_ != nullptr) queue_->leave();
        }

      private:
        StepQueue* queue_;
    };
    /// Waits for up to `timeout` until the lane takes a step; false if that passes. Called by one thread at a time.
    using Room = std::function<Result<bool>(Nanoseconds timeout)>;

    /// Whether a step no longer waits: asked every 20 ms.
    using GivesUp = std::function<bool()>;

    /// Blocks until no step that is due earlier waits and there is room; nothing once `gives_up`. A step that comes
    /// while one waits for room, and is due earlier, is first. One that `is_skipped` comes after all that are not.
    /// Errors: those of `room`.
    Result<std::optional<Turn>> enter(Nanoseconds due, const Room& room, const GivesUp& gives_up = {},
                                      bool is_skipped = false);
    /// The same, before all others, whether there is room or not.
    Turn enter_first();
    std::size_t waiting() const;
    /// The due time of the newest turn of enter() that was not skipped; before the first, Nanoseconds::max().
    Nanoseconds served() const;

  private:
    using Place = std::tuple<bool, Nanoseconds, std::uint64_t>;  ///< skipped, due, and the order of arrival
    void leave();
    bool is_next(const Place& place) const KG_REQUIRES(mutex_) { return !taken_ && *places_.begin() == place; }

    mutable Mutex mutex_;
    Condition changed_;
    std::set<Place> places_ KG_GUARDED_BY(mutex_);
    std::uint64_t came_ KG_GUARDED_BY(mutex_) = 0;
    Nanoseconds served_ KG_GUARDED_BY(mutex_) = Nanoseconds::max();
    bool taken_ KG_GUARDED_BY(mutex_) = false;  ///< a caller has the turn, or waits for room
};

}  // namespace kinetograph::vae
