#include <kinetograph/compute/session/encoders.hpp>
#include <kinetograph/compute/stream/reencoder.hpp>
#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/engine/interop/bridge.hpp>

namespace kinetograph::session {

/// With 8-bit sums the decoder's recipe is of no use to the encoder, which has exact ones.
vae::ModelOptions Session::Encoders::own_options() const {
    vae::ModelOptions options = options_;
    if (options.sums == conv::Sums::Int8) options.sums = conv::Sums::Exact;
    return options;
}

bool Session::Encoders::can_run(const accel::Device& device) const {
    return vae::can_encode(device.info(), checkpoint_, own_options());
}

Result<std::shared_ptr<vae::Model>> Session::Encoders::get(accel::Device& device, vae::Pictures pictures,
                                                           const CallLimits& limits) {
    const Lock lock(mutex_);
    std::shared_ptr<vae::Model>& model = models_.at(static_cast<std::size_t>(pictures));
    if (model) return model;
    if (options_.sums == conv::Sums::Int8)
        device.log().info("{}: its encoder has exact sums: there are 8-bit ones for decoders", checkpoint_.name());
    KG_TRY(model, vae::create_encoder(device, checkpoint_, own_options(), pictures, limits));
    return model;
}

families::LatentStatistics Session::Encoders::statistics() const {
    if (options_.latents != vae::LatentScale::Raw) return checkpoint_.statistics();
    if (checkpoint_.statistics().patch > 1) return {};
    // The network of a family whose decoder takes normalised latents makes such: raw ones are z std + mean.
    families::LatentStatistics raw = vae::wanted_by(checkpoint_, vae::LatentScale::Raw).raw;
    for (std::size_t c = 0; c < raw.std.size(); ++c) {
        raw.mean[c] /= -raw.std[c];
        raw.std[c] = 1 / raw.std[c];
    }
    return raw;
}

bool Session::can_encode() const { return encoders_->can_run(*device_); }

Result<std::shared_ptr<vae::Model>> Session::encoder(vae::Pictures pictures, const CallLimits& limits) const {
    return encoders_->get(*device_, pictures, limits);
}

Result<std::unique_ptr<stream::Encoder>> Session::encode(stream::PictureSize size,
                                                         const stream::EncoderOptions& options) const {
    KG_TRY(const auto model,
           encoder(options.one_picture ? vae::Pictures::One : vae::Pictures::Clip, options.steps.limits));
    stream::EncoderOptions own = options;
    own.steps = complete(options.steps);
    KG_TRY(auto bridge, connect(interop::FrameStorage::Host));
    return stream::Encoder::create(std::move(bridge), model, size, encoders_->statistics(), own);
}

/// A decoder takes pixels, and its latents come back as it takes them.
Result<std::unique_ptr<stream::Reencoder>> Session::reencode(vae::LatentSize size,
                                                             const stream::ReencoderOptions& options) const {
    const families::LatentStatistics statistics = encoders_->statistics();
    if (statistics.patch > 1)
        return fail(ErrorCode::Unsupported,
                    "{}: its decoder takes raw latents of pixels, and normalised ones are patches: a session with raw "
                    "latents encodes its frames again",
                    model_->name());
    const bool one = model_->network().one_step;
    KG_TRY(const auto encoder, this->encoder(one ? vae::Pictures::One : vae::Pictures::Clip, options.steps.limits));
    stream::ReencoderOptions own = options;
    own.steps = complete(options.steps);
    KG_TRY(auto bridge, connect(interop::FrameStorage::Host));
    return stream::Reencoder::create(std::move(bridge), model_, encoder, size, statistics, own);
}

}  // namespace kinetograph::session
