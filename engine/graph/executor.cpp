#include <kinetograph/engine/graph/compilation.hpp>
#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/graph/fingerprint.hpp>
#include <kinetograph/engine/graph/patience.hpp>
#include <kinetograph/engine/graph/prepared_plan.hpp>

#include <atomic>
#include <cstdio>
#include <utility>

namespace kinetograph::graph {

struct Executor::State {
    std::array<LaneBackend*, kMaxLanes> lanes{};
    std::array<MemoryBackend*, kMaxDomains> memory{};
    CompileOptions options;
    Fingerprint options_print;  ///< of `options`
    std::size_t plans_kept = 1;
    Nanoseconds report_after{};
    Log log;

    std::vector<std::unique_ptr<PreparedPlan>> plans;
    PreparedPlan* current = nullptr;
    const std::uint64_t id = next_id();
    std::uint64_t next_execution = 0;
    std::array<std::uint64_t, kMaxLanes> submitted{};       ///< [lane] -> newest timeline value
    std::array<std::uint64_t, kMaxLanes> before_current{};  ///< the same, before the last execution of `current`
    /// The next execution must not rely on `current` having run just before it: every lane waits for all lanes first.
    bool join = true;
    std::vector<ResolvedWait> waits;     ///< of the batch being submitted
    std::vector<Point> points, reached;  ///< the same

    static std::uint64_t next_id();
    Result<PreparedPlan*> plan_for(const FrameGraph& frame, bool& reused);
    Result<void> submit(const FrameGraph& frame, PreparedPlan& prepared, std::uint64_t execution);
    Physical physical(std::uint32_t resource) const;
    Point ready(std::uint32_t resource) const;
    void resolve_waits(const Batch& batch, const std::array<std::uint64_t, kMaxLanes>& before);
    class LongWait;
    Result<bool> wait_for(const std::array<std::uint64_t, kMaxLanes>& values, std::optional<Nanoseconds> timeout,
                          LongWait& report);
    std::vector<LaneState> states() const;
    bool settle();
    void forget_plan(std::vector<std::unique_ptr<PreparedPlan>>::iterator plan);
};

/// One wait of the host, which describes the lanes to the log at most once, after report_after: if a lane waits for a
/// point, or if no lane has reached a value and no host thread has run a pass for that long. The second case covers a
/// queue that is blocked by something its lane does not know of.
class Executor::State::LongWait {
  public:
    explicit LongWait(const State& state) : state_(state) {}
    void look() {
        if (told_) return;
        const auto lanes = state_.states();
        const Nanoseconds now = host_now();
        std::vector<std::uint64_t> reached;
        bool waits = false, executes = false;
        for (const LaneState& lane : lanes) {
            reached.push_back(lane.reached);
            waits |= !lane.is_idle() && !lane.waits.empty();
            executes |= lane.executes;
        }
        if (reached != reached_ || executes) moved_ = now;
        reached_ = std::move(reached);
        if (!(waits && now - begin_ >= state_.report_after) && now - moved_ < state_.report_after) return;
        told_ = true;
        state_.log.warn("waiting for {} s:\n{}", (now - begin_).count() / 1'000'000'000, describe(lanes));
    }

  private:
    const State& state_;
    Nanoseconds begin_ = host_now(), moved_ = begin_;
    std::vector<std::uint64_t> reached_;
    bool told_ = false;
};

Result<void> LaneBackend::wait(std::uint64_t value) {
    for (;;) {
        KG_TRY(const bool reached, wait(value, kLook));
        if (reached) return {};
    }
}

LaneState LaneBackend::state() const {
    const std::uint64_t value = timeline()->value();
    return {.lane = lane(), .submitted = value, .reached = value};
}

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Executor>> Executor::create(const ExecutorDesc& desc) {
    auto state = std::make_unique<State>();
    for (LaneBackend* lane : desc.lanes) {
        LaneBackend*& slot = state->lanes[index_of(lane->lane())];
        if (slot != nullptr)
            return fail(ErrorCode::InvalidArgument, "lane {} has two back ends", to_string(lane->lane()));
        slot = lane;
    }
    for (const auto& [domain, memory] : desc.memory) {
        MemoryBackend*& slot = state->memory[index_of(domain)];
        if (slot != nullptr)
            return fail(ErrorCode::InvalidArgument, "memory domain {} has two back ends", to_string(domain));
        slot = memory;
    }
    state->options = desc.compile;
    for (Lane lane : kLanes)
        if (state->lanes[index_of(lane)] == nullptr) state->options.topology.present[index_of(lane)] = false;
    state->options_print = fingerprint(state->options);
    state->plans_kept = std::max<std::size_t>(desc.plans_kept, 1);
    state->report_after = desc.report_after;
    state->log = desc.log;
    return std::unique_ptr<Executor>(new Executor(std::move(state)));
}

Executor::~Executor() {
    if (!state_->settle()) {
        state_->log.error("given up at the end of an executor:\n{}", describe(state_->states()));
        // NOLINTNEXTLINE(bugprone-unused-return-value): arenas that devices may still touch stay
        for (auto& plan : state_->plans) plan.release();
    }
}

Result<Execution> Executor::execute(const FrameGraph& frame) {
    State& state = *state_;
    Execution execution{.number = state.next_execution};
    KG_TRY(auto prepared, state.plan_for(frame, execution.reused_plan));
    KG_CHECK(prepared->bind(frame));

    state.join |= state.current != prepared || prepared->imports_changed_names();
    if (state.join) prepared->remember_imports();
    state.current = prepared;
    state.current->last_execution = state.next_execution++;
    const auto before = state.submitted;
    auto submitted = state.submit(frame, *prepared, execution.number);
    state.before_current = before;
    state.join = !submitted;
    KG_CHECK(std::move(submitted));

    for (std::size_t lane = 0; lane < kMaxLanes; ++lane)
        if (state.submitted[lane] != before[lane]) execution.done[lane] = state.submitted[lane];
    return execution;
}

Result<PreparedPlan*> Executor::State::plan_for(const FrameGraph& frame, bool& reused) {
    const Fingerprint wanted = combine(frame.topology(), options_print);
    for (const auto& plan : plans) {
        if (plan->plan.fingerprint != wanted) continue;
        reused = true;
        return plan.get();
    }
    KG_TRY(auto plan, compile(frame, options));
    const auto oldest = [&] {
        return std::min_element(plans.begin(), plans.end(),
                                [](const auto& a, const auto& b) { return a->last_execution < b->last_execution; });
    };
    while (plans.size() >= plans_kept) forget_plan(oldest());
    auto prepared = PreparedPlan::create(plan, frame, memory);
    while (!prepared && prepared.error().code == ErrorCode::OutOfMemory && !plans.empty()) {
        forget_plan(oldest());
        prepared = PreparedPlan::create(plan, frame, memory);
    }
    KG_TRY(auto kept, std::move(prepared));
    plans.push_back(std::move(kept));
    return plans.back().get();
}

namespace {

/// Whether all lanes are idle or have failed for good, and so use nothing.
bool have_stopped(std::span<const LaneState> lanes) {
    return std::ranges::all_of(lanes, [](const LaneState& lane) { return lane.is_idle() || lane.error; });
}

}  // namespace

void Executor::State::forget_plan(std::vector<std::unique_ptr<PreparedPlan>>::iterator plan) {
    LongWait report(*this);
    const auto waited = wait_for((*plan)->last_use, std::nullopt, report);
    if (current == plan->get()) {
        current = nullptr;
        join = true;
    }
    // NOLINTNEXTLINE(bugprone-unused-return-value): arenas that a lane that was given up may still touch stay
    if (!waited && !have_stopped(states())) plan->release();
    plans.erase(plan);
}

Result<void> Executor::State::submit(const FrameGraph& frame, PreparedPlan& prepared, std::uint64_t execution) {
    const auto before = submitted;
    auto use = prepared.first_uses.begin();
    for (const Batch& batch : prepared.plan.batches) {
        resolve_waits(batch, before);
        points.clear();
        reached.clear();
        for (; use != prepared.first_uses.end() && use->batch == &batch; ++use) {
            const Point& point = frame.resources()[use->import].ready;
            if (!point.reached())
                points.push_back(point);
            else if (point.value > 0 && point.timeline != nullptr)
                reached.push_back(point);
        }
        const std::size_t lane = index_of(batch.lane);
        const std::size_t first = batch.passes.empty() ? 0 : batch.passes.front();
        const BatchRecord record{
            .plan = &prepared.plan,
            .batch = &batch,
            .execution = execution,
            .executor = id,
            .waits = waits,
            .points = points,
            .reached = reached,
            .passes = std::span<const PassRecord>(prepared.passes).subspan(first, batch.passes.size()),
            .resources = prepared.resources,
            .signal = submitted[lane] + 1};
        KG_CHECK_IN(fmt::format("execution {}, lane {}", execution, to_string(batch.lane)),
                    lanes[lane]->submit(record));
        prepared.last_use[lane] = ++submitted[lane];
    }
    return {};
}

void Executor::State::resolve_waits(const Batch& batch, const std::array<std::uint64_t, kMaxLanes>& before) {
    waits.clear();
    if (join && batch.ordinal == 0)
        for (std::size_t lane = 0; lane < kMaxLanes; ++lane)
            if (before[lane] > 0) waits.push_back({.lane = lanes[lane], .value = before[lane]});
    for (const Wait& wait : batch.waits) {
        if (wait.executions_ago > 0 && join) continue;  // covered by the above
        const auto& base = wait.executions_ago > 0 ? before_current : before;
        waits.push_back({.lane = lanes[index_of(wait.lane)], .value = base[index_of(wait.lane)] + wait.batch + 1});
    }
}

/// Waits for one lane after the other, also after one has failed, but for one that was given up; returns the first
/// Error. False after `timeout`.
Result<bool> Executor::State::wait_for(const std::array<std::uint64_t, kMaxLanes>& values,
                                       std::optional<Nanoseconds> timeout, LongWait& report) {
    const Nanoseconds begin = host_now();
    std::optional<Error> error;
    for (std::size_t lane = 0; lane < kMaxLanes; ++lane) {
        if (values[lane] == 0) continue;
        for (;;) {
            const Nanoseconds waited = host_now() - begin;
            const Nanoseconds left = timeout ? std::max(*timeout - waited, Nanoseconds{}) : kLook;
            auto done = lanes[lane]->wait(values[lane], std::min(left, kLook));
            if (done && *done) break;
            if (!done) {
                if (!error) error = std::move(done.error());
                // One that is given up with work left never reaches what others may wait for.
                const LaneState now = lanes[lane]->state();
                if (now.reached < values[lane] && !now.error) return fail(std::move(*error));
                break;
            }
            if (timeout && left == Nanoseconds{}) return false;
            report.look();
        }
    }
    if (error) return fail(std::move(*error));
    return true;
}

std::vector<LaneState> Executor::State::states() const {
    std::vector<LaneState> states;
    for (const LaneBackend* lane : lanes)
        if (lane != nullptr) states.push_back(lane->state());
    return states;
}

/// False: the lanes have been given up.
bool Executor::State::settle() {
    LongWait report(*this);
    for (Patience patience;;) {
        const auto done = wait_for(submitted, kLook, report);
        if (done && *done) return true;
        const std::vector<LaneState> now = states();
        if (!done && have_stopped(now)) return true;
        if (patience.is_over(now)) return false;
    }
}

Result<void> Executor::wait(const Execution& execution) {
    State::LongWait report(*state_);
    KG_CHECK(state_->wait_for(execution.done, std::nullopt, report));
    return {};
}

Result<bool> Executor::wait(const Execution& execution, Nanoseconds timeout) {
    State::LongWait report(*state_);
    return state_->wait_for(execution.done, timeout, report);
}

std::vector<LaneState> Executor::lane_states() const { return state_->states(); }

Physical Executor::State::physical(std::uint32_t resource) const {
    if (current == nullptr || resource >= current->resources.size()) return {};
    return current->resources[resource];
}

Physical Executor::physical(Buffer buffer) const { return state_->physical(buffer.resource()); }
Physical Executor::physical(Image image) const { return state_->physical(image.resource()); }

Point Executor::State::ready(std::uint32_t resource) const {
    if (current == nullptr || resource >= current->last_batches.size()) return {};
    const Batch* batch = current->last_batches[resource];
    if (batch == nullptr) return {};
    const std::size_t lane = index_of(batch->lane);
    return {lanes[lane]->timeline(), before_current[lane] + batch->ordinal + 1};
}

Point Executor::ready(Buffer buffer) const { return state_->ready(buffer.resource()); }
Point Executor::ready(Image image) const { return state_->ready(image.resource()); }

std::uint64_t Executor::State::next_id() {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t Executor::id() const { return state_->id; }

const Plan* Executor::plan() const { return state_->current == nullptr ? nullptr : &state_->current->plan; }

std::array<std::uint64_t, kMaxDomains> Executor::bytes_held() const {
    std::array<std::uint64_t, kMaxDomains> held{};
    for (const auto& plan : state_->plans)
        for (std::size_t domain = 0; domain < kMaxDomains; ++domain) held[domain] += plan->plan.arena_bytes[domain];
    return held;
}

}  // namespace kinetograph::graph
