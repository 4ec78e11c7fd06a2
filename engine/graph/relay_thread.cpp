#include <kinetograph/engine/graph/relay_thread.hpp>

#include <pthread.h>

namespace kinetograph::graph {

RelayThread::RelayThread(Signal signal) : signal_(std::move(signal)), thread_([this] { run(); }) {
    pthread_setname_np(thread_.native_handle(), "lane relay");
}

RelayThread::~RelayThread() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

std::uint64_t RelayThread::promise(std::span<const ResolvedWait> waits) {
    std::uint64_t value = 0;
    {
        std::lock_guard lock(mutex_);
        promised_.counts.push_back(waits.size());
        promised_.waits.insert(promised_.waits.end(), waits.begin(), waits.end());
        value = ++newest_;
    }
    changed_.notify_one();
    return value;
}

std::optional<Error> RelayThread::error() const {
    std::lock_guard lock(mutex_);
    return error_;
}

void RelayThread::run() {
    Promises taken;
    std::uint64_t value = 0;
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stop_ || !promised_.counts.empty(); });
            if (promised_.counts.empty()) return;
            std::swap(taken, promised_);  // the two lists change places, and keep what they have allocated
        }
        std::span<const ResolvedWait> waits = taken.waits;
        for (const std::size_t count : taken.counts) {
            wait_for(waits.first(count));
            waits = waits.subspan(count);
            signal_(++value);
        }
        taken.clear();
    }
}

void RelayThread::wait_for(std::span<const ResolvedWait> waits) {
    for (const ResolvedWait& wait : waits) {
        auto done = wait.lane->wait(wait.value);
        if (done) continue;
        std::lock_guard lock(mutex_);
        if (!error_) error_ = std::move(done.error());
    }
}

}  // namespace kinetograph::graph
