#include <kinetograph/samples/viewer/checkpoint_source.hpp>

#include <kinetograph/samples/viewer/viewer.hpp>

#include <algorithm>

namespace kinetograph::viewer {
namespace {

using Storage = session::StreamOptions::Storage;

constexpr std::uint64_t kKeptHostBytes = 256ULL << 20U, kKeptDeviceBytes = 128ULL << 20U;
constexpr std::uint64_t kFewestKept = 8, kMostKept = 64;
constexpr std::size_t kAhead = 12;  // frames of three steps: two on their way and one that is shown

/// Frames that may be kept, as far as some memory holds them.
std::size_t kept_frames(vae::StepFrames frames, bool on_cpu) {
    const auto frame_bytes = static_cast<std::uint64_t>(4 * frames.width * frames.height);
    const std::uint64_t kept = (on_cpu ? kKeptHostBytes : kKeptDeviceBytes) / std::max<std::uint64_t>(1, frame_bytes);
    return std::clamp(kept, kFewestKept, kMostKept);
}

}  // namespace

/// Where the two devices have nothing in common, or no memory for a ring of images, frames take the way through the
/// host instead.
Result<Clip> CheckpointSource::open(const std::filesystem::path& latents, bool loop) {
    KG_TRY(const auto clip, vae::Latents::open(latents));
    if (!session_) {
        KG_TRY(session_, session::Session::open(weights_, options_));
    }
    if (session_->device().info().kind == accel::Kind::Cpu) return open_streamed(clip, loop, Storage::Host);
    auto opened = open_streamed(clip, loop, Storage::Image);
    if (opened) {
        opened->route.sentence = opened->stream->facts().route;
    } else {
        Route detour{.sentence = fmt::format("frames come through the host: {}", opened.error().message),
                     .is_detour = true};
        opened = open_streamed(clip, loop, Storage::Host);
        if (opened) opened->route = std::move(detour);
    }
    if (opened && say_route_) say_route_(opened->route);
    return opened;
}

Result<Clip> CheckpointSource::open_streamed(const vae::Latents& clip, bool loop, Storage storage) const {
    const vae::StepFrames frames = session_->model()->step_frames({clip.height, clip.width});
    Clip opened{.kept = kept_frames(frames, session_->device().info().kind == accel::Kind::Cpu), .route = {}};
    const auto slots = static_cast<std::uint32_t>(opened.kept + kAhead);
    KG_TRY(opened.stream, session_->decode(clip, {.storage = storage, .slots = slots, .loop = loop}));
    return opened;
}

std::string CheckpointSource::description() const {
    return fmt::format("{} \u00b7 {} \u00b7 {}", std::filesystem::path(weights_).filename().string(),
                       vae::to_string(options_.model.precision), options_.device);
}

Result<ViewerSummary> run(const ViewerOptions& options) {
    profile::Recorder recorder;
    CheckpointSource source(
        options.weights,
        {.device = std::string(accel::to_string(options.lane)), .model = options.model, .recorder = &recorder},
        options.on_route);
    return run(options, source, recorder);
}

}  // namespace kinetograph::viewer
