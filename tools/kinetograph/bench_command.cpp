// kinetograph bench decode: the steady rate of a decoder, and what every pass costs.
#include <kinetograph/engine/profile/statistics.hpp>
#include <kinetograph/tools/kinetograph/build_commit.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/frame_size.hpp>
#include <kinetograph/tools/kinetograph/progress.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>
#include <kinetograph/tools/kinetograph/text_output.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kinetograph::cli {
namespace {

struct BenchArguments {
    DecodeRequest decode;
    FrameSize size{.width = 512, .height = 288};
    std::string latents;  ///< empty: synthetic ones of `size`
    std::int64_t steps = 8;
    std::string json;
};

double to_seconds(Nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

/// What the measured steps took. The first two are apart: they allocate, and step 0 makes one frame only.
struct Measured {
    double load = 0;             ///< checkpoint to decoder, seconds
    double first_step = 0;       ///< step 0, 1 frame
    double second_step = 0;      ///< step 1, the first of 4 frames
    std::vector<double> steady;  ///< every later step, seconds, sorted
    profile::Window window;      ///< of the steady steps
    double median() const { return steady[steady.size() / 2]; }
    double fps() const { return 4.0 / median(); }
};

/// A synthetic clip of as many latent frames as steps, or the user's file, repeated if it is shorter.
Result<vae::Latents> open_clip(const BenchArguments& arguments, const vae::Checkpoint& checkpoint) {
    if (!arguments.latents.empty()) return vae::Latents::open(arguments.latents);
    const vae::LatentSize size = arguments.size.latents();
    vae::Latents clip;
    clip.name = "synthetic latents";
    clip.channels = checkpoint.z_dim();
    clip.frames = arguments.steps;
    clip.height = size.height;
    clip.width = size.width;
    clip.values = vae::synthetic_tensor("latents", {clip.channels, clip.frames, clip.height, clip.width});
    return clip;
}

Result<Measured> measure(vae::Decoder& decoder, const vae::Latents& clip, std::int64_t steps) {
    Measured measured;
    Progress progress(steps, "steps");
    for (std::int64_t step = 0; step < steps; ++step) {
        if (step == 2) measured.window.begin = host_now();
        auto frames = decoder.step(clip.frame(step % clip.frames));
        if (!frames) return fail(frames.error());
        const double seconds = to_seconds(frames->duration);
        if (step == 0) {
            measured.first_step = seconds;
        } else if (step == 1) {
            measured.second_step = seconds;
        } else {
            measured.steady.push_back(seconds);
        }
        progress.show(step + 1);
    }
    measured.window.end = host_now();
    std::sort(measured.steady.begin(), measured.steady.end());
    return measured;
}

double milliseconds(Nanoseconds duration) { return 1e3 * to_seconds(duration); }

std::string to_text(const Measured& measured, const vae::Decoder& decoder, const accel::DeviceInfo& device,
                    const BenchArguments& arguments, std::span<const profile::PassStatistics> passes) {
    Table table({"pass", "track", ">average ms", ">max ms", ">share"});
    for (const auto& pass : passes) {
        table.add({pass.name, pass.track, fmt::format("{:.3f}", milliseconds(pass.average)),
                   fmt::format("{:.3f}", milliseconds(pass.max)), fmt::format("{:.1f} %", 100 * pass.share)});
    }
    const vae::LatentSize size = decoder.latent_size();
    return table.to_string() +
           fmt::format(
               "\n{} at {}x{}, {} on {} ({} threads), commit {}\n"
               "  first frame    {:.3f} s after {:.3f} s of loading\n"
               "  second step    {:.3f} s\n"
               "  steady step    {:.4f} s median, {:.4f} s fastest, {:.4f} s slowest of {} (4 frames each)\n"
               "  steady rate    {:.2f} frames/s\n"
               "  peak memory    {:.1f} MiB on the device\n",
               arguments.decode.weights, 8 * size.width, 8 * size.height,
               vae::to_string(arguments.decode.decoder.precision), device.name, device.compute_units, kBuildCommit,
               measured.first_step, measured.load, measured.second_step, measured.median(), measured.steady.front(),
               measured.steady.back(), measured.steady.size(), measured.fps(),
               static_cast<double>(decoder.peak_device_bytes()) / 1048576.0);
}

std::string to_json(const Measured& measured, const vae::Decoder& decoder, const accel::DeviceInfo& device,
                    const BenchArguments& arguments, std::span<const profile::PassStatistics> passes) {
    const vae::LatentSize size = decoder.latent_size();
    nlohmann::ordered_json json{{"weights", arguments.decode.weights},
                                {"lane", accel::to_string(device.kind)},
                                {"precision", vae::to_string(arguments.decode.decoder.precision)},
                                {"device", device.name},
                                {"threads", device.compute_units},
                                {"width", 8 * size.width},
                                {"height", 8 * size.height},
                                {"seconds_load", measured.load},
                                {"seconds_first_step", measured.first_step},
                                {"seconds_second_step", measured.second_step},
                                {"seconds_per_step", measured.median()},
                                {"seconds_per_step_all", measured.steady},
                                {"fps_steady", measured.fps()},
                                {"peak_device_bytes", decoder.peak_device_bytes()},
                                {"commit", kBuildCommit}};
    for (const auto& pass : passes) {
        json["passes"].push_back({{"name", pass.name},
                                  {"track", pass.track},
                                  {"count", pass.count},
                                  {"seconds_average", to_seconds(pass.average)},
                                  {"seconds_max", to_seconds(pass.max)},
                                  {"share", pass.share}});
    }
    return json.dump(2) + '\n';
}

Result<void> run(const BenchArguments& arguments) {
    std::optional<TextOutput> json;
    if (!arguments.json.empty()) {
        auto file = TextOutput::create(arguments.json);
        if (!file) return fail(file.error());
        json.emplace(std::move(*file));
    }
    auto device = open_lane(arguments.decode.lane);
    if (!device) return fail(device.error());
    const Nanoseconds start = host_now();
    auto checkpoint = vae::Checkpoint::open(arguments.decode.weights);
    if (!checkpoint) return fail(checkpoint.error());
    auto clip = open_clip(arguments, *checkpoint);
    if (!clip) return fail(clip.error());

    profile::Recorder recorder;
    vae::DecoderOptions options = arguments.decode.decoder;
    options.recorder = &recorder;
    auto decoder = vae::Decoder::create_for(**device, *checkpoint, *clip, options);
    if (!decoder) return fail(decoder.error());
    const double load = to_seconds(host_now() - start);
    auto measured = measure(**decoder, *clip, arguments.steps);
    if (!measured) return fail(measured.error());
    measured->load = load;

    const auto passes = profile::summarize_passes(recorder.spans(measured->window.begin), measured->window);
    const accel::DeviceInfo& info = (*device)->info();
    if (arguments.json != "-") {
        if (auto printed = print(to_text(*measured, **decoder, info, arguments, passes)); !printed) return printed;
    }
    if (json) return json->write(to_json(*measured, **decoder, info, arguments, passes));
    return {};
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
    auto arguments = std::make_shared<BenchArguments>();
    CLI::App* bench = app.add_subcommand("bench", "Measure this machine");
    bench->require_subcommand(1);
    CLI::App* command = bench->add_subcommand("decode", "Seconds a step, steady rate, cost of every pass");
    auto* latents = command->add_option("latents-file", arguments->latents, "A clip; without one, synthetic latents");
    latents->type_name("LATENTS.safetensors");
    add_decode_options(*command, arguments->decode);
    add_frame_size(*command, arguments->size)->excludes(latents);
    command->add_option("--steps", arguments->steps, "Latent frames to decode, the first two not counted (default 8)")
        ->check(CLI::Range(3, 100'000).description(""))
        ->type_name("N");
    command->add_option("--json", arguments->json, "Write the results here; -: to standard output")->type_name("FILE");
    command->final_callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace kinetograph::cli
