// kinetograph bench clips: several streams of one model on one device, which share its lane: their rates in sum, how
// long a step takes from its latents to its frames, and what a further stream costs.
#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/frame_size.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>

#include <array>
#include <thread>

namespace kinetograph::cli {
namespace {

using namespace std::chrono_literals;
using vae::StackMemory;

struct ClipsBench {
    DecodeRequest decode;
    FrameSize size{.width = 832, .height = 480};
    std::vector<int> clips{1, 2, 4, 8};
    std::int64_t steps = 48;
    double rate = 0;  ///< at which each clip's latents come, in frames/s; 0: as fast as they are taken
    bool alone = false;
    std::string json, command_line;
};

constexpr Nanoseconds kPatience = 10min;

/// One clip: latents from the host's memory, frames where the lane leaves them.
class TimedClip {
  public:
    static Result<std::unique_ptr<TimedClip>> open(const session::Session& session, vae::LatentSize size,
                                                   const vae::StepOptions& options) {
        std::unique_ptr<TimedClip> clip(new TimedClip);
        KG_TRY(clip->source_, session.decode(size, options));
        clip->frames_of_a_step_ = clip->source_.frames->facts().frames_of_a_step;
        return clip;
    }

    /// The clip's first latents, then `steps` more, of which each is pushed at its time if there is a rate.
    Result<void> run(std::span<const float> latents, std::int64_t steps, double rate) {
        KG_CHECK(push(latents));
        KG_CHECK(take(1));
        begin_ = host_now();
        for (std::int64_t step = 0; step < steps; ++step) {
            const auto due =
                begin_ +
                Nanoseconds(rate > 0
                                ? static_cast<std::int64_t>(1e9 * static_cast<double>(step * frames_of_a_step_) / rate)
                                : 0);
            if (rate > 0) std::this_thread::sleep_until(std::chrono::steady_clock::time_point(due));
            pushed_.push_back(host_now());
            KG_CHECK(push(latents));
            if (rate == 0 && step == 0) continue;  // one step ahead of the reader
            KG_CHECK(take_step());
        }
        while (taken_ < steps) KG_CHECK(take_step());
        end_ = host_now();
        return {};
    }

    stream::PushedSource& source() { return source_; }
    const Samples& waits() const { return waits_; }  ///< from a step's latents to its last frame
    Nanoseconds begin() const { return begin_; }
    Nanoseconds end() const { return end_; }
    std::int64_t frames_of_a_step() const { return frames_of_a_step_; }
    double rate() const { return static_cast<double>(taken_ * frames_of_a_step_) / to_seconds(end_ - begin_); }

  private:
    Result<void> push(std::span<const float> latents) {
        KG_TRY(const bool pushed, source_.latents->push(latents, kPatience));
        return pushed ? Result<void>{} : fail(ErrorCode::Io, "a clip took no latents for 10 minutes");
    }
    Result<void> take(std::int64_t frames) {
        for (std::int64_t i = 0; i < frames; ++i) {
            KG_TRY(const auto frame, source_.frames->take(kPatience));
            if (!frame) return fail(ErrorCode::Io, "a clip made no frame for 10 minutes");
            KG_CHECK(source_.frames->release(*frame));
        }
        return {};
    }
    Result<void> take_step() {
        KG_CHECK(take(frames_of_a_step_));
        waits_.add(to_seconds(host_now() - pushed_[static_cast<std::size_t>(taken_++)]));
        return {};
    }

    TimedClip() = default;
    stream::PushedSource source_;
    std::int64_t frames_of_a_step_ = 0, taken_ = 0;  ///< taken: steps after the first
    std::vector<Nanoseconds> pushed_;
    Nanoseconds begin_{}, end_{};
    Samples waits_;
};

struct MeasuredClips {
    std::size_t clips = 0;
    double seconds = 0, frames = 0;       ///< while all ran
    Samples rates{}, waits{}, opening{};  ///< of each clip; of each step; of each clip after the first
    std::uint64_t misses = 0, steps = 0;
    std::uint64_t declared_bytes = 0, taken_bytes = 0;  ///< of the device, by the last clip that was opened
    double fps() const { return frames / seconds; }
    double p99() const { return waits.sorted()[waits.count() * 99 / 100]; }
};

/// A further clip's part of the device's memory.
std::uint64_t declared(const StackMemory& memory, const accel::DeviceInfo& device) {
    return memory.transients + memory.state() + memory.stream + (device.is_host() ? memory.io : 0);
}

Result<MeasuredClips> measure(const session::Session& session, const ClipsBench& bench, vae::LatentSize size,
                              std::span<const float> latents, std::size_t count) {
    vae::StepOptions options{.storage = interop::FrameStorage::Host, .fps = bench.rate};
    if (!bench.alone) options.share = session.share();
    MeasuredClips measured{.clips = count};
    std::vector<std::unique_ptr<TimedClip>> clips;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t before = session.device().bytes_allocated();
        const Nanoseconds start = host_now();
        KG_TRY(const auto memory, session.declared_memory(size, options));
        KG_TRY(auto clip, TimedClip::open(session, size, options));
        if (i > 0) measured.opening.add(to_seconds(host_now() - start));
        measured.declared_bytes = declared(memory, session.device().info());
        measured.taken_bytes = session.device().bytes_allocated() - before;
        clips.push_back(std::move(clip));
    }
    std::vector<Result<void>> results(count);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < count; ++i)
            threads.emplace_back([&, i] { results[i] = clips[i]->run(latents, bench.steps, bench.rate); });
    }
    Nanoseconds begin = clips[0]->begin(), end = clips[0]->end();
    for (std::size_t i = 0; i < count; ++i) {
        KG_CHECK(results[i]);
        begin = std::min(begin, clips[i]->begin());
        end = std::max(end, clips[i]->end());
        measured.rates.add(clips[i]->rate());
        measured.waits.add(clips[i]->waits());
        const vae::ClipFigures queue = clips[i]->source().frames->stats().queue;
        measured.misses += queue.misses;
        measured.steps += queue.steps;
    }
    measured.frames =
        static_cast<double>(static_cast<std::int64_t>(count) * bench.steps * clips[0]->frames_of_a_step());
    measured.seconds = to_seconds(end - begin);
    return measured;
}

/// Seconds of what is done with a clip's state, and its bytes.
struct MeasuredState {
    std::uint64_t bytes = 0;
    Samples fork{}, park{}, resume{}, save{};
};

Result<MeasuredState> measure_state(const session::Session& session, vae::LatentSize size,
                                    std::span<const float> latents) {
    const vae::StepOptions options{.storage = interop::FrameStorage::Host, .share = session.share()};
    KG_TRY(const auto memory, session.declared_memory(size, options));
    MeasuredState measured{.bytes = memory.state()};
    KG_TRY(const auto clip, TimedClip::open(session, size, options));
    KG_CHECK(clip->run(latents, 2, 0));
    stream::LatentQueue& queue = *clip->source().latents;
    const auto timed = [](Samples& samples, const auto& call) -> Result<void> {
        const Nanoseconds start = host_now();
        KG_CHECK(call());
        samples.add(to_seconds(host_now() - start));
        return {};
    };
    for (int round = 0; round < 5; ++round) {
        KG_CHECK(timed(measured.fork, [&] { return session.fork(queue, size, options, kPatience); }));
        KG_CHECK(timed(measured.park, [&] { return queue.park(kPatience); }));
        KG_CHECK(timed(measured.resume, [&] { return queue.resume(kPatience); }));
        KG_CHECK(timed(measured.save, [&] { return queue.save(kPatience); }));
    }
    return measured;
}

std::string gigabytes_a_second(const MeasuredState& state, const Samples& seconds) {
    return fmt::format("{:.1f} ms, {:.1f} GB/s", 1e3 * seconds.median(),
                       static_cast<double>(state.bytes) / seconds.median() / 1e9);
}

std::string to_text(const ClipsBench& bench, const session::Session& session, std::span<const MeasuredClips> all,
                    const MeasuredState& state) {
    Table table({">clips", ">frames/s", ">of one", ">least", ">most", ">wait ms", ">p99 ms", ">late steps",
                 ">further clip MiB", ">stated MiB", ">opened ms"});
    for (const MeasuredClips& of : all)
        table.add({fmt::format("{}", of.clips), fmt::format("{:.1f}", of.fps()),
                   fmt::format("{:.3f}", of.fps() / all.front().fps()), fmt::format("{:.1f}", of.rates.least()),
                   fmt::format("{:.1f}", of.rates.most()), fmt::format("{:.2f}", 1e3 * of.waits.median()),
                   fmt::format("{:.2f}", 1e3 * of.p99()), fmt::format("{} of {}", of.misses, of.steps),
                   fmt::format("{:.1f}", to_mib(of.taken_bytes)), fmt::format("{:.1f}", to_mib(of.declared_bytes)),
                   of.opening.empty() ? std::string() : fmt::format("{:.2f}", 1e3 * of.opening.median())});
    return fmt::format("{}{} at {}x{}, {}; {}\na state is {:.1f} MiB: fork {}; park {}; resume {}; save {}\n",
                       table.to_string(), bench.decode.weights, bench.size.width, bench.size.height,
                       bench.rate > 0 ? fmt::format("latents at {:g} frames/s a clip", bench.rate)
                                      : std::string("latents as they are taken"),
                       describe_machine(session.device().info()), to_mib(state.bytes),
                       gigabytes_a_second(state, state.fork), gigabytes_a_second(state, state.park),
                       gigabytes_a_second(state, state.resume), gigabytes_a_second(state, state.save));
}

nlohmann::ordered_json to_json(const ClipsBench& bench, const session::Session& session,
                               std::span<const MeasuredClips> all, const MeasuredState& state) {
    nlohmann::ordered_json json = report_head("clips", bench.command_line, session.device().info());
    json.update({{"weights", bench.decode.weights},
                 {"sums", to_string(bench.decode.model.sums)},
                 {"width", bench.size.width},
                 {"height", bench.size.height},
                 {"steps", bench.steps},
                 {"fps_asked", bench.rate},
                 {"shared", !bench.alone}});
    for (const MeasuredClips& of : all)
        json["clips"].push_back({{"clips", of.clips},
                                 {"fps", of.fps()},
                                 {"fps_of_each", of.rates.to_json()},
                                 {"seconds_wait", of.waits.to_json()},
                                 {"seconds_wait_p99", of.p99()},
                                 {"late_steps", of.misses},
                                 {"queued_steps", of.steps},
                                 {"further_clip_bytes", of.taken_bytes},
                                 {"declared_bytes", of.declared_bytes},
                                 {"seconds_opening", of.opening.to_json()}});
    json["state"] = {{"bytes", state.bytes},
                     {"seconds_fork", state.fork.to_json()},
                     {"seconds_park", state.park.to_json()},
                     {"seconds_resume", state.resume.to_json()},
                     {"seconds_save", state.save.to_json()}};
    return json;
}

Result<void> run(const ClipsBench& bench) {
    KG_CHECK(check_distinct(std::array{NamedFile{"--weights", bench.decode.weights, NamedFile::Use::Read},
                                       NamedFile{"--json", bench.json, NamedFile::Use::Written}}));
    KG_TRY(auto report, BenchReport::create(bench.json));
    KG_TRY(std::shared_ptr<accel::Device> device, open_lane(bench.decode.lane, bench.decode.memory_budget));
    KG_TRY(const auto checkpoint, open_checkpoint(bench.decode));
    KG_TRY(const auto size, bench.size.latents(checkpoint.family()));
    KG_TRY(const auto session,
           session::Session::open(checkpoint, {.accelerator = std::move(device), .model = bench.decode.model}));
    KG_TRY(const auto latents,
           vae::synthetic_tensor("latents", {session->model()->channels(), size.height, size.width}));
    {  // packs the weights, captures and warms up
        KG_TRY(const auto warm, measure(*session, bench, size, latents, 1));
    }
    std::vector<MeasuredClips> all;
    for (const int count : bench.clips) {
        KG_TRY(auto measured, measure(*session, bench, size, latents, static_cast<std::size_t>(count)));
        all.push_back(std::move(measured));
    }
    KG_TRY(const auto state, measure_state(*session, size, latents));
    return report.write(to_text(bench, *session, all, state), to_json(bench, *session, all, state));
}

}  // namespace

void add_bench_clips(CLI::App& bench, Action& action, const std::string& command_line) {
    auto arguments = std::make_shared<ClipsBench>();
    arguments->command_line = command_line;
    CLI::App* command = bench.add_subcommand("clips", "Several streams on one device: rates, waits, memory, state");
    add_decode_options(*command, arguments->decode);
    add_frame_size(*command, arguments->size);
    command->add_option("--clips", arguments->clips, "How many at once, one measurement each (default 1 2 4 8)")
        ->check(CLI::Range(1, 256).description(""))
        ->type_name("N");
    command->add_option("--steps", arguments->steps, "Latent frames of each clip after its first (default 48)")
        ->check(CLI::Range(2, 100000).description(""))
        ->type_name("N");
    command
        ->add_option("--rate", arguments->rate,
                     "Latents of every clip come for so many frames/s, and are due at it (default: as they are taken)")
        ->check(CLI::Range(0.01, 100000.0).description(""))
        ->type_name("FPS");
    command->add_flag("--alone", arguments->alone, "Streams that share nothing but the weights");
    command->add_option("--json", arguments->json, "Write the results here; -: to standard output")->type_name("FILE");
    command->final_callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace kinetograph::cli
