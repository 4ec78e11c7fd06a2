// Profile: statistics of a recorder's spans so far: every pass, every step, every frame, in bounded memory.
#pragma once

#include <kinetograph/engine/profile/comparison.hpp>
#include <kinetograph/engine/profile/duration_sketch.hpp>
#include <kinetograph/engine/profile/pacing.hpp>
#include <kinetograph/engine/profile/step_analysis.hpp>

#include <deque>
#include <unordered_map>

namespace kinetograph::profile {

/// The newest durations of a pass, oldest first.
class DurationHistory {
  public:
    static constexpr std::size_t kLength = 256;
    void add(Nanoseconds duration);
    std::size_t size() const { return durations_.size(); }
    Nanoseconds operator[](std::size_t i) const { return durations_[(next_ + i) % durations_.size()]; }

  private:
    std::size_t next_ = 0;  // the oldest, once full
    std::vector<Nanoseconds> durations_;
};

/// One pass (name and track) since the start. Its first call, which may load and compile, is kept apart.
struct PassProfile {
    NameId name = 0, track = 0;
    PlanId plan = kNoPlan;          ///< the newest that it ran in
    std::uint32_t in_plan = kNone;  ///< its index in that plan
    std::uint64_t calls = 0;
    Nanoseconds first{}, last{};
    DurationSketch later;     ///< of all calls but the first
    DurationHistory history;  ///< of the newest calls
    double share = 0.0;       ///< as PassStatistics::share, over the newest window
    /// These are of the later calls, or of the first one while there is no other.
    Nanoseconds quantile(double q) const { return later.count() > 0 ? later.quantile(q) : first; }
    Nanoseconds mean() const { return later.count() > 0 ? later.mean() : first; }
    Nanoseconds max() const { return later.count() > 0 ? later.max() : first; }
};

/// Rates of a pass at its median time.
struct PassRates {
    double operations_per_second = 0.0, bytes_per_second = 0.0;  ///< 0: not known
    /// As fractions of what was measured on the device (Ceiling); 0: not known.
    double of_peak_operations = 0.0, of_peak_bandwidth = 0.0;
    /// As a fraction of what the device allows a pass of this intensity (operations per byte): of the peak operations
    /// above the ridge of the roofline, of the peak bandwidth below it. 0: not known.
    double of_roofline = 0.0;
    bool is_bound_by_bandwidth = false;  ///< which of the two limits applies
};

struct MemoryUse {
    std::string device, what;
    std::uint64_t bytes = 0, budget = 0;  ///< budget 0: not known
};

/// A step that took too long, with what the panels showed while it was the newest.
struct Spike {
    Step step;
    Nanoseconds median{};                   ///< of its plan's steps until then
    std::shared_ptr<const PlanFacts> plan;  ///< with its arenas
    StepSurroundings around{};              ///< what it waited for in other graphs
    std::vector<CounterSample> counters{};  ///< the last sample of each until the step's end
    std::vector<MemoryUse> memory{};        ///< as last set by set_memory()
    PacingFigures pacing{};                 ///< of the frames until then
};

struct SpikeThreshold {
    Nanoseconds fixed{};  ///< 0: none
    double median = 2.0;  ///< times the median of the plan's steps; 0: none
};

struct ProfileOptions {
    Nanoseconds window = std::chrono::seconds(3);  ///< of shares and loads
    SpikeThreshold spike{};
};

/// The steps of one plan.
struct PlanSteps {
    PlanId plan = kNoPlan;
    Nanoseconds first{};         ///< length of the first one
    DurationSketch later;        ///< of the others
    std::deque<Step> newest;     ///< complete ones, oldest first
    std::uint64_t last_use = 0;  ///< when the newest one was complete, counted in steps of all plans
};

/// For one thread. update() takes in what has been recorded since the last call; the other functions only read.
class Profile {
  public:
    explicit Profile(const Recorder& recorder, const ProfileOptions& options = {});

    void update(Nanoseconds now);
    /// The same, with shares and loads of now, which update() computes a few times a second: a person could not read
    /// figures that change faster. For pictures that are kept.
    void refresh(Nanoseconds now);
    /// For the end of a run: takes in the rest, and counts steps that are under way as complete.
    void finish(Nanoseconds now);
    /// The extension that reports when frames are on the screen.
    void set_screen_source(std::string_view source) { pacing_.screen_source = source; }
    void set_memory(std::vector<MemoryUse> uses) { memory_ = std::move(uses); }
    /// Should cover a few steps, or the shares of a slow decoder change with every step.
    void set_window(Nanoseconds window) { options_.window = window; }
    void set_spike_threshold(const SpikeThreshold& threshold) { options_.spike = threshold; }
    const SpikeThreshold& spike_threshold() const { return options_.spike; }

    const Recorder& recorder() const { return recorder_; }
    std::string_view text(NameId id) const { return recorder_.names().text(id); }
    const std::vector<PassProfile>& passes() const { return passes_; }
    const PassProfile* find(NameId name, NameId track) const;
    std::shared_ptr<const PlanFacts> plan(PlanId id) const;
    /// What the pass's plan says of it; null if nothing. The pointer keeps that version of the plan's facts alive,
    /// which are replaced as long as lanes report batches.
    std::shared_ptr<const PassFacts> facts(const PassProfile& pass) const;
    PassRates rates(const PassProfile& pass) const;
    const Ceiling* ceiling(NameId track) const;  ///< null: not measured

    /// A track's newest spans by begin, kSpansOfTrack at most.
    struct Track {
        NameId name = 0;
        std::deque<SpanRecord> spans{};
        double busy = 0.0;  ///< fraction of the window in which something ran
    };
    static constexpr std::size_t kSpansOfTrack = 1U << 14U;
    const std::vector<Track>& tracks() const { return tracks_; }

    static constexpr std::size_t kStepsOfPlan = 16, kPlans = 32, kSpikes = 16;
    /// One of the newest steps, under way or complete; null for another.
    const Step* find(StepKey step) const;
    /// What was beside a step: what it waited for in other graphs, and since when its tracks were free.
    StepSurroundings surroundings(const Step& step) const;
    /// The steps of the kPlans plans that ran last, in the order in which the plans first ran.
    const std::vector<PlanSteps>& steps() const { return steps_; }
    const std::deque<Spike>& spikes() const { return spikes_; }
    const Pacing& pacing() const { return pacing_; }
    const std::vector<MemoryUse>& memory() const { return memory_; }
    /// The last sample of every counter.
    const std::vector<CounterSample>& counters() const { return counters_; }
    /// Spans that were overwritten before an update() could read them; all other figures leave them out.
    std::uint64_t missed_spans() const { return cursor_.missed; }
    Nanoseconds started() const { return started_; }
    Nanoseconds updated() const { return updated_; }  ///< the time that the newest update() was given

    /// The passes as they are now, to be compared with another time or another run.
    Capture capture(std::string label) const;

  private:
    void take(const SpanRecord& span);
    PassProfile& pass_of(const SpanRecord& span);
    void add_to_track(const SpanRecord& span);
    void add_to_step(const SpanRecord& span);
    void complete(Step step);
    void keep_if_spike(const Step& step, const DurationSketch& earlier);
    void forget_spike();
    void refresh_shares(Nanoseconds now);
    void split_share(PassProfile& batch);
    const Step* find_complete(StepKey step) const;
    bool is_forgotten(StepKey step) const;
    void take_frames(std::size_t most);
    LateFrame blame(const FrameTimes& frame) const;

    const Recorder& recorder_;
    ProfileOptions options_;
    Nanoseconds started_;
    Nanoseconds updated_{};
    Recorder::Cursor cursor_, points_cursor_;
    Recorder::FrameCursor frames_cursor_;
    std::vector<SpanRecord> batch_;    // of one update
    std::vector<PointRecord> points_;  // the same
    GraphWaits waits_;
    std::vector<PassProfile> passes_;
    std::unordered_map<std::uint64_t, std::size_t> index_;  // name, track -> passes_
    std::vector<Track> tracks_;
    std::vector<PlanSteps> steps_;
    std::uint64_t completed_ = 0;  // steps of all plans
    std::vector<Step> open_steps_;
    std::deque<Spike> spikes_;
    Pacing pacing_;
    std::vector<MemoryUse> memory_;
    std::vector<TrackCeiling> ceilings_;
    std::vector<CounterSample> counters_;
    mutable std::vector<std::shared_ptr<const PlanFacts>> plans_;  // as last asked for
    Nanoseconds refreshed_ = Nanoseconds::min();
};

}  // namespace kinetograph::profile
