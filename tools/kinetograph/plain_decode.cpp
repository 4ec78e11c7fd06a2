#include <kinetograph/tools/kinetograph/plain_decode.hpp>

#include <optional>

namespace kinetograph::cli {
namespace {

graph::Physical whole(const std::byte* address, std::uint64_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(address), 0, bytes};
}

}  // namespace

Result<std::unique_ptr<PlainDecode>> PlainDecode::create(const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                                         profile::Recorder* recorder) {
    KG_TRY(auto latents, StepLatents::create(model->device(), model->channels(), size));
    KG_TRY(auto runner, vae::ClipRunner::create(model, size, {.recorder = recorder}));
    std::unique_ptr<PlainDecode> made(new PlainDecode(std::move(latents), std::move(runner)));
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

/// The clip's next step, into the frames' memory.
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
    return step;
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

}  // namespace kinetograph::cli
