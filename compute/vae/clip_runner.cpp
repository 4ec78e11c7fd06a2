#include <kinetograph/compute/vae/clip_runner.hpp>

#include <kinetograph/engine/graph/bounded_wait.hpp>

namespace kinetograph::vae {

Result<std::unique_ptr<ClipRunner>> ClipRunner::create(std::shared_ptr<Model> model, LatentSize size,
                                                       const RunnerOptions& options) {
    const StackSize steps{size.height, size.width, options.max_frames, options.bands};
    KG_TRY(const auto* plans,
           options.bands.count == 1 ? model->plan_to_fit(steps, options.limits) : model->plan(steps, options.limits));
    accel::Device& device = model->device();
    KG_TRY(auto clip, Clip::create(std::move(model), *plans));
    std::unique_ptr<ClipRunner> runner(new ClipRunner(std::move(clip)));
    KG_TRY(runner->lane_, accel::AcceleratorLane::create(device, options.recorder, options.batches));
    runner->arena_ = std::make_unique<accel::AcceleratorMemory>(device);
    KG_CHECK(runner->arena_->reserve(plans->transients));
    KG_TRY(runner->executor_,
           graph::Executor::create({.lanes = {runner->lane_.get()},
                                    .memory = {{graph::MemoryDomain::Accelerator, runner->arena_.get()}},
                                    .compile = {.topology = options.topology},
                                    .log = device.log()}));
    KG_CHECK(runner->reset());
    return runner;
}

ClipRunner::~ClipRunner() = default;

void ClipRunner::end_lane() {
    executor_.reset();
    lane_.reset();
}

Result<EnqueuedStep> ClipRunner::execute(const graph::FrameGraph& step, std::int64_t latent_frames) {
    KG_CHECK(status());
    KG_CHECK(clip_.next(latent_frames));
    auto execution = submit(step);
    if (!execution && execution.error().code != ErrorCode::InvalidArgument) broken_ = execution.error();
    KG_TRY(auto enqueued, std::move(execution));
    return EnqueuedStep{clip_.advance(latent_frames), enqueued};
}

Result<graph::Execution> ClipRunner::submit(const graph::FrameGraph& step) {
    KG_CHECK(lane_->stream().status());
    return executor_->execute(step);
}

Result<void> ClipRunner::wait(const EnqueuedStep& step, const CallLimits& limits) {
    auto done = wait_within(step, limits);
    if (!done) broken_ = done.error();
    return done;
}

Result<void> ClipRunner::wait_within(const EnqueuedStep& step, const CallLimits& limits) {
    if (!limits.until && !limits.stop.stop_possible()) return executor_->wait(step.execution);
    for (;;) {
        KG_TRY(const bool done, executor_->wait(step.execution, limits.next_look()));
        if (done) return {};
        KG_CHECK(limits.check("waiting for a step"));
    }
}

Result<void> ClipRunner::status() const {
    if (broken_) return fail(*broken_);
    return {};
}

Result<void> ClipRunner::reset() {
    broken_.reset();
    auto done = graph::wait_until_idle(*lane_, "the steps of a clip that is over");
    if (done) done = clip_.reset(lane_->stream());
    if (!done) broken_ = done.error();
    return done;
}

}  // namespace kinetograph::vae
