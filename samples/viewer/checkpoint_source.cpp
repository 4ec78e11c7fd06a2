#include <kinetograph/samples/viewer/checkpoint_source.hpp>

#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/samples/viewer/queued_clip.hpp>
#include <kinetograph/samples/viewer/streamed_clip.hpp>
#include <kinetograph/samples/viewer/viewer.hpp>

namespace kinetograph::viewer {

CheckpointSource::CheckpointSource(std::string weights, const vae::ModelOptions& options,
                                   std::unique_ptr<accel::Device> device, profile::Recorder& recorder,
                                   SayRoute say_route)
    : weights_(std::move(weights)),
      options_(options),
      device_(std::move(device)),
      recorder_(recorder),
      say_route_(std::move(say_route)) {}

CheckpointSource::~CheckpointSource() = default;

Result<std::unique_ptr<DecodingClip>> CheckpointSource::open(const std::filesystem::path& latents, bool loop) {
    auto clip = vae::Latents::open(latents);
    if (!clip) return fail(clip.error());
    if (!model_) {
        KG_TRY(auto checkpoint, vae::Checkpoint::open(weights_));
        KG_TRY(model_, vae::Model::create(*device_, std::move(checkpoint), options_));
    }
    if (device_->info().kind == accel::Kind::Cpu) return open_queued(std::move(*clip), loop);
    auto opened = open_streamed(std::move(*clip), loop);
    if (opened && say_route_) say_route_((*opened)->facts().route);
    return opened;
}

Result<std::unique_ptr<vae::Decoder>> CheckpointSource::make_decoder(const vae::Latents& clip) const {
    return vae::Decoder::create_for(model_, clip, {.recorder = &recorder_});
}

Result<std::unique_ptr<DecodingClip>> CheckpointSource::open_queued(vae::Latents clip, bool loop, Route route) const {
    auto decoder = make_decoder(clip);
    if (!decoder) return fail(decoder.error());
    auto queue = vae::DecodeQueue::create(std::move(*decoder), std::move(clip), {.loop = loop});
    if (!queue) return fail(queue.error());
    return std::make_unique<QueuedClip>(std::move(*queue), std::move(route));
}

/// Where the two devices have nothing in common, or no memory for a ring of images, frames take the way through the
/// host instead.
Result<std::unique_ptr<DecodingClip>> CheckpointSource::open_streamed(vae::Latents clip, bool loop) const {
    auto decoder = make_decoder(clip);
    if (!decoder) return fail(decoder.error());
    auto streamed =
        StreamedClip::create(*device_, *display_, std::move(*decoder), clip, {.loop = loop, .recorder = &recorder_});
    if (streamed) return std::move(*streamed);
    return open_queued(
        std::move(clip), loop,
        {.sentence = fmt::format("frames come through the host: {}", streamed.error().message), .is_detour = true});
}

std::string CheckpointSource::description() const {
    return fmt::format("{} \u00b7 {} \u00b7 {}", std::filesystem::path(weights_).filename().string(),
                       vae::to_string(options_.precision), device_->info().name);
}

Result<ViewerSummary> run(const ViewerOptions& options) {
    profile::Recorder recorder;
    auto device = accel::open(options.lane);
    if (!device) return fail(std::move(device.error()), fmt::format("lane {}", accel::to_string(options.lane)));
    CheckpointSource source(options.weights, options.model, std::move(*device), recorder, options.on_route);
    return run(options, source, recorder);
}

}  // namespace kinetograph::viewer
