#include <kinetograph/engine/graph/compilation.hpp>
#include <kinetograph/engine/graph/prepared_plan.hpp>

#include <cassert>
#include <utility>

namespace kinetograph::graph {

struct Executor::State {
    std::array<LaneBackend*, kLaneCount> lanes{};
    std::array<MemoryBackend*, kDomainCount> memory{};
    CompileOptions options;
    std::size_t plans_kept = 1;

    std::vector<std::unique_ptr<PreparedPlan>> plans;
    PreparedPlan* current = nullptr;
    std::vector<std::unique_ptr<HistoryStorage>> histories;
    std::uint64_t next_execution = 0;
    std::array<std::uint64_t, kLaneCount> submitted{};       ///< [lane] -> newest timeline value
    std::array<std::uint64_t, kLaneCount> before_current{};  ///< the same, before the last execution of `current`
    /// The next execution must not rely on `current` having run just before it: every lane waits for all lanes first.
    bool join = true;
    std::vector<ResolvedWait> waits;  ///< of the batch being submitted

    Result<PreparedPlan*> plan_for(const FrameGraph& frame, bool& reused);
    Result<void> check_histories(const FrameGraph& frame, const PreparedPlan& prepared) const;
    Result<void> submit(PreparedPlan& prepared, std::uint64_t execution);
    void resolve_waits(const Batch& batch, const std::array<std::uint64_t, kLaneCount>& before);
    Result<void> wait_for(const std::array<std::uint64_t, kLaneCount>& values);
    void forget_plan(std::vector<std::unique_ptr<PreparedPlan>>::iterator plan);
};

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
    state->plans_kept = std::max<std::size_t>(desc.plans_kept, 1);
    return std::unique_ptr<Executor>(new Executor(std::move(state)));
}

Executor::~Executor() {
    // A lane that fails to wait has stopped; nothing more can be waited for.
    (void)state_->wait_for(state_->submitted);
    state_->plans.clear();
    for (const auto& history : state_->histories)
        state_->memory[index_of(history->domain())]->destroy_ring(history->physical());
}

Result<HistoryStorage*> Executor::create_history(std::string_view name, const HistoryStorageDesc& desc) {
    if (desc.value_bytes == 0 || desc.slots == 0)
        return fail(ErrorCode::InvalidArgument, "history \"{}\" needs bytes and slots, got {} slots of {} bytes", name,
                    desc.slots, desc.value_bytes);
    MemoryBackend* memory = state_->memory[index_of(desc.domain)];
    if (memory == nullptr)
        return fail(ErrorCode::InvalidArgument, "history \"{}\": no memory back end for domain {}", name,
                    to_string(desc.domain));
    KG_TRY(auto ring, memory->create_ring(name, desc.value_bytes * desc.slots));
    auto storage = std::make_unique<HistoryStorage>(std::string(name), desc.value_bytes, desc.slots, desc.domain, ring);
    storage->serial_ = static_cast<std::uint32_t>(state_->histories.size() + 1);
    storage->owner_ = state_.get();
    state_->histories.push_back(std::move(storage));
    KG_CHECK(memory->zero(ring));
    return state_->histories.back().get();
}

Result<void> Executor::reset_histories() {
    KG_CHECK(state_->wait_for(state_->submitted));
    for (const auto& history : state_->histories) {
        KG_CHECK(state_->memory[index_of(history->domain())]->zero(history->physical()));
        history->cursor_ = 0;
    }
    return {};
}

Result<Execution> Executor::execute(const FrameGraph& frame) {
    State& state = *state_;
    Execution execution{.number = state.next_execution};
    KG_TRY(auto prepared, state.plan_for(frame, execution.reused_plan));
    KG_CHECK(state.check_histories(frame, *prepared));
    KG_CHECK(prepared->bind(frame));

    state.join |= state.current != prepared || prepared->imports_changed_names();
    if (state.join) prepared->remember_imports();
    state.current = prepared;
    state.current->last_execution = state.next_execution++;
    const auto before = state.submitted;
    auto submitted = state.submit(*prepared, execution.number);
    state.before_current = before;
    state.join = !submitted;
    if (!submitted) return fail(std::move(submitted.error()));

    for (std::uint32_t r : prepared->pushed) {
        HistoryStorage& storage = *frame.resources()[r].storage;
        storage.cursor_ = (storage.cursor_ + frame.resources()[r].history.push) % storage.slots_;
    }
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
        if (state.submitted[lane] != before[lane]) execution.done[lane] = state.submitted[lane];
    return execution;
}

Result<void> Executor::State::check_histories(const FrameGraph& frame, const PreparedPlan& prepared) const {
    for (std::uint32_t r : prepared.histories)
        if (frame.resources()[r].storage->owner_ != this)
            return fail(ErrorCode::InvalidArgument, "history \"{}\" belongs to another executor",
                        frame.resources()[r].name);
    return {};
}

Result<PreparedPlan*> Executor::State::plan_for(const FrameGraph& frame, bool& reused) {
    const Fingerprint wanted = fingerprint(frame, options);
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
    if (!prepared) return fail(std::move(prepared.error()));
    plans.push_back(std::move(*prepared));
    return plans.back().get();
}

void Executor::State::forget_plan(std::vector<std::unique_ptr<PreparedPlan>>::iterator plan) {
    (void)wait_for((*plan)->last_use);  // a lane that fails to wait has stopped and uses nothing any more
    if (current == plan->get()) {
        current = nullptr;
        join = true;
    }
    plans.erase(plan);
}

Result<void> Executor::State::submit(PreparedPlan& prepared, std::uint64_t execution) {
    const auto before = submitted;
    for (const Batch& batch : prepared.plan.batches) {
        resolve_waits(batch, before);
        const std::size_t lane = index_of(batch.lane);
        const std::size_t first = batch.passes.empty() ? 0 : batch.passes.front();
        const BatchRecord record{
            .plan = &prepared.plan,
            .batch = &batch,
            .execution = execution,
            .waits = waits,
            .passes = std::span<const PassRecord>(prepared.passes).subspan(first, batch.passes.size()),
            .resources = prepared.resources,
            .signal = submitted[lane] + 1};
        if (auto done = lanes[lane]->submit(record); !done)
            return fail(std::move(done.error()),
                        fmt::format("execution {}, lane {}", execution, to_string(batch.lane)));
        prepared.last_use[lane] = ++submitted[lane];
    }
    return {};
}

void Executor::State::resolve_waits(const Batch& batch, const std::array<std::uint64_t, kLaneCount>& before) {
    waits.clear();
    if (join && batch.ordinal == 0)
        for (std::size_t lane = 0; lane < kLaneCount; ++lane)
            if (before[lane] > 0) waits.push_back({.lane = lanes[lane], .value = before[lane]});
    for (const Wait& wait : batch.waits) {
        if (wait.executions_ago > 0 && join) continue;  // covered by the above
        const auto& base = wait.executions_ago > 0 ? before_current : before;
        waits.push_back({.lane = lanes[index_of(wait.lane)], .value = base[index_of(wait.lane)] + wait.batch + 1});
    }
}

Result<void> Executor::State::wait_for(const std::array<std::uint64_t, kLaneCount>& values) {
    Result<void> result;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        if (values[lane] == 0) continue;
        auto done = lanes[lane]->wait(values[lane]);
        if (!done && result) result = std::move(done);
    }
    return result;
}

Result<void> Executor::wait(const Execution& execution) { return state_->wait_for(execution.done); }

Physical Executor::physical(Buffer buffer) const {
    assert(state_->current != nullptr && buffer.resource() < state_->current->resources.size());
    return state_->current->resources[buffer.resource()];
}

Physical Executor::physical(Image image) const {
    assert(state_->current != nullptr && image.resource() < state_->current->resources.size());
    return state_->current->resources[image.resource()];
}

const Plan* Executor::plan() const { return state_->current == nullptr ? nullptr : &state_->current->plan; }

std::array<std::uint64_t, kDomainCount> Executor::bytes_held() const {
    std::array<std::uint64_t, kDomainCount> held{};
    for (const auto& plan : state_->plans)
        for (std::size_t domain = 0; domain < kDomainCount; ++domain) held[domain] += plan->plan.arena_bytes[domain];
    for (const auto& history : state_->histories)
        held[index_of(history->domain())] += history->value_bytes() * history->slots();
    return held;
}

}  // namespace kinetograph::graph
