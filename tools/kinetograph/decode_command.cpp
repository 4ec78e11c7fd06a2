// kinetograph decode: a latents file to a video, pictures, a tensor, or raw bytes.
#include <spdlog/spdlog.h>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/build_commit.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/guarded_outputs.hpp>
#include <kinetograph/tools/kinetograph/interrupt.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/kinetograph/progress.hpp>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

namespace kinetograph::cli {
namespace {

struct DecodeArguments {
    std::string latents;
    std::string out;
    std::string json;               ///< empty: no statistics
    bool allow_not_finite = false;  ///< write frames with infinities and NaN unchanged
    DecodeRequest decode;
};

/// Times of one decode, from the start of the command.
struct DecodeTimes {
    Nanoseconds start = host_now();
    Nanoseconds first_frame{};       ///< until it was in memory, including loading
    Nanoseconds steady{};            ///< sum of the steps that give 4 frames
    std::int64_t steady_frames = 0;  ///< frames of those steps
    std::int64_t not_finite = 0;     ///< values of all frames

    void add(const vae::DecodedFrames& frames) {
        not_finite += frames.not_finite;
        if (frames.first_index == 0) {
            first_frame = host_now() - start;
        } else {
            steady += frames.duration;
            steady_frames += frames.count;
        }
    }
    /// None for a clip of one latent frame, which never reaches the steady state.
    std::optional<double> fps_steady() const {
        if (steady_frames == 0) return std::nullopt;
        return static_cast<double>(steady_frames) / to_seconds(steady);
    }
};

std::string stats_json(const DecodeArguments& arguments, const vae::Latents& clip, const vae::Decoder& decoder,
                       const accel::DeviceInfo& device, const DecodeTimes& times) {
    const auto fps = times.fps_steady();
    nlohmann::ordered_json stats{
        {"latents", clip.name},
        {"weights", arguments.decode.weights},
        {"output", arguments.out},
        {"lane", accel::to_string(device.kind)},
        {"precision", vae::to_string(arguments.decode.model.precision)},
        {"sums", to_string(arguments.decode.model.sums)},
        {"device", device.name},
        {"compute_units", device.compute_units},
        {"frames", decoder.frames_of(clip.frames)},
        {"width", decoder.step_frames().width},
        {"height", decoder.step_frames().height},
        {"seconds_total", to_seconds(host_now() - times.start)},
        {"seconds_first_frame", to_seconds(times.first_frame)},
        {"fps_steady", fps ? nlohmann::ordered_json(*fps) : nlohmann::ordered_json()},
        {"values_not_finite", times.not_finite},
        {"peak_device_bytes", decoder.peak_device_bytes()},
        {"stated_device_bytes", device_bytes(decoder.memory(), device.kind)},
        {"commit", kBuildCommit},
    };
    return json_text(stats);
}

/// The error for step `step`, whose frames contain values that are not finite. Leaves the decoder at a clip's
/// beginning.
Error not_finite_error(vae::Decoder& decoder, const vae::Latents& clip, std::int64_t step,
                       const vae::DecodedFrames& frames) {
    const std::int64_t first = frames.first_index, last = first + frames.count - 1, values = frames.not_finite;
    const auto module = vae::first_module_not_finite(decoder, clip, step);
    return {ErrorCode::OutOfRange,
            fmt::format(
                "{}: {} values of frames {} to {} are not finite; {}; --allow-not-finite writes them all the same",
                clip.name, values, first, last, module ? "the first are made by " + *module : module.error().message)};
}

Result<void> decode_all(vae::Decoder& decoder, const vae::Latents& clip, bool allow_not_finite, GuardedOutputs& outputs,
                        DecodeTimes& times) {
    Progress progress(decoder.frames_of(clip.frames), "frames");
    for (std::int64_t t = 0; t < clip.frames; ++t) {
        KG_TRY(auto frames, decoder.step(clip.frame(t)));
        times.add(frames);
        if (frames.not_finite > 0 && !allow_not_finite) return fail(not_finite_error(decoder, clip, t, frames));
        const auto floats = static_cast<std::size_t>(3 * frames.height * frames.width);
        for (std::int64_t i = 0; i < frames.count; ++i) {
            auto written = outputs.write_frame(frames.thwc.subspan(static_cast<std::size_t>(i) * floats, floats));
            if (!written) return written;
        }
        progress.show(frames.first_index + frames.count);
    }
    return {};
}

Result<void> run(const DecodeArguments& arguments) {
    using Use = NamedFile::Use;
    KG_CHECK(check_distinct(std::array{
        NamedFile{"LATENTS", arguments.latents, Use::Read}, NamedFile{"--weights", arguments.decode.weights, Use::Read},
        NamedFile{"-o", arguments.out, Use::Frames}, NamedFile{"--json", arguments.json, Use::Written}}));
    DecodeTimes times;
    GuardedOutputs outputs;
    const Interrupt interrupt([&outputs] { outputs.discard(); });

    KG_TRY(auto clip, vae::Latents::open(arguments.latents));
    KG_TRY(auto device, open_lane(arguments.decode.lane));
    KG_TRY(auto checkpoint, vae::Checkpoint::open(arguments.decode.weights));

    const families::Family& family = checkpoint.family();
    auto opened = outputs.open_frames(arguments.out, {.width = family.factors.space * clip.width,
                                                      .height = family.factors.space * clip.height,
                                                      .frames = family.frames_of(clip.frames),
                                                      .fps = clip.fps});
    if (opened) opened = outputs.open_text(arguments.json);
    if (!opened) return opened;

    KG_TRY(auto model, vae::Model::create(*device, checkpoint, arguments.decode.model));
    KG_TRY(auto decoder, vae::Decoder::create_for(model, clip));
    state_memory(*decoder, device->info());
    KG_CHECK(decode_all(*decoder, clip, arguments.allow_not_finite, outputs, times));
    KG_CHECK(outputs.finish_frames());
    if (outputs.has_text()) {
        auto written = outputs.write_text(stats_json(arguments, clip, *decoder, device->info(), times));
        if (!written) return written;
    }
    if (times.not_finite > 0) spdlog::warn("{} values are not finite", times.not_finite);
    const auto fps = times.fps_steady();
    spdlog::info("{}: {} frames of {}x{} in {:.1f} s, first frame after {:.2f} s{}; lane {}, {}",
                 arguments.out == "-" ? "standard output" : arguments.out, decoder->frames_of(clip.frames),
                 decoder->step_frames().width, decoder->step_frames().height, to_seconds(host_now() - times.start),
                 to_seconds(times.first_frame), fps ? fmt::format(", then {:.1f} frames/s", *fps) : "",
                 accel::to_string(device->info().kind), vae::to_string(arguments.decode.model.precision));
    return {};
}

}  // namespace

void add_decode(CLI::App& app, Action& action) {
    auto arguments = std::make_shared<DecodeArguments>();
    CLI::App* command = app.add_subcommand("decode", "Decode a latents file to .mp4, .png, .safetensors or raw rgb24");
    command->add_option("latents-file", arguments->latents, "Tensor `latents` [C,T,h,w] or [1,C,T,h,w]")
        ->required()
        ->type_name("LATENTS.safetensors");
    command
        ->add_option("-o,--output", arguments->out,
                     "OUT.mp4; frames/%05d.png; OUT.safetensors: `frames` F32 [3,T,H,W]; -: raw rgb24 to standard "
                     "output")
        ->required()
        ->type_name("OUT")
        ->check([](const std::string& out) {
            return media::output_kind(out) ? ""
                                           : "must be a name that ends in .mp4, .png or .safetensors, or -: " + out;
        });
    add_decode_options(*command, arguments->decode);
    command->add_flag("--allow-not-finite", arguments->allow_not_finite,
                      "Write frames with infinities and NaN, too, instead of failing");
    command->add_option("--json", arguments->json, "Write statistics here; -: to standard output")->type_name("STATS");
    command->final_callback([arguments, &action] {
        if (arguments->out == "-" && arguments->json == "-") {
            throw CLI::ValidationError("--json", "-o - already takes standard output");
        }
        action = [arguments] { return run(*arguments); };
    });
}

}  // namespace kinetograph::cli
