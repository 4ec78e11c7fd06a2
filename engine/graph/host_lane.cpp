#include <kinetograph/engine/graph/host_lane.hpp>

#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/engine/base/tool_range.hpp>
#include <kinetograph/engine/graph/run_pass.hpp>

namespace kinetograph::graph {

HostLane::HostLane(Observer observer) : observer_(std::move(observer)), thread_([this] { run(); }) {}

HostLane::~HostLane() {
    {
        const Lock lock(mutex_);
        stop_ = true;
        stopped_ = host_now();
    }
    submitted_.notify_one();
    thread_.join();
}

Result<void> HostLane::submit(const BatchRecord& record) {
    Job job{.execution = record.execution, .signal = record.signal};
    for (const ResolvedWait& wait : record.waits)
        if (wait.lane != this)
            job.waits.push_back({wait.lane->timeline(), wait.value});  // its own batches run in order
    job.waits.insert(job.waits.end(), record.points.begin(), record.points.end());
    job.passes.reserve(record.passes.size());
    for (const PassRecord& pass : record.passes) {
        // Copied, because the frame graph may be cleared and the entries rebound before the pass runs.
        job.passes.push_back({pass.node->name, pass.node->execute, job.entries.size(), pass.entries.size()});
        job.entries.insert(job.entries.end(), pass.entries.begin(), pass.entries.end());
    }
    {
        const Lock lock(mutex_);
        KG_CHECK(timeline_->status());
        pending_.forget(timeline_->value());
        for (const Point& point : job.waits) pending_.add(record.signal, point);
        jobs_.push_back(std::move(job));
        newest_ = record.signal;
    }
    submitted_.notify_one();
    return {};
}

Result<bool> HostLane::wait(std::uint64_t value, Nanoseconds timeout) { return wait_for({timeline_, value}, timeout); }

LaneState HostLane::state() const {
    const Lock lock(mutex_);
    const std::uint64_t reached = timeline_->value();
    LaneState state{.lane = Lane::Host,
                    .submitted = newest_,
                    .reached = reached,
                    .waits = pending_.unmet(reached),
                    .error = {},
                    .executes = executes_};
    if (auto status = timeline_->status(); !status) state.error = std::move(status.error());
    return state;
}

void HostLane::run() {
    for (;;) {
        Job job;
        {
            Lock lock(mutex_);
            submitted_.wait(lock, [&]() KG_REQUIRES(mutex_) { return stop_ || !jobs_.empty(); });
            if (jobs_.empty()) return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        auto done = without_exceptions("lane host", [&]() -> Result<void> {
            KG_CHECK(wait_for_others(job));
            executes_ = true;
            return run_passes(job);
        });
        executes_ = false;
        if (!done) timeline_->report(std::move(done.error()));
        timeline_->signal(job.signal);
    }
}

Result<void> HostLane::wait_for_others(const Job& job) {
    KG_CHECK(timeline_->status());
    for (const Point& point : job.waits)
        KG_CHECK_IN(fmt::format("lane host, waiting for {}", point.timeline->name()), wait_until_reached(point));
    return {};
}

/// While the lane is being destroyed it waits at most kPatience for points of others.
Result<void> HostLane::wait_until_reached(const Point& point) {
    for (;;) {
        KG_TRY(const bool reached, wait_for(point, kLook));
        if (reached) return {};
        const Lock lock(mutex_);
        if (stop_ && host_now() - stopped_ > kPatience)
            return fail(ErrorCode::Cancelled, "value {} was never reached", point.value);
    }
}

Result<void> HostLane::run_passes(const Job& job) {
    for (const Pass& pass : job.passes) {
        const Nanoseconds begin = host_now();
        HostContext context(pass.name, job.execution, std::span(job.entries).subspan(pass.first_entry, pass.entries));
        const ToolRange range(pass.name);
        KG_CHECK(run_pass(pass.execute, context));
        if (observer_) observer_(pass.name, job.execution, begin, host_now());
    }
    return {};
}

}  // namespace kinetograph::graph
