// kinetograph bench profiler: what timing every pass costs a step, with the panels hidden and shown, and how far its
// times are to be believed.
#include <kinetograph/engine/ui/layer.hpp>
#include <kinetograph/engine/ui/panel.hpp>
#include <kinetograph/engine/vulkan/clock.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/clock_alignment.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/frame_size.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>
#include <kinetograph/tools/kinetograph/plain_decode.hpp>
#include <kinetograph/tools/kinetograph/presented_decode.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace kinetograph::cli {
namespace {

struct ProfilerBench {
    std::string lane = "auto";
    std::string device;  ///< part of the Vulkan device's name; empty: any
    std::string weights;
    FrameSize size{.width = 832, .height = 480};
    std::int64_t rounds = 6, steps = 8;
    double bar = 3.0;  ///< per cent; largest allowed difference between a pass's two times
    std::string json, command_line;
    std::int64_t uncounted_steps() const { return 2 * steps + 4; }  ///< lanes time every pass of their first steps
};

constexpr std::int64_t kAlignments = 200;
constexpr std::int64_t kTimedSteps = 9;  ///< of each kind in a round, with the time of every pass

enum class Watch : std::uint8_t { Off, Decoder, Hidden, Shown };  // Decoder: hidden, and of no other lane
constexpr std::array kWatches{Watch::Off, Watch::Decoder, Watch::Hidden, Watch::Shown};
std::string_view to_string(Watch watch) {
    constexpr std::array<std::string_view, kWatches.size()> kNames{"off", "decoder only", "hidden", "shown"};
    return kNames.at(static_cast<std::size_t>(watch));
}

/// A decoder whose frames are drawn, as an application would watch it.
class Watched {
  public:
    static Result<std::unique_ptr<Watched>> create(Watch watch, interop::Bridge& bridge,
                                                   const std::shared_ptr<vae::Model>& model, vae::LatentSize size) {
        std::unique_ptr<Watched> made(new Watched);
        PresentedOptions options;
        if (watch != Watch::Off) options.passes = &made->recorder_;
        if (watch >= Watch::Hidden) options.recorder = &made->recorder_;
        if (watch == Watch::Decoder || watch == Watch::Hidden)
            options.draw_over = [self = made.get()](graph::FrameGraph&, graph::Image picture) {
                self->profile_.update(host_now());
                return picture;
            };
        if (watch == Watch::Shown) {
            KG_TRY(made->layer_, ui::Layer::create(bridge.display()->device(), {}));
            options.draw_over = [self = made.get()](graph::FrameGraph& frame, graph::Image picture) {
                return self->draw_panels(frame, picture);
            };
        }
        KG_TRY(made->decode_, PresentedDecode::create(bridge, model, size, options));
        const vae::StepFrames frames = made->decode_->clip().step_frames();
        made->width_ = static_cast<std::uint32_t>(frames.width);
        made->height_ = static_cast<std::uint32_t>(frames.height);
        made->panels_.arrange(0, 0, static_cast<float>(frames.width), static_cast<float>(frames.height));
        return made;
    }
    Result<PresentedTimes> run(std::int64_t steps) { return decode_->run(steps); }
    const PresentedDecode& decode() const { return *decode_; }
    const profile::Recorder& recorder() const { return recorder_; }
    std::size_t passes() const { return profile_.passes().size(); }

  private:
    Watched() = default;
    graph::Image draw_panels(graph::FrameGraph& frame, graph::Image picture) {
        const Nanoseconds now = host_now();
        layer_->begin_frame(width_, height_, now - drawn_);
        drawn_ = now;
        panels_.draw(profile_, now);
        return layer_->end_frame(frame, picture);
    }

    profile::Recorder recorder_;
    profile::Profile profile_{recorder_};
    ui::PanelHost panels_ = ui::PanelHost::with_all_panels();
    std::unique_ptr<ui::Layer> layer_;
    std::uint32_t width_ = 0, height_ = 0;
    Nanoseconds drawn_{};
    std::unique_ptr<PresentedDecode> decode_;  ///< last: its lanes end before what they write to
};

/// Steps of equal decoders, one for each Watch, which take turns.
struct MeasuredWatches {
    std::array<Samples, kWatches.size()> period;    ///< of a step
    std::array<Samples, kWatches.size()> overhead;  ///< of a step, against Off in the same round
    std::size_t passes = 0;
    std::vector<std::pair<std::string, profile::TrackClock>> clocks;
};

Result<MeasuredWatches> measure_watches(const ProfilerBench& bench, interop::Bridge& bridge,
                                        const std::shared_ptr<vae::Model>& model, vae::LatentSize size) {
    std::array<std::unique_ptr<Watched>, kWatches.size()> watched;
    for (std::size_t i = 0; i < kWatches.size(); ++i) {
        KG_TRY(watched[i], Watched::create(kWatches[i], bridge, model, size));
        KG_CHECK(watched[i]->run(bench.uncounted_steps()));
    }
    MeasuredWatches measured;
    for (std::int64_t round = 0; round < bench.rounds; ++round) {
        std::array<double, kWatches.size()> medians{};
        for (std::size_t turn = 0; turn < kWatches.size(); ++turn) {
            const std::size_t which = (turn + static_cast<std::size_t>(round)) % kWatches.size();
            KG_TRY(const auto times, watched[which]->run(bench.steps));
            measured.period[which].add(times.period);
            medians[which] = times.period.median();
        }
        for (std::size_t i = 1; i < kWatches.size(); ++i) measured.overhead[i].add(medians[i] / medians[0] - 1);
    }
    measured.passes = watched.back()->passes();
    const profile::Recorder& recorder = watched.back()->recorder();
    for (const profile::TrackClock& clock : recorder.clocks())
        measured.clocks.emplace_back(recorder.names().text(clock.track), clock);
    return measured;
}

/// Seconds by one of two means: of steps, for the profiler the sums over their passes, and of every pass by its name.
struct StepTimes {
    Samples steps;
    std::map<std::string, Samples> passes;
};

/// The same duration measured by the profiler and, without a profiler, by events of the device.
struct TwoTimes {
    Samples by_profiler, by_events;  ///< seconds
    Samples difference;              ///< relative, one from each round's medians
    /// Events resolve half a microsecond (CUDA driver API, cuEventElapsedTime), so two of them err by up to 1 us: more
    /// than 3 % of a pass shorter than 33 us. Differences are relative to this time at least.
    static constexpr double kShortest = 33e-6;

    void add_round(const Samples& profiler, const Samples& events) {
        if (profiler.empty() || events.empty()) return;
        by_profiler.add(profiler);
        by_events.add(events);
        difference.add((profiler.median() - events.median()) / std::max(events.median(), kShortest));
    }
    /// How many rounds differ by more than `bar` per cent: nearly all if the profiler is biased, some if it is noise.
    std::ptrdiff_t rounds_beyond(double bar) const {
        return std::ranges::count_if(difference.sorted(), [&](double each) { return !(std::abs(100 * each) <= bar); });
    }
    /// "+0.66 %, -0.19 to +4.71 between rounds"
    std::string difference_text() const {
        return fmt::format("{:+.2f} %, {:+.2f} to {:+.2f} between rounds", 100 * difference.median(),
                           100 * difference.least(), 100 * difference.most());
    }
};

/// The two times of whole steps and of every pass.
struct MeasuredPasses {
    TwoTimes steps;
    std::map<std::string, TwoTimes> passes;

    void add_round(const StepTimes& profiler, const StepTimes& events) {
        steps.add_round(profiler.steps, events.steps);
        for (const auto& [name, times] : events.passes)
            if (const auto same = profiler.passes.find(name); same != profiler.passes.end())
                passes[name].add_round(same->second, times);
    }
    double median_difference() const {
        Samples differences;
        for (const auto& [name, times] : passes) differences.add(times.difference.median());
        return differences.median();
    }
    const std::pair<const std::string, TwoTimes>& worst() const {
        return *std::ranges::max_element(passes, {},
                                         [](const auto& pass) { return std::abs(pass.second.difference.median()); });
    }
};

/// Adds the steps recorded since the last call in which all passes, `count` of them, were timed one by one.
void add_recorded(const profile::Recorder& recorder, profile::Recorder::Cursor& cursor, std::size_t count,
                  StepTimes& times) {
    std::vector<profile::SpanRecord> spans;
    recorder.read(cursor, spans);
    std::map<std::uint64_t, std::vector<profile::SpanRecord>> steps;
    for (const profile::SpanRecord& span : spans) steps[span.execution].push_back(span);
    for (const auto& [execution, of_step] : steps) {
        if (of_step.size() < count) continue;
        Nanoseconds sum{};
        for (const profile::SpanRecord& span : of_step) {
            sum += span.length();
            times.passes[std::string(recorder.names().text(span.name))].add(to_seconds(span.length()));
        }
        times.steps.add(to_seconds(sum));
    }
}

void add_events(const EventTimes& events, StepTimes& times) {
    times.steps.add(events.step);
    for (const auto& [name, seconds] : events.passes) times.passes[name].add(seconds);
}

/// Two decoders take turns, one with a recorder, one with events in the places of the recorder's stamps. Both time the
/// passes of one step of a turn, in its middle, and run the others back to back: stamps leave gaps between passes, and
/// the clock of a GPU at its power limit rises with each idle time.
///
///     with a recorder   ----T----                     ----T---- ----T----                     ...
///     with events                 ----T---- ----T----                     ----T---- ----T----
Result<MeasuredPasses> measure_passes(const ProfilerBench& bench, const std::shared_ptr<vae::Model>& model,
                                      vae::LatentSize size) {
    profile::Recorder recorder;
    KG_TRY(const auto recorded, PlainDecode::create(model, size, {.recorder = &recorder}));
    const std::uint64_t every = recorded->lane().timed_every();
    if (every == 0) return fail(ErrorCode::Unsupported, "the profiler times the passes of no step on this device");
    KG_TRY(const auto stamped, PlainDecode::create(model, size, {.stamp_every = every}));
    const auto turn = static_cast<std::int64_t>(every);
    for (const auto* each : {&recorded, &stamped}) KG_CHECK((*each)->run(turn + turn / 2 + 1));
    profile::Recorder::Cursor cursor;
    const std::size_t passes = stamped->event_times().passes.size();
    StepTimes uncounted;
    add_recorded(recorder, cursor, passes, uncounted);
    MeasuredPasses measured;
    for (std::int64_t round = 0; round < bench.rounds; ++round) {
        StepTimes profiler, events;
        for (std::int64_t i = 0; i < kTimedSteps; ++i) {
            std::array order{recorded.get(), stamped.get()};
            if ((round + i) % 2 != 0) std::ranges::reverse(order);
            for (PlainDecode* decode : order) KG_CHECK(decode->run(turn));
            add_recorded(recorder, cursor, passes, profiler);
            add_events(stamped->event_times(), events);
        }
        measured.add_round(profiler, events);
    }
    return measured;
}

struct MeasuredProfiler {
    MeasuredWatches watches;
    MeasuredPasses passes;
    Result<ClockAlignment> alignment;
};

std::ptrdiff_t times_exceeded(const ClockAlignment& alignment) {
    return std::ranges::count_if(alignment.excess.sorted(), [](double seconds) { return seconds > 0; });
}

std::string to_text(const ProfilerBench& bench, const interop::Bridge& bridge, const MeasuredProfiler& measured) {
    Table table({"profiler", ">step ms", ">overhead", ">least", ">most"});
    for (std::size_t i = 0; i < kWatches.size(); ++i) {
        const Samples& overhead = measured.watches.overhead[i];
        const auto percent = [&](auto which) {
            return overhead.empty() ? std::string() : fmt::format("{:+.2f} %", 100 * (overhead.*which)());
        };
        table.add({std::string(to_string(kWatches[i])),
                   fmt::format("{:.3f}", 1e3 * measured.watches.period[i].median()), percent(&Samples::median),
                   percent(&Samples::least), percent(&Samples::most)});
    }
    const TwoTimes& steps = measured.passes.steps;
    const auto& [worst, times] = measured.passes.worst();
    std::string text = fmt::format(
        "{} at {}x{}, {} passes, {} rounds of {} steps of each kind\n{}\nthe passes of a step add up to {:.3f} ms; "
        "between two events, without the profiler, it takes {:.3f} ms: {}\n"
        "{} passes beside events around each, without the profiler: {:+.2f} % (median), the worst {}: {:.2f} and "
        "{:.2f} us, {}\n",
        bench.weights, bench.size.width, bench.size.height, measured.watches.passes, bench.rounds, bench.steps,
        table.to_string(), 1e3 * steps.by_profiler.median(), 1e3 * steps.by_events.median(), steps.difference_text(),
        measured.passes.passes.size(), 100 * measured.passes.median_difference(), worst,
        1e6 * times.by_profiler.median(), 1e6 * times.by_events.median(), times.difference_text());
    for (const auto& [track, clock] : measured.watches.clocks)
        text += fmt::format("clock of {}: +-{:.2f} us, drift {:.2f} ppm\n", track, 1e6 * to_seconds(clock.error),
                            clock.drift_ppm);
    if (measured.alignment) {
        const ClockAlignment& alignment = *measured.alignment;
        text += fmt::format(
            "one moment by both clocks: {:+.2f} us apart (median), {:+.2f} to {:+.2f}, known to {:.2f} us; stated: "
            "+-{:.2f} and +-{:.2f} us, which was exceeded {} of {} times\n",
            1e6 * alignment.distance.median(), 1e6 * alignment.distance.least(), 1e6 * alignment.distance.most(),
            0.5e6 * alignment.width.median(), 1e6 * to_seconds(alignment.accelerator_error),
            1e6 * to_seconds(alignment.vulkan_error), times_exceeded(alignment), alignment.excess.count());
    } else {
        text += "one moment by both clocks: " + measured.alignment.error().message + "\n";
    }
    return text +
           fmt::format("{}; {}\n", describe_machine(bridge.accelerator().info()), bridge.display()->report().name);
}

nlohmann::ordered_json to_json(const ProfilerBench& bench, const interop::Bridge& bridge,
                               const MeasuredProfiler& measured) {
    nlohmann::ordered_json json = report_head("profiler", bench.command_line, bridge.accelerator().info());
    json["machine"]["vulkan_device"] = bridge.display()->report().name;
    json["machine"]["vulkan_driver"] = bridge.display()->report().driver;
    json["weights"] = bench.weights;
    json["width"] = bench.size.width;
    json["height"] = bench.size.height;
    json["passes"] = measured.watches.passes;
    for (std::size_t i = 0; i < kWatches.size(); ++i)
        json["watches"].push_back({{"profiler", to_string(kWatches[i])},
                                   {"seconds_per_step", measured.watches.period[i].to_json()},
                                   {"overhead", measured.watches.overhead[i].to_json()}});
    const TwoTimes& steps = measured.passes.steps;
    json["pass_times"] = {{"seconds_by_passes", steps.by_profiler.to_json()},
                          {"seconds_by_events", steps.by_events.to_json()},
                          {"difference", steps.difference.to_json()},
                          {"bar", bench.bar / 100},
                          {"median_difference", measured.passes.median_difference()},
                          {"worst_pass", measured.passes.worst().first},
                          {"worst_difference", measured.passes.worst().second.difference.median()},
                          {"worst_rounds_beyond_bar", measured.passes.worst().second.rounds_beyond(bench.bar)}};
    for (const auto& [name, times] : measured.passes.passes)
        json["pass_times"]["passes"].push_back({{"name", name},
                                                {"seconds_by_profiler", times.by_profiler.to_json()},
                                                {"seconds_by_events", times.by_events.to_json()},
                                                {"difference", times.difference.to_json()}});
    for (const auto& [track, clock] : measured.watches.clocks)
        json["clocks"].push_back(
            {{"track", track}, {"error_seconds", to_seconds(clock.error)}, {"drift_ppm", clock.drift_ppm}});
    if (measured.alignment)
        json["alignment"] = {{"accelerator_error_seconds", to_seconds(measured.alignment->accelerator_error)},
                             {"vulkan_error_seconds", to_seconds(measured.alignment->vulkan_error)},
                             {"distance_seconds", measured.alignment->distance.to_json()},
                             {"width_seconds", measured.alignment->width.to_json()},
                             {"excess_seconds", measured.alignment->excess.to_json()},
                             {"exceeded", times_exceeded(*measured.alignment)}};
    else
        json["alignment"] = {{"absent", measured.alignment.error().message}};
    return json;
}

Result<MeasuredProfiler> measure(const ProfilerBench& bench, interop::Bridge& bridge) {
    KG_TRY(const auto checkpoint, vae::Checkpoint::open(bench.weights));
    KG_TRY(const auto size, bench.size.latents(checkpoint.family()));
    KG_TRY(const auto model, vae::Model::create(bridge.accelerator(), checkpoint));
    KG_TRY(auto watches, measure_watches(bench, bridge, model, size));
    KG_TRY(auto passes, measure_passes(bench, model, size));
    if (passes.passes.empty() || passes.steps.difference.empty())
        return fail(ErrorCode::Unsupported, "the profiler timed the passes of no step");
    return MeasuredProfiler{std::move(watches), std::move(passes),
                            measure_alignment(bridge.accelerator(), bridge.display()->device(), kAlignments)};
}

/// Errors: OutOfRange (a pass's times are too far apart, or the clocks further than their lanes state).
Result<void> check(const ProfilerBench& bench, const MeasuredProfiler& measured) {
    const auto& [worst, times] = measured.passes.worst();
    if (const double percent = 100 * times.difference.median(); !(std::abs(percent) <= bench.bar))
        return fail(ErrorCode::OutOfRange,
                    "pass {} takes {:.2f} us by the profiler and {:.2f} us by events without it: {}, {} of {} "
                    "beyond the {} % that are allowed",
                    worst, 1e6 * times.by_profiler.median(), 1e6 * times.by_events.median(), times.difference_text(),
                    times.rounds_beyond(bench.bar), times.difference.count(), bench.bar);
    if (measured.alignment && times_exceeded(*measured.alignment) > 0)
        return fail(
            ErrorCode::OutOfRange,
            "one moment by both clocks: {} of {} times further apart than their lanes state, by up to {:.2f} us",
            times_exceeded(*measured.alignment), measured.alignment->excess.count(),
            1e6 * measured.alignment->excess.most());
    return {};
}

Result<void> run(const ProfilerBench& bench) {
    KG_CHECK(check_distinct(std::array{NamedFile{"--weights", bench.weights, NamedFile::Use::Read},
                                       NamedFile{"--json", bench.json, NamedFile::Use::Written}}));
    KG_TRY(auto report, BenchReport::create(bench.json));
    KG_TRY(auto accelerator, open_lane(bench.lane));
    KG_TRY(auto loader, vulkan::Loader::open());
    KG_TRY(auto instance, vulkan::Instance::create(loader));
    KG_TRY(auto display, vulkan::Device::create(*instance, {.name_contains = bench.device}));
    KG_TRY(auto bridge, interop::Bridge::create(*accelerator, display.get()));
    if (bridge->choice().topology == interop::Topology::Headless)
        return fail(ErrorCode::Unsupported, "nothing draws the panels: {}", bridge->choice().reason);
    KG_TRY(const auto measured, measure(bench, *bridge));
    KG_CHECK(report.write(to_text(bench, *bridge, measured), to_json(bench, *bridge, measured)));
    return check(bench, measured);
}

}  // namespace

void add_bench_profiler(CLI::App& bench, Action& action, const std::string& command_line) {
    auto arguments = std::make_shared<ProfilerBench>();
    arguments->command_line = command_line;
    CLI::App* command = bench.add_subcommand("profiler", "What the profiler and its panels cost a step");
    add_lane_option(*command, arguments->lane);
    command->add_option("--device", arguments->device, "Only a Vulkan device whose name contains this")
        ->type_name("NAME");
    command->add_option("--weights", arguments->weights, "Checkpoint: " + weights_help())
        ->check(check_name)
        ->type_name("CHECKPOINT")
        ->required();
    add_frame_size(*command, arguments->size);
    command
        ->add_option("--rounds", arguments->rounds,
                     "In each, steps without, hidden and shown in turn, and 9 with the times of all passes (default 6)")
        ->check(CLI::Range(1, 1000).description(""))
        ->type_name("N");
    command->add_option("--steps", arguments->steps, "Steps of each kind in a round (default 8)")
        ->check(CLI::Range(3, 1000).description(""))
        ->type_name("N");
    command
        ->add_option("--bar", arguments->bar,
                     "Fail where a pass's times by the profiler and by events without it are further apart (default 3)")
        ->check(CLI::Range(0.0, 1e9).description(""))
        ->type_name("PERCENT");
    command->add_option("--json", arguments->json, "Write the results here; -: to standard output")->type_name("FILE");
    command->final_callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace kinetograph::cli
