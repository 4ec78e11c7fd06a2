#include <kinetograph/compute/vae/layer_stack.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::vae {

namespace {

graph::Physical whole(const accel::Memory& memory, std::uint64_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(memory.data()), 0, bytes};
}

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

LayerStack::~LayerStack() = default;

Result<std::unique_ptr<LayerStack>> LayerStack::create(std::shared_ptr<Model> model, const StackSize& size,
                                                       const StackOptions& options) {
    KG_TRY(const auto* plans, model->plan(size));
    KG_CHECK(check_free(*model, *plans));
    KG_TRY(auto clip, Clip::create(std::move(model), *plans));
    std::unique_ptr<LayerStack> stack(new LayerStack(std::move(clip)));
    KG_CHECK(stack->allocate(options));
    return stack;
}

Result<void> LayerStack::allocate(const StackOptions& options) {
    accel::Device& device = model().device();
    const StepPlans& plans = clip_.plans();
    KG_TRY(lane_, accel::AcceleratorLane::create(device, options.recorder, options.batches));
    arena_ = std::make_unique<accel::AcceleratorMemory>(device);
    KG_CHECK(arena_->reserve(plans.transients));
    KG_TRY(not_finite_, device.allocate_pinned("not finite", sizeof(std::uint32_t)));
    return make_executor();
}

/// Before the first step through the host: steps on the device have no use for it.
Result<void> LayerStack::make_staging() {
    if (output_) return {};
    accel::Device& device = model().device();
    std::uint64_t most = 0;
    for (const auto& [kind, plan] : clip_.plans().plans)
        most = std::max(most, output_bytes(model().network(), size(), kind));
    KG_TRY(input_, device.allocate_pinned("latents", input_bytes(model().network(), size(), size().max_frames)));
    KG_TRY(output_, device.allocate_pinned("frames", most));
    return {};
}

/// With the lanes and memory of `device_output_`, if there is one; the clip begins.
Result<void> LayerStack::make_executor() {
    graphs_.clear();
    device_graphs_.clear();
    executor_.reset();  // which waits for the lanes
    graph::ExecutorDesc desc{.lanes = {lane_.get()},
                             .memory = {{graph::MemoryDomain::Accelerator, arena_.get()}},
                             .compile = {.topology = graph::LaneTopology::cpu_only()},
                             .log = model().device().log()};
    if (device_output_) {
        desc.lanes.insert(desc.lanes.end(), device_output_->lanes.begin(), device_output_->lanes.end());
        desc.memory.insert(desc.memory.end(), device_output_->backends.begin(), device_output_->backends.end());
        desc.compile.topology = device_output_->topology;
    }
    KG_TRY(executor_, graph::Executor::create(desc));
    return reset();
}

Result<DeclaredStep> LayerStack::declare(graph::FrameGraph& frame, StepKind kind, TraceRequest* trace) {
    KG_CHECK(make_staging());
    const StepMemory memory{.input = whole(*input_, input_bytes(model().network(), size(), kind.frames)),
                            .output = whole(*output_, output_bytes(model().network(), size(), kind)),
                            .not_finite = reinterpret_cast<std::uint32_t*>(not_finite_->data())};
    return clip_.declare(frame, kind, memory, trace);
}

graph::Physical LayerStack::flag_of(const DeviceStep& step) const {
    return step.not_finite.object != 0 ? step.not_finite : whole(*not_finite_, sizeof(std::uint32_t));
}

Result<LayerStack::DeviceGraph*> LayerStack::device_graph(StepKind kind, const DeviceStep& step) {
    const auto [it, added] = device_graphs_.try_emplace(kind);
    if (!added) return &it->second;
    const StepMemory memory{
        .input = step.latents, .output = {}, .flag = flag_of(step), .device = &*device_output_, .frames = step.frames};
    auto declared = clip_.declare(it->second.frame, kind, memory);
    if (!declared) {
        device_graphs_.erase(it);
        return fail(std::move(declared.error()));
    }
    it->second.declared = std::move(*declared);
    if (device_output_->then) device_output_->then(it->second.frame, it->second.declared.frames);
    return &it->second;
}

Result<graph::FrameGraph*> LayerStack::step_graph(StepKind kind) {
    const auto [it, added] = graphs_.try_emplace(kind);
    if (added) KG_CHECK(declare(it->second, kind));
    return &it->second;
}

Result<void> LayerStack::run(const graph::FrameGraph& frame, std::span<const float> input) {
    std::memcpy(input_->host_data(), input.data(), input.size_bytes());
    std::memset(not_finite_->host_data(), 0, sizeof(std::uint32_t));
    KG_TRY(const auto execution, executor_->execute(frame));
    KG_CHECK(executor_->wait(execution));
    clip_.advance();
    return {};
}

Result<void> LayerStack::check_input(std::span<const float> input, std::int64_t frames) const {
    KG_CHECK(clip_.next(frames));
    const std::int64_t channels = model().channels();
    const std::int64_t wanted = frames * channels * size().height * size().width;
    if (static_cast<std::int64_t>(input.size()) != wanted)
        return fail(ErrorCode::InvalidArgument, "{} latent frame(s) of {}x{}x{} are {} values, {} were given", frames,
                    channels, size().height, size().width, wanted, input.size());
    return {};
}

std::span<const float> LayerStack::output_values(StepKind kind) const {
    return {reinterpret_cast<const float*>(output_->host_data()), static_cast<std::size_t>(output(kind).elements())};
}

Result<std::span<const float>> LayerStack::step(std::span<const float> input, std::int64_t frames) {
    KG_CHECK(check_input(input, frames));
    KG_TRY(const auto kind, clip_.next(frames));
    KG_TRY(const auto* frame, step_graph(kind));
    KG_CHECK(run(*frame, input));
    return output_values(kind);
}

bool LayerStack::step_is_finite() const {
    std::uint32_t flag = 0;
    std::memcpy(&flag, not_finite_->host_data(), sizeof(flag));
    return flag == 0;
}

Result<std::vector<float>> LayerStack::trace(std::span<const float> input, std::int64_t frames,
                                             std::string_view module) {
    KG_CHECK(check_input(input, frames));
    KG_TRY(const auto kind, clip_.next(frames));
    TraceRequest request{std::string(module), nullptr, 0};
    graph::FrameGraph frame;
    KG_CHECK(declare(frame, kind, &request));
    KG_CHECK(run(frame, input));
    if (!request.memory) return std::vector<float>{};
    const auto* values = reinterpret_cast<const float*>(request.memory->host_data());
    return std::vector<float>(values, values + request.values);
}

Result<void> LayerStack::attach(DeviceOutput output) {
    device_output_ = std::move(output);
    return make_executor();
}

Result<graph::Execution> LayerStack::enqueue(const DeviceStep& step, std::int64_t frames) {
    if (!device_output_) return fail(ErrorCode::InvalidArgument, "a step on the device before attach()");
    KG_TRY(const auto kind, clip_.next(frames));
    KG_CHECK(lane_->stream().status());
    KG_TRY(auto* graph, device_graph(kind, step));
    const std::vector<graph::Buffer>& outputs = graph->declared.places;
    if (outputs.size() > step.frames.size())
        return fail(ErrorCode::InvalidArgument, "the step makes {} frames, memory is given for {}", outputs.size(),
                    step.frames.size());
    graph->frame.rebind(graph->declared.input, step.latents);
    graph->frame.rebind(graph->declared.flag, flag_of(step));
    for (std::size_t i = 0; i < outputs.size(); ++i) graph->frame.rebind(outputs[i], step.frames[i]);
    if (step.bind) step.bind(graph->frame);
    auto execution = executor_->execute(graph->frame);
    if (execution) clip_.advance();
    return execution;
}

Result<void> LayerStack::reset() { return clip_.reset(lane_->stream()); }

Result<nn::Extent> LayerStack::next_output() const {
    KG_TRY(const auto kind, clip_.next(1));
    return output(kind);
}

const graph::Plan* LayerStack::plan() const { return executor_->plan(); }

Result<graph::Plan> LayerStack::compile_plan(StepKind kind) const {
    const auto it = clip_.plans().plans.find(kind);
    if (it == clip_.plans().plans.end())
        return fail(ErrorCode::InvalidArgument, "no plan for a step of {} latent frames; 1 to {} are planned",
                    kind.frames, size().max_frames);
    return it->second;
}

}  // namespace kinetograph::vae
