#include <kinetograph/engine/accel/lane_watch.hpp>

#include <kinetograph/engine/base/exceptions.hpp>

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace kinetograph::accel {

LaneWatch::LaneWatch(Device& device, Stream& stream, Timeline& timeline, const graph::LaneWaits& waits)
    : device_(device), stream_(stream), timeline_(timeline), waits_(waits), thread_([this] { run(); }) {
    pthread_setname_np(thread_.native_handle(), "lane watch");
}

void LaneWatch::stop() {
    if (!thread_.joinable()) return;
    {
        const Lock lock(mutex_);
        ends_ = true;
    }
    wakes_.notify_one();
    thread_.join();
}

void LaneWatch::expect(std::uint64_t value) {
    newest_ = value;
    if (sleeps_) wake();
}

void LaneWatch::wake() {
    { const Lock lock(mutex_); }  // so the thread is not between its check and its wait
    wakes_.notify_one();
}

/// The views follow the lane's own timeline, unless the driver has refused to signal them.
bool LaneWatch::is_outstanding() const {
    const std::uint64_t newest = newest_;
    if (timeline_.value() < newest) return true;
    if (stream_.noted()) return false;
    return std::ranges::any_of(views(), [&](const auto& view) { return view->value() < newest; });
}

std::vector<std::shared_ptr<Timeline>> LaneWatch::views() const {
    std::vector<std::shared_ptr<Timeline>> views;
    timeline_.visit_views([&](const auto& view) {
        if (stream_.sees(*view)) views.push_back(view);
    });
    return views;
}

void LaneWatch::run() {
    Lock lock(mutex_);
    while (!ends_) {
        sleeps_ = true;
        wakes_.wait(lock, [&]() KG_REQUIRES(mutex_) { return ends_ || is_outstanding(); });
        sleeps_ = false;
        const std::uint64_t before = timeline_.value();
        wakes_.wait_for(lock, graph::kLook, [&]() KG_REQUIRES(mutex_) { return ends_; });
        if (ends_ || !is_outstanding() || timeline_.value() != before) continue;
        lock.unlock();
        // What fails is tried again at the next look.
        static_cast<void>(without_exceptions("lane watch", [this]() -> Result<void> {
            check();
            return {};
        }));
        lock.lock();
    }
}

void LaneWatch::log_loss(const Result<void>& status) {
    if (!status && status.error().code == ErrorCode::DeviceLost && !std::exchange(logged_, true))
        device_.log().error("{}: {}", timeline_.name(), status.error().message);
}

void LaneWatch::check() {
    log_loss(stream_.status());
    for (const auto& wait : waits_.unmet())
        if (const auto status = wait.point.timeline->status(); !status && status.error().code != ErrorCode::Cancelled)
            release_from(wait);  // Cancelled: the owner may still signal it
}

/// The stream waits on the device for a semaphore that its owner will not signal: signals it from another stream.
void LaneWatch::release_from(const graph::PendingWaits::Wait& wait) {
    if (auto status = wait.point.timeline->status(); !status) {
        status.error().message = "a lane that this one waited for: " + status.error().message;
        timeline_.report(std::move(status.error()));
    }
    // Otherwise the relay signals it.
    if (auto imported = waits_.seen(wait.point.timeline))
        signal_from_another_stream({std::move(imported), wait.point.value});
}

/// Once for each point. The other stream may share a queue of the device with this one, whose wait then blocks both: it
/// is given up after kPatience, and never released.
void LaneWatch::signal_from_another_stream(const graph::Point& point) {
    const auto known = std::ranges::find(released_, point.timeline, &graph::Point::timeline);
    if (known != released_.end() && known->value >= point.value) return;
    auto stream = device_.create_stream("releasing a lane");
    auto passed = device_.create_timeline();
    if (!stream || !passed) return;
    if (known != released_.end())
        known->value = point.value;
    else
        released_.push_back(point);
    (*stream)->signal(point.timeline, point.value);
    (*stream)->signal(*passed, 1);
    if (passes(**stream, **passed)) return;
    device_.log().error("{}: the stream that is to release it from {} cannot run, and is never released",
                        timeline_.name(), point.timeline->name());
    stream->release()->give_up();
}

/// Whether `stream` signals value 1 of `timeline` within kPatience and before the watch ends.
bool LaneWatch::passes(Stream& stream, Timeline& timeline) {
    for (const Nanoseconds begin = host_now(); !timeline.wait(1, graph::kLook / 10);) {
        static_cast<void>(stream.status());  // the host signals if the device is lost
        const bool is_late = host_now() - begin > graph::kPatience;
        const Lock lock(mutex_);
        if (ends_ || is_late) break;
    }
    return timeline.wait(1, graph::kLook);
}

}  // namespace kinetograph::accel
