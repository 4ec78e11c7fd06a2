#include <kinetograph/engine/profile/pacing.hpp>

#include <algorithm>

namespace kinetograph::profile {
namespace {

double in_seconds(Nanoseconds time) { return static_cast<double>(time.count()) * 1e-9; }

}  // namespace

double Pacing::low(double part) const {
    const Nanoseconds slowest = intervals.quantile(1.0 - part);
    return slowest > Nanoseconds{} ? 1.0 / in_seconds(slowest) : 0.0;
}

double Pacing::rate(Nanoseconds now) const {
    if (newest.size() < 2) return 0.0;
    const Nanoseconds last = newest.back().shown;
    const auto recent = std::ranges::lower_bound(newest, std::max(now, last) - kRecent, {}, &FrameTimes::shown);
    const auto first = std::min(recent, newest.end() - 2);
    const auto intervals_of_it = static_cast<double>(newest.end() - first - 1);
    Nanoseconds length = last - first->shown;
    // One frame that is due does not count as missing; two do.
    if (in_seconds(now - last) * intervals_of_it > 2.0 * in_seconds(length)) length = now - first->shown;
    return length > Nanoseconds{} ? intervals_of_it / in_seconds(length) : 0.0;
}

PacingFigures Pacing::figures() const {
    PacingFigures figures{.frames = frames, .late = late};
    if (frames == 0) return figures;
    figures.rate = rate(newest.back().shown);
    figures.low_1_percent = low(0.01);
    figures.low_01_percent = low(0.001);
    figures.interval = intervals.quantile(0.5);
    figures.decode = decode.quantile(0.5);
    figures.queued = queued.quantile(0.5);
    figures.present = present.quantile(0.5);
    figures.latency = latency.quantile(0.5);
    const std::size_t kept = std::min(newest.size(), PacingFigures::kMostFrames);
    figures.newest.assign(newest.end() - static_cast<std::ptrdiff_t>(kept), newest.end());
    return figures;
}

void Pacing::add(const FrameTimes& frame, Nanoseconds started) {
    if (frames == 0) {
        first_frame = frame.shown - started;
    } else {
        intervals.add(frame.shown - newest.back().shown);
        present.add(frame.present);
    }
    if (frame.late) ++late;
    if (newest.size() == kMostFrames) newest.pop_front();
    newest.push_back(frame);
    waiting_.push_back({frames++, frame});
}

void Pacing::resolve(std::size_t most, const Resolve& resolve) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
        Waiting& waiting = waiting_[i];
        const bool give_up = waiting_.size() - i > most;
        const auto resolved = resolve(waiting.frame, give_up);
        if (!resolved) {
            if (kept != i) waiting_[kept] = waiting;
            ++kept;
            continue;
        }
        note(waiting, *resolved);
    }
    waiting_.resize(kept);
}

void Pacing::note(const Waiting& resolved, const LateFrame& is_late) {
    const FrameTimes& frame = resolved.frame;
    if (const std::uint64_t oldest = frames - newest.size(); resolved.number >= oldest)
        newest[resolved.number - oldest] = frame;
    if (frame.on_screen != Nanoseconds{}) to_screen.add(frame.latency + frame.on_screen - frame.shown);
    if (frame.late) {
        if (late_frames.size() == kMostLate) late_frames.pop_front();
        late_frames.push_back(is_late);
    }
    if (resolved.number == 0) return;
    decode.add(frame.decode);
    queued.add(frame.queued);
    latency.add(frame.latency);
}

void Pacing::add(const ScreenTime& time) {
    const auto found =
        std::find_if(newest.rbegin(), newest.rend(), [&](const FrameTimes& other) { return time.may_be_of(other); });
    if (found == newest.rend()) return;
    found->on_screen = time.time;
    display.add(time.time - found->shown);
    const std::uint64_t number = frames - 1 - static_cast<std::uint64_t>(found - newest.rbegin());
    const auto waiting = std::ranges::find(waiting_, number, &Waiting::number);
    if (waiting != waiting_.end())
        waiting->frame.on_screen = time.time;
    else
        to_screen.add(found->latency + time.time - found->shown);
}

}  // namespace kinetograph::profile
