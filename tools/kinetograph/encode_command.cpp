// kinetograph encode: a video, pictures or raw bytes to a latents file.
#include <spdlog/spdlog.h>
#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/compute/vae/encoder_model.hpp>
#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/engine/profile/trace.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/build_commit.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/guarded_outputs.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>
#include <kinetograph/tools/kinetograph/pictures.hpp>
#include <kinetograph/tools/kinetograph/progress.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace kinetograph::cli {
namespace {

const std::map<std::string, vae::LatentScale> kMadeScales{{"normalized", vae::LatentScale::Normalized},
                                                          {"raw", vae::LatentScale::Raw}};

struct EncodeArguments {
    PictureRequest pictures;
    std::string out;
    std::string json, trace;  ///< empty: not wanted
    double fps = 0;           ///< 0: the file's, else that of the family's videos
    stream::EncoderOptions encoder;
    DecodeRequest model;
};

/// What was encoded so far; times count from the start of the command.
struct EncodedClip {
    Nanoseconds start = host_now();
    Nanoseconds loaded{};  ///< when the first picture could be read
    Nanoseconds first_latent{};
    std::int64_t pictures = 0, left_over = 0;
    std::vector<std::vector<float>> latents{};  ///< [frame] -> [channels, height, width]
};

Result<void> keep(const std::string& name, std::optional<stream::EncodedLatents> latents, EncodedClip& clip) {
    if (!latents) return {};
    if (!latents->is_finite)
        return fail(ErrorCode::OutOfRange,
                    "{}: latent frame {} has values that are not finite: another --precision has a wider range", name,
                    latents->index);
    if (clip.latents.empty()) clip.first_latent = host_now() - clip.start;
    clip.latents.push_back(std::move(latents->values));
    return {};
}

/// Pushes one picture, and keeps latents as they come.
Result<void> push(stream::Encoder& encoder, std::span<const std::uint8_t> rgb, const std::string& name,
                  EncodedClip& clip) {
    constexpr Nanoseconds kPoll = std::chrono::milliseconds(20);
    for (bool pushed = false; !pushed;) {
        KG_TRY(pushed, encoder.push(rgb, kPoll));
        KG_TRY(auto latents, encoder.take({}));
        KG_CHECK(keep(name, std::move(latents), clip));
    }
    ++clip.pictures;
    return {};
}

Result<void> encode_all(media::FrameReader& reader, stream::Encoder& encoder, std::int64_t most, EncodedClip& clip) {
    const std::int64_t stated = reader.facts().frames;
    Progress progress(stated > 0 ? std::min(stated, most) : 0, "frames");
    std::vector<std::uint8_t> rgb;
    while (clip.pictures < most) {
        KG_TRY(const bool there, reader.next(rgb));
        if (!there) break;
        KG_CHECK(push(encoder, rgb, reader.name(), clip));
        progress.show(clip.pictures);
    }
    if (clip.pictures == 0) return fail(ErrorCode::NotFound, "{}: it holds no pictures", reader.name());
    clip.left_over = encoder.finish();
    while (!encoder.finished()) {
        KG_TRY(auto latents, encoder.take(std::chrono::seconds(1)));
        KG_CHECK(keep(reader.name(), std::move(latents), clip));
    }
    return {};
}

/// [1, channels, frames, height, width], as diffusers has latents.
Result<void> write_latents(const EncodeArguments& arguments, const stream::EncoderFacts& facts, double fps,
                           const EncodedClip& clip) {
    const std::int64_t frames = std::ssize(clip.latents), pixels = facts.height * facts.width;
    std::vector<float> values;
    values.reserve(static_cast<std::size_t>(facts.channels * frames * pixels));
    for (std::int64_t c = 0; c < facts.channels; ++c)
        for (const std::vector<float>& frame : clip.latents)
            values.insert(values.end(), frame.begin() + c * pixels, frame.begin() + (c + 1) * pixels);
    const bool moments = arguments.encoder.latents == stream::Encoded::Moments;
    std::vector<tensor::NamedTensor> tensors{{moments ? "moments" : "latents",
                                              {tensor::DType::F32,
                                               {1, facts.channels, frames, facts.height, facts.width},
                                               reinterpret_cast<const std::byte*>(values.data()),
                                               values.size() * sizeof(float)}}};
    // ComfyUI's mark of raw latents, by which readers know them.
    if (!moments && arguments.model.model.latents == vae::LatentScale::Raw)
        tensors.push_back({"latent_format_version_0", {tensor::DType::F32, {0}, nullptr, 0}});
    return tensor::write_safetensors(arguments.out, tensors, {{"fps", fmt::format("{}", fps)}});
}

std::string stats_json(const EncodeArguments& arguments, const media::FrameReader& reader,
                       const session::Session& session, const stream::Encoder& encoder, const EncodedClip& clip) {
    const accel::Device& device = session.device();
    const stream::EncoderFacts& facts = encoder.facts();
    nlohmann::ordered_json stats{
        {"pictures", reader.name()},
        {"weights", arguments.model.weights},
        {"output", arguments.out},
        {"lane", device.info().kind},
        {"precision", vae::to_string(arguments.model.model.precision)},
        {"sums", to_string(arguments.model.model.sums)},
        {"device", device.info().name},
        {"compute_units", device.info().compute_units},
        {"frames", clip.pictures},
        {"width", encoder.size().width},
        {"height", encoder.size().height},
        {"latent_frames", std::ssize(clip.latents)},
        {"seconds_total", to_seconds(host_now() - clip.start)},
        {"seconds_load", to_seconds(clip.loaded)},
        {"seconds_first_latent", to_seconds(clip.first_latent)},
        {"seconds_of_a_step", to_seconds(encoder.stats().times.average_step)},
        {"peak_device_bytes", device.peak_bytes()},
        {"stated_device_bytes", device_bytes(facts.memory, device.info())},
        {"commit", kBuildCommit},
    };
    return json_text(stats);
}

/// Logs what was encoded and writes the statistics.
Result<void> report(const EncodeArguments& arguments, const media::FrameReader& reader, const session::Session& session,
                    const stream::Encoder& encoder, const EncodedClip& clip, GuardedOutputs& outputs) {
    if (outputs.has_text()) KG_CHECK(outputs.write_text(stats_json(arguments, reader, session, encoder, clip)));
    const stream::EncoderFacts& facts = encoder.facts();
    const double step = to_seconds(encoder.stats().times.average_step);
    const std::int64_t encoded = clip.pictures - clip.left_over;
    if (clip.left_over > 0)
        spdlog::warn("{}: its last {} left out: after the first, {} frames become one latent frame", reader.name(),
                     clip.left_over == 1 ? "frame is" : fmt::format("{} frames are", clip.left_over),
                     facts.pictures_of_a_latent);
    spdlog::info(
        "{}: {} of {}x{} as {} latent frame{} of {}x{} in {:.1f} s{}; lane {}, {}", arguments.out,
        count_frames(encoded), encoder.size().width, encoder.size().height, clip.latents.size(),
        clip.latents.size() == 1 ? "" : "s", facts.width, facts.height, to_seconds(host_now() - clip.start),
        step > 0 ? fmt::format(", {:.1f} frames/s", static_cast<double>(facts.pictures_of_a_latent) / step) : "",
        session.device().info().kind, vae::to_string(arguments.model.model.precision));
    return {};
}

Result<void> check_files(const EncodeArguments& arguments) {
    using Use = NamedFile::Use;
    std::vector<NamedFile> named{{"--weights", arguments.model.weights, Use::Read},
                                 {"-o", arguments.out, Use::Written},
                                 {"--json", arguments.json, Use::Written},
                                 {"--trace", arguments.trace, Use::Written}};
    if (arguments.pictures.name == "-") named.push_back({"PICTURES", "-", Use::Read});
    KG_TRY(const auto files, media::files_of(arguments.pictures.name));
    for (const std::filesystem::path& file : files) named.push_back({"PICTURES", file.string(), Use::Read});
    return check_distinct(named);
}

/// Pixels that a side of the pictures is a multiple of: those of a latent pixel, or of a patch of them.
std::int64_t multiple_of(const vae::Checkpoint& checkpoint, const EncodeArguments& arguments) {
    const bool in_patches =
        arguments.encoder.latents != stream::Encoded::Moments && arguments.model.model.latents != vae::LatentScale::Raw;
    return checkpoint.family().rates.space.out * (in_patches ? checkpoint.statistics().patch : 1);
}

Result<void> write_trace(const EncodeArguments& arguments, const media::FrameReader& reader,
                         const accel::Device& device, const profile::Recorder& recorder, GuardedOutputs& outputs) {
    if (arguments.trace.empty()) return {};
    return outputs.write_file(arguments.trace, [&] {
        return profile::write_chrome_trace(arguments.trace, recorder,
                                           {{"commit", std::string(kBuildCommit)},
                                            {"device", device.info().name},
                                            {"pictures", reader.name()},
                                            {"weights", arguments.model.weights}});
    });
}

Result<void> run(const EncodeArguments& arguments) {
    EncodedClip clip;
    if (arguments.model.model.sums == conv::Sums::Int8)
        return fail(ErrorCode::Unsupported, "--sums int8: encoders are not computed in 8-bit integers: exact or fast");
    KG_CHECK(check_files(arguments));
    GuardedOutputs outputs;
    for (const std::string& path : {arguments.out, arguments.trace}) {
        if (path.empty()) continue;
        KG_TRY(const auto writable, ReplacingFile::create(path));  // fails now, not at the end
    }
    KG_TRY(const auto reader, open_pictures(arguments.pictures));
    KG_TRY(auto device, open_lane(arguments.model.lane, arguments.model.memory_budget));
    KG_TRY(const auto checkpoint, open_checkpoint(arguments.model));
    KG_TRY(const media::PixelSize size, set_framing(*reader, arguments.pictures, multiple_of(checkpoint, arguments)));
    KG_CHECK(outputs.open_text(arguments.json));
    profile::Recorder recorder;
    const bool is_traced = !arguments.trace.empty();
    KG_TRY(const auto session, session::Session::open(checkpoint, {.accelerator = std::move(device),
                                                                   .model = arguments.model.model,
                                                                   .recorder = is_traced ? &recorder : nullptr,
                                                                   .measure_ceiling = is_traced}));
    stream::EncoderOptions options = arguments.encoder;
    const std::int64_t frames = arguments.pictures.frames;
    const std::int64_t most = frames > 0 ? frames : std::numeric_limits<std::int64_t>::max();
    options.one_picture = is_one_picture(*reader, arguments.pictures, checkpoint);
    KG_TRY(const auto encoder, session->encode({size.height, size.width}, options));
    state_memory(encoder->facts().memory, session->device(), "encoding");
    clip.loaded = host_now() - clip.start;
    KG_CHECK(encode_all(*reader, *encoder, options.one_picture ? 1 : most, clip));
    KG_CHECK(check_one_picture(*reader, arguments.pictures, checkpoint));
    double fps = arguments.fps > 0 ? arguments.fps : reader->facts().fps;
    if (!(fps > 0)) fps = checkpoint.family().fps;
    KG_CHECK(outputs.write_file(arguments.out, [&] { return write_latents(arguments, encoder->facts(), fps, clip); }));
    encoder->collect();
    KG_CHECK(write_trace(arguments, *reader, session->device(), recorder, outputs));
    return report(arguments, *reader, *session, *encoder, clip, outputs);
}

}  // namespace

void add_encode(CLI::App& app, Action& action) {
    auto arguments = std::make_shared<EncodeArguments>();
    CLI::App* command = app.add_subcommand("encode", "Encode a video, pictures or raw rgb24 to a latents file");
    command
        ->add_option("pictures", arguments->pictures.name,
                     "Any file that libav reads; frames/%05d.png; -: raw rgb24 from standard input, of --size")
        ->required()
        ->check(check_name)
        ->type_name("PICTURES");
    command
        ->add_option("-o,--output", arguments->out,
                     "`latents` F32 [1,C,T,h,w] as decode reads them, with the frame rate in the metadata")
        ->required()
        ->type_name("OUT.safetensors")
        ->check([](const std::string& out) {
            return out.ends_with(".safetensors") && out != ".safetensors"
                       ? ""
                       : "must be a name that ends in .safetensors: " + out;
        });
    add_model_options(*command, arguments->model);
    add_choice(
        *command, "--latents", arguments->model.model.latents, kMadeScales,
        "normalized: as a diffusion model takes them, (z - mean) / std (default); raw: as the encoder makes them, "
        "which the file says");
    CLI::Option* sample =
        command
            ->add_option_function<std::int64_t>(
                "--sample",
                [arguments](const std::int64_t& seed) {
                    arguments->encoder.latents = stream::Encoded::Sample;
                    arguments->encoder.seed = static_cast<std::uint64_t>(seed);
                },
                "Draw the latents from their distribution, by this seed (default: its mean)")
            ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()).description(""))
            ->type_name("SEED");
    command
        ->add_flag_callback(
            "--moments", [arguments] { arguments->encoder.latents = stream::Encoded::Moments; },
            "`moments` instead: means, then logarithms of variances, of raw latents")
        ->excludes(sample);
    add_picture_size(*command, "--size", arguments->pictures.size,
                     "Scale the pictures to cover this size, and cut the rest off around the middle (default: not "
                     "scaled, and cut to a multiple of the family's factor); of raw pictures, their own size");
    command
        ->add_option("--frames", arguments->pictures.frames,
                     "Encode so many from the first on; 1: without what later ones would need (default: all)")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}).description(""))
        ->type_name("N");
    add_fps_option(*command, arguments->fps,
                   "Frames a second, for the metadata (default: the file's, else that of the family's videos)");
    command->add_option("--json", arguments->json, "Write statistics here; -: to standard output")->type_name("STATS");
    command->add_option("--trace", arguments->trace, "Write every pass here, for Perfetto and `kinetograph trace`")
        ->type_name("F.json");
    command->final_callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace kinetograph::cli
