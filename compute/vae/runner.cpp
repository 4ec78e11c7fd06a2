#include <kinetograph/compute/vae/runner.hpp>

#include <kinetograph/engine/graph/bounded_wait.hpp>

namespace kinetograph::vae {

Result<std::unique_ptr<Runner>> Runner::create(Clip& clip, const StepOptions& options,
                                               const graph::LaneTopology& topology) {
    accel::Device& device = clip.model().device();
    std::unique_ptr<Runner> runner(new Runner);
    KG_TRY(runner->lane_,
           accel::AcceleratorLane::create(device, options.recorder, options.batches, clip.placement().lane));
    runner->arena_ = std::make_unique<accel::AcceleratorMemory>(device);
    KG_CHECK(runner->arena_->reserve(clip.plans().transients));
    KG_TRY(runner->executor_, graph::Executor::create({.lanes = {runner->lane_.get()},
                                                       .memory = {{clip.placement().memory, runner->arena_.get()}},
                                                       .compile = {.topology = topology},
                                                       .log = device.log()}));
    KG_CHECK(runner->reset(clip));
    return runner;
}

Runner::~Runner() = default;

void Runner::end_lane() {
    executor_.reset();
    states_.reset();
    lane_.reset();
}

Result<EnqueuedStep> Runner::execute(Clip& clip, const graph::FrameGraph& step, std::int64_t latent_frames) {
    KG_CHECK(clip.status());
    KG_CHECK(clip.next(latent_frames));
    clip.keep_point(lane_->stream());
    auto execution = submit(step);
    if (!execution && execution.error().code != ErrorCode::InvalidArgument) clip.end(execution.error());
    KG_TRY(auto enqueued, std::move(execution));
    return EnqueuedStep{clip.advance(latent_frames), enqueued};
}

Result<graph::Execution> Runner::submit(const graph::FrameGraph& step) {
    KG_CHECK(lane_->stream().status());
    return executor_->execute(step);
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

Result<void> Runner::between_steps(Clip& clip, const std::function<Result<void>(accel::Stream&)>& work) {
    const auto run = [&]() -> Result<void> {
        KG_CHECK(clip.status());
        if (!states_) {
            KG_TRY(states_, lane_->device().create_stream("states of clips"));
        }
        KG_CHECK(graph::wait_until_idle(*lane_, "the steps of a clip whose state is used"));
        KG_CHECK(lane_->stream().status());
        return work(*states_);
    };
    auto done = run();
    if (!done && done.error().code != ErrorCode::InvalidArgument && done.error().code != ErrorCode::OutOfMemory)
        clip.end(done.error());
    return done;
}

Result<void> Runner::reset(Clip& clip) {
    auto done = graph::wait_until_idle(*lane_, "the steps of a clip that is over");
    if (done) done = clip.reset(lane_->stream());
    if (!done) clip.end(done.error());
    return done;
}

}  // namespace kinetograph::vae
