#include <kinetograph/tools/kinetograph/plain_decode.hpp>

#include <optional>

namespace kinetograph::cli {
namespace {

graph::Physical whole(const std::byte* address, std::uint64_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(address), 0, bytes};
}

}  // namespace

Result<std::unique_ptr<PlainDecode>> PlainDecode::create(const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                                         const PlainOptions& options) {
    KG_TRY(auto latents, StepLatents::create(model->device(), model->channels(), size));
    KG_TRY(auto runner, vae::ClipRunner::create(model, size, {.recorder = options.recorder}));
    std::unique_ptr<PlainDecode> made(new PlainDecode(std::move(latents), std::move(runner), options.stamps_passes));
    KG_CHECK(made->make_frames(model->device()));
    return made;
}

Result<void> PlainDecode::make_frames(accel::Device& device) {
    const vae::Clip& clip = runner_->clip();
    const std::uint64_t bytes = clip.frame_desc(vae::FrameFormat::Rgba8).bytes;
    for (std::int64_t i = 0; i < clip.step_frames().most; ++i) {
        KG_TRY(auto frame, device.allocate("frame", bytes));
        frames_.push_back(std::move(frame));
    }
    return {};
}

/// Declares the clip's next step, which writes into the frames' memory.
Result<PlainDecode::Step> PlainDecode::declare() {
    vae::Clip& clip = runner_->clip();
    KG_TRY(const auto kind, clip.next());
    Step step;
    step.latents = clip.import_latents(step.frame, whole(latents_.of_step(0), latents_.bytes()));
    std::vector<graph::Buffer> places;
    for (std::int64_t i = 0; i < clip.output(kind).frames; ++i) {
        const accel::Memory& memory = *frames_[static_cast<std::size_t>(i)];
        places.push_back(step.frame.import_buffer(fmt::format("frame {}", i), clip.frame_desc(vae::FrameFormat::Rgba8),
                                                  whole(memory.data(), memory.bytes())));
    }
    KG_CHECK(clip.declare(step.frame, step.latents, vae::ClipFrames{.places = places}));
    if (stamps_passes_) KG_CHECK(stamp_passes(step));
    return step;
}

Result<void> PlainDecode::stamp_passes(Step& step) {
    accel::Device& device = runner_->clip().model().device();
    for (const graph::PassNode& pass : step.frame.passes()) {
        KG_TRY(auto begin, device.create_event());
        KG_TRY(auto end, device.create_event());
        step.passes.push_back({pass.name, std::move(begin), std::move(end)});
    }
    auto next = step.passes.begin();
    step.frame.wrap_passes([&](const graph::PassNode& pass) {
        const StampedPass& stamps = *next++;
        return [execute = pass.execute, begin = stamps.begin, end = stamps.end](graph::PassContext& context) {
            accel::Stream& stream = static_cast<accel::PassContext&>(context).stream();
            stream.record(begin);
            execute(context);
            stream.record(end);
        };
    });
    return {};
}

Result<vae::EnqueuedStep> PlainDecode::enqueue() {
    KG_TRY(const auto kind, runner_->clip().next());
    if (!kinds_.contains(kind.first)) {
        KG_TRY(auto declared, declare());
        kinds_.emplace(kind.first, std::move(declared));
    }
    Step& step = kinds_.at(kind.first);
    step.frame.rebind(step.latents, whole(latents_.of_step(steps_++), latents_.bytes()));
    return runner_->execute(step.frame);
}

Result<Samples> PlainDecode::run(std::int64_t count) {
    Samples periods;
    std::optional<vae::EnqueuedStep> before;
    std::optional<Nanoseconds> ended;
    for (std::int64_t i = 0; i < count; ++i) {
        KG_TRY(const auto enqueued, enqueue());
        if (before) KG_CHECK(runner_->wait(*before));
        if (before && ended) periods.add(to_seconds(host_now() - *ended));
        if (before) ended = host_now();
        before = enqueued;
    }
    KG_CHECK(runner_->lane().stream().synchronize());
    return periods;
}

Result<Samples> PlainDecode::time_on_device(std::int64_t count) {
    accel::Stream& stream = runner_->lane().stream();
    KG_TRY(const auto begin, runner_->clip().model().device().create_event());
    KG_TRY(const auto end, runner_->clip().model().device().create_event());
    Samples times;
    for (std::int64_t i = 0; i < count; ++i) {
        stream.record(begin);
        KG_TRY(const auto enqueued, enqueue());
        stream.record(end);
        KG_CHECK(runner_->wait(enqueued));
        KG_CHECK(stream.synchronize());
        const auto from = begin->time(), to = end->time();
        if (from && to) times.add(to_seconds(*to - *from));
    }
    return times;
}

Result<std::map<std::string, Samples>> PlainDecode::time_passes(std::int64_t count) {
    std::map<std::string, Samples> times;
    for (std::int64_t i = 0; i < count; ++i) {
        KG_TRY(const auto kind, runner_->clip().next());
        KG_TRY(const auto enqueued, enqueue());
        KG_CHECK(runner_->wait(enqueued));
        KG_CHECK(runner_->lane().stream().synchronize());
        for (const StampedPass& pass : kinds_.at(kind.first).passes) {
            const auto from = pass.begin->time(), to = pass.end->time();
            if (from && to) times[pass.name].add(to_seconds(*to - *from));
        }
    }
    return times;
}

}  // namespace kinetograph::cli
