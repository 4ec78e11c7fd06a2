#include <kinetograph/engine/graph/host_lane.hpp>

namespace kinetograph::graph {

HostLane::HostLane(Observer observer) : observer_(std::move(observer)), thread_([this] { run(); }) {}

HostLane::~HostLane() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    submitted_.notify_one();
    thread_.join();
}

Result<void> HostLane::submit(const BatchRecord& record) {
    Job job{.execution = record.execution, .signal = record.signal};
    job.waits.assign(record.waits.begin(), record.waits.end());
    job.passes.reserve(record.passes.size());
    for (const PassRecord& pass : record.passes) {
        // Copied, because the frame graph may be cleared and the entries rebound before the pass runs.
        job.passes.push_back({pass.node->name, pass.node->execute, job.entries.size(), pass.entries.size()});
        job.entries.insert(job.entries.end(), pass.entries.begin(), pass.entries.end());
    }
    {
        std::lock_guard lock(mutex_);
        if (!state_) return state_;
        jobs_.push_back(std::move(job));
    }
    submitted_.notify_one();
    return {};
}

Result<void> HostLane::wait(std::uint64_t value) {
    std::unique_lock lock(mutex_);
    reached_.wait(lock, [&] { return value_ >= value; });
    return state_;
}

std::uint64_t HostLane::value() const {
    std::lock_guard lock(mutex_);
    return value_;
}

void HostLane::when_reached(std::uint64_t value, std::function<void()> reached) {
    {
        std::lock_guard lock(mutex_);
        if (value_ < value) {
            callbacks_.emplace_back(value, std::move(reached));
            return;
        }
    }
    reached();
}

void HostLane::run() {
    for (;;) {
        Job job;
        {
            std::unique_lock lock(mutex_);
            submitted_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
            if (jobs_.empty()) return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        const Result<void> waited = wait_for_others(job);
        if (waited) run_passes(job);
        reach(job.signal, waited);
    }
}

Result<void> HostLane::wait_for_others(const Job& job) {
    {
        std::lock_guard lock(mutex_);
        if (!state_) return state_;
    }
    for (const ResolvedWait& wait : job.waits) {
        if (wait.lane == this) continue;  // its own earlier batches have run
        if (auto done = wait.lane->wait(wait.value); !done)
            return fail(std::move(done.error()),
                        fmt::format("lane host, waiting for lane {}", to_string(wait.lane->lane())));
    }
    return {};
}

void HostLane::run_passes(const Job& job) {
    for (const Pass& pass : job.passes) {
        const Nanoseconds begin = host_now();
        HostContext context(pass.name, job.execution, std::span(job.entries).subspan(pass.first_entry, pass.entries));
        pass.execute(context);
        if (observer_) observer_(pass.name, job.execution, begin, host_now());
    }
}

void HostLane::reach(std::uint64_t value, const Result<void>& waited) {
    std::vector<std::function<void()>> due;
    {
        std::lock_guard lock(mutex_);
        value_ = value;
        if (!waited && state_) state_ = waited;
        for (auto callback = callbacks_.begin(); callback != callbacks_.end();) {
            if (callback->first > value) {
                ++callback;
                continue;
            }
            due.push_back(std::move(callback->second));
            callback = callbacks_.erase(callback);
        }
    }
    reached_.notify_all();
    for (const auto& reached : due) reached();
}

}  // namespace kinetograph::graph
