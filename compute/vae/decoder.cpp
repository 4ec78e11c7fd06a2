#include <kinetograph/compute/vae/decoder.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kinetograph::vae {

namespace {

graph::Physical whole(const accel::Memory& memory, std::uint64_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(memory.data()), 0, bytes};
}

}  // namespace

Result<std::unique_ptr<Decoder>> Decoder::create(std::shared_ptr<Model> model, LatentSize size,
                                                 const RunnerOptions& options) {
    std::unique_ptr<Decoder> decoder(new Decoder);
    const StackSize steps{.height = size.height, .width = size.width, .max_frames = options.max_frames};
    KG_TRY(auto staging, make_staging(*model, steps));  // first: the clip is planned for what it leaves free
    if (HostCopies::serve(model->device())) {
        KG_TRY(decoder->copies_, HostCopies::create(model->device(), 1, staging.output->bytes()));
    }
    decoder->stagings_.push_back(std::move(staging));
    KG_TRY(decoder->runner_, ClipRunner::create(std::move(model), size, options));
    return decoder;
}

Result<std::unique_ptr<Decoder>> Decoder::create_for(std::shared_ptr<Model> model, const Latents& clip,
                                                     const RunnerOptions& options) {
    KG_CHECK(model->check_takes(clip));
    return create(std::move(model), {clip.height, clip.width}, options);
}

Result<Decoder::Staging> Decoder::make_staging(const Model& model, const StackSize& steps) {
    KG_CHECK(model.check(steps));
    accel::Device& device = model.device();
    std::uint64_t most = 0;
    for (const StepKind kind : kinds_of_steps(model.network(), steps))
        most = std::max(most, output_bytes(model.network(), steps, kind));
    Staging staging;
    KG_TRY(staging.input, device.allocate_pinned("latents", input_bytes(model.network(), steps, steps.max_frames)));
    KG_TRY(staging.output, device.allocate_pinned("frames", most));
    KG_TRY(staging.not_finite, device.allocate_pinned("not finite", sizeof(std::uint32_t)));
    return staging;
}

/// Staging memory that no step under way uses.
Result<Decoder::Staging*> Decoder::free_staging() {
    for (Staging& staging : stagings_)
        if (std::ranges::find(under_way_, &staging, &UnderWay::staging) == under_way_.end()) return &staging;
    if (stagings_.size() == kMostUnderWay)
        return fail(ErrorCode::InvalidArgument, "{} steps are under way: their frames must be taken first",
                    under_way_.size());
    KG_TRY(auto made, make_staging(clip().model(), clip().plans().size));
    made.turn = stagings_.size();
    return &stagings_.emplace_back(std::move(made));
}

/// Checks a step's latents. An Error leaves the clip as it is.
Result<void> Decoder::check(std::span<const float> latents, std::int64_t latent_frames) const {
    KG_CHECK(runner_->status());
    KG_CHECK(clip().next(latent_frames));
    const auto [height, width] = clip().latent_size();
    const std::int64_t channels = clip().model().channels(), each = channels * height * width;
    if (static_cast<std::int64_t>(latents.size()) != latent_frames * each)
        return fail(ErrorCode::InvalidArgument, "{} latent frame(s) of {}x{}x{} are {} values, {} were given",
                    latent_frames, channels, height, width, latent_frames * each, latents.size());
    for (std::int64_t t = 0; t < latent_frames; ++t)
        KG_CHECK(check_finite(latents.subspan(static_cast<std::size_t>(t * each), static_cast<std::size_t>(each)),
                              clip().latent_frame() + t, height * width));
    return {};
}

std::uint64_t Decoder::frame_bytes(StepKind kind) const {
    return static_cast<std::uint64_t>(clip().output(kind).elements()) * sizeof(float);
}

Result<void> Decoder::declare(graph::FrameGraph& frame, StepKind kind, const Staging& staging, TraceRequest* trace) {
    const auto in = static_cast<std::uint64_t>(kind.frames) * clip().latent_bytes();
    graph::Physical output = whole(*staging.output, frame_bytes(kind));
    if (copies_) output = {copies_->place_of(staging.turn, 0).object, 0, output.bytes};
    const graph::Buffer latents = clip().import_latents(frame, whole(*staging.input, in), kind.frames);
    return runner_->clip().declare(
        frame, latents,
        ClipValues{.output = output,
                   .not_finite = reinterpret_cast<std::uint32_t*>(staging.not_finite->data()),
                   .trace = trace},
        kind.frames);
}

Result<const graph::FrameGraph*> Decoder::graph_of(StepKind kind, Staging& staging) {
    const auto known = staging.graphs.find(kind);
    if (known != staging.graphs.end()) return &known->second;
    graph::FrameGraph frame;
    KG_CHECK(declare(frame, kind, staging));
    return &staging.graphs.emplace(kind, std::move(frame)).first->second;
}

Result<EnqueuedStep> Decoder::execute(const graph::FrameGraph& frame, const Staging& staging,
                                      std::span<const float> latents, std::int64_t latent_frames) {
    std::memcpy(staging.input->host_data(), latents.data(), latents.size_bytes());
    std::memset(staging.not_finite->host_data(), 0, sizeof(std::uint32_t));
    return runner_->execute(frame, latent_frames);
}

std::int64_t Decoder::count_not_finite(const Staging& staging, std::span<const float> values) {
    std::uint32_t flag = 0;
    std::memcpy(&flag, staging.not_finite->host_data(), sizeof(flag));
    return flag == 0 ? 0 : std::ranges::count_if(values, [](float value) { return !std::isfinite(value); });
}

Result<DecodedFrames> Decoder::step(std::span<const float> latents, std::int64_t latent_frames,
                                    const CallLimits& limits) {
    if (!under_way_.empty())
        return fail(ErrorCode::InvalidArgument, "a step is under way: its frames must be taken first");
    KG_CHECK(limits.check("a step"));
    KG_CHECK(enqueue(latents, latent_frames));
    return take(limits);
}

Result<void> Decoder::enqueue(std::span<const float> latents, std::int64_t latent_frames) {
    KG_CHECK(check(latents, latent_frames));
    KG_TRY(const auto kind, clip().next(latent_frames));
    const Nanoseconds begin = host_now();
    KG_TRY(auto* staging, free_staging());
    KG_TRY(const auto* frame, graph_of(kind, *staging));
    KG_TRY(const auto step, execute(*frame, *staging, latents, latent_frames));
    KG_TRY(auto copied, enqueue_copy(*staging, kind, step));
    under_way_.push_back({staging, kind, begin, step, std::move(copied)});
    return {};
}

Result<graph::Point> Decoder::enqueue_copy(const Staging& staging, StepKind kind, const EnqueuedStep& step) {
    if (!copies_) return graph::Point{};
    const HostPlace place{whole(*staging.output, frame_bytes(kind))};
    const std::uint64_t written = step.execution.done[graph::Lane::Accelerator.index()];
    auto copied = copies_->enqueue(staging.turn, {&place, 1}, {runner_->lane().timeline(), written});
    if (!copied) runner_->end(copied.error());
    return copied;
}

/// Waits until the step's frames are in host memory.
Result<void> Decoder::wait_for(const UnderWay& step, const CallLimits& limits) {
    KG_CHECK(runner_->wait(step.step, limits));
    if (!copies_) return {};
    auto copied = copies_->wait(step.copied, limits);
    if (!copied) runner_->end(copied.error());
    return copied;
}

Result<DecodedFrames> Decoder::take(const CallLimits& limits) {
    if (under_way_.empty()) return fail(ErrorCode::InvalidArgument, "no step is under way");
    const UnderWay oldest = under_way_.front();
    under_way_.pop_front();
    KG_CHECK(wait_for(oldest, limits));
    const nn::Extent shape = clip().output(oldest.kind);
    const std::span values(reinterpret_cast<const float*>(oldest.staging->output->host_data()),
                           static_cast<std::size_t>(shape.elements()));
    return DecodedFrames{oldest.step.frames,
                         shape.height,
                         shape.width,
                         values,
                         host_now() - oldest.begin,
                         count_not_finite(*oldest.staging, values)};
}

Result<void> Decoder::reset() {
    auto done = runner_->reset();
    under_way_.clear();
    if (!done || !copies_) return done;
    done = copies_->reset();
    if (!done) runner_->end(done.error());
    return done;
}

StackMemory Decoder::memory() const {
    StackMemory memory = clip().memory();
    if (copies_) memory.stream = HostCopies::device_bytes(1, stagings_.front().output->bytes());
    return memory;
}

Result<std::vector<float>> Decoder::trace(std::span<const float> latents, std::string_view module,
                                          std::int64_t latent_frames) {
    KG_CHECK(check(latents, latent_frames));
    KG_TRY(const auto kind, clip().next(latent_frames));
    TraceRequest request{std::string(module), nullptr, 0};
    graph::FrameGraph frame;
    KG_TRY(auto* staging, free_staging());
    KG_CHECK(declare(frame, kind, *staging, &request));
    KG_TRY(const auto step, execute(frame, *staging, latents, latent_frames));
    KG_CHECK(runner_->wait(step));
    if (!request.memory) return std::vector<float>{};
    const auto* values = reinterpret_cast<const float*>(request.memory->host_data());
    return std::vector<float>(values, values + request.values);
}

std::vector<std::string> Decoder::modules() const {
    std::vector<std::string> modules;
    const nn::Network& network = clip().model().network().network;
    for (const auto& [value, name] : network.modules())
        if (network.nodes()[value - 1].steps == nn::Steps::All) modules.push_back(name);
    return modules;
}

/// A value that is not finite stays so in all later modules, so the first such module is found by bisection.
Result<std::string> first_module_not_finite(Decoder& decoder, const Latents& clip, std::int64_t step) {
    const std::vector<std::string> modules = decoder.modules();
    std::size_t first = 0, end = modules.size();
    while (first < end) {
        const std::size_t middle = first + (end - first) / 2;
        KG_CHECK(decoder.reset());
        for (std::int64_t t = 0; t < step; ++t) KG_CHECK(decoder.step(clip.frame(t)));
        KG_TRY(const auto values, decoder.trace(clip.frame(step), modules[middle]));
        if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
            first = middle + 1;
        else
            end = middle;
    }
    KG_CHECK(decoder.reset());
    return first < modules.size() ? modules[first] : std::string();
}

}  // namespace kinetograph::vae
