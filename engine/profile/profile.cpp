#include <kinetograph/engine/profile/profile.hpp>

#include <kinetograph/engine/profile/statistics.hpp>

#include <algorithm>

namespace kinetograph::profile {
namespace {

constexpr Nanoseconds kRefresh = std::chrono::milliseconds(250);  // of shares and loads
constexpr std::size_t kSweptSpans = 8192;                         // of the newest, for shares
constexpr std::size_t kOpenSteps = 8;
constexpr std::uint64_t kStepsBeforeSpikes = 5;  // a median of fewer says nothing

double seconds(Nanoseconds time) { return static_cast<double>(time.count()) * 1e-9; }

std::uint64_t key_of(NameId name, NameId track) { return std::uint64_t{name} << 32U | track; }

}  // namespace

void DurationHistory::add(Nanoseconds duration) {
    if (durations_.size() < kLength) return durations_.push_back(duration);
    durations_[next_] = duration;
    next_ = (next_ + 1) % kLength;
}

Profile::Profile(const Recorder& recorder, const ProfileOptions& options)
    : recorder_(recorder), options_(options), started_(host_now()) {}

void Profile::update(Nanoseconds now) {
    updated_ = now;
    batch_.clear();
    recorder_.read(cursor_, batch_);
    points_.clear();
    recorder_.read(points_cursor_, points_);  // after the spans, so that everything that they waited for is included
    waits_.make_room(points_.size());
    for (const PointRecord& point : points_) waits_.add(point);
    for (const SpanRecord& span : batch_) take(span);
    take_frames(Pacing::kMostFrames);
    if (refreshed_ == Nanoseconds::min() || now - refreshed_ >= kRefresh) refresh_shares(now);
}

void Profile::refresh(Nanoseconds now) {
    refreshed_ = Nanoseconds::min();
    update(now);
}

void Profile::finish(Nanoseconds now) {
    refresh(now);
    for (Step& step : open_steps_) complete(std::move(step));
    open_steps_.clear();
    take_frames(0);
}

PassProfile& Profile::pass_of(const SpanRecord& span) {
    const auto [entry, is_new] = index_.try_emplace(key_of(span.name, span.track), passes_.size());
    if (is_new) {
        passes_.emplace_back();
        passes_.back().name = span.name;
        passes_.back().track = span.track;
    }
    return passes_[entry->second];
}

void Profile::take(const SpanRecord& span) {
    PassProfile& pass = pass_of(span);
    if (++pass.calls == 1)
        pass.first = span.length();
    else
        pass.later.add(span.length());
    pass.last = span.length();
    pass.history.add(span.length());
    if (span.plan != pass.plan) {
        pass.plan = span.plan;
        const auto facts = plan(span.plan);
        pass.in_plan = facts != nullptr ? facts->find(span.name, span.track) : kNone;
    }
    add_to_track(span);
    if (span.plan != kNoPlan) add_to_step(span);
}

void Profile::add_to_track(const SpanRecord& span) {
    auto track = std::ranges::find(tracks_, span.track, &Track::name);
    if (track == tracks_.end()) {
        tracks_.push_back({.name = span.track});
        track = std::prev(tracks_.end());
    }
    const auto at = std::upper_bound(track->spans.begin(), track->spans.end(), span.begin,
                                     [](Nanoseconds time, const SpanRecord& other) { return time < other.begin; });
    track->spans.insert(at, span);
    if (track->spans.size() > kSpansOfTrack) track->spans.pop_front();
}

/// A step is complete when all its passes have been recorded, or when the step after the next of its plan has begun.
void Profile::add_to_step(const SpanRecord& span) {
    auto step = std::ranges::find_if(
        open_steps_, [&](const Step& open) { return open.plan == span.plan && open.execution == span.execution; });
    if (step == open_steps_.end()) {
        for (std::size_t i = 0; i < open_steps_.size();)
            if (open_steps_.size() == kOpenSteps ||
                (open_steps_[i].plan == span.plan && open_steps_[i].execution + 1 < span.execution)) {
                Step over = std::move(open_steps_[i]);
                open_steps_.erase(open_steps_.begin() + static_cast<std::ptrdiff_t>(i));
                complete(std::move(over));
            } else {
                ++i;
            }
        open_steps_.push_back({.plan = span.plan, .execution = span.execution, .spans = {}});
        step = std::prev(open_steps_.end());
    }
    step->add(span);
    const auto facts = plan(span.plan);
    if (facts == nullptr || step->spans.size() < facts->passes.size()) return;
    Step over = std::move(*step);
    open_steps_.erase(step);
    complete(std::move(over));
}

void Profile::complete(Step step) {
    auto steps = std::ranges::find(steps_, step.plan, &PlanSteps::plan);
    if (steps == steps_.end()) {
        if (steps_.size() == kPlans) steps_.erase(std::ranges::min_element(steps_, {}, &PlanSteps::last_use));
        steps_.push_back({.plan = step.plan, .first = step.length(), .later = {}, .newest = {}});
        steps = std::prev(steps_.end());
    } else {
        keep_if_spike(step, steps->later);
        steps->later.add(step.length());
    }
    steps->last_use = ++completed_;
    if (steps->newest.size() == kStepsOfPlan) steps->newest.pop_front();
    steps->newest.push_back(std::move(step));
}

void Profile::keep_if_spike(const Step& step, const DurationSketch& earlier) {
    const Nanoseconds median = earlier.quantile(0.5);
    const bool over_fixed = options_.spike.fixed > Nanoseconds{} && step.length() > options_.spike.fixed;
    const bool over_median = options_.spike.median > 0.0 && earlier.count() >= kStepsBeforeSpikes &&
                             seconds(step.length()) > options_.spike.median * seconds(median);
    if (!over_fixed && !over_median) return;
    if (spikes_.size() == kSpikes) forget_spike();
    spikes_.push_back({.step = step,
                       .median = median,
                       .plan = plan(step.plan),
                       .around = surroundings(step),
                       .counters = recorder_.counters_at(step.end),
                       .memory = memory_,
                       .pacing = pacing_.figures()});
}

/// Drops the oldest spike of the plan with the most spikes: the many short steps of a display must not push out a
/// decoder's.
void Profile::forget_spike() {
    const auto of_plan = [&](PlanId plan) {
        return std::ranges::count(spikes_, plan, [](const Spike& spike) { return spike.step.plan; });
    };
    const auto oldest =
        std::ranges::max_element(spikes_, {}, [&](const Spike& spike) { return of_plan(spike.step.plan); });
    spikes_.erase(oldest);
}

void Profile::refresh_shares(Nanoseconds now) {
    refreshed_ = now;
    ceilings_ = recorder_.ceilings();
    counters_ = recorder_.newest_counters();
    const Window window{std::max(now - options_.window, recorder_.first_begin().value_or(now)), now};
    std::vector<SpanRecord> spans;
    const std::size_t most = kSweptSpans / std::max<std::size_t>(tracks_.size(), 1);
    for (Track& track : tracks_) {
        const std::size_t first = track.spans.size() > most ? track.spans.size() - most : 0;
        Nanoseconds busy{}, reached = window.begin;
        for (std::size_t i = first; i < track.spans.size(); ++i) {
            SpanRecord span = track.spans[i];
            span.begin = std::max(span.begin, window.begin);
            span.end = std::min(span.end, window.end);
            if (span.end <= span.begin) continue;
            busy += std::max(Nanoseconds{}, span.end - std::max(span.begin, reached));
            reached = std::max(reached, span.end);
            spans.push_back(span);
        }
        track.busy = window.length() > Nanoseconds{} ? seconds(busy) / seconds(window.length()) : 0.0;
    }
    std::vector<Window> pieces;
    pieces.reserve(spans.size());
    for (const SpanRecord& span : spans) pieces.push_back({span.begin, span.end});
    const std::vector<double> owned = owned_nanoseconds(pieces);
    double all = 0.0;
    for (PassProfile& pass : passes_) pass.share = 0.0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        pass_of(spans[i]).share += owned[i];
        all += owned[i];
    }
    if (all > 0.0)
        for (PassProfile& pass : passes_) pass.share /= all;
    for (PassProfile& pass : passes_)
        if (pass.plan != kNoPlan && pass.in_plan == kNone && pass.share > 0.0) split_share(pass);
}

/// A span of a plan that matches none of its passes stands for a batch whose passes were not timed in that execution:
/// its time is divided among the passes of its track in proportion to their medians.
void Profile::split_share(PassProfile& batch) {
    const auto facts = plan(batch.plan);
    if (facts == nullptr) return;
    std::vector<PassProfile*> timed;
    double sum = 0.0;
    for (const PassFacts& pass : facts->passes) {
        const auto found = index_.find(key_of(pass.name, pass.track));
        if (pass.track != batch.track || found == index_.end()) continue;
        timed.push_back(&passes_[found->second]);
        sum += seconds(timed.back()->quantile(0.5));
    }
    if (sum <= 0.0) return;
    for (PassProfile* pass : timed) pass->share += batch.share * seconds(pass->quantile(0.5)) / sum;
    batch.share = 0.0;
}

const Step* Profile::find_complete(StepKey key) const {
    const auto steps = std::ranges::find(steps_, key.plan, &PlanSteps::plan);
    if (steps == steps_.end()) return nullptr;
    const auto found = std::ranges::find(steps->newest, key.execution, &Step::execution);
    return found != steps->newest.end() ? &*found : nullptr;
}

const Step* Profile::find(StepKey key) const {
    if (const Step* complete = find_complete(key)) return complete;
    const auto open = std::ranges::find(open_steps_, key, &Step::key);
    return open != open_steps_.end() ? &*open : nullptr;
}

/// Whether a step is not complete and never will be, because much later ones are.
bool Profile::is_forgotten(StepKey key) const {
    const auto steps = std::ranges::find(steps_, key.plan, &PlanSteps::plan);
    return steps != steps_.end() && find(key) == nullptr &&
           steps->newest.back().execution >= key.execution + kStepsOfPlan;
}

StepSurroundings Profile::surroundings(const Step& step) const {
    StepSurroundings around;
    if (const auto facts = plan(step.plan))
        around.from_others = hand_overs_from_others(
            step, *facts, waits_.of(step.key()),
            {[this](StepKey other) { return find(other); }, [this](PlanId other) { return plan(other); }});
    for (const SpanRecord& span : step.spans) {
        if (std::ranges::find(around.free_since, span.track, &StepSurroundings::Reached::track) !=
            around.free_since.end())
            continue;
        const auto track = std::ranges::find(tracks_, span.track, &Track::name);
        if (track == tracks_.end()) continue;
        const auto first = std::ranges::lower_bound(track->spans, span.begin, {}, &SpanRecord::begin);
        if (first != track->spans.begin()) around.free_since.push_back({span.track, std::prev(first)->end});
    }
    return around;
}

/// Gives frames whose steps are complete by now their figures. Up to `most` others go on waiting.
void Profile::take_frames(std::size_t most) {
    std::vector<FrameTimes> frames;
    std::vector<ScreenTime> times;
    recorder_.read(frames_cursor_, frames, times);
    // Added in the order in which they happened: from a file they come all at once, and only the newest are kept.
    auto shown = frames.begin();
    const auto add_frames_until = [&](Nanoseconds time) {
        for (; shown != frames.end() && shown->shown <= time; ++shown) pacing_.add(*shown, started_);
    };
    for (const ScreenTime& time : times) {
        add_frames_until(time.time + ScreenTime::kEarly);
        pacing_.add(time);
    }
    add_frames_until(Nanoseconds::max());
    pacing_.resolve(most, [this](FrameTimes& frame, bool give_up) -> std::optional<LateFrame> {
        const Step* made = find_complete(frame.made_by);
        const auto is_awaited = [&](StepKey step) {
            return !give_up && step && find_complete(step) == nullptr && !is_forgotten(step);
        };
        if (is_awaited(frame.made_by) || (frame.late && is_awaited(frame.drawn_by))) return std::nullopt;
        if (made != nullptr) frame.set_step(made->begin, made->end);
        return blame(frame);
    });
}

/// Finds the pass that exceeded its median most in the steps that made and drew the frame.
LateFrame Profile::blame(const FrameTimes& frame) const {
    LateFrame late{.index = frame.index, .shown = frame.shown};
    if (!frame.late) return late;
    for (const StepKey key : {frame.made_by, frame.drawn_by})
        if (const Step* step = find_complete(key))
            for (const SpanRecord& span : step->spans) {
                const Nanoseconds excess = span.length() - find(span.name, span.track)->quantile(0.5);
                if (late.pass != 0 && excess <= late.excess) continue;
                late.pass = span.name;
                late.track = span.track;
                late.excess = excess;
                late.step = key;
            }
    return late;
}

const Ceiling* Profile::ceiling(NameId track) const {
    const auto known = std::ranges::find(ceilings_, track, &TrackCeiling::track);
    return known != ceilings_.end() ? &known->ceiling : nullptr;
}

const PassProfile* Profile::find(NameId name, NameId track) const {
    const auto found = index_.find(key_of(name, track));
    return found != index_.end() ? &passes_[found->second] : nullptr;
}

/// A plan's facts grow until all of its batches have been reported; then they stay the same.
std::shared_ptr<const PlanFacts> Profile::plan(PlanId id) const {
    const auto known = std::ranges::find_if(plans_, [&](const auto& plan) { return plan->id == id; });
    if (known != plans_.end() && (*known)->is_complete()) return *known;
    auto found = recorder_.plans().find(id);
    if (found == nullptr) return known != plans_.end() ? *known : nullptr;
    if (known != plans_.end()) {
        *known = found;
    } else {
        if (plans_.size() == PlanBook::kMost) plans_.erase(plans_.begin());
        plans_.push_back(found);
    }
    return found;
}

std::shared_ptr<const PassFacts> Profile::facts(const PassProfile& pass) const {
    if (pass.in_plan == kNone) return nullptr;
    const auto facts = plan(pass.plan);
    return facts != nullptr ? std::shared_ptr<const PassFacts>(facts, &facts->passes[pass.in_plan]) : nullptr;
}

PassRates Profile::rates(const PassProfile& pass) const {
    PassRates rates;
    const auto facts = this->facts(pass);
    const double time = seconds(pass.quantile(0.5));
    if (facts == nullptr || time <= 0.0) return rates;
    rates.operations_per_second = facts->operations / time;
    rates.bytes_per_second = static_cast<double>(facts->bytes) / time;
    const Ceiling* ceiling = this->ceiling(pass.track);
    if (ceiling == nullptr) return rates;
    if (ceiling->operations_per_second > 0.0)
        rates.of_peak_operations = rates.operations_per_second / ceiling->operations_per_second;
    if (ceiling->bytes_per_second > 0.0) rates.of_peak_bandwidth = rates.bytes_per_second / ceiling->bytes_per_second;
    rates.is_bound_by_bandwidth = rates.of_peak_bandwidth > rates.of_peak_operations;
    rates.of_roofline = rates.is_bound_by_bandwidth ? rates.of_peak_bandwidth : rates.of_peak_operations;
    return rates;
}

Capture Profile::capture(std::string label) const {
    Capture capture{std::move(label), {}};
    for (const PassProfile& pass : passes_) {
        PassSummary summary{.name = std::string(text(pass.name)),
                            .track = std::string(text(pass.track)),
                            .calls = pass.calls,
                            .first = pass.first,
                            .last = pass.last,
                            .mean = pass.mean(),
                            .p50 = pass.quantile(0.5),
                            .p95 = pass.quantile(0.95),
                            .p99 = pass.quantile(0.99),
                            .max = pass.max(),
                            .total = pass.later.total(),
                            .deviation = pass.later.deviation(),
                            .share = pass.share};
        if (const auto facts = this->facts(pass)) {
            summary.operations = facts->operations;
            summary.bytes = facts->bytes;
            const PassRates rates = this->rates(pass);
            summary.of_peak_operations = rates.of_peak_operations;
            summary.of_peak_bandwidth = rates.of_peak_bandwidth;
            summary.of_roofline = rates.of_roofline;
            summary.kernel = facts->kernel;
        }
        capture.passes.push_back(std::move(summary));
    }
    return capture;
}

}  // namespace kinetograph::profile
