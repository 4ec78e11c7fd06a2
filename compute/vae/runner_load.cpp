#include <kinetograph/compute/vae/runner_load.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace kinetograph::vae {
namespace {

constexpr Nanoseconds kLate = std::chrono::seconds(1);  // for how long a late step counts, and a stage lasts at least
constexpr Nanoseconds kCalm = std::chrono::seconds(2);  // without a late step, before a stage is taken back
constexpr int kMostSkipped = 8;                         // times the time that a step's frames show
constexpr std::array kStages{"no", "skipped", "half", "quarter", "eighth"};

HeldBack after(HeldBack stage, int steps) { return static_cast<HeldBack>(static_cast<int>(stage) + steps); }

/// The least time between two steps' turns, in times of their frames: 2, 4, 8.
int spacing(HeldBack stage) { return stage < HeldBack::Half ? 0 : 1 << (static_cast<int>(stage) - 1); }

double pixels(LatentSize size) { return static_cast<double>(size.height * size.width); }

double seconds(Nanoseconds time) { return 1e-9 * static_cast<double>(time.count()); }

std::string mib(std::uint64_t bytes, double (*rounded)(double)) {
    return fmt::format("{:.0f}", rounded(static_cast<double>(bytes) / (1 << 20)));
}

}  // namespace

Nanoseconds ClipTerms::shown() const { return Nanoseconds(std::llround(1e9 * static_cast<double>(frames) / fps)); }

std::string_view to_string(HeldBack stage) { return kStages.at(static_cast<std::size_t>(stage)); }

// ---- admission -----------------------------------------------------------------------------------------------------

std::string Admission::sentence() const {
    std::string time = "an unknown part of its time, because none of its steps has been measured yet";
    if (needed_seconds)
        time = fmt::format(
            "{:.3f} seconds of it a second ({}), of which {} visible clips leave {:.3f}", *needed_seconds,
            measured == terms.size ? std::string("as measured")
                                   : fmt::format("estimated from {}x{} latents", measured.width, measured.height),
            visible_clips, std::max(0.0, 1 - taken_seconds));
    std::string advice;
    if (!has_bytes()) advice = "close or park other clips";
    if (!has_seconds())
        advice += fmt::format("{}close visible clips, ask for fewer frames a second, or open it in the background",
                              advice.empty() ? "" : ", and ");
    return fmt::format(
        "a {} clip of {}x{} latents at {:g} frames/s {} on {}: it takes {} MiB of its memory, of which {} "
        "are free, and {}{}{}",
        terms.background ? "background" : "visible", terms.size.width, terms.size.height, terms.fps,
        fits() ? "fits" : "does not fit", device, mib(bytes.needed, [](double of) { return std::ceil(of); }),
        mib(bytes.free, [](double of) { return std::floor(of); }), time, advice.empty() ? "" : ": ", advice);
}

Result<void> Admission::check() const {
    if (fits()) return {};
    return fail(ErrorCode::OutOfMemory, "{}", sentence());
}

Admission RunnerLoad::admission_locked(const ClipTerms& terms, const ClipBytes& bytes,
                                       const std::string& device) const {
    Admission answer{.device = device, .terms = terms, .bytes = bytes};
    for (const auto& [number, clip] : clips_) {
        if (clip.figures.terms.background) continue;
        ++answer.visible_clips;
        answer.taken_seconds += demand_of(clip.figures.terms);
    }
    if (const Measured* const known = nearest(terms.size)) {
        answer.needed_seconds = demand_of(terms);
        answer.measured = known->size;
    }
    return answer;
}

Admission RunnerLoad::admission(const ClipTerms& terms, const ClipBytes& bytes, const std::string& device) const {
    const Lock lock(mutex_);
    return admission_locked(terms, bytes, device);
}

RunnerLoad::Number RunnerLoad::join(const ClipTerms& terms, const Log& log) {
    const Lock lock(mutex_);
    const Number number = ++newest_;
    clips_[number] = {.figures = {.number = number, .terms = terms}, .log = log};
    return number;
}

Result<RunnerLoad::Number> RunnerLoad::join_if_fits(const ClipTerms& terms, const ClipBytes& bytes,
                                                    const std::string& device, const Log& log) {
    const Lock lock(mutex_);
    KG_CHECK(admission_locked(terms, bytes, device).check());
    const Number number = ++newest_;
    clips_[number] = {.figures = {.number = number, .terms = terms}, .log = log};
    return number;
}

void RunnerLoad::leave(Number clip) {
    const Lock lock(mutex_);
    clips_.erase(clip);
}

// ---- demand --------------------------------------------------------------------------------------------------------

/// The measured size whose pixels differ least, as a ratio; null before any is.
const RunnerLoad::Measured* RunnerLoad::nearest(LatentSize size) const {
    const Measured* found = nullptr;
    double least = 0;
    for (const Measured& known : measured_) {
        const double distance = known.size == size ? -1 : std::abs(std::log(pixels(known.size) / pixels(size)));
        if (found == nullptr || distance < least) found = &known, least = distance;
    }
    return found;
}

double RunnerLoad::demand_of(const ClipTerms& terms) const {
    const Measured* const known = nearest(terms.size);
    return known == nullptr ? 0 : terms.fps * known->seconds * pixels(terms.size) / pixels(known->size);
}

double RunnerLoad::demand_locked(Nanoseconds now) const {
    double sum = 0;
    for (const auto& [number, clip] : clips_)
        if (now < clip.asked + kLate + clip.figures.terms.shown()) sum += demand_of(clip.figures.terms);
    return sum;
}

/// A mean in which the newest steps count most: clocks of a device change.
void RunnerLoad::measure(const Clip& clip, const Done& step) {
    constexpr std::int64_t kSteps = 8;
    const LatentSize size = clip.figures.terms.size;
    auto known = std::ranges::find(measured_, size, &Measured::size);
    if (known == measured_.end()) known = measured_.insert(known, Measured{.size = size});
    known->steps = std::min(known->steps + 1, kSteps);
    const double frame = seconds(step.end - step.begin) / static_cast<double>(step.frames);
    known->seconds += (frame - known->seconds) / static_cast<double>(known->steps);
}

// ---- overload ------------------------------------------------------------------------------------------------------

std::size_t RunnerLoad::in_background() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(clips_, [](const auto& clip) { return clip.second.figures.terms.background; }));
}

void RunnerLoad::log_overload(double demand) const {
    const std::size_t background = in_background();
    clips_.begin()->second.log.warn(
        "overload: {} clips that share a device want {:.2f} seconds of it a second{}; {}", clips_.size(), demand,
        late_ ? ", and a visible one was late" : "",
        background == 0 ? std::string("there are none in the background: they share it by their weights")
                        : fmt::format("{} in the background are skipped while visible ones wait", background));
}

void RunnerLoad::enter(HeldBack stage, Nanoseconds now) {
    const bool is_further = stage > furthest_, is_over = stage == HeldBack::No;
    stage_ = stage;
    changed_ = now;
    furthest_ = is_over ? stage : std::max(furthest_, stage);
    if (clips_.empty()) return;
    const Log& log = clips_.begin()->second.log;
    if (is_over) log.info("the overload is over: no clip in the background is held back any more");
    if (!is_further) return;
    if (stage == HeldBack::Skipped) return log_overload(demand_locked(now));
    log.warn("visible clips are still late: those in the background run at 1/{} of their rates at most",
             spacing(stage));
}

/// To the stage of this time.
void RunnerLoad::follow(Nanoseconds now) {
    const bool is_late = late_ && now < *late_ + kLate;
    const bool wants_too_much = demand_locked(now) > 1;
    if (stage_ == HeldBack::No) {
        if (is_late || wants_too_much) enter(HeldBack::Skipped, now);
        return;
    }
    if (late_ && *late_ > changed_ && now >= changed_ + kLate && is_late) {
        if (stage_ < HeldBack::Eighth && in_background() > 0) enter(after(stage_, 1), now);
        return;
    }
    const auto calm_from = [&]() KG_REQUIRES(mutex_) { return std::max(changed_, late_.value_or(changed_)); };
    while (stage_ != HeldBack::No && now >= calm_from() + kCalm && (stage_ > HeldBack::Skipped || !wants_too_much))
        enter(after(stage_, -1), calm_from() + kCalm);
}

void RunnerLoad::ask(Number clip, Nanoseconds now) {
    const Lock lock(mutex_);
    clips_.at(clip).asked = now;
    follow(now);
}

RunnerLoad::Turn RunnerLoad::turn(Number number, Nanoseconds asked, Nanoseconds now) {
    const Lock lock(mutex_);
    follow(now);
    const Clip& clip = clips_.at(number);
    const ClipTerms& terms = clip.figures.terms;
    if (!terms.background || stage_ == HeldBack::No) return {};
    Turn turn{.is_skipped = now < asked + kMostSkipped * terms.shown()};
    if (clip.figures.steps > 0) turn.from = clip.turn + spacing(stage_) * terms.shown();
    return turn;
}

void RunnerLoad::enqueued(Number number, Nanoseconds now, Nanoseconds waited, bool held_back) {
    const Lock lock(mutex_);
    Clip& clip = clips_.at(number);
    clip.turn = clip.asked = now;
    ++clip.figures.steps;
    clip.figures.waited += waited;
    clip.figures.longest = std::max(clip.figures.longest, waited);
    clip.figures.steps_held_back += held_back ? 1 : 0;
}

void RunnerLoad::done(Number number, const Done& step) {
    const Lock lock(mutex_);
    Clip& clip = clips_.at(number);
    if (!step.is_first) measure(clip, step);
    clip.figures.frames += static_cast<std::uint64_t>(step.frames);
    clip.figures.busy += step.end - step.begin;
    if (step.end > step.due) {
        ++clip.figures.misses;
        if (!step.is_first && !clip.figures.terms.background) late_ = std::max(step.end, late_.value_or(step.end));
    }
    follow(std::max(step.end, changed_));
}

// ---- figures -------------------------------------------------------------------------------------------------------

ClipFigures RunnerLoad::figures_locked(const Clip& clip) const {
    ClipFigures figures = clip.figures;
    if (figures.terms.background) figures.held_back = stage_;
    return figures;
}

ClipFigures RunnerLoad::figures(Number clip, Nanoseconds now) {
    const Lock lock(mutex_);
    follow(now);
    return figures_locked(clips_.at(clip));
}

RunnerFigures RunnerLoad::figures(Nanoseconds now) {
    const Lock lock(mutex_);
    follow(now);
    RunnerFigures all{.demand = demand_locked(now), .stage = stage_};
    for (const auto& [number, clip] : clips_) all.clips.push_back(figures_locked(clip));
    return all;
}

void RunnerLoad::note_state(Number clip, std::uint64_t bytes) {
    const Lock lock(mutex_);
    clips_.at(clip).figures.state_bytes = bytes;
}

void RunnerLoad::note_latencies(Number clip, const ClipLatencies& latencies) {
    const Lock lock(mutex_);
    clips_.at(clip).figures.latencies = latencies;
}

void Latency::add(Nanoseconds time) {
    ++steps;
    sum += time;
    longest = std::max(longest, time);
    newest = time;
}

}  // namespace kinetograph::vae
