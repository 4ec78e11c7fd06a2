#include <kinetograph/tools/kinetograph/plain_decode.hpp>

namespace kinetograph::cli {
Result<std::unique_ptr<PlainDecode>> PlainDecode::create(const std::shared_ptr<vae::Model>& model,
                                                         vae::LatentSize size) {
    KG_TRY(auto latents, StepLatents::create(model->device(), model->channels(), size));
    KG_TRY(auto decoder, vae::Decoder::create(model, size));
    std::unique_ptr<PlainDecode> made(new PlainDecode(std::move(latents), std::move(decoder)));
    KG_CHECK(made->make_frames(model->device()));
    KG_CHECK(made->decoder_->attach({.format = vae::FrameFormat::Rgba8}));
    return made;
}

Result<void> PlainDecode::make_frames(accel::Device& device) {
    const vae::StepFrames step = decoder_->step_frames();
    const auto bytes =
        static_cast<std::uint64_t>(step.width * step.height) * vae::bytes_per_pixel(vae::FrameFormat::Rgba8);
    for (std::int64_t i = 0; i < step.most; ++i) {
        KG_TRY(auto frame, device.allocate("frame", bytes));
        places_.push_back({reinterpret_cast<std::uintptr_t>(frame->data()), 0, bytes});
        frames_.push_back(std::move(frame));
    }
    return {};
}

Result<Samples> PlainDecode::run(std::int64_t count) {
    Samples periods;
    std::optional<std::uint64_t> before;  // the value of the previously enqueued step
    std::optional<Nanoseconds> ended;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto made = static_cast<std::size_t>(decoder_->frames_of(steps_ + 1) - decoder_->frames_of(steps_));
        const auto address = reinterpret_cast<std::uintptr_t>(latents_.of_step(steps_++));
        KG_TRY(const auto step, decoder_->enqueue({.latents = {address, 0, latents_.bytes()},
                                                   .frames = std::span(places_).first(made)}));
        if (before) KG_CHECK(decoder_->lane().wait(*before));
        if (before && ended) periods.add(to_seconds(host_now() - *ended));
        if (before) ended = host_now();
        before = step.execution.done[graph::Lane::Accelerator.index()];
    }
    KG_CHECK(decoder_->lane().stream().synchronize());
    return periods;
}

}  // namespace kinetograph::cli
