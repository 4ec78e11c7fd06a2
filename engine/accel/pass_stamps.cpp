#include <kinetograph/engine/accel/pass_stamps.hpp>

#include <fmt/ranges.h>

#include <utility>

namespace kinetograph::accel {

std::string recorded_device(const DeviceInfo& info) {
    return fmt::format("{} {:02x}", info.kind, fmt::join(info.uuid, ""));
}

PassStamps::PassStamps(Device& device, profile::Recorder* recorder, graph::Lane lane)
    : device_(device),
      recorder_(recorder),
      track_(recorder != nullptr ? recorder->open_track(to_string(lane), recorded_device(device.info()))
                                 : profile::LaneTrack()) {}

bool PassStamps::are_in_graph(std::uint64_t execution) const {
    constexpr std::uint64_t kFirst = 16;
    return recorder_ != nullptr && device_.info().can_time_graphs.available &&
           (execution < kFirst || execution % kEvery == 0);
}

Result<std::shared_ptr<Event>> PassStamps::take_event() {
    if (free_events_.empty()) return device_.create_event();
    auto event = std::move(free_events_.back());
    free_events_.pop_back();
    return event;
}

void PassStamps::give_back(std::shared_ptr<Event> event) {
    if (event) free_events_.push_back(std::move(event));
}

Result<PassEvents> PassStamps::take_events(std::string_view name) {
    KG_TRY_IN(name, auto begin, take_event());
    KG_TRY_IN(name, auto end, take_event());
    return PassEvents{recorder_->names().intern(name), std::move(begin), std::move(end)};
}

Result<std::vector<PassEvents>> PassStamps::take_for_graph(const graph::BatchRecord& record) {
    std::vector<PassEvents> chain;
    chain.reserve(record.passes.size());
    KG_TRY(auto begin, take_event());
    for (const graph::PassRecord& pass : record.passes) {
        KG_TRY_IN(pass.planned->name, auto end, take_event());
        chain.push_back({recorder_->names().intern(pass.planned->name), begin, end});
        begin = std::move(end);
    }
    return chain;
}

TimedBatch PassStamps::begin(const graph::BatchRecord& record, const Timeline& timeline) const {
    return {.execution = record.execution,
            .plan = recorder_ != nullptr ? recorder_->note(record, timeline, track_.name()) : profile::kNoPlan};
}

Result<void> PassStamps::take_for_passes(TimedBatch& batch, const graph::BatchRecord& record) {
    if (recorder_ == nullptr) return {};
    batch.passes.reserve(record.passes.size());
    for (const graph::PassRecord& pass : record.passes) {
        KG_TRY(auto events, take_events(pass.planned->name));
        batch.passes.push_back(std::move(events));
    }
    return {};
}

Result<void> PassStamps::take_for_replay(TimedBatch& batch, const graph::BatchRecord& record, BatchGraph& graph) {
    if (!graph.passes.empty()) {
        KG_TRY(batch.done, take_event());
        batch.replayed = &graph;
    } else if (recorder_ != nullptr) {
        KG_TRY(auto events,
               take_events(fmt::format("{} passes from {} to {}", record.passes.size(),
                                       record.passes.front().planned->name, record.passes.back().planned->name)));
        batch.passes.push_back(std::move(events));
    }
    return {};
}

void PassStamps::add(TimedBatch batch) {
    if (batch.replayed != nullptr) ++batch.replayed->unread_replays;
    if (batch.replayed != nullptr || !batch.passes.empty()) timed_.push_back(std::move(batch));
}

void PassStamps::collect() {
    while (!timed_.empty() && collect(timed_.front())) timed_.pop_front();
}

/// Adds the spans of a batch that the stream has passed; false: it has not.
bool PassStamps::collect(TimedBatch& batch) {
    const auto& last = batch.done ? batch.done : batch.passes.back().end;
    if (!last->time()) return false;
    const PassEvents* before = nullptr;
    std::optional<Nanoseconds> end;
    for (const PassEvents& pass : batch.replayed != nullptr ? batch.replayed->passes : batch.passes) {
        const auto begin = before != nullptr && before->end == pass.begin ? end : pass.begin->time();
        end = pass.end->time();
        if (begin && end)
            recorder_->add(profile::SpanRecord{pass.name, track_.name(), batch.plan, *begin, *end, batch.execution});
        before = &pass;
    }
    if (const auto clock = device_.clock_quality())
        recorder_->note_clock(track_.name(), clock->error, clock->drift_ppm);
    for (PassEvents& pass : batch.passes) {
        give_back(std::move(pass.begin));
        give_back(std::move(pass.end));
    }
    give_back(std::move(batch.done));
    if (batch.replayed != nullptr) --batch.replayed->unread_replays;
    return true;
}

}  // namespace kinetograph::accel
