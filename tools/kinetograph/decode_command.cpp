// kinetograph decode: a latents file to a video, pictures, a tensor, or raw bytes.
#include <spdlog/spdlog.h>
#include <kinetograph/compute/live/live_feed.hpp>
#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/compute/tensor/file_contents.hpp>
#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/engine/profile/report.hpp>
#include <kinetograph/engine/profile/trace.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/build_commit.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/guarded_outputs.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>
#include <kinetograph/tools/kinetograph/progress.hpp>
#include <kinetograph/tools/media/picture_names.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace kinetograph::cli {
namespace {

struct DecodeArguments {
    std::string latents;
    std::string out;
    std::string json;   ///< empty: no statistics wanted
    std::string trace;  ///< empty: no trace wanted
    std::string live;   ///< where lines of statistics go while it decodes; empty: nowhere
    bool is_profiled() const { return !trace.empty() || !live.empty(); }
    std::int64_t latent_frames = 1;  ///< per step; a clip's first step takes one
    bool allow_not_finite = false;   ///< frames with infinities and NaN are written as they are
    bool each_clip = false;          ///< every clip of live latents has a file of its own
    std::optional<bool> partial{};   ///< whether frames before an error are kept; nothing: those of live input
    DecodeRequest decode;
};

/// The results of one decode; times count from the start of the command.
struct Decoded {
    Nanoseconds start = host_now();
    Nanoseconds first_frame{};  ///< when it was in memory, loading included
    std::int64_t frames = 0;
    std::int64_t not_finite = 0;  ///< values of all frames
};

/// Nothing for a clip of one latent frame: it never reaches the steady state.
std::optional<double> fps_steady(const stream::FrameSource& stream) {
    const double step = to_seconds(stream.stats().times.average_step);
    if (step <= 0) return std::nullopt;
    return static_cast<double>(stream.facts().frames_of_a_step) / step;
}

std::string stats_json(const DecodeArguments& arguments, const std::string& latents, const accel::Device& device,
                       const stream::FrameSource& stream, const Decoded& decoded) {
    const stream::SourceFacts& facts = stream.facts();
    nlohmann::ordered_json stats{
        {"latents", latents},
        {"weights", arguments.decode.weights},
        {"output", arguments.out},
        {"lane", device.info().kind},
        {"precision", vae::to_string(arguments.decode.model.precision)},
        {"sums", to_string(arguments.decode.model.sums)},
        {"device", device.info().name},
        {"compute_units", device.info().compute_units},
        {"latent_frames_a_step", arguments.latent_frames},
        {"frames", decoded.frames},
        {"width", facts.width},
        {"height", facts.height},
        {"seconds_total", to_seconds(host_now() - decoded.start)},
        {"seconds_first_frame", to_seconds(decoded.first_frame)},
        {"fps_steady", json_or_null(fps_steady(stream))},
        {"values_not_finite", decoded.not_finite},
        {"peak_device_bytes", device.peak_bytes()},
        {"stated_device_bytes", device_bytes(facts.memory, device.info())},
        {"commit", kBuildCommit},
    };
    return json_text(stats);
}

/// [height, width, 3] float32.
std::span<const float> values_of(const interop::FrameRecord& frame) {
    return {reinterpret_cast<const float*>(frame.host.data()), frame.host.size() / sizeof(float)};
}

std::int64_t count_not_finite(std::span<const float> values) {
    return std::ranges::count_if(values, [](float value) { return !std::isfinite(value); });
}

/// The next frame, however long it takes; nothing at the clip's end.
Result<std::optional<interop::FrameRecord>> next_frame(stream::FrameSource& stream) {
    for (;;) {
        auto frame = stream.take(std::chrono::seconds(1));
        if (!frame || *frame || stream.finished()) return frame;
    }
}

/// The error for the step of `first`, whose frames hold values that are not finite. Cancels `stream`.
Error not_finite_error(const session::Session& session, stream::FrameSource& stream, const vae::Latents& clip,
                       const interop::FrameRecord& first) {
    const std::uint64_t step = first.label.step;
    const std::int64_t index = first.label.index;
    std::int64_t last = index, values = count_not_finite(values_of(first));
    static_cast<void>(stream.release(first));
    while (const auto frame = next_frame(stream).value_or(std::nullopt)) {
        const bool belongs = frame->label.step == step;
        if (belongs) values += count_not_finite(values_of(*frame));
        if (belongs) last = frame->label.index;
        static_cast<void>(stream.release(*frame));
        if (!belongs) break;
    }
    stream.cancel();
    const auto module = [&]() -> Result<std::string> {
        KG_TRY(const auto decoder, stream::Decoder::create_for(session.model(), clip));
        const std::int64_t latent = index == 0 ? 0 : 1 + (index - 1) / session.model()->rates().time.out;
        return stream::first_module_not_finite(*decoder, clip, latent);
    }();
    return {ErrorCode::OutOfRange,
            fmt::format("{}: {} values of frames {} to {} are not finite; {}; --allow-not-finite writes them all the "
                        "same",
                        clip.name, values, index, last,
                        module ? "the first are made by " + *module : module.error().message)};
}

/// The profiler of one decode: a frame counts as shown once it is written.
class Profiled {
  public:
    /// Errors: Io naming the destination of the lines of statistics.
    static Result<std::unique_ptr<Profiled>> create(const DecodeArguments& arguments) {
        auto profiled = std::make_unique<Profiled>();
        profiled->is_wanted_ = arguments.is_profiled();
        if (arguments.live.empty()) return profiled;
        KG_TRY(auto lines, profile::LineSink::open(arguments.live));
        profiled->lines_.emplace(std::move(lines));
        return profiled;
    }

    /// Where the decoder records its passes; null: nothing is profiled.
    profile::Recorder* recorder() { return is_wanted_ ? &recorder_ : nullptr; }

    /// `taken`: when writing it began.
    void add_frame(const interop::FrameRecord& frame, Nanoseconds taken) {
        if (!is_wanted_) return;
        const Nanoseconds written = host_now();
        recorder_.add_frame({.index = static_cast<std::uint64_t>(frame.label.index),
                             .shown = written,
                             .present = written - taken,
                             .made_by = frame.label.made_by});
        profile_.update(written);
        if (written - shown_ < std::chrono::seconds(1)) return;
        shown_ = written;
        show(written);
    }
    /// To be called once all spans have been collected.
    void finish() {
        profile_.finish(host_now());
        show(host_now());
    }

  private:
    /// If the reader has gone, no further lines are written; decoding goes on.
    void show(Nanoseconds now) {
        if (!lines_) return;
        if (auto written = lines_->write(profile::to_json_line(profile_, now)); !written) {
            spdlog::warn("{}", written.error().message);
            lines_.reset();
        }
    }

    profile::Recorder recorder_;
    profile::Profile profile_{recorder_};
    std::optional<profile::LineSink> lines_;
    Nanoseconds shown_ = host_now();
    bool is_wanted_ = false;
};

/// Writes the frame and gives it back to its stream.
Result<void> write_frame(stream::FrameSource& stream, const interop::FrameRecord& frame, std::int64_t not_finite,
                         GuardedOutputs& outputs, Profiled& profiled, Decoded& decoded) {
    const Nanoseconds taken = host_now();
    if (decoded.frames++ == 0) decoded.first_frame = taken - decoded.start;
    decoded.not_finite += not_finite;
    KG_CHECK(outputs.write_frame(values_of(frame)));
    profiled.add_frame(frame, taken);
    return stream.release(frame);
}

Result<void> decode_all(const DecodeArguments& arguments, const session::Session& session, stream::FrameSource& stream,
                        const vae::Latents& clip, GuardedOutputs& outputs, Profiled& profiled, Decoded& decoded) {
    Progress progress(stream.facts().frames, "frames");
    for (;;) {
        KG_TRY(const auto frame, next_frame(stream));
        if (!frame) return {};
        const auto values = values_of(*frame);
        const std::int64_t bad = frame->is_finite ? 0 : count_not_finite(values);
        if (bad > 0 && !arguments.allow_not_finite) return fail(not_finite_error(session, stream, clip, *frame));
        KG_CHECK(write_frame(stream, *frame, bad, outputs, profiled, decoded));
        progress.show(decoded.frames);
    }
}

/// Like decode_all(), for latents that cannot be read again: an error does not name the module at fault.
Result<void> decode_incoming(stream::FrameSource& stream, const live::Incoming& incoming, bool allow_not_finite,
                             GuardedOutputs& outputs, Profiled& profiled, Decoded& decoded) {
    Progress progress(0, "frames");
    for (;;) {
        KG_TRY(const auto frame, next_frame(stream));
        if (!frame) return {};
        const std::int64_t bad = frame->is_finite ? 0 : count_not_finite(values_of(*frame));
        if (bad > 0 && !allow_not_finite)
            return fail(ErrorCode::OutOfRange,
                        "{}: {} values of frame {} are not finite; --allow-not-finite writes them all the same",
                        incoming.title, bad, frame->label.index);
        KG_CHECK(write_frame(stream, *frame, bad, outputs, profiled, decoded));
        progress.show(decoded.frames);
    }
}

/// `error`, after the `frames` that were written before it have been kept if that is wanted.
Error keep_partial(Error error, bool is_wanted, std::int64_t frames, GuardedOutputs& outputs) {
    if (!is_wanted || frames == 0) return error;
    if (auto finished = outputs.finish_frames(); !finished) {
        error.message += "; what was decoded before that is lost: " + finished.error().message;
        return error;
    }
    error.message += fmt::format("; the {} before that {} in {}", count_frames(frames), frames == 1 ? "is" : "are",
                                 outputs.written());
    return error;
}

/// Slots for two steps, with four frames of each latent frame.
vae::StepOptions stream_options(std::int64_t latent_frames = 1, double fps = 0) {
    return {.storage = interop::FrameRingDesc::Storage::Host,
            .format = vae::FrameFormat::Float32,
            .slots = static_cast<std::uint32_t>(8 * latent_frames),
            .latent_frames = latent_frames,
            .fps = fps};
}

/// All streams of one output must have the same size and rate.
Result<void> check_alike(const live::StreamHeader& first, const live::Incoming& incoming) {
    const live::StreamHeader& header = incoming.header;
    if (header.width == first.width && header.height == first.height && header.fps == first.fps) return {};
    return fail(ErrorCode::InvalidArgument,
                "{}: width, height and fps: {} x {} at {}, but {} x {} at {} of the stream that the output began with",
                incoming.title, header.width, header.height, header.fps, first.width, first.height, first.fps);
}

/// The clips of an input, which its streams and their resets begin: one after another in one output, or each in its
/// own.
class LiveDecode {
  public:
    LiveDecode(const DecodeArguments& arguments, const families::Family& family, const session::Session& session,
               GuardedOutputs& outputs, Profiled& profiled, Decoded& decoded)
        : arguments_(arguments),
          family_(family),
          session_(session),
          outputs_(outputs),
          profiled_(profiled),
          decoded_(decoded) {}

    /// Errors: InvalidArgument (a stream that the checkpoint or the output does not take), NotFound (no stream or no
    /// latents), those of live::decode and the output.
    Result<void> run(live::Input& input) {
        for (;;) {
            KG_TRY(const auto incoming, input.next());
            if (!incoming) break;
            if (auto done = decode(*incoming); !done) {
                incoming->feed->refuse(done.error().message);
                return done;
            }
        }
        if (!stream_) return fail(ErrorCode::NotFound, "{}: it ends before a stream of latents begins", input.name());
        if (decoded_.frames == 0) return fail(ErrorCode::NotFound, "{}: its streams hold no latents", input.name());
        return {};
    }
    /// The last stream; run() must have succeeded.
    const stream::FrameSource& stream() const { return *stream_; }
    /// Frames in the file that is being written.
    std::int64_t unfinished() const { return decoded_.frames - frames_before_; }
    /// The files that were written.
    std::string written() const {
        if (!arguments_.each_clip) return outputs_.written();
        return first_file_ == last_file_ ? first_file_ : first_file_ + " to " + last_file_;
    }

  private:
    Result<void> decode(const live::Incoming& incoming) {
        const live::StreamHeader& header = incoming.header;
        if (first_) KG_CHECK(check_alike(*first_, incoming));
        stream_.reset();  // frees its memory for the next one
        KG_TRY(auto source, live::decode(session_, family_, incoming, stream_options(1, arguments_.decode.latents.fps),
                                         live::Resets::Keep));
        stream_ = std::move(source.frames);
        if (!first_) state_memory(stream_->facts().memory, session_.device());
        if (!first_ && !arguments_.each_clip) KG_CHECK(open(arguments_.out));
        first_ = header;
        for (bool more = true; more;) {
            if (arguments_.each_clip) KG_CHECK(open(clip_name()));
            KG_CHECK(decode_incoming(*stream_, incoming, arguments_.allow_not_finite, outputs_, profiled_, decoded_));
            if (arguments_.each_clip) KG_CHECK(finish_clip());
            more = source.feed->live().at_reset;
            if (more) source.feed->begin_next_clip();
        }
        stream_->collect();
        return {};
    }
    Result<void> open(const std::string& out) {
        const stream::SourceFacts& facts = stream_->facts();
        return outputs_.open_frames(out, {.width = facts.width, .height = facts.height, .frames = 0, .fps = facts.fps});
    }
    std::string clip_name() const { return media::PictureNames::parse(arguments_.out)->path(clips_).string(); }
    /// A clip without frames, as between two resets, has no file.
    Result<void> finish_clip() {
        if (decoded_.frames == std::exchange(frames_before_, decoded_.frames)) return {};
        ++clips_;
        KG_CHECK(outputs_.finish_frames());
        if (first_file_.empty()) first_file_ = outputs_.written();
        last_file_ = outputs_.written();
        return {};
    }

    const DecodeArguments& arguments_;
    const families::Family& family_;
    const session::Session& session_;
    GuardedOutputs& outputs_;
    Profiled& profiled_;
    Decoded& decoded_;
    std::optional<live::StreamHeader> first_;
    std::int64_t clips_ = 0, frames_before_ = 0;  ///< files so far, and the frames in them
    std::string first_file_, last_file_;
    std::unique_ptr<stream::FrameSource> stream_;
};

/// Logs what was decoded and writes the statistics.
Result<void> report(const DecodeArguments& arguments, const std::string& latents, const session::Session& session,
                    const stream::FrameSource& stream, const Decoded& decoded, const std::string& written,
                    GuardedOutputs& outputs) {
    if (outputs.has_text())
        KG_CHECK(outputs.write_text(stats_json(arguments, latents, session.device(), stream, decoded)));
    if (decoded.not_finite > 0) spdlog::warn("{} values are not finite", decoded.not_finite);
    const auto fps = fps_steady(stream);
    spdlog::info("{}: {} of {}x{} in {:.1f} s, first frame after {:.2f} s{}; lane {}, {}", written,
                 count_frames(decoded.frames), stream.facts().width, stream.facts().height,
                 to_seconds(host_now() - decoded.start), to_seconds(decoded.first_frame),
                 fps ? fmt::format(", then {:.1f} frames/s", *fps) : "", session.device().info().kind,
                 vae::to_string(arguments.decode.model.precision));
    return {};
}

Result<void> write_trace(const DecodeArguments& arguments, const std::string& latents, const accel::Device& device,
                         Profiled& profiled, GuardedOutputs& outputs) {
    if (arguments.trace.empty()) return {};
    return outputs.write_file(arguments.trace, [&] {
        return profile::write_chrome_trace(arguments.trace, *profiled.recorder(),
                                           {{"commit", std::string(kBuildCommit)},
                                            {"device", device.info().name},
                                            {"latents", latents},
                                            {"weights", arguments.decode.weights}});
    });
}

Result<void> run_live(const DecodeArguments& arguments, GuardedOutputs& outputs, Profiled& profiled) {
    Decoded decoded;
    KG_TRY(const auto input, live::Input::open(arguments.latents, live::Connections::TheFirst));
    KG_TRY(auto device, open_lane(arguments.decode.lane, arguments.decode.memory_budget));
    KG_TRY(const auto checkpoint, open_checkpoint(arguments.decode));
    KG_CHECK(outputs.open_text(arguments.json));
    KG_TRY(const auto session, session::Session::open(checkpoint, {.accelerator = std::move(device),
                                                                   .model = arguments.decode.model,
                                                                   .recorder = profiled.recorder(),
                                                                   .measure_ceiling = arguments.is_profiled(),
                                                                   .watch_device = arguments.is_profiled()}));
    LiveDecode live(arguments, checkpoint.family(), *session, outputs, profiled, decoded);
    if (auto done = live.run(*input); !done)
        return fail(
            keep_partial(std::move(done.error()), arguments.partial.value_or(true), live.unfinished(), outputs));
    if (!arguments.each_clip) KG_CHECK(outputs.finish_frames());
    profiled.finish();
    KG_CHECK(write_trace(arguments, input->name(), session->device(), profiled, outputs));
    return report(arguments, input->name(), *session, live.stream(), decoded, live.written(), outputs);
}

/// Whether `out` can name a file for every clip.
Result<void> check_each_clip(const std::string& out) {
    const auto kind = media::output_kind(out);
    if (kind != media::OutputKind::Video && kind != media::OutputKind::Safetensors)
        return fail(ErrorCode::InvalidArgument, "--each-clip: {} is no file that a clip has", out);
    return media::PictureNames::parse(out).map([](const auto&) {});
}

Result<void> run(const DecodeArguments& arguments) {
    using Use = NamedFile::Use;
    KG_CHECK(check_distinct(std::array{
        NamedFile{"LATENTS", arguments.latents, Use::Read}, NamedFile{"--weights", arguments.decode.weights, Use::Read},
        NamedFile{"-o", arguments.out, arguments.each_clip ? Use::FileAClip : Use::Frames},
        NamedFile{"--json", arguments.json, Use::Written}, NamedFile{"--trace", arguments.trace, Use::Written},
        NamedFile{"--stats", file_of_lines(arguments.live), Use::Written}}));
    GuardedOutputs outputs;
    if (!arguments.trace.empty()) {  // a path that cannot be written fails now, not at the end
        KG_TRY(const auto writable, ReplacingFile::create(arguments.trace));
    }
    KG_TRY(const auto profiled, Profiled::create(arguments));  // outlives the session
    Decoded decoded;
    if (arguments.each_clip && !live::is_input(arguments.latents))
        return fail(ErrorCode::InvalidArgument, "--each-clip: {} is one clip", arguments.latents);
    if (live::is_input(arguments.latents)) {
        const vae::LatentsChoices& choices = arguments.decode.latents;
        if (!choices.tensor.empty() || choices.batch_item || !choices.axes.empty())
            return fail(ErrorCode::InvalidArgument, "--{}: latents of {} are no file of which it is to be said",
                        !choices.tensor.empty() ? "tensor"
                        : choices.batch_item    ? "batch-item"
                                                : "axes",
                        arguments.latents);
        if (arguments.each_clip) KG_CHECK(check_each_clip(arguments.out));
        if (arguments.latent_frames == 1) return run_live(arguments, outputs, *profiled);
        return fail(ErrorCode::InvalidArgument,
                    "--latent-frames {}: latents of {} are decoded one by one, as they come", arguments.latent_frames,
                    arguments.latents);
    }

    KG_CHECK(
        tensor::FileContents::open(arguments.latents));  // before a checkpoint is read for a file that there is not
    KG_TRY(auto device, open_lane(arguments.decode.lane, arguments.decode.memory_budget));
    KG_TRY(const auto checkpoint, open_checkpoint(arguments.decode));
    KG_TRY(auto clip, open_latents(arguments.latents, arguments.decode,
                                   vae::wanted_by(checkpoint, arguments.decode.model.latents)));

    const nn::Rates rates = nn::rates(checkpoint.network());
    KG_CHECK(outputs.open_frames(arguments.out, {.width = rates.space.of(clip.width),
                                                 .height = rates.space.of(clip.height),
                                                 .frames = rates.frames_of(clip.frames),
                                                 .fps = clip.fps}));
    KG_CHECK(outputs.open_text(arguments.json));

    KG_TRY(const auto session, session::Session::open(checkpoint, {.accelerator = std::move(device),
                                                                   .model = arguments.decode.model,
                                                                   .recorder = profiled->recorder(),
                                                                   .measure_ceiling = arguments.is_profiled(),
                                                                   .watch_device = arguments.is_profiled()}));
    KG_TRY(const auto stream, session->decode(clip, stream_options(arguments.latent_frames)));
    state_memory(stream->facts().memory, session->device());
    if (auto done = decode_all(arguments, *session, *stream, clip, outputs, *profiled, decoded); !done)
        return fail(keep_partial(std::move(done.error()), arguments.partial.value_or(false), decoded.frames, outputs));
    stream->collect();
    KG_CHECK(outputs.finish_frames());
    profiled->finish();
    KG_CHECK(write_trace(arguments, clip.name, session->device(), *profiled, outputs));
    return report(arguments, clip.name, *session, *stream, decoded, outputs.written(), outputs);
}

}  // namespace

void add_decode(CLI::App& app, Action& action) {
    auto arguments = std::make_shared<DecodeArguments>();
    CLI::App* command =
        app.add_subcommand("decode", "Decode a latents file to a video, pictures, .safetensors or raw rgb24");
    command
        ->add_option("latents-file", arguments->latents,
                     "Latents of any format, name and order of axes; - or unix:PATH: as they are made")
        ->required()
        ->check(check_name)
        ->type_name("LATENTS");
    command
        ->add_option("-o,--output", arguments->out,
                     "OUT.mp4 (.mov, .mkv, .webm, .gif, .webp); frames/%05d.png (.jpg); OUT.safetensors: `frames` F32 "
                     "[3,T,H,W]; -: raw rgb24 to standard output")
        ->required()
        ->type_name("OUT")
        ->check(
            [](const std::string& out) { return media::output_kind(out) ? "" : media::output_kinds() + ": " + out; });
    add_decode_options(*command, arguments->decode);
    add_latents_options(*command, arguments->decode.latents);
    add_latent_frames_option(*command, arguments->latent_frames);
    command->add_flag(
        "--each-clip", arguments->each_clip,
        "Latents as they are made: a file for every clip, OUT-00000.mp4 and so on; a reset begins a clip");
    command->add_flag_callback(
        "--partial", [arguments] { arguments->partial = true; },
        "Keep the frames that were decoded before an error (default: of latents as they are made)");
    command->add_flag_callback(
        "--no-partial", [arguments] { arguments->partial = false; }, "Keep none");
    command->add_flag("--allow-not-finite", arguments->allow_not_finite,
                      "Write frames with infinities and NaN, too, instead of failing");
    command->add_option("--json", arguments->json, "Write statistics here; -: to standard output")->type_name("STATS");
    command->add_option("--trace", arguments->trace, "Write every pass here, for Perfetto and `kinetograph trace`")
        ->type_name("F.json");
    command->add_option("--stats", arguments->live, "Append statistics here, a JSON object a second")
        ->type_name("FILE|unix:PATH");
    command->final_callback([arguments, &action] {
        if (arguments->out == "-" && arguments->json == "-") {
            throw CLI::ValidationError("--json", "-o - already takes standard output");
        }
        action = [arguments] { return run(*arguments); };
    });
}

}  // namespace kinetograph::cli
