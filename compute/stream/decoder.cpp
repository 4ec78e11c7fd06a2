#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/compute/vae/traced_clip.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

namespace kinetograph::stream {

void DecodedFrames::append_to(std::vector<float>& values) const {
    for (const std::span<const float> picture : pictures) values.insert(values.end(), picture.begin(), picture.end());
}

std::vector<float> DecodedFrames::thwc() const {
    std::vector<float> values;
    append_to(values);
    return values;
}

/// Staging first: the clip is planned for what it leaves free.
Result<std::unique_ptr<Decoder>> Decoder::create(std::shared_ptr<vae::Model> model, vae::LatentSize size,
                                                 const vae::StepOptions& options) {
    std::unique_ptr<Decoder> decoder(new Decoder);
    const vae::StackSize steps{.height = size.height, .width = size.width, .max_frames = options.latent_frames};
    KG_CHECK(model->check(steps));
    KG_TRY(decoder->bridge_, interop::Bridge::create(model->device(), nullptr));
    const std::uint64_t latents = vae::input_bytes(model->network(), steps, steps.max_frames);
    for (auto& memory : decoder->staging_) {
        KG_TRY(memory, model->device().allocate_pinned("latents", latents));
    }
    vae::StepOptions to_host = options;
    to_host.storage = interop::FrameStorage::Host;
    to_host.format = vae::FrameFormat::Float32;
    to_host.slots = static_cast<std::uint32_t>(kMostUnderWay * model->step_frames(size, options.latent_frames).most);
    const vae::StackMemory beside = Stepper::memory_of_frames(*decoder->bridge_, *model, size, to_host);
    KG_TRY(decoder->stepper_, Stepper::create(*decoder->bridge_, std::move(model), size, to_host));
    decoder->memory_ = decoder->clip().memory();
    decoder->memory_.io = beside.io + kMostUnderWay * vae::whole_pages(latents);
    decoder->memory_.stream = beside.stream;
    return decoder;
}

Result<std::unique_ptr<Decoder>> Decoder::create_for(std::shared_ptr<vae::Model> model, const vae::Latents& clip,
                                                     const vae::StepOptions& options) {
    KG_CHECK(model->check_takes(clip));
    return create(std::move(model), {clip.height, clip.width}, options);
}

/// Checks a step's latents. An Error leaves the clip as it is.
Result<void> Decoder::check(std::span<const float> latents, std::int64_t latent_frames) const {
    KG_CHECK(clip().status());
    KG_CHECK(clip().next(latent_frames));
    const auto [height, width] = clip().latent_size();
    const std::int64_t channels = clip().model().channels(), each = channels * height * width;
    if (static_cast<std::int64_t>(latents.size()) != latent_frames * each)
        return fail(ErrorCode::InvalidArgument, "{} latent frame(s) of {}x{}x{} are {} values, {} were given",
                    latent_frames, channels, height, width, latent_frames * each, latents.size());
    for (std::int64_t t = 0; t < latent_frames; ++t)
        KG_CHECK(vae::check_finite(latents.subspan(static_cast<std::size_t>(t * each), static_cast<std::size_t>(each)),
                                   clip().latent_frame() + t, height * width));
    return {};
}

/// In memory that no step under way reads.
LatentFrame Decoder::stage(std::span<const float> latents, std::int64_t latent_frames) {
    const accel::Memory& memory = *staging_.at(next_staging_);
    next_staging_ = (next_staging_ + 1) % staging_.size();
    std::memcpy(memory.host_data(), latents.data(), latents.size_bytes());
    return {.address = memory.data(), .bytes = latents.size_bytes(), .count = latent_frames};
}

void Decoder::give_back() {
    for (const interop::FrameRecord& record : held_) static_cast<void>(stepper_->ring().release(record, {}));
    held_.clear();
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
    if (under_way_.size() == kMostUnderWay)
        return fail(ErrorCode::InvalidArgument, "{} steps are under way: their frames must be taken first",
                    under_way_.size());
    give_back();
    KG_TRY(const auto kind, clip().next(latent_frames));
    const Nanoseconds begin = host_now();
    const std::int64_t first = clip().next_frame();
    auto stepped = stepper_->step(stage(latents, latent_frames));
    if (!stepped && stepped.error().code != ErrorCode::InvalidArgument) clip().end(stepped.error());
    KG_CHECK(stepped);
    under_way_.push_back({{first, clip().next_frame() - first}, kind, begin});
    return {};
}

Result<void> Decoder::wait_for(const interop::TimelinePoint& ready, const CallLimits& limits) {
    for (;;) {
        KG_TRY(const bool done, bridge_->wait(ready, limits.next_look()));
        if (done) break;
        KG_CHECK(limits.check("waiting for a step"));
    }
    return stepper_->status();
}

Result<DecodedFrames> Decoder::take(const CallLimits& limits) {
    if (under_way_.empty()) return fail(ErrorCode::InvalidArgument, "no step is under way");
    const UnderWay oldest = under_way_.front();
    under_way_.pop_front();
    const nn::Extent shape = clip().output(oldest.kind);
    DecodedFrames made{.frames = oldest.frames, .height = shape.height, .width = shape.width};
    bool is_finite = true;
    for (std::int64_t i = 0; i < shape.frames; ++i) {
        const auto record = stepper_->ring().try_take();
        assert(record && "a step's frames are in the ring once it is enqueued");
        held_.push_back(*record);
        auto done = wait_for(record->ready, limits);
        if (!done) clip().end(done.error());
        KG_CHECK(done);
        is_finite = is_finite && stepper_->is_finite(*record).value_or(true);
        made.pictures.emplace_back(reinterpret_cast<const float*>(record->host.data()),
                                   record->host.size() / sizeof(float));
    }
    made.duration = host_now() - oldest.begin;
    stepper_->collect();
    for (const std::span<const float> picture : made.pictures)
        if (!is_finite)
            made.not_finite += std::ranges::count_if(picture, [](float value) { return !std::isfinite(value); });
    return made;
}

/// Gives back what was made of the clip that is over.
Result<void> Decoder::reset() {
    under_way_.clear();
    give_back();
    auto done = stepper_->begin_clip(stepper_->ring().restart());
    if (!done) clip().end(done.error());
    return done;
}

Result<std::vector<float>> Decoder::trace(std::span<const float> latents, std::string_view module,
                                          std::int64_t latent_frames) {
    KG_CHECK(check(latents, latent_frames));
    give_back();
    return stepper_->trace(stage(latents, latent_frames), module);
}

std::vector<std::string> Decoder::modules() const {
    return vae::modules_of_every_step(clip().model().network().network);
}

/// A value that is not finite stays so in all later modules, so the first such module is found by bisection.
Result<std::string> first_module_not_finite(Decoder& decoder, const vae::Latents& clip, std::int64_t step) {
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

}  // namespace kinetograph::stream
