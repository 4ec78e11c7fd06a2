#include <kinetograph/compute/vae/step_queue.hpp>

#include <algorithm>
#include <cmath>

namespace kinetograph::vae {

DueTimes::Due DueTimes::next(Nanoseconds asked, Nanoseconds duration, Nanoseconds served) const {
    const Nanoseconds share(std::llround(static_cast<double>(duration.count()) / weight_));
    return {.wanted = std::max(asked, last_.wanted) + duration,
            .order = std::max(last_.order + share, std::min(asked + share, served))};
}

void DueTimes::take(const Due& due) { last_ = due; }

Result<std::optional<StepQueue::Turn>> StepQueue::enter(Nanoseconds due, const Room& room, const GivesUp& gives_up,
                                                        bool is_skipped) {
    constexpr Nanoseconds kPoll = std::chrono::milliseconds(20);
    constexpr Nanoseconds kLook = std::chrono::milliseconds(2);  // how soon a step that is due earlier goes first
    Lock lock(mutex_);
    const Place place{is_skipped, due, came_++};
    places_.insert(place);
    std::optional<Turn> turn;
    Result<bool> has_room = true;
    while (!turn && has_room && (!gives_up || !gives_up())) {
        if (!changed_.wait_for(lock, kPoll, [&]() KG_REQUIRES(mutex_) { return is_next(place); })) continue;
        taken_ = true;
        lock.unlock();
        has_room = room(kLook);
        lock.lock();
        if (has_room && *has_room && *places_.begin() == place) {
            turn.emplace(*this);
            if (!is_skipped) served_ = due;
            break;
        }
        taken_ = false;
        changed_.notify_all();
        has_room = has_room.map([](bool) { return true; });
    }
    places_.erase(place);
    changed_.notify_all();
    if (!has_room) return fail(std::move(has_room.error()));
    return turn;
}

StepQueue::Turn StepQueue::enter_first() {
    Lock lock(mutex_);
    changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return !taken_; });
    taken_ = true;
    return Turn(*this);
}

std::size_t StepQueue::waiting() const {
    const Lock lock(mutex_);
    return places_.size();
}

Nanoseconds StepQueue::served() const {
    const Lock lock(mutex_);
    return served_;
}

void StepQueue::leave() {
    {
        const Lock lock(mutex_);
        taken_ = false;
    }
    changed_.notify_all();
}

}  // namespace kinetograph::vae
