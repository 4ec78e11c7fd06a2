#include <kinetograph/compute/vae/layer_stack.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::vae {

namespace {

graph::CompileOptions compile_options() { return {.topology = graph::LaneTopology::cpu_only()}; }

std::uint64_t f32_bytes(std::int64_t elements) { return static_cast<std::uint64_t>(elements) * sizeof(float); }

std::int64_t input_elements(const StackDesc& desc, std::int64_t frames) {
    return frames * desc.network.input_channels() * desc.height * desc.width;
}

/// Allocations take whole pages on the CPU and less than that on a GPU.
std::uint64_t whole_pages(std::uint64_t bytes) {
    constexpr std::uint64_t kPageBytes = 4096;
    return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

graph::Physical whole(const accel::Memory& memory, std::uint64_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(memory.data()), 0, bytes};
}

constexpr double kMiB = 1024.0 * 1024.0;

}  // namespace

LayerStack::LayerStack(accel::Device& device, StackDesc desc, LoadTensor load)
    : device_(device), desc_(std::move(desc)), parameters_(device, std::move(load)) {}

LayerStack::~LayerStack() = default;

Result<std::unique_ptr<LayerStack>> LayerStack::create(accel::Device& device, StackDesc desc, LoadTensor load,
                                                       profile::Recorder* recorder) {
    std::unique_ptr<LayerStack> stack(new LayerStack(device, std::move(desc), std::move(load)));
    KG_TRY(stack->operators_, nn::Operators::create(device));
    KG_CHECK(stack->plan_memory());
    KG_CHECK(stack->allocate(recorder));
    return stack;
}

std::vector<StepKind> LayerStack::kinds() const {
    std::vector<StepKind> result;
    for (std::int64_t frames = 1; frames <= desc_.max_frames; ++frames) {
        if (!desc_.one_step) result.push_back({false, frames});
        result.push_back({true, frames});
    }
    return result;
}

/// Declares and compiles every kind of step against memory that exists only as sizes, which also packs all parameters.
Result<void> LayerStack::plan_memory() {
    const std::uint64_t before = device_.bytes_allocated();
    const FindKept find = [&](const std::string& key, std::uint64_t bytes) {
        kept_bytes_[key] = std::max(kept_bytes_[key], bytes);
        return graph::Physical{0, 0, bytes};
    };
    for (const StepKind kind : kinds()) {
        const StepMemory sizes{.input = {0, 0, f32_bytes(input_elements(desc_, kind.frames))},
                               .output = {0, 0, f32_bytes(output_shape(desc_, kind).elements())}};
        graph::FrameGraph frame;
        if (auto declared = declare_step(frame, desc_, kind, {parameters_, *operators_, find}, sizes); !declared)
            return fail(std::move(declared.error()));
        KG_TRY(auto plan, graph::compile(frame, compile_options()));
        memory_.transients =
            std::max(memory_.transients, plan.arena_bytes[static_cast<std::size_t>(graph::MemoryDomain::Accelerator)]);
        memory_.io =
            std::max(memory_.io, whole_pages(sizes.input.bytes) + whole_pages(sizes.output.bytes) + whole_pages(1));
        plans_.insert_or_assign(kind, std::move(plan));
    }
    parameters_.detach();
    const bool on_cpu = device_.info().kind == accel::Kind::Cpu;
    // What the device holds more than before, but others may have given some back meanwhile: at least the filters.
    const std::uint64_t after = device_.bytes_allocated();
    memory_.parameters = std::max(after - std::min(before, after), on_cpu ? 0 : parameters_.bytes());
    memory_.packed = on_cpu ? parameters_.bytes() : 0;
    memory_.transients = whole_pages(memory_.transients);
    for (const auto& [key, bytes] : kept_bytes_) memory_.histories += whole_pages(bytes);

    const std::uint64_t free = device_.info().memory_bytes - std::min(before, device_.info().memory_bytes);
    if (memory_.total() > free)
        return fail(
            ErrorCode::OutOfMemory,
            "decoding {}x{} latents needs {:.0f} MiB (transients {:.0f}, histories {:.0f}, parameters {:.0f}, staging "
            "{:.0f}), {:.0f} MiB are free on {}",
            desc_.width, desc_.height, static_cast<double>(memory_.total()) / kMiB,
            static_cast<double>(memory_.transients) / kMiB, static_cast<double>(memory_.histories) / kMiB,
            static_cast<double>(memory_.parameters + memory_.packed) / kMiB, static_cast<double>(memory_.io) / kMiB,
            static_cast<double>(free) / kMiB, device_.info().name);
    return {};
}

Result<void> LayerStack::allocate(profile::Recorder* recorder) {
    KG_TRY(lane_, accel::AcceleratorLane::create(device_, recorder, desc_.batches));
    arena_ = std::make_unique<accel::AcceleratorMemory>(device_);
    KG_CHECK(arena_->reserve(memory_.transients));
    for (const auto& [key, bytes] : kept_bytes_) {
        KG_TRY(auto kept, device_.allocate(key.empty() ? "zeros" : key + ".kept", bytes));
        kept_.emplace(key, std::move(kept));
    }
    KG_CHECK(make_executor());

    std::int64_t most = 0;
    for (const StepKind kind : kinds()) most = std::max(most, output_shape(desc_, kind).elements());
    KG_TRY(auto input, device_.allocate_pinned("latents", f32_bytes(input_elements(desc_, desc_.max_frames))));
    KG_TRY(auto output, device_.allocate_pinned("frames", f32_bytes(most)));
    KG_TRY(not_finite_, device_.allocate_pinned("not finite", sizeof(std::uint32_t)));
    input_ = std::move(input);
    output_ = std::move(output);
    return {};
}

/// With the lanes and memory of `device_output_`, if there is one; the clip begins.
Result<void> LayerStack::make_executor() {
    graphs_.clear();
    device_graphs_.clear();
    executor_.reset();  // which waits for the lanes
    graph::ExecutorDesc desc{.lanes = {lane_.get()},
                             .memory = {{graph::MemoryDomain::Accelerator, arena_.get()}},
                             .compile = compile_options()};
    if (device_output_) {
        desc.lanes.insert(desc.lanes.end(), device_output_->lanes.begin(), device_output_->lanes.end());
        desc.memory.insert(desc.memory.end(), device_output_->backends.begin(), device_output_->backends.end());
        desc.compile.topology = device_output_->topology;
    }
    KG_TRY(executor_, graph::Executor::create(desc));
    return reset();
}

FindKept LayerStack::find_kept() {
    return [this](const std::string& key, std::uint64_t bytes) { return whole(*kept_.at(key), bytes); };
}

Result<void> LayerStack::declare(graph::FrameGraph& frame, StepKind kind, TraceRequest* trace) {
    const StepMemory memory{.input = whole(*input_, f32_bytes(input_elements(desc_, kind.frames))),
                            .output = whole(*output_, f32_bytes(output_shape(desc_, kind).elements())),
                            .not_finite = reinterpret_cast<std::uint32_t*>(not_finite_->data())};
    KG_TRY(auto declared, declare_step(frame, desc_, kind, {parameters_, *operators_, find_kept()}, memory, trace));
    return {};
}

Result<LayerStack::DeviceGraph*> LayerStack::device_graph(StepKind kind, const DeviceStep& step) {
    const auto [it, added] = device_graphs_.try_emplace(kind);
    if (!added) return &it->second;
    const StepMemory memory{.input = step.latents, .output = {}, .device = &*device_output_, .frames = step.frames};
    auto imports = declare_step(it->second.frame, desc_, kind, {parameters_, *operators_, find_kept()}, memory);
    if (!imports) {
        device_graphs_.erase(it);
        return fail(std::move(imports.error()));
    }
    it->second.imports = std::move(*imports);
    return &it->second;
}

Result<graph::FrameGraph*> LayerStack::step_graph(StepKind kind) {
    const auto [it, added] = graphs_.try_emplace(kind);
    if (added) KG_CHECK(declare(it->second, kind));
    return &it->second;
}

Result<void> LayerStack::run(const graph::FrameGraph& frame, std::span<const float> input, std::int64_t frames) {
    std::memcpy(input_->host_data(), input.data(), f32_bytes(input_elements(desc_, frames)));
    std::memset(not_finite_->host_data(), 0, sizeof(std::uint32_t));
    KG_TRY(const auto execution, executor_->execute(frame));
    KG_CHECK(executor_->wait(execution));
    first_ = false;
    return {};
}

namespace {

Result<void> check_frames(const StackDesc& desc, StepKind kind) {
    const std::int64_t frames = kind.frames;
    if (desc.one_step && !kind.first)
        return fail(ErrorCode::InvalidArgument, "a clip of this decoder is one step: reset() begins the next clip");
    if (frames >= 1 && frames <= desc.max_frames) return {};
    return fail(ErrorCode::InvalidArgument, "a step takes 1 to {} latent frames, {} were given", desc.max_frames,
                frames);
}

}  // namespace

Result<void> LayerStack::check_input(std::span<const float> input, std::int64_t frames) const {
    KG_CHECK(check_frames(desc_, next_kind(frames)));
    const auto wanted = input_elements(desc_, frames);
    if (static_cast<std::int64_t>(input.size()) != wanted)
        return fail(ErrorCode::InvalidArgument, "{} latent frame(s) of {}x{}x{} are {} values, {} were given", frames,
                    desc_.network.input_channels(), desc_.height, desc_.width, wanted, input.size());
    return {};
}

Result<std::span<const float>> LayerStack::step(std::span<const float> input, std::int64_t frames) {
    KG_CHECK(check_input(input, frames));
    const StepKind kind = next_kind(frames);
    KG_TRY(auto frame, step_graph(kind));
    KG_CHECK(run(*frame, input, frames));
    return std::span(reinterpret_cast<const float*>(output_->host_data()),
                     static_cast<std::size_t>(output_shape(desc_, kind).elements()));
}

bool LayerStack::step_is_finite() const {
    std::uint32_t flag = 0;
    std::memcpy(&flag, not_finite_->host_data(), sizeof(flag));
    return flag == 0;
}

Result<std::vector<float>> LayerStack::trace(std::span<const float> input, std::int64_t frames,
                                             std::string_view module) {
    KG_CHECK(check_input(input, frames));
    TraceRequest request{std::string(module), nullptr, 0};
    graph::FrameGraph frame;
    KG_CHECK(declare(frame, next_kind(frames), &request));
    KG_CHECK(run(frame, input, frames));
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
    KG_CHECK(check_frames(desc_, next_kind(frames)));
    KG_CHECK(lane_->stream().status());
    auto graph = device_graph(next_kind(frames), step);
    if (!graph) return fail(std::move(graph.error()));
    const std::vector<graph::Buffer>& outputs = (*graph)->imports.frames;
    if (outputs.size() > step.frames.size())
        return fail(ErrorCode::InvalidArgument, "the step makes {} frames, memory is given for {}", outputs.size(),
                    step.frames.size());
    (*graph)->frame.rebind((*graph)->imports.input, step.latents);
    for (std::size_t i = 0; i < outputs.size(); ++i) (*graph)->frame.rebind(outputs[i], step.frames[i]);
    if (step.bind) step.bind((*graph)->frame);
    auto execution = executor_->execute((*graph)->frame);
    if (execution) first_ = false;
    return execution;
}

Result<void> LayerStack::reset() {
    first_ = true;
    accel::Stream& stream = lane_->stream();
    static_cast<void>(stream.synchronize());  // an error of the abandoned clip was reported by its step
    for (const auto& [key, kept] : kept_) stream.fill(kept->data(), std::byte{0}, kept->bytes());
    return stream.synchronize();
}

const graph::Plan* LayerStack::plan() const { return executor_->plan(); }

Result<graph::Plan> LayerStack::compile_plan(StepKind kind) const {
    const auto it = plans_.find(kind);
    if (it == plans_.end())
        return fail(ErrorCode::InvalidArgument, "no plan for a step of {} latent frames; 1 to {} are planned",
                    kind.frames, desc_.max_frames);
    return it->second;
}

}  // namespace kinetograph::vae
