#include <kinetograph/samples/viewer/checkpoint_source.hpp>

#include <kinetograph/compute/tensor/file_contents.hpp>
#include <kinetograph/samples/viewer/viewer.hpp>

#include <algorithm>
#include <utility>

namespace kinetograph::viewer {
namespace {

constexpr std::uint64_t kKeptHostBytes = 256ULL << 20U, kKeptDeviceBytes = 128ULL << 20U;
constexpr std::uint64_t kFewestKept = 8, kMostKept = 64;
constexpr std::size_t kAhead = 12;  // frames of three steps: two being decoded, one on show

std::uint32_t slots_for(const Clip& clip) { return static_cast<std::uint32_t>(clip.kept + kAhead); }

/// The stream's name as a file name could be: for the window, and to begin the names of screenshots.
std::string title_of(const live::StreamHeader& header) {
    std::string title = header.name.empty() ? "live" : header.name;
    std::replace(title.begin(), title.end(), '/', '_');
    return title;
}

}  // namespace

Result<Clip> CheckpointSource::open(const std::filesystem::path& latents, bool loop) {
    if (live::is_input(latents.string())) {
        KG_CHECK(open_input(latents.string()));
        KG_TRY(auto clip, next());
        if (!clip) return fail(ErrorCode::NotFound, "{}: it ends before a stream of latents begins", input()->name());
        return std::move(*clip);
    }
    KG_CHECK(tensor::FileContents::open(latents));  // before a checkpoint is read for a file that there is not
    KG_CHECK(open_for_clips(latents));
    KG_TRY(const auto clip, vae::Latents::open(latents, opened().wanted(), choices_));
    say(clip.notes);
    return open_routed([&](Storage storage) { return open_file(clip, loop, storage); });
}

Result<void> CheckpointSource::open_session() {
    if (session_) return {};
    previewed_.reset();
    KG_TRY(const auto checkpoint, vae::Checkpoint::open(weights_, {}, options_.checkpoint));
    say(checkpoint.notes());
    family_ = &checkpoint.family();
    KG_TRY(session_, session::Session::open(checkpoint, options_));
    options_.accelerator.reset();  // the session's: it goes with it
    return {};
}

void CheckpointSource::say(std::span<const vae::Note> notes) const {
    if (say_notes_) say_notes_(notes);
}

/// Opens the session; with a preview, one that decodes with the preview until the checkpoint is open. A preview is
/// looked for by the channels of a file in the usual order of axes. It would take raw latents for normalised ones.
Result<void> CheckpointSource::open_for_clips(const std::filesystem::path& latents) {
    if (session_ || previewed_) return {};
    if (preview_ == kFindPreview) {
        const auto clip = options_.model.latents == vae::LatentScale::Raw
                              ? std::nullopt
                              : std::optional(vae::Latents::open(latents, {}, choices_));
        preview_ = clip && *clip ? session::find_preview(weights_, (*clip)->channels).value_or("") : "";
    }
    if (preview_.empty()) return open_session();
    KG_TRY(previewed_, session::PreviewedSession::open(weights_, preview_, options_));
    options_.accelerator.reset();
    return {};
}

/// Opens the input first, so that generators can connect while the checkpoint is being opened.
Result<void> CheckpointSource::open_input(const std::string& name) {
    if (input()) return {};
    KG_TRY(std::shared_ptr<live::Input> opened, live::Input::open(name, served_));
    KG_CHECK(open_session());
    const Lock lock(mutex_);
    input_ = std::move(opened);
    if (cancelled_) input_->cancel();
    return {};
}

std::shared_ptr<live::Input> CheckpointSource::input() const {
    const Lock lock(mutex_);
    return input_;
}

/// After cancel() the input is dropped, so that the next open() listens on its socket again.
void CheckpointSource::close() {
    session_.reset();
    previewed_.reset();
    const Lock lock(mutex_);
    if (std::exchange(cancelled_, false)) input_.reset();
}

Result<std::optional<Clip>> CheckpointSource::next() {
    const auto from = input();
    if (!from) return std::nullopt;
    KG_TRY(const auto incoming, from->next());
    if (!incoming) return std::nullopt;
    KG_CHECK(open_session());
    auto clip = open_routed([&](Storage storage) { return open_live(*incoming, storage); });
    if (clip) return clip;
    incoming->feed->refuse(clip.error().message);
    return fail(std::move(clip.error()));
}

bool CheckpointSource::more() const {
    const auto from = input();
    return from && from->more();
}

void CheckpointSource::cancel() {
    const Lock lock(mutex_);
    cancelled_ = true;
    if (input_) input_->cancel();
}

std::string_view CheckpointSource::opening() const {
    return input() ? "waiting for a generator" : ClipSource::opening();
}

/// Where the two devices cannot share images, or have no memory for a ring of them, frames go through the host
/// instead.
Result<Clip> CheckpointSource::open_routed(const std::function<Result<Clip>(Storage)>& open_stored) const {
    if (opened().device().info().is_host()) return open_stored(Storage::Host);
    auto clip = open_stored(Storage::Image);
    if (clip) {
        clip->route.sentence = clip->stream->facts().route;
    } else {
        Route detour{.sentence = fmt::format("frames come through the host: {}", clip.error().message),
                     .is_detour = true};
        clip = open_stored(Storage::Host);
        if (clip) clip->route = std::move(detour);
    }
    if (clip && say_route_) say_route_(clip->route);
    return clip;
}

/// As many frames as a fixed amount of memory holds, within limits.
std::size_t CheckpointSource::kept_frames(vae::LatentSize size) const {
    const bool on_cpu = opened().device().info().is_host();
    const vae::StepFrames frames = opened().model()->step_frames(size);
    const auto frame_bytes = static_cast<std::uint64_t>(4 * frames.width * frames.height);
    const std::uint64_t kept = (on_cpu ? kKeptHostBytes : kKeptDeviceBytes) / std::max<std::uint64_t>(1, frame_bytes);
    return std::clamp(kept, kFewestKept, kMostKept);
}

Result<Clip> CheckpointSource::open_file(const vae::Latents& clip, bool loop, Storage storage) const {
    Clip made{.kept = kept_frames({clip.height, clip.width}), .route = {}};
    const vae::StepOptions options{.storage = storage, .slots = slots_for(made), .loop = loop};
    KG_TRY(made.stream, previewed_ ? previewed_->decode(clip, options) : session_->decode(clip, options));
    return made;
}

/// Keeps few frames: slots for kept frames can at first hold frames ahead of the one on show, which is lag.
Result<Clip> CheckpointSource::open_live(const live::Incoming& incoming, Storage storage) const {
    Clip opened;
    opened.kept = kFewestKept;
    opened.title = title_of(incoming.header);
    KG_TRY(auto source, live::decode(*session_, *family_, incoming,
                                     {.storage = storage, .slots = slots_for(opened), .fps = choices_.fps}));
    opened.live = std::move(source.feed);
    opened.stream = std::move(source.frames);
    return opened;
}

std::string CheckpointSource::description() const {
    return fmt::format("{} \u00b7 {} \u00b7 {}", std::filesystem::path(weights_).filename().string(),
                       vae::to_string(options_.model.precision), options_.device);
}

Result<ViewerSummary> run(ViewerOptions options) {
    profile::Recorder recorder;
    const bool profiles = options.panels || !options.trace.empty() || !options.statistics.empty();
    CheckpointSource source(
        options.weights, options.preview,
        {.device = options.lane,
         .accelerator = std::exchange(options.accelerator, nullptr),
         .hooks = {.log = Log(), .host = {}, .budget = {.bytes = options.memory_budget, .on_pressure = {}}},
         .model = options.model,
         .checkpoint = options.checkpoint,
         .recorder = &recorder,
         .measure_ceiling = profiles,
         .watch_device = profiles},
        options.on_route, options.headless ? live::Connections::TheFirst : live::Connections::All, options.choices,
        options.on_notes);
    return run(options, source, recorder);
}

}  // namespace kinetograph::viewer
