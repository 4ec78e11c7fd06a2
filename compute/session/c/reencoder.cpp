#include <kinetograph/compute/stream/reencoder.hpp>

#include "choices.hpp"
#include "encoder_info.hpp"
#include "handles.hpp"
#include "latents.hpp"
#include "one_at_a_time.hpp"

#include <algorithm>
#include <iterator>

namespace kinetograph::c {

class Reencoder {
  public:
    Reencoder(std::shared_ptr<const Model> model, std::unique_ptr<stream::Reencoder> reencoder, bool gives_frames)
        : model_(std::move(model)), reencoder_(std::move(reencoder)), gives_frames_(gives_frames) {}

    Outcome reencode(const kg_latents& latents, const CallLimits& limits, kg_reencoded& made);
    Outcome finish(const CallLimits& limits, kg_reencoded& made);
    Outcome reset();
    kg_encoder_info info() const { return info_of(reencoder_->facts()); }

  private:
    Result<void> check_room(const kg_reencoded& made, std::int64_t latent_frames) const;

    const std::shared_ptr<const Model> model_;  ///< and its device
    const std::unique_ptr<stream::Reencoder> reencoder_;
    const bool gives_frames_;
    std::atomic<bool> busy_{false};
};

namespace {

void put(const stream::Reencoded& from, kg_reencoded& to) {
    to.latent_frames = static_cast<std::uint32_t>(from.latents.size());
    to.frames = static_cast<std::uint32_t>(from.frames.size());
    to.finite = KG_FINITE_YES;
    float* latents = to.latents;
    for (const stream::EncodedLatents& each : from.latents) {
        if (!each.is_finite) to.finite = KG_FINITE_NO;
        latents = std::ranges::copy(each.values, latents).out;
    }
    float* pictures = to.pictures;
    for (const std::vector<float>& each : from.frames) pictures = std::ranges::copy(each, pictures).out;
}

}  // namespace

/// For what a call makes of so many latent frames at most.
Result<void> Reencoder::check_room(const kg_reencoded& made, std::int64_t latent_frames) const {
    const stream::EncoderFacts& facts = reencoder_->facts();
    const std::int64_t latents = latent_frames * facts.channels * facts.height * facts.width;
    KG_CHECK(check_given(made.latents, "kg_reencoded.latents"));
    if (made.latents_count < static_cast<std::uint64_t>(latents))
        return fail(ErrorCode::InvalidArgument, "room for {} values of latents, {} latent frames [{}, {}, {}] have {}",
                    made.latents_count, latent_frames, facts.channels, facts.height, facts.width, latents);
    if (!gives_frames_) return {};
    const vae::StepFrames frames = model_->frames_of(reencoder_->latent_size());
    const std::int64_t pictures = latent_frames * frames.most * frames.height * frames.width * frames.channels;
    KG_CHECK(check_given(made.pictures, "kg_reencoded.pictures"));
    if (made.pictures_count < static_cast<std::uint64_t>(pictures))
        return fail(ErrorCode::InvalidArgument, "room for {} values of frames, up to {} frames [{}, {}, 3] have {}",
                    made.pictures_count, latent_frames * frames.most, frames.height, frames.width, pictures);
    return {};
}

Outcome Reencoder::reencode(const kg_latents& latents, const CallLimits& limits, kg_reencoded& made) {
    const OneAtATime entered(busy_);
    if (!entered) return KG_ERROR_BUSY;
    KG_TRY(const LatentView view, view_of(latents, *model_->session->model(), reencoder_->latent_size()));
    if (view.on_device)
        return fail(ErrorCode::Unsupported, "kg_latents in KG_MEMORY_DEVICE: kg_reencode reads the host's memory");
    KG_CHECK(check_room(made, view.frames));
    std::vector<float> values, frame;
    for (std::int64_t t = 0; t < view.frames; ++t) {
        gather(view, t, frame);
        values.insert(values.end(), frame.begin(), frame.end());
    }
    KG_TRY(const stream::Reencoded done, reencoder_->reencode(values, limits));
    put(done, made);
    return KG_OK;
}

Outcome Reencoder::finish(const CallLimits& limits, kg_reencoded& made) {
    const OneAtATime entered(busy_);
    if (!entered) return KG_ERROR_BUSY;
    KG_CHECK(check_room(made, 1));
    KG_TRY(const stream::Reencoded done, reencoder_->finish(limits));
    put(done, made);
    return KG_OK;
}

Outcome Reencoder::reset() {
    const OneAtATime entered(busy_);
    if (!entered) return KG_ERROR_BUSY;
    KG_CHECK(reencoder_->restart());
    return KG_OK;
}

namespace {

Result<stream::ReencoderOptions> options_of(const kg_reencoder_desc& desc) {
    stream::ReencoderOptions options;
    KG_CHECK(check_unused(desc.unused, "kg_reencoder_desc.unused"));
    KG_TRY(options.moments.latents, choice(kEncoded, desc.encoded, "kg_encoded"));
    options.moments.seed = desc.seed;
    KG_TRY(options.frames, yes_or_no(desc.frames, "kg_reencoder_desc.frames"));
    KG_TRY_IN("kg_reencoder_desc.stop", options.steps.limits, limits_of(desc.stop));
    return options;
}

/// A call that one thread makes at a time.
template <class Work>
kg_result alone(const char* call, kg_reencoder* reencoder, const Work& work) {
    const kg_result result = with_loops(call, reencoder, work);
    return result == KG_ERROR_BUSY ? report(KG_ERROR_BUSY, "another thread uses this reencoder") : result;
}

/// The same, which makes latents.
template <class Work>
kg_result making(const char* call, kg_reencoder* reencoder, kg_stop* stop, kg_reencoded* made, const Work& work) {
    return alone(call, reencoder, [&](const auto& found) -> Outcome {
        KG_CHECK(check_given(made, "made"));
        KG_TRY(kg_reencoded known, read(made, "kg_reencoded"));
        KG_TRY_IN("stop", const CallLimits limits, limits_of(stop));
        KG_TRY(const kg_status status, work(*found.reencoder, limits, known));
        if (status == KG_OK) KG_CHECK(write(made, known, "kg_reencoded"));
        return status;
    });
}

}  // namespace
}  // namespace kinetograph::c

using namespace kinetograph;
using namespace kinetograph::c;

kg_result kg_reencoder_create(kg_model* model, uint32_t latent_height, uint32_t latent_width,
                              const kg_reencoder_desc* desc, kg_reencoder** reencoder) {
    return with_loops("kg_reencoder_create", model, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(reencoder, "reencoder"));
        KG_TRY(const auto known, read(desc, "kg_reencoder_desc"));
        KG_TRY(const auto options, options_of(known));
        KG_TRY(auto stream, made.shared->session->reencode({latent_height, latent_width}, options));
        *reencoder = hand_out<kg_reencoder>(
            {made.root, std::make_shared<Reencoder>(made.shared, std::move(stream), options.frames)});
        return KG_OK;
    });
}

kg_result kg_reencoder_destroy(kg_reencoder* reencoder) { return destroy("kg_reencoder_destroy", reencoder); }

kg_result kg_reencode(kg_reencoder* reencoder, const kg_latents* latents, kg_stop* stop, kg_reencoded* made) {
    return making("kg_reencode", reencoder, stop, made,
                  [&](Reencoder& found, const CallLimits& limits, kg_reencoded& room) -> Outcome {
                      KG_CHECK(check_given(latents, "latents"));
                      KG_TRY(const auto known, read(latents, "kg_latents"));
                      return found.reencode(known, limits, room);
                  });
}

kg_result kg_reencoder_finish(kg_reencoder* reencoder, kg_stop* stop, kg_reencoded* made) {
    return making(
        "kg_reencoder_finish", reencoder, stop, made,
        [](Reencoder& found, const CallLimits& limits, kg_reencoded& room) { return found.finish(limits, room); });
}

kg_result kg_reencoder_reset(kg_reencoder* reencoder) {
    return alone("kg_reencoder_reset", reencoder, [](const auto& made) { return made.reencoder->reset(); });
}

kg_result kg_reencoder_describe(kg_reencoder* reencoder, kg_encoder_info* info) {
    return with("kg_reencoder_describe", reencoder, [&](const auto& made) -> Outcome {
        KG_CHECK(write(info, made.reencoder->info(), "kg_encoder_info"));
        return KG_OK;
    });
}
