#include <kinetograph/samples/viewer/checkpoint_source.hpp>

#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/samples/viewer/viewer.hpp>

namespace kinetograph::viewer {

CheckpointSource::CheckpointSource(std::string weights, const vae::DecoderOptions& options,
                                   std::unique_ptr<accel::Device> device)
    : weights_(std::move(weights)), options_(options), device_(std::move(device)) {}

CheckpointSource::~CheckpointSource() = default;

Result<std::unique_ptr<vae::DecodeQueue>> CheckpointSource::open(const std::filesystem::path& latents, bool loop) {
    auto clip = vae::Latents::open(latents);
    if (!clip) return fail(clip.error());
    if (!checkpoint_) {
        auto checkpoint = vae::Checkpoint::open(weights_);
        if (!checkpoint) return fail(checkpoint.error());
        checkpoint_.emplace(std::move(*checkpoint));
    }
    auto decoder = vae::Decoder::create_for(*device_, *checkpoint_, *clip, options_);
    if (!decoder) return fail(decoder.error());
    return vae::DecodeQueue::create(std::move(*decoder), std::move(*clip), {.loop = loop});
}

std::string CheckpointSource::description() const {
    return fmt::format("Wan 2.1 \u00b7 {} \u00b7 {}", vae::to_string(options_.precision), device_->info().name);
}

Result<ViewerSummary> run(const ViewerOptions& options) {
    profile::Recorder recorder;
    vae::DecoderOptions decoder = options.decoder;
    decoder.recorder = &recorder;
    auto device = accel::open(options.lane);
    if (!device) return fail(std::move(device.error()), fmt::format("lane {}", accel::to_string(options.lane)));
    CheckpointSource source(options.weights, decoder, std::move(*device));
    return run(options, source, recorder);
}

}  // namespace kinetograph::viewer
