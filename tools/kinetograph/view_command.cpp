// kinetograph view: a latents file in the viewer, in a window or offscreen.
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <kinetograph/tools/kinetograph/progress.hpp>

#include <kinetograph/compute/tensor/file_contents.hpp>
#include <kinetograph/compute/tensor/safetensors_bytes.hpp>
#include <kinetograph/samples/viewer/viewer.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/frame_size.hpp>
#include <kinetograph/tools/kinetograph/guarded_outputs.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>
#include <kinetograph/tools/kinetograph/pictures.hpp>
#include <kinetograph/tools/kinetograph/round_trip.hpp>
#include <kinetograph/tools/kinetograph/serve_command.hpp>
#include <kinetograph/tools/media/output_kind.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>

namespace kinetograph::cli {
namespace {

struct ViewArguments {
    std::string latents;
    bool round_trip = false;                ///< `latents` are pictures, which are encoded and decoded
    std::optional<FrameSize> picture_size;  ///< of these; nothing: their own
    DecodeRequest decode;
    FrameSize size{.width = 1280, .height = 720};
    std::string record;             ///< empty: no recording
    bool allow_not_finite = false;  ///< frames with infinities and NaN do not fail
    bool web = false;               ///< a page of the service shows the clip
    int port = 8000;                ///< of that service
    viewer::ViewerOptions viewer;
};

auto number_from(double least, double most) {
    return [least, most](const std::string& text) -> std::string {
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error == std::errc{} && end == text.data() + text.size() && number >= least && number <= most) return "";
        return fmt::format("{} is no number from {} to {}", text, least, most);  // a NaN fails both comparisons
    };
}

/// 8-bit RGBA in the sinks' format; to_unorm8 restores the same bytes.
void to_hwc(const present::Picture& picture, std::vector<float>& hwc) {
    hwc.clear();
    for (std::size_t i = 0; i < picture.rgba.size(); ++i) {
        if (i % 4 != 3) hwc.push_back(static_cast<float>(picture.rgba[i]) / 127.5F - 1.0F);
    }
}

PictureRequest pictures_of(const ViewArguments& arguments) {
    return {.name = arguments.latents,
            .size = arguments.picture_size,
            .frames = arguments.viewer.frames == 1 ? 1 : 0};  // else the viewer ends after so many
}

struct FramesToShow {
    std::int64_t count = 0;
    double fps = 0;
};

/// The requested number of frames, otherwise the whole clip's; 0 for live latents, whose number is not known.
Result<FramesToShow> frames_to_show(const ViewArguments& arguments) {
    if (arguments.round_trip) {
        KG_TRY(const auto reader, open_pictures(pictures_of(arguments)));
        KG_TRY(const auto checkpoint, vae::Checkpoint::open(arguments.decode.weights, {}, arguments.decode.checkpoint));
        const double fps = arguments.decode.latents.fps > 0 ? arguments.decode.latents.fps : reader->facts().fps;
        return FramesToShow{.count = static_cast<std::int64_t>(arguments.viewer.frames),
                            .fps = fps > 0 ? fps : checkpoint.family().fps};
    }
    if (live::is_input(arguments.latents))
        return FramesToShow{.count = static_cast<std::int64_t>(arguments.viewer.frames)};
    KG_CHECK(tensor::FileContents::open(arguments.latents));
    KG_TRY(const auto checkpoint, vae::Checkpoint::open(arguments.decode.weights, {}, arguments.decode.checkpoint));
    const auto wanted = vae::wanted_by(checkpoint, arguments.decode.model.latents);
    KG_TRY(const auto clip, vae::Latents::open(arguments.latents, wanted, arguments.decode.latents));
    FramesToShow frames{.count = static_cast<std::int64_t>(arguments.viewer.frames), .fps = clip.fps};
    if (frames.count == 0) frames.count = nn::rates(checkpoint.network()).frames_of(clip.frames);
    return frames;
}

Result<void> open_recording(GuardedOutputs& outputs, const ViewArguments& arguments, const FramesToShow& frames) {
    return outputs.open_frames(
        arguments.record,
        {.width = arguments.size.width, .height = arguments.size.height, .frames = frames.count, .fps = frames.fps});
}

constexpr std::string_view kNoPreview = "none";

/// Empty: no preview. Offscreen none is looked for: unless one is named, every picture is the checkpoint's.
std::string preview_of(const ViewArguments& arguments) {
    if (arguments.round_trip) return "";
    const std::string& asked = arguments.viewer.preview;
    if (asked.empty()) return arguments.viewer.headless ? "" : std::string(viewer::kFindPreview);
    return asked == kNoPreview ? "" : asked;
}

/// Latents as a safetensors file that is in memory alone; its path is valid in this process and in what takes its
/// place.
Result<std::string> file_in_memory(const vae::Latents& latents) {
    const int file = memfd_create("latents", 0);
    if (file < 0) return fail(ErrorCode::Io, "--web: no file in memory can be made: {}", std::strerror(errno));
    const auto put = [file](std::span<const std::byte> bytes) -> Result<void> {
        while (!bytes.empty()) {
            const ssize_t written = ::write(file, bytes.data(), bytes.size());
            if (written < 0 && errno != EINTR)
                return fail(ErrorCode::OutOfMemory, "--web: the latents do not fit into memory: {}",
                            std::strerror(errno));
            bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
        }
        return {};
    };
    const auto bytes = std::as_bytes(std::span(latents.values));
    const tensor::NamedTensor tensor{"latents",
                                     {tensor::DType::F32,
                                      {latents.channels, latents.frames, latents.height, latents.width},
                                      bytes.data(),
                                      bytes.size()}};
    KG_CHECK(tensor::give_safetensors(put, {&tensor, 1}, {{"fps", fmt::format("{}", latents.fps)}}));
    return fmt::format("/proc/self/fd/{}", file);
}

/// The latents, which are read here in any format, go to the service of the Python package, which shows them in a page.
Result<void> show_in_page(const ViewArguments& arguments) {
    const DecodeRequest& request = arguments.decode;
    if (live::is_input(arguments.latents))
        return fail(ErrorCode::Unsupported,
                    "--web shows a file: latents as they are made go to a session of `kinetograph serve`, by "
                    "kinetograph.Client or its WebSocket");
    std::string clip;
    {
        KG_TRY(const auto checkpoint, open_checkpoint(request));
        KG_TRY(const auto latents,
               open_latents(arguments.latents, request, vae::wanted_by(checkpoint, request.model.latents)));
        KG_TRY(clip, file_in_memory(latents));
    }
    return start_service({"--weights", request.weights, "--device", request.lane, "--precision",
                          std::string(to_string(request.model.precision)), "--sums",
                          std::string(to_string(request.model.sums)), "--clip", clip, "--port",
                          fmt::format("{}", arguments.port)});
}

/// What says how the clip is read and decoded, and no more, goes with --web.
void refuse_options_of_windows(const CLI::App& command) {
    constexpr std::array kTaken{"latents-file", "--weights",    "--lane", "--precision", "--sums", "--latents",
                                "--tensor",     "--batch-item", "--axes", "--fps",       "--web",  "--port"};
    for (const CLI::Option* option : command.get_options())
        if (option->count() > 0 && std::ranges::find(kTaken, option->get_name()) == kTaken.end())
            throw CLI::ValidationError(
                option->get_name(),
                "does not go with --web, which takes what says how the clip is read, --lane, --precision, --sums and "
                "--port");
}

/// What says how latents are read does not go with pictures, nor what would need another decoder.
Result<void> check_round_trip(const ViewArguments& arguments) {
    const auto refuse = [](std::string_view option, std::string_view why) {
        return fail(ErrorCode::Unsupported, "{} does not go with --roundtrip: {}", option, why);
    };
    const vae::LatentsChoices& latents = arguments.decode.latents;
    if (!latents.tensor.empty() || latents.batch_item || !latents.axes.empty())
        return refuse("what says how latents are read", "it reads pictures");
    if (arguments.decode.model.latents != vae::LatentScale::Auto)
        return refuse("--latents", "its latents go from the encoder to the decoder as they are");
    if (!arguments.viewer.preview.empty() && arguments.viewer.preview != kNoPreview)
        return refuse("--preview", "a small decoder would show another round trip");
    if (arguments.viewer.loop) return refuse("--loop", "pictures are read once; the key Home begins anew");
    if (live::is_input(arguments.latents))
        return refuse(arguments.latents, "pictures come from a file, or from several with numbers");
    return {};
}

Result<viewer::ViewerSummary> show_round_trip(const ViewArguments& arguments, viewer::ViewerOptions& options) {
    KG_TRY(const auto checkpoint, open_checkpoint(arguments.decode));
    profile::Recorder recorder;
    const bool profiles = options.panels || !options.trace.empty() || !options.statistics.empty();
    RoundTripSource source(pictures_of(arguments), checkpoint,
                           {.device = options.lane,
                            .accelerator = std::exchange(options.accelerator, nullptr),
                            .hooks = device_hooks(options.memory_budget),
                            .model = options.model,
                            .recorder = &recorder,
                            .measure_ceiling = profiles,
                            .watch_device = profiles},
                           arguments.decode.latents.fps);
    KG_TRY(auto summary, viewer::run(options, source, recorder));
    const RoundTripErrors& errors = source.errors();
    if (errors.count() == 0) return summary;
    spdlog::info("{}: PSNR of the round trip {:.2f} dB over {}, {:.2f} of the worst", arguments.latents, errors.psnr(),
                 count_frames(errors.count()), errors.worst());
    return summary;
}

Result<void> run(const ViewArguments& arguments) {
    using Use = NamedFile::Use;
    if (arguments.round_trip) KG_CHECK(check_round_trip(arguments));
    KG_CHECK(check_distinct(std::array{
        NamedFile{"LATENTS", arguments.latents, Use::Read}, NamedFile{"--weights", arguments.decode.weights, Use::Read},
        NamedFile{"--preview", preview_of(arguments), Use::Read}, NamedFile{"--record", arguments.record, Use::Frames},
        NamedFile{"--screenshot", arguments.viewer.screenshot.string(), Use::Written},
        NamedFile{"--trace", arguments.viewer.trace.string(), Use::Written},
        NamedFile{"--stats", file_of_lines(arguments.viewer.statistics), Use::Written}}));
    if (live::is_input(arguments.latents) && !arguments.record.empty())
        return fail(ErrorCode::Unsupported,
                    "--record {}: the rate of latents that are being made is not known beforehand; kinetograph decode "
                    "writes them to a video",
                    arguments.record);
    if (live::is_input(arguments.latents) && !arguments.viewer.preview.empty())
        return fail(ErrorCode::Unsupported,
                    "--preview {}: a decoder that begins later cannot catch up with latents that are being made",
                    arguments.viewer.preview);
    if (arguments.decode.model.latents == vae::LatentScale::Raw && !arguments.viewer.preview.empty() &&
        arguments.viewer.preview != kNoPreview)
        return fail(ErrorCode::Unsupported, "--preview {}: it would take raw latents for normalised ones",
                    arguments.viewer.preview);
    GuardedOutputs outputs;
    KG_TRY(auto device, open_lane(arguments.decode.lane, arguments.decode.memory_budget));
    viewer::ViewerOptions options = arguments.viewer;
    options.memory_budget = arguments.decode.memory_budget;
    options.lane = arguments.decode.lane == "auto" ? std::string(device->info().kind) : arguments.decode.lane;
    options.accelerator = std::move(device);
    if (may_compute_in_display(options.lane)) options.accelerator.reset();  // the viewer's own decodes
    options.latents = arguments.latents;
    options.weights = arguments.decode.weights;
    options.preview = preview_of(arguments);
    options.checkpoint = arguments.decode.checkpoint;
    options.model = arguments.decode.model;
    options.choices = arguments.decode.latents;
    options.on_notes = log_notes;
    options.width = static_cast<std::uint32_t>(arguments.size.width);
    options.height = static_cast<std::uint32_t>(arguments.size.height);

    std::optional<Progress> progress;
    std::vector<float> hwc;  // [height, width, 3]
    if (options.headless) {
        KG_TRY(auto frames, frames_to_show(arguments));
        if (!arguments.record.empty()) {
            KG_CHECK(open_recording(outputs, arguments, frames));
        }
        progress.emplace(frames.count, "frames");
        options.on_frame = [&, shown = std::int64_t{0}](const viewer::PresentedFrame& frame) mutable -> Result<void> {
            progress->show(++shown);
            if (arguments.record.empty()) return {};
            to_hwc(frame.picture, hwc);
            return outputs.write_frame(hwc);
        };
        if (!arguments.record.empty()) options.on_end = [&outputs] { return outputs.finish_frames(); };
    }
    options.on_route = [](const viewer::Route& route) {
        spdlog::log(route.is_detour ? spdlog::level::warn : spdlog::level::info, route.sentence);
    };
    auto outcome = arguments.round_trip ? show_round_trip(arguments, options) : viewer::run(std::move(options));
    progress.reset();
    KG_TRY(const auto summary, std::move(outcome));
    if (!arguments.record.empty())
        spdlog::info("{}: what the viewer showed, {}", outputs.written(), count_frames(summary.frames_shown));
    if (!arguments.viewer.screenshot.empty())
        spdlog::info("{}: the viewer's last picture", arguments.viewer.screenshot.string());
    spdlog::info("{} shown, {} late, {} dropped, the first after {:.2f} s; drawn by {}",
                 count_frames(summary.frames_shown), summary.frames_late, summary.frames_dropped,
                 std::chrono::duration<double>(summary.first_frame).count(), summary.device);
    if (summary.frames_not_finite > 0 && !arguments.allow_not_finite)
        return fail(
            ErrorCode::OutOfRange,
            "{}: {} of the frames shown hold values that are not finite; kinetograph decode says where they begin",
            arguments.latents, summary.frames_not_finite);
    if (!summary.validation_messages.empty()) {
        return fail(ErrorCode::InvalidArgument, "the validation layers object: {}",
                    fmt::join(summary.validation_messages, "; "));
    }
    return {};
}

}  // namespace

void add_view(CLI::App& app, Action& action) {
    auto arguments = std::make_shared<ViewArguments>();
    viewer::ViewerOptions& viewer = arguments->viewer;
    CLI::App* command = app.add_subcommand("view", "Show a latents file while it is being decoded");
    command
        ->add_option("latents-file", arguments->latents,
                     "Latents of any format, name and order of axes; - or unix:PATH: as they are made")
        ->required()
        ->check(check_name)
        ->type_name("LATENTS");
    CLI::Option* round_trip = command->add_flag(
        "--roundtrip", arguments->round_trip,
        "Pictures instead of latents, of any file that libav reads or frames/%05d.png: what encoder and decoder make "
        "of them is shown beside them, with its PSNR");
    add_picture_size(*command, "--pictures", arguments->picture_size,
                     "Scale these to cover this size, and cut the rest off around the middle (default: not scaled)")
        ->needs(round_trip);
    add_decode_options(*command, arguments->decode);
    add_latents_options(*command, arguments->decode.latents);
    command
        ->add_option("--preview", viewer.preview,
                     "Small checkpoint that shows a file while the large one is opened; auto: the one beside it (the "
                     "default in a window), none")
        ->type_name("CHECKPOINT|auto|none");
    auto* headless = command->add_flag("--headless", viewer.headless, "Draw offscreen: no window, no display needed");
    command->add_option("--frames", viewer.frames, "End after so many frames of the clip")
        ->check(CLI::Range(1, 1'000'000'000).description(""))
        ->type_name("N");
    command->add_option("--screenshot", viewer.screenshot, "Write the last picture here")
        ->check(
            [](const std::string& path) { return media::suffix_of(path) == ".png" ? "" : "must end in .png: " + path; })
        ->type_name("F.png");
    command
        ->add_option("--record", arguments->record,
                     "Write what is shown to OUT.mp4 (.webm, .gif) or f%05d.png; with --headless")
        ->type_name("OUT")
        ->needs(headless);
    command->add_option("--trace", viewer.trace, "Write every pass here, for Perfetto and `kinetograph trace`")
        ->type_name("F.json");
    CLI::Option* size = add_frame_size(
        *command, arguments->size,
        "Size of the window or of the offscreen target; by default a window grows with the display's scale");
    command
        ->add_option("--scale", viewer.scale,
                     "Scale of text and distances (default: the display's), as far as the window has room")
        ->check(number_from(0.5, 8))
        ->type_name("FACTOR");
    command->add_flag("--full-screen", viewer.full_screen, "Start in full screen")->excludes(headless);
    command->add_flag("--loop", viewer.loop, "Start over at the clip's end");
    command->add_option("--speed", viewer.speed, "Speed of playback (default 1)")
        ->check(number_from(0.01, 100))
        ->type_name("FACTOR");
    command->add_flag_callback(
        "--no-overlay", [&viewer] { viewer.overlay = false; }, "Start with the profiler hidden");
    command->add_flag("--panels", viewer.panels, "Start with the profiler's panels over the picture");
    command->add_option("--stats", viewer.statistics, "Append statistics here, a JSON object a second")
        ->type_name("FILE|unix:PATH");
    command->add_option("--device", viewer.device, "Only a Vulkan device whose name contains this")->type_name("NAME");
    command->add_flag("--allow-not-finite", arguments->allow_not_finite,
                      "Frames with infinities and NaN, shown as black, are no failure");
    command->add_flag("--validation", viewer.validation, "Turn the Vulkan validation layers on");
    auto* web = command->add_flag("--web", arguments->web, "Show it in a web page instead (the Python package)");
    command->add_option("--port", arguments->port, "Of that page, at 127.0.0.1 (default 8000)")
        ->check(CLI::Range(1, 65535).description(""))
        ->type_name("N")
        ->needs(web);
    command->final_callback([arguments, command, size, &action] {
        viewer::ViewerOptions& chosen = arguments->viewer;
        if (arguments->web) {
            refuse_options_of_windows(*command);
            action = [arguments] { return show_in_page(*arguments); };
            return;
        }
        chosen.exact_size = size->count() > 0;
        if (chosen.headless && chosen.loop && chosen.frames == 0)
            throw CLI::ValidationError("--loop", "without a window nothing would end it: add --frames N");
        action = [arguments] { return run(*arguments); };
    });
}

}  // namespace kinetograph::cli
