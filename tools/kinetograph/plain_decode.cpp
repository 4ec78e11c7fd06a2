#include <kinetograph/tools/kinetograph/plain_decode.hpp>

namespace kinetograph::cli {
namespace {

graph::Physical whole(const std::byte* address, std::uint64_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(address), 0, bytes};
}

}  // namespace

Result<std::unique_ptr<PlainDecode>> PlainDecode::create(const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                                         const PlainOptions& options) {
    KG_TRY(auto latents, StepLatents::create(model->device(), model->channels(), size));
    std::unique_ptr<PlainDecode> made(new PlainDecode(std::move(latents), options.stamp_every));
    KG_TRY(made->clip_, vae::Clip::create(model, size));
    KG_TRY(made->runner_, vae::Runner::create(*made->clip_, {.recorder = options.recorder}));
    if (options.stamp_every != 0) {
        KG_TRY(made->step_.begin, model->device().create_event());
        KG_TRY(made->step_.end, model->device().create_event());
    }
    KG_CHECK(made->make_frames(model->device()));
    return made;
}

Result<void> PlainDecode::make_frames(accel::Device& device) {
    const std::uint64_t bytes = clip_->frame_desc(vae::FrameFormat::Rgba8).bytes;
    for (std::int64_t i = 0; i < clip_->step_frames().most; ++i) {
        KG_TRY(auto frame, device.allocate("frame", bytes));
        frames_.push_back(std::move(frame));
    }
    return {};
}

/// Declares the clip's next step, which writes into the frames' memory. Other names make another plan, so that the lane
/// never replays a stamped step for one that is not.
Result<PlainDecode::Step> PlainDecode::declare(bool stamped) {
    vae::Clip& clip = *clip_;
    KG_TRY(const auto kind, clip.next());
    Step step;
    step.latents = clip.import_latents(step.frame, whole(latents_.of_step(0), latents_.bytes()));
    std::vector<graph::Buffer> places;
    for (std::int64_t i = 0; i < clip.output(kind).frames; ++i) {
        const accel::Memory& memory = *frames_[static_cast<std::size_t>(i)];
        places.push_back(step.frame.import_buffer(fmt::format("{}frame {}", stamped ? "stamped " : "", i),
                                                  clip.frame_desc(vae::FrameFormat::Rgba8),
                                                  whole(memory.data(), memory.bytes())));
    }
    KG_CHECK(clip.declare(step.frame, step.latents, vae::StepOutput{.places = places}));
    if (stamped) KG_CHECK(stamp_passes(step));
    return step;
}

/// As AcceleratorLane does with a recorder: in a replayed batch a pass begins with the event that ends the one before.
Result<void> PlainDecode::stamp_passes(Step& step) {
    accel::Device& device = clip_->model().device();
    const bool replays = lane().timed_every() != 1;
    const graph::PassNode* before = nullptr;
    for (const graph::PassNode& pass : step.frame.passes()) {
        Stamps stamps;
        if (replays && before != nullptr && !before->anew && !pass.anew) {
            stamps.begin = step.passes.back().second.end;
        } else {
            KG_TRY(stamps.begin, device.create_event());
        }
        KG_TRY(stamps.end, device.create_event());
        step.passes.emplace_back(pass.name, std::move(stamps));
        before = &pass;
    }
    std::size_t next = 0;
    step.frame.wrap_passes([&](const graph::PassNode& pass) {
        const Stamps& stamps = step.passes[next].second;
        const bool begins = next == 0 || stamps.begin != step.passes[next - 1].second.end;
        ++next;
        return [execute = pass.execute, begins, stamps](graph::PassContext& context) {
            accel::Stream& stream = static_cast<accel::PassContext&>(context).stream();
            if (begins) stream.record(stamps.begin);
            execute(context);
            stream.record(stamps.end);
        };
    });
    return {};
}

Result<vae::EnqueuedStep> PlainDecode::enqueue() {
    KG_TRY(const auto kind, clip_->next());
    const bool stamped = stamp_every_ != 0 && steps_ % stamp_every_ == 0;
    if (!kinds_.contains({kind.first, stamped})) {
        KG_TRY(auto declared, declare(stamped));
        kinds_.emplace(std::pair(kind.first, stamped), std::move(declared));
    }
    Step& step = kinds_.at({kind.first, stamped});
    if (stamped) stamped_ = &step;
    step.frame.rebind(step.latents, whole(latents_.of_step(steps_++), latents_.bytes()));
    accel::Stream& stream = runner_->lane().stream();
    if (stamp_every_ != 0) stream.record(step_.begin);
    KG_TRY(const auto enqueued, runner_->execute(*clip_, step.frame));
    if (stamp_every_ != 0) stream.record(step_.end);
    return enqueued;
}

Result<Samples> PlainDecode::run(std::int64_t count) {
    Samples periods;
    std::optional<vae::EnqueuedStep> before;
    std::optional<Nanoseconds> ended;
    for (std::int64_t i = 0; i < count; ++i) {
        KG_TRY(const auto enqueued, enqueue());
        if (before) KG_CHECK(runner_->wait(*clip_, *before));
        if (before && ended) periods.add(to_seconds(host_now() - *ended));
        if (before) ended = host_now();
        before = enqueued;
    }
    if (before) KG_CHECK(runner_->wait(*clip_, *before));
    KG_CHECK(runner_->lane().stream().synchronize());
    return periods;
}

std::optional<double> PlainDecode::Stamps::seconds() const {
    const auto from = begin->time(), to = end->time();
    if (!from || !to) return std::nullopt;
    return to_seconds(*to - *from);
}

EventTimes PlainDecode::event_times() const {
    EventTimes times;
    if (stamped_ == nullptr) return times;
    times.step = step_.seconds().value_or(0);
    for (const auto& [name, stamps] : stamped_->passes)
        if (const auto seconds = stamps.seconds()) times.passes[name] = *seconds;
    return times;
}

}  // namespace kinetograph::cli
