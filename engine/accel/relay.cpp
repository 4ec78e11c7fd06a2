#include <kinetograph/engine/accel/relay.hpp>

#include <pthread.h>

namespace kinetograph::accel {

Result<std::unique_ptr<Relay>> Relay::create(Device& device) {
    auto timeline = device.create_timeline();
    if (!timeline) return fail(std::move(timeline.error()), "relay between lanes");
    return std::unique_ptr<Relay>(new Relay(std::move(*timeline)));
}

Relay::Relay(std::shared_ptr<Timeline> timeline) : timeline_(std::move(timeline)), thread_([this] { run(); }) {
    pthread_setname_np(thread_.native_handle(), "lane relay");
}

Relay::~Relay() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

std::uint64_t Relay::promise(std::vector<graph::ResolvedWait> waits) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(waits));
    changed_.notify_one();
    return ++promised_;
}

std::optional<Error> Relay::error() const {
    std::lock_guard lock(mutex_);
    return error_;
}

void Relay::run() {
    for (std::uint64_t value = 1;; ++value) {
        std::vector<graph::ResolvedWait> waits;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            waits = std::move(tasks_.front());
            tasks_.pop_front();
        }
        for (const graph::ResolvedWait& wait : waits) {
            auto done = wait.lane->wait(wait.value);
            std::lock_guard lock(mutex_);
            if (!done && !error_) error_ = std::move(done.error());
        }
        timeline_->signal(value);
    }
}

}  // namespace kinetograph::accel
