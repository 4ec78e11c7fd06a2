#include <kinetograph/compute/vae/runner.hpp>

#include <kinetograph/engine/graph/bounded_wait.hpp>

#include <utility>

namespace kinetograph::vae {

/// Two kinds of steps of a few sizes: their plans share one arena.
constexpr std::size_t kPlansKept = 16;

Result<std::unique_ptr<Runner>> Runner::create(Clip& clip, const StepOptions& options,
                                               const graph::LaneTopology& topology) {
    std::unique_ptr<Runner> runner(new Runner);
    KG_CHECK(runner->make_lanes(clip, options));
    std::vector<graph::LaneBackend*> lanes;
    for (accel::AcceleratorLane* const lane : runner->lanes()) lanes.push_back(lane);
    std::vector<std::pair<graph::MemoryDomain, graph::MemoryBackend*>> memory{
        {clip.placement().memory, runner->arena_.get()}};
    for (std::uint32_t i = 0; i < runner->others_.size(); ++i)
        memory.emplace_back(graph::MemoryDomain::accelerator(i + 1), runner->others_[i].arena.get());
    if (!runner->others_.empty()) memory.emplace_back(graph::MemoryDomain::Host, runner->pinned_.get());
    KG_TRY(runner->executor_, graph::Executor::create({.lanes = std::move(lanes),
                                                       .memory = std::move(memory),
                                                       .compile = {.topology = topology},
                                                       .plans_kept = kPlansKept,
                                                       .log = clip.model().device().log()}));
    KG_CHECK(runner->reset(clip));
    return runner;
}

/// And the memory between their passes. The streams are the clip's too.
Result<void> Runner::make_lanes(Clip& clip, const StepOptions& options) {
    const std::vector<accel::Device*> devices = clip.model().devices();
    KG_TRY(lane_,
           accel::AcceleratorLane::create(*devices.front(), options.recorder, options.batches, clip.placement().lane));
    arena_ = std::make_unique<accel::AcceleratorMemory>(*devices.front());
    arena_bytes_ = clip.plans().transients;
    KG_CHECK(arena_->reserve(arena_bytes_));
    pinned_ = std::make_unique<accel::PinnedMemory>(devices);
    KG_CHECK(pinned_->reserve(clip.plans().pinned));
    std::vector<accel::Stream*> streams;
    for (std::uint32_t i = 1; i < devices.size(); ++i) {
        Other& other = others_.emplace_back();
        other.arena = std::make_unique<accel::AcceleratorMemory>(*devices[i]);
        KG_CHECK(other.arena->reserve(clip.plans().others[i - 1].transients));
        KG_TRY(other.lane, accel::AcceleratorLane::create(*devices[i], options.recorder, options.batches,
                                                          graph::Lane::accelerator(i)));
        streams.push_back(&other.lane->stream());
    }
    clip.set_other_streams(std::move(streams));
    lanes_ = {lane_.get()};
    for (const Other& other : others_) lanes_.push_back(other.lane.get());
    return {};
}

Runner::~Runner() = default;

void Runner::end_lane() {
    executor_.reset();
    lanes_.clear();
    for (Other& other : others_) other.lane.reset();
    lane_.reset();
}

Result<EnqueuedStep> Runner::execute(Clip& clip, const graph::FrameGraph& step, std::int64_t latent_frames) {
    KG_CHECK(clip.status());
    KG_CHECK(clip.next(latent_frames));
    clip.keep_point(lane_->stream());
    auto execution = submit(step);
    if (!execution && execution.error().code != ErrorCode::InvalidArgument) clip.end(execution.error());
    KG_TRY(auto enqueued, std::move(execution));
    clip.note_step(enqueued.done[clip.placement().lane.index()]);
    newest_execution_ = enqueued;
    before_newest_ = newest_.exchange(clip.newest_step());
    return EnqueuedStep{clip.advance(latent_frames), enqueued};
}

Result<graph::Execution> Runner::submit(const graph::FrameGraph& step) {
    KG_CHECK(check_lanes());
    return executor_->execute(step);
}

Result<void> Runner::check_lanes() const {
    for (accel::AcceleratorLane* const lane : lanes()) KG_CHECK(lane->stream().status());
    return {};
}

Result<void> Runner::wait(Clip& clip, const EnqueuedStep& step, const CallLimits& limits) {
    auto done = wait_within(step, limits);
    if (!done) clip.end(done.error());
    return done;
}

Result<void> Runner::wait_within(const EnqueuedStep& step, const CallLimits& limits) {
    if (!limits.until && !limits.stop.stop_possible()) return executor_->wait(step.execution);
    for (;;) {
        KG_TRY(const bool done, executor_->wait(step.execution, limits.next_look()));
        if (done) return {};
        KG_CHECK(limits.check("waiting for a step"));
    }
}

Result<std::uint64_t> Runner::admit(Clip& clip) {
    std::uint64_t grown = 0;
    {
        const StepQueue::Turn turn = queue_.enter_first();
        const std::uint64_t wanted = clip.plans().transients;
        if (wanted > arena_bytes_) {
            KG_CHECK(arena_->reserve(wanted));
            grown = wanted - std::exchange(arena_bytes_, wanted);
        }
    }
    is_shared_ = true;
    KG_CHECK(reset(clip));
    return grown;
}

Result<std::optional<StepQueue::Turn>> Runner::turn(Nanoseconds due, const StepQueue::GivesUp& gives_up,
                                                    bool is_skipped) {
    return queue_.enter(
        due,
        [this](Nanoseconds timeout) {
            return graph::wait_for({lane_->timeline(), before_newest_}, timeout);
        },
        gives_up, is_skipped);
}

Result<void> Runner::wait_for(const Clip& clip, Nanoseconds patience) {
    return graph::wait_while_lanes_move(
        "the steps of a clip", patience, [&] { return executor_->lane_states(); },
        [&](Nanoseconds timeout) { return wait_for_newest(clip, timeout); });
}

/// A clip whose model several devices compute has the runner for itself.
Result<bool> Runner::wait_for_newest(const Clip& clip, Nanoseconds timeout) {
    KG_TRY(bool done, graph::wait_for({lane_->timeline(), clip.newest_step()}, timeout));
    for (const Other& other : others_) {
        if (!done) break;
        const std::uint64_t value = newest_execution_.done[other.lane->lane().index()];
        KG_TRY(done, graph::wait_for({other.lane->timeline(), value}, timeout));
    }
    return done;
}

void Runner::keep(std::shared_ptr<void> used) {
    const Lock lock(kept_mutex_);
    kept_.push_back(std::move(used));
}

Result<void> Runner::between_steps(Clip& clip, const std::function<Result<void>(accel::Stream&)>& work) {
    const auto run = [&]() -> Result<void> {
        KG_CHECK(clip.status());
        KG_TRY(accel::Stream* const stream, clip.state_stream());
        KG_CHECK(wait_for(clip));
        KG_CHECK(check_lanes());
        return work(*stream);
    };
    auto done = run();
    if (!done && done.error().code != ErrorCode::InvalidArgument && done.error().code != ErrorCode::OutOfMemory)
        clip.end(done.error());
    return done;
}

Result<void> Runner::reset(Clip& clip) {
    const auto run = [&]() -> Result<void> {
        if (!is_shared_ || !check_lanes()) return reset_after_all(clip);
        KG_TRY(accel::Stream* const stream, clip.state_stream());
        KG_CHECK(wait_for(clip));
        return clip.reset(*stream);
    };
    auto done = run();
    if (!done) clip.end(done.error());
    return done;
}

/// No other clip's step is submitted meanwhile. Clears an error of the lane's stream.
Result<void> Runner::reset_after_all(Clip& clip) {
    const StepQueue::Turn turn = queue_.enter_first();
    for (accel::AcceleratorLane* const lane : lanes())
        KG_CHECK(graph::wait_until_idle(*lane, "the steps of a clip that is over"));
    return clip.reset(lane_->stream());
}

Result<RunnerShare::Admitted> RunnerShare::admit(Clip& clip, const StepOptions& options) {
    const Lock lock(mutex_);
    std::shared_ptr<Runner> runner = runner_.lock();
    if (runner) {
        KG_TRY(const std::uint64_t grown, runner->admit(clip));
        return Admitted{std::move(runner), grown};
    }
    KG_TRY(runner, Runner::create(clip, options));
    KG_CHECK(runner->admit(clip));
    runner_ = runner;
    const std::uint64_t bytes = runner->arena_bytes();
    return Admitted{std::move(runner), bytes};
}

std::uint64_t RunnerShare::arena_bytes() const {
    const Lock lock(mutex_);
    const auto runner = runner_.lock();
    return runner ? runner->arena_bytes() : 0;
}

}  // namespace kinetograph::vae
