// kinetograph bench decode: the rate of a decoder, its memory, and the cost of every pass.
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/engine/profile/statistics.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/frame_size.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/kinetograph/progress.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace kinetograph::cli {
namespace {

struct DecodeBench {
    DecodeRequest decode;
    FrameSize size{.width = 512, .height = 288};
    std::string latents;             ///< empty: synthetic latents of `size`
    std::int64_t steps = 16;         ///< latent frames of the clip
    std::int64_t latent_frames = 1;  ///< per step; a clip's first step takes one
    std::int64_t rounds = 1;
    bool passes = true;
    bool second_clip = false;       ///< also measure the memory of another clip of the model
    bool one_latent_frame = false;  ///< each step is a clip
    std::string json, command_line;
};

/// Times of the decodes. Steps 0 and 1 of the first round are separate: each is the first of its kind. A short clip has
/// no step 1, or no steady steps.
struct Measured {
    double load = 0;                    ///< checkpoint to decoder, seconds
    double first_frame = 0;             ///< step 0 of the first round
    std::optional<double> second_step;  ///< step 1 of the first round
    Samples clips;         ///< from the first step's begin to the last one's end; without the first of several rounds
    Samples steps;         ///< those that give the full number of frames, on the host's clock
    Samples device_steps;  ///< the same, from the device's stamps: first pass's begin to last one's end
    std::vector<profile::Window> windows;            ///< of the steady steps, on the host axis
    std::uint64_t peak_bytes = 0;                    ///< while decoding: a calibration before it may have taken more
    std::optional<std::uint64_t> second_clip_bytes;  ///< that the device holds for another clip of the model
    std::int64_t frames_of_a_step = 0;
    bool has_steady_steps() const { return !steps.empty(); }
    std::optional<double> seconds_per_step() const {
        return has_steady_steps() ? std::optional(steps.median()) : std::nullopt;
    }
    std::optional<double> fps_steady() const {
        return has_steady_steps() ? std::optional(static_cast<double>(frames_of_a_step) / steps.median())
                                  : std::nullopt;
    }
};

/// The cost of one pass over the steady steps.
struct PassCost {
    profile::PassStatistics statistics;
    double median = 0;  ///< seconds
};

/// The user's file, which latents_of() repeats if it is too short, or a synthetic clip of bench.steps latent frames, of
/// one if the family's clips have one.
Result<vae::Latents> open_clip(const DecodeBench& bench, const vae::Checkpoint& checkpoint) {
    if (!bench.latents.empty())
        return open_latents(bench.latents, bench.decode, vae::wanted_by(checkpoint, bench.decode.model.latents));
    KG_TRY(const auto size, bench.size.latents(checkpoint.family()));
    vae::Latents clip;
    clip.name = "synthetic latents";
    clip.channels = checkpoint.z_dim();
    clip.frames = checkpoint.one_latent_frame() ? 1 : bench.steps;
    clip.height = size.height;
    clip.width = size.width;
    KG_TRY(clip.values, vae::synthetic_tensor("latents", {clip.channels, clip.frames, clip.height, clip.width}));
    return clip;
}

/// Latent frames [first, first + count) of the clip.
struct Chunk {
    std::int64_t first = 0, count = 1;
};

std::vector<Chunk> chunks_of(const DecodeBench& bench) {
    std::vector<Chunk> chunks{{}};
    for (std::int64_t first = 1; first < bench.steps; first += bench.latent_frames)
        chunks.push_back({first, std::min(bench.latent_frames, bench.steps - first)});
    return chunks;
}

/// [count, channels, height, width]; the clip is repeated if it is too short.
std::vector<float> latents_of(const vae::Latents& clip, const Chunk& chunk) {
    std::vector<float> values;
    for (std::int64_t t = chunk.first; t < chunk.first + chunk.count; ++t) {
        const auto frame = clip.frame(t % clip.frames);
        values.insert(values.end(), frame.begin(), frame.end());
    }
    return values;
}

/// Decodes the clip once. On a GPU a step is enqueued while the one before runs, except after the very first step, so a
/// step's time counts from the end of the one before. Steady steps, which are counted, take bench.latent_frames latent
/// frames and come after the second step of the first round, or after the first step of a later round.
Result<void> decode_clip(stream::Decoder& decoder, std::span<const Chunk> chunks, const vae::Latents& clip,
                         const DecodeBench& bench, std::int64_t round, Progress& progress, Measured& measured) {
    const auto steps = static_cast<std::int64_t>(chunks.size());
    std::vector<std::vector<float>> latents;
    for (const Chunk& chunk : chunks) latents.push_back(latents_of(clip, chunk));
    const bool on_cpu = decoder.clip().model().device().info().is_host();
    const std::int64_t ahead = on_cpu || bench.one_latent_frame ? 0 : 1;
    const Nanoseconds clip_begin = host_now();
    Nanoseconds end = clip_begin;  // of the step before, or of the reset between two clips
    std::int64_t taken = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
        if (bench.one_latent_frame && step > 0) {
            KG_CHECK(decoder.reset());
            end = host_now();
        }
        const auto at = static_cast<std::size_t>(step);
        KG_CHECK(decoder.enqueue(latents[at], chunks[at].count));
        const bool waited_for = (round == 0 && step == 0) || step + 1 == steps;
        for (; taken <= (waited_for ? step : step - ahead); ++taken) {
            KG_CHECK(decoder.take());
            const Nanoseconds begin = std::exchange(end, host_now());
            const bool whole = chunks[static_cast<std::size_t>(taken)].count == bench.latent_frames;
            if (taken > (round == 0 ? 1 : 0)) {
                if (!whole) continue;
                measured.steps.add(to_seconds(end - begin));
                measured.windows.push_back({begin, end});
            } else if (taken == 1) {
                measured.second_step = to_seconds(end - begin);
            } else if (round == 0) {
                measured.first_frame = to_seconds(end - begin);
            }
            progress.show(round * steps + taken + 1);
        }
    }
    if (round > 0 || bench.rounds == 1) measured.clips.add(to_seconds(end - clip_begin));
    return {};
}

Result<Measured> measure(stream::Decoder& decoder, const vae::Latents& clip, const DecodeBench& bench) {
    Measured measured;
    const accel::Device& device = decoder.clip().model().device();
    const std::uint64_t opened = device.peak_bytes();
    measured.frames_of_a_step = decoder.clip().step_frames().most * bench.latent_frames;
    const std::vector<Chunk> chunks = chunks_of(bench);
    const std::int64_t steps = bench.rounds * static_cast<std::int64_t>(chunks.size());
    measured.windows.reserve(static_cast<std::size_t>(steps));
    Progress progress(steps, "steps");
    for (std::int64_t round = 0; round < bench.rounds; ++round) {
        if (round > 0) KG_CHECK(decoder.reset());
        KG_CHECK(decode_clip(decoder, chunks, clip, bench, round, progress, measured));
    }
    measured.peak_bytes = device.peak_bytes() > opened ? device.peak_bytes() : device.bytes_allocated();
    return measured;
}

/// Measured while the first clip exists: both clips share the model's weights and packed filters. Its first two steps
/// run, of a picture the only one.
Result<std::uint64_t> bytes_of_second_clip(const accel::Device& device, const std::shared_ptr<vae::Model>& model,
                                           const vae::Latents& clip, const DecodeBench& bench) {
    const std::uint64_t before = device.bytes_allocated();
    KG_TRY(const auto second, stream::Decoder::create_for(model, clip, {.latent_frames = bench.latent_frames}));
    const std::vector<Chunk> chunks = chunks_of(bench);
    const std::size_t steps = bench.one_latent_frame ? 1 : 2;
    for (const Chunk& chunk : std::span(chunks).first(std::min(steps, chunks.size())))
        KG_CHECK(second->step(latents_of(clip, chunk), chunk.count));
    return device.bytes_allocated() - before;
}

/// A step is one execution of a graph, from its first pass's begin to its last one's end: those whose middle is in a
/// steady step.
std::map<std::uint64_t, profile::Window> steady_executions(std::span<const profile::Span> spans,
                                                           const Measured& measured) {
    std::map<std::uint64_t, profile::Window> executions;
    for (const profile::Span& span : spans) {
        const auto at = executions.try_emplace(span.execution, profile::Window{span.begin, span.end}).first;
        at->second.begin = std::min(at->second.begin, span.begin);
        at->second.end = std::max(at->second.end, span.end);
    }
    std::erase_if(executions, [&](const auto& execution) {
        const Nanoseconds middle = execution.second.begin + execution.second.length() / 2;
        const auto after = std::ranges::upper_bound(measured.windows, middle, {}, &profile::Window::begin);
        return after == measured.windows.begin() || middle > std::prev(after)->end;
    });
    return executions;
}

/// Without the steps whose passes were not timed one by one: a lane times most replays of a captured batch in one span.
/// Where it times all so, all stay.
std::vector<profile::Span> timed_one_by_one(std::vector<profile::Span> spans) {
    std::map<std::uint64_t, std::size_t> counts;  // of the spans of an execution
    std::size_t most = 0;
    for (const profile::Span& span : spans) most = std::max(most, ++counts[span.execution]);
    std::erase_if(spans, [&](const profile::Span& span) { return counts.at(span.execution) < most; });
    return spans;
}

std::vector<PassCost> cost_of_passes(std::span<const profile::Span> spans) {
    std::map<std::string, Samples> durations;
    profile::Window window{Nanoseconds::max(), Nanoseconds::min()};
    for (const profile::Span& span : spans) {
        durations[std::string(span.track).append(span.name)].add(to_seconds(span.end - span.begin));
        window = {std::min(window.begin, span.begin), std::max(window.end, span.end)};
    }
    std::vector<PassCost> costs;
    for (profile::PassStatistics& pass : profile::summarize_passes(spans, window)) {
        const double median = durations.at(pass.track + pass.name).median();
        costs.push_back({std::move(pass), median});
    }
    return costs;
}

/// What was decoded and where, for both forms of the report.
struct Subject {
    const DecodeBench& bench;
    const vae::Clip& clip;
    const accel::DeviceInfo& device;
    const std::vector<std::unique_ptr<accel::Device>>& companions;
    vae::StackMemory memory;
    std::uint64_t stated_bytes() const { return device_bytes(memory, device); }
    std::int64_t width() const { return clip.step_frames().width; }
    std::int64_t height() const { return clip.step_frames().height; }
    std::int64_t frames() const {
        return bench.one_latent_frame ? bench.steps : clip.model().rates().frames_of(bench.steps);
    }
    std::uint64_t companions_peak() const {
        std::uint64_t bytes = 0;
        for (const auto& companion : companions) bytes += companion->peak_bytes();
        return bytes;
    }
    std::string companions_text() const {
        if (companions.empty()) return "";
        return fmt::format("  companions     {}: {:.1f} MiB at most, {:.1f} MiB stated before\n", companions.size(),
                           to_mib(companions_peak()), to_mib(memory.others));
    }
    double fps_clip(const Measured& measured) const { return static_cast<double>(frames()) / measured.clips.median(); }
};

/// The lines of the steady steps and of their rate, or why there are none.
std::string steady_text(const Measured& measured, const DecodeBench& bench) {
    if (!measured.has_steady_steps())
        return fmt::format("  steady step    none in so short a clip: --steps {} gives one\n",
                           1 + 2 * bench.latent_frames);
    const std::string on_device =
        measured.device_steps.empty()
            ? ""
            : fmt::format(", {:.4f} s of it between the device's stamps", measured.device_steps.median());
    return fmt::format(
        "  steady step    {:.5f} s median, {:.5f} s fastest, {:.5f} s slowest of {} ({} frames each){}\n"
        "  steady rate    {:.2f} frames/s\n",
        measured.steps.median(), measured.steps.least(), measured.steps.most(), measured.steps.count(),
        measured.frames_of_a_step, on_device, *measured.fps_steady());
}

std::string to_text(const Measured& measured, const Subject& subject, std::span<const PassCost> passes) {
    std::string text;
    if (!passes.empty()) {
        Table table({"pass", "track", ">median ms", ">average ms", ">max ms", ">share"});
        for (const auto& [pass, median] : passes) {
            table.add({pass.name, pass.track, fmt::format("{:.4f}", 1e3 * median),
                       fmt::format("{:.4f}", 1e3 * to_seconds(pass.average)),
                       fmt::format("{:.4f}", 1e3 * to_seconds(pass.max)), fmt::format("{:.1f} %", 100 * pass.share)});
        }
        text = table.to_string() + '\n';
    }
    const DecodeBench& bench = subject.bench;
    const std::string second =
        measured.second_step ? fmt::format(", the second step {:.4f} s", *measured.second_step) : "";
    return text + fmt::format(
                      "{} at {}x{}, {}; {}\n"
                      "  load           {:.3f} s, then the first frame after {:.4f} s{}\n"
                      "{}"
                      "  whole clip     {} in {:.4f} s: {:.2f} frames/s, median of {}\n"
                      "  device memory  {:.1f} MiB at most, {:.1f} MiB stated before{}\n{}",
                      bench.decode.weights, subject.width(), subject.height(),
                      vae::to_string(bench.decode.model.precision), describe_machine(subject.device), measured.load,
                      measured.first_frame, second, steady_text(measured, bench), count_frames(subject.frames()),
                      measured.clips.median(), subject.fps_clip(measured), measured.clips.count(),
                      to_mib(measured.peak_bytes), to_mib(subject.stated_bytes()),
                      measured.second_clip_bytes
                          ? fmt::format("; a second clip takes {:.1f} MiB more", to_mib(*measured.second_clip_bytes))
                          : "",
                      subject.companions_text());
}

nlohmann::ordered_json to_json(const Measured& measured, const Subject& subject, std::span<const PassCost> passes) {
    const DecodeBench& bench = subject.bench;
    nlohmann::ordered_json json = report_head("decode", bench.command_line, subject.device);
    const vae::StackMemory& memory = subject.memory;
    json.update({{"weights", bench.decode.weights},
                 {"latents", bench.latents.empty() ? "synthetic" : bench.latents},
                 {"precision", vae::to_string(bench.decode.model.precision)},
                 {"sums", to_string(bench.decode.model.sums)},
                 {"backend", bench.decode.model.preferred_backend},
                 {"width", subject.width()},
                 {"height", subject.height()},
                 {"latent_frames", bench.steps},
                 {"latent_frames_a_step", bench.latent_frames},
                 {"frames", subject.frames()},
                 {"rounds", bench.rounds}});
    json["seconds_load"] = measured.load;
    json["seconds_first_frame_after_load"] = measured.first_frame;
    json["seconds_second_step"] = json_or_null(measured.second_step);
    json["seconds_per_step"] = json_or_null(measured.seconds_per_step());
    json["seconds_per_step_all"] = measured.steps.sorted();
    json["seconds_per_step_on_device"] = measured.device_steps.to_json();
    json["seconds_clip"] = measured.clips.to_json();
    json["fps_steady"] = json_or_null(measured.fps_steady());
    json["fps_clip"] = subject.fps_clip(measured);
    json["peak_device_bytes"] = measured.peak_bytes;
    json["stated_device_bytes"] = subject.stated_bytes();
    for (const auto& companion : subject.companions)
        json["companions"].push_back(
            {{"name", companion->info().name}, {"peak_device_bytes", companion->peak_bytes()}});
    if (!subject.companions.empty()) json["stated_companions_bytes"] = memory.others;
    if (measured.second_clip_bytes) json["second_clip_device_bytes"] = *measured.second_clip_bytes;
    json["stated_bytes"] = {{"transients", memory.transients}, {"histories", memory.histories},
                            {"parameters", memory.parameters}, {"bands", memory.bands},
                            {"work_ratio", memory.work_ratio}, {"staging", memory.io},
                            {"frames", memory.stream}};
    for (const auto& [pass, median] : passes) {
        json["passes"].push_back({{"name", pass.name},
                                  {"track", pass.track},
                                  {"count", pass.count},
                                  {"seconds_median", median},
                                  {"seconds_average", to_seconds(pass.average)},
                                  {"seconds_max", to_seconds(pass.max)},
                                  {"share", pass.share}});
    }
    return json;
}

Result<void> run(DecodeBench bench) {
    KG_CHECK(check_distinct(std::array{NamedFile{"LATENTS", bench.latents, NamedFile::Use::Read},
                                       NamedFile{"--weights", bench.decode.weights, NamedFile::Use::Read},
                                       NamedFile{"--json", bench.json, NamedFile::Use::Written}}));
    KG_TRY(auto report, BenchReport::create(bench.json));
    KG_TRY(auto device, open_lane(bench.decode.lane, bench.decode.memory_budget));
    const accel::DeviceInfo& info = device->info();
    const Nanoseconds start = host_now();
    KG_TRY(auto checkpoint, open_checkpoint(bench.decode));
    bench.one_latent_frame = checkpoint.one_latent_frame();
    KG_TRY(auto clip, open_clip(bench, checkpoint));

    profile::Recorder recorder;
    KG_TRY(auto model, vae::Model::create(*device, checkpoint, bench.decode.model));
    KG_TRY(auto decoder,
           stream::Decoder::create_for(
               model, clip, {.latent_frames = bench.latent_frames, .recorder = bench.passes ? &recorder : nullptr}));
    const double load = to_seconds(host_now() - start);
    state_memory(decoder->memory(), *device);
    KG_TRY(auto measured, measure(*decoder, clip, bench));
    measured.load = load;
    if (bench.second_clip) {
        KG_TRY(measured.second_clip_bytes, bytes_of_second_clip(*device, model, clip, bench));
    }

    std::vector<PassCost> passes;
    if (measured.has_steady_steps()) {
        auto spans = recorder.spans();
        std::erase_if(spans, [](const profile::Span& span) {
            return !span.track.starts_with(graph::to_string(graph::Lane::Accelerator));  // copies overlap the steps
        });
        const auto steps = steady_executions(spans, measured);
        for (const auto& [execution, window] : steps) measured.device_steps.add(to_seconds(window.length()));
        std::erase_if(spans, [&](const profile::Span& span) { return !steps.contains(span.execution); });
        passes = cost_of_passes(timed_one_by_one(std::move(spans)));
    }
    const Subject subject{bench, decoder->clip(), info, device->companions(), decoder->memory()};
    KG_CHECK(report.write(to_text(measured, subject, passes), to_json(measured, subject, passes)));
    if (measured.peak_bytes > subject.stated_bytes())
        return fail(ErrorCode::OutOfMemory, "{:.1f} MiB of device memory were taken at most, {:.1f} MiB were stated",
                    to_mib(measured.peak_bytes), to_mib(subject.stated_bytes()));
    if (subject.companions_peak() > subject.memory.others)
        return fail(ErrorCode::OutOfMemory, "{:.1f} MiB of the companions' memory were taken, {:.1f} MiB were stated",
                    to_mib(subject.companions_peak()), to_mib(subject.memory.others));
    return {};
}

}  // namespace

void add_bench_decode(CLI::App& bench, Action& action, const std::string& command_line) {
    auto arguments = std::make_shared<DecodeBench>();
    arguments->command_line = command_line;
    CLI::App* command = bench.add_subcommand("decode", "Seconds a step, rate, device memory, cost of every pass");
    auto* latents = command->add_option("latents-file", arguments->latents, "A clip; without one, synthetic latents");
    latents->type_name("LATENTS.safetensors");
    add_decode_options(*command, arguments->decode);
    add_frame_size(*command, arguments->size)->excludes(latents);
    command->add_option("--steps", arguments->steps, "Latent frames of the clip (default 16: 61 frames of video)")
        ->check(CLI::Range(1, 100'000).description(""))
        ->type_name("N");
    add_latent_frames_option(*command, arguments->latent_frames);
    command->add_option("--rounds", arguments->rounds, "Times to decode the clip; of several, the first warms up (1)")
        ->check(CLI::Range(1, 1'000).description(""))
        ->type_name("N");
    command->add_flag("--second-clip", arguments->second_clip,
                      "Also the device memory that another clip of the same weights takes");
    command->add_flag_callback(
        "--no-passes", [arguments] { arguments->passes = false; },
        "Time whole steps only, without stamps between passes");
    command->add_option("--json", arguments->json, "Write the results here; -: to standard output")->type_name("FILE");
    command->final_callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace kinetograph::cli
