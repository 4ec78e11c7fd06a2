#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/engine/graph/relay.hpp>

#include <pthread.h>

namespace kinetograph::graph {

Relay::Relay(std::shared_ptr<Timeline> target) : target_(std::move(target)), thread_([this] { run(); }) {
    pthread_setname_np(thread_.native_handle(), "lane relay");
}

Relay::~Relay() {
    {
        const Lock lock(mutex_);
        stop_ = true;
        stopped_ = host_now();
    }
    changed_.notify_one();
    thread_.join();
}

std::uint64_t Relay::promise(std::span<const Point> points) {
    std::uint64_t value = 0;
    {
        const Lock lock(mutex_);
        promised_.counts.push_back(points.size());
        promised_.points.insert(promised_.points.end(), points.begin(), points.end());
        value = ++newest_;
    }
    changed_.notify_one();
    return value;
}

void Relay::give_up() {
    const Lock lock(mutex_);
    given_up_ = newest_;
}

std::optional<Error> Relay::error() const {
    const Lock lock(mutex_);
    return error_;
}

void Relay::run() {
    Promises taken;
    std::uint64_t value = 0;
    for (;;) {
        {
            Lock lock(mutex_);
            changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return stop_ || !promised_.counts.empty(); });
            if (promised_.counts.empty()) return;
            std::swap(taken, promised_);  // the two lists change places, so that both keep their capacity
        }
        std::span<const Point> points = taken.points;
        for (const std::size_t count : taken.counts) {
            wait_for_all(points.first(count), ++value);
            points = points.subspan(count);
            target_->signal(value);
        }
        taken.clear();
    }
}

void Relay::wait_for_all(std::span<const Point> points, std::uint64_t value) {
    for (const Point& point : points) {
        auto reached = without_exceptions("relay", [&] { return wait_until_reached(point, value); });
        if (reached) continue;
        const Lock lock(mutex_);
        if (!error_) error_ = std::move(reached.error());
    }
}

Result<void> Relay::wait_until_reached(const Point& point, std::uint64_t value) const {
    for (;;) {
        KG_TRY(const bool reached, wait_for(point, kLook));
        if (reached) return {};
        if (gives_up(value))
            return fail(ErrorCode::Cancelled, "value {} of {} was never reached", point.value, point.timeline->name());
    }
}

bool Relay::gives_up(std::uint64_t value) const {
    const Lock lock(mutex_);
    return value <= given_up_ || (stop_ && host_now() - stopped_ > kPatience);
}

}  // namespace kinetograph::graph
