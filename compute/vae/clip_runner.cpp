#include <kinetograph/compute/vae/clip_runner.hpp>

#include <algorithm>

namespace kinetograph::vae {

namespace {

/// What a clip needs must be free before any of it is allocated; the model's parameters are there already.
Result<void> check_free(const Model& model, const StepPlans& plans) {
    constexpr double kMiB = 1024.0 * 1024.0;
    const accel::DeviceInfo& device = model.device().info();
    const StackMemory memory = model.memory(plans);
    const std::uint64_t held = model.device().bytes_allocated();
    const std::uint64_t free = device.memory_bytes - std::min(held, device.memory_bytes) + memory.parameters;
    if (memory.total() <= free) return {};
    return fail(ErrorCode::OutOfMemory,
                "decoding {}x{} latents needs {:.0f} MiB (transients {:.0f}, histories {:.0f}, staging {:.0f}, the "
                "model's parameters {:.0f}), {:.0f} MiB are free beside other clips on {}",
                plans.size.width, plans.size.height, static_cast<double>(memory.total()) / kMiB,
                static_cast<double>(memory.transients) / kMiB, static_cast<double>(memory.histories) / kMiB,
                static_cast<double>(memory.io) / kMiB, static_cast<double>(memory.model()) / kMiB,
                static_cast<double>(free) / kMiB, device.name);
}

}  // namespace

Result<std::unique_ptr<ClipRunner>> ClipRunner::create(std::shared_ptr<Model> model, LatentSize size,
                                                       const RunnerOptions& options) {
    KG_TRY(const auto* plans, model->plan({size.height, size.width, options.max_frames}));
    KG_CHECK(check_free(*model, *plans));
    accel::Device& device = model->device();
    KG_TRY(auto clip, Clip::create(std::move(model), *plans));
    std::unique_ptr<ClipRunner> runner(new ClipRunner(std::move(clip)));
    KG_TRY(runner->lane_, accel::AcceleratorLane::create(device, options.recorder, options.batches));
    runner->arena_ = std::make_unique<accel::AcceleratorMemory>(device);
    KG_CHECK(runner->arena_->reserve(plans->transients));
    graph::ExecutorDesc desc{.lanes = {runner->lane_.get()},
                             .memory = {{graph::MemoryDomain::Accelerator, runner->arena_.get()}},
                             .compile = {.topology = options.topology},
                             .log = device.log()};
    desc.lanes.insert(desc.lanes.end(), options.lanes.begin(), options.lanes.end());
    desc.memory.insert(desc.memory.end(), options.backends.begin(), options.backends.end());
    KG_TRY(runner->executor_, graph::Executor::create(desc));
    KG_CHECK(runner->reset());
    return runner;
}

ClipRunner::~ClipRunner() = default;

Result<EnqueuedStep> ClipRunner::execute(const graph::FrameGraph& step, std::int64_t latent_frames) {
    KG_CHECK(status());
    KG_CHECK(clip_.next(latent_frames));
    auto execution = execute_beside(step);
    if (!execution && execution.error().code != ErrorCode::InvalidArgument) broken_ = execution.error();
    if (!execution) return fail(std::move(execution.error()));
    return EnqueuedStep{clip_.advance(latent_frames), *execution};
}

Result<graph::Execution> ClipRunner::execute_beside(const graph::FrameGraph& frame) {
    KG_CHECK(lane_->stream().status());
    return executor_->execute(frame);
}

Result<void> ClipRunner::wait(const EnqueuedStep& step) {
    auto done = executor_->wait(step.execution);
    if (!done) broken_ = done.error();
    return done;
}

Result<void> ClipRunner::status() const {
    if (broken_) return fail(*broken_);
    return {};
}

Result<void> ClipRunner::reset() {
    broken_.reset();
    auto done = clip_.reset(lane_->stream());
    if (!done) broken_ = done.error();
    return done;
}

}  // namespace kinetograph::vae
