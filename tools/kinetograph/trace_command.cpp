// kinetograph trace: the tables of a capture that view or decode has written, or what changed between two.
#include <kinetograph/engine/profile/profile.hpp>
#include <kinetograph/engine/profile/report.hpp>
#include <kinetograph/engine/profile/statistics.hpp>
#include <kinetograph/engine/profile/trace.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>
#include <kinetograph/tools/kinetograph/text_output.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace kinetograph::cli {
namespace {

using profile::Capture;
using profile::PassChange;
using profile::PassSummary;
using ui::human_time;

struct TraceArguments {
    std::string file, other;  ///< other empty: nothing to compare with
    std::string csv;          ///< empty: not wanted
    std::size_t top = 30;
};

/// A capture as read: the profile refers to the recorder of the file.
struct ReadCapture {
    profile::TraceFile file;
    std::unique_ptr<profile::Profile> profile;
    Capture capture;
    profile::Window window;
};

/// Sets each pass's share of all spans in the file; the profile's own shares cover the newest seconds only.
void set_shares(std::span<const profile::Span> spans, ReadCapture& read) {
    std::map<std::pair<std::string_view, std::string_view>, double> shares;
    const auto passes = profile::summarize_passes(spans, read.window);
    for (const auto& pass : passes) shares[{pass.name, pass.track}] = pass.share;
    for (PassSummary& pass : read.capture.passes) pass.share = shares[{pass.name, pass.track}];
    std::ranges::stable_sort(read.capture.passes, std::greater{}, &PassSummary::share);
}

Result<ReadCapture> read_capture(const std::string& path) {
    ReadCapture read;
    KG_TRY(read.file, profile::read_chrome_trace(path));
    const auto spans = read.file.recorder->spans();
    if (spans.empty()) return fail(ErrorCode::InvalidArgument, "{}: there are no spans in it", path);
    read.window = {Nanoseconds::max(), Nanoseconds::min()};
    for (const profile::Span& span : spans) {
        read.window.begin = std::min(read.window.begin, span.begin);
        read.window.end = std::max(read.window.end, span.end);
    }
    read.profile = std::make_unique<profile::Profile>(*read.file.recorder);
    read.profile->finish(read.window.end);
    read.capture = read.profile->capture(path);
    set_shares(spans, read);
    return read;
}

std::string per_second(double amount, Nanoseconds time, double unit) {
    const double seconds = static_cast<double>(time.count()) * 1e-9;
    return amount > 0 && seconds > 0 ? fmt::format("{:.2f}", amount / seconds / unit) : "";
}

std::string passes_table(const Capture& capture, std::size_t top) {
    Table table({"pass", "lane", ">share", ">calls", ">first", ">mean", ">p50", ">p95", ">p99", ">max", ">TFLOP/s",
                 ">of peak", ">GB/s", ">of peak", ">roofline", "kernel"});
    const auto percent = [](double part) { return part > 0 ? fmt::format("{:.0f}%", 100.0 * part) : std::string(); };
    for (std::size_t i = 0; i < std::min(top, capture.passes.size()); ++i) {
        const PassSummary& pass = capture.passes[i];
        table.add({pass.name, pass.track, fmt::format("{:.1f}%", 100.0 * pass.share), fmt::format("{}", pass.calls),
                   human_time(pass.first), human_time(pass.mean), human_time(pass.p50), human_time(pass.p95),
                   human_time(pass.p99), human_time(pass.max), per_second(pass.operations, pass.p50, 1e12),
                   percent(pass.of_peak_operations), per_second(static_cast<double>(pass.bytes), pass.p50, 1e9),
                   percent(pass.of_peak_bandwidth), percent(pass.of_roofline), pass.kernel});
    }
    std::string text = table.to_string();
    if (capture.passes.size() > top) text += fmt::format("{} more passes (--top)\n", capture.passes.size() - top);
    return text;
}

std::string lanes_table(const ReadCapture& read, std::span<const profile::Span> spans) {
    Table table({"lane", ">busy"});
    for (const profile::TrackStatistics& track : profile::summarize_tracks(spans, read.window))
        table.add({track.track, fmt::format("{:.1f}%", 100.0 * track.busy)});
    return table.to_string();
}

/// Empty if nothing was counted.
std::string counters_table(const profile::Recorder& recorder) {
    struct Range {
        double least, sum, most;
        std::size_t samples;
    };
    std::map<profile::NameId, Range> ranges;
    for (const profile::CounterSample& sample : recorder.counters()) {
        const auto [entry, is_new] = ranges.try_emplace(sample.name, Range{sample.value, 0.0, sample.value, 0});
        Range& range = entry->second;
        range.least = std::min(range.least, sample.value);
        range.most = std::max(range.most, sample.value);
        range.sum += sample.value;
        ++range.samples;
    }
    if (ranges.empty()) return {};
    Table table({"counter", ">least", ">mean", ">most", ">samples"});
    for (const auto& [name, range] : ranges)
        table.add({std::string(recorder.names().text(name)), fmt::format("{:.1f}", range.least),
                   fmt::format("{:.1f}", range.sum / static_cast<double>(range.samples)),
                   fmt::format("{:.1f}", range.most), fmt::format("{}", range.samples)});
    return table.to_string() + "\n";
}

/// Empty if no frame was shown.
std::string pacing_text(const profile::Profile& profile) {
    const profile::Pacing& pacing = profile.pacing();
    if (pacing.frames == 0) return {};
    std::string text = fmt::format("{} frames, {} late", pacing.frames, pacing.late);
    if (const double mean = static_cast<double>(pacing.intervals.mean().count()) * 1e-9; mean > 0)
        text += fmt::format("; {:.1f} frames/s, lows: 1% {:.1f}, 0.1% {:.1f}", 1.0 / mean, pacing.low(0.01),
                            pacing.low(0.001));
    Table table({"frames", ">mean", ">p50", ">p95", ">p99", ">max"});
    for (const auto& [part, sketch] :
         {std::pair("interval", &pacing.intervals), std::pair("decode", &pacing.decode),
          std::pair("queue", &pacing.queued), std::pair("present", &pacing.present),
          std::pair("latency", &pacing.latency), std::pair("to screen", &pacing.to_screen)})
        if (sketch->max() > Nanoseconds{})
            table.add({part, human_time(sketch->mean()), human_time(sketch->quantile(0.5)),
                       human_time(sketch->quantile(0.95)), human_time(sketch->quantile(0.99)),
                       human_time(sketch->max())});
    text += "\n" + table.to_string();
    for (const profile::LateFrame& late : pacing.late_frames)
        if (late.pass != 0)
            text += fmt::format("late: frame {}: {} took {} more than its median in step {} of plan {}\n", late.index,
                                profile.text(late.pass), human_time(late.excess), late.step.execution, late.step.plan);
    return text + "\n";
}

/// For every plan: its steps, and what the newest one waited for.
std::string steps_text(const profile::Profile& profile) {
    std::string text;
    for (const profile::PlanSteps& steps : profile.steps()) {
        const auto plan = profile.plan(steps.plan);
        if (plan == nullptr) continue;
        text += fmt::format("\nplan {}, {} passes: {} steps, the first {}", steps.plan, plan->passes.size(),
                            steps.later.count() + 1, human_time(steps.first));
        if (steps.later.count() > 0)
            text += fmt::format(", later ones {} (median), {} (p95), {} (max)", human_time(steps.later.quantile(0.5)),
                                human_time(steps.later.quantile(0.95)), human_time(steps.later.max()));
        text += "\n";
        const profile::Step& newest = steps.newest.back();
        for (const profile::IdleGap& gap :
             idle_gaps(newest, *plan, profile.recorder().names(), newest.length() / 20, profile.surroundings(newest)))
            text += fmt::format("  {} idle for {}: {}\n", profile.text(gap.track), human_time(gap.end - gap.begin),
                                gap.reason);
    }
    for (const profile::Spike& spike : profile.spikes())
        text += fmt::format("spike: step {} of plan {} took {}, the median is {}\n", spike.step.execution,
                            spike.step.plan, human_time(spike.step.length()), human_time(spike.median));
    return text;
}

std::string describe(const ReadCapture& read) {
    std::string text = fmt::format("{}: {} of {} passes\n", read.capture.label, human_time(read.window.length()),
                                   read.capture.passes.size());
    for (const auto& [fact, value] : read.file.facts) text += fmt::format("{}: {}\n", fact, value);
    if (read.file.missed_spans > 0)
        text += fmt::format("{} older spans are missing: they were overwritten before the capture was written\n",
                            read.file.missed_spans);
    for (const auto& [track, ceiling] : read.file.recorder->ceilings())
        text +=
            fmt::format("roofline of {}: {:.2f} TFLOP/s, {:.1f} GB/s ({})\n", read.file.recorder->names().text(track),
                        ceiling.operations_per_second / 1e12, ceiling.bytes_per_second / 1e9, ceiling.source);
    for (const profile::TrackClock& clock : read.file.recorder->clocks())
        text +=
            fmt::format("clock of {}: +-{:.2f} us, drift {:.2f} ppm\n", read.file.recorder->names().text(clock.track),
                        1e-3 * static_cast<double>(clock.error.count()), clock.drift_ppm);
    return text;
}

std::string changes_table(const std::vector<PassChange>& changes, std::size_t top) {
    const auto mean = [](const PassSummary* side) { return side != nullptr ? human_time(side->mean) : std::string(); };
    Table table({"pass", "lane", ">before", ">after", ">change", ">of it", ">by chance", ""});
    for (std::size_t i = 0; i < std::min(top, changes.size()); ++i) {
        const PassChange& change = changes[i];
        const PassSummary& either = change.before != nullptr ? *change.before : *change.after;
        const bool both = change.is_on_both_sides();
        table.add({either.name, either.track, mean(change.before), mean(change.after),
                   both ? human_time(change.change) : "",
                   both ? fmt::format("{:+.1f}%", 100.0 * (change.ratio - 1.0)) : "",
                   both ? fmt::format("{:.2g}", change.chance) : "",
                   !both                      ? (change.before == nullptr ? "new" : "gone")
                   : !change.is_significant() ? ""
                   : change.ratio > 1.0       ? "slower"
                                              : "faster"});
    }
    return table.to_string();
}

Result<void> run(const TraceArguments& arguments) {
    using Use = NamedFile::Use;
    KG_CHECK(check_distinct(std::array{NamedFile{"CAPTURE", arguments.file, Use::Read},
                                       NamedFile{"OTHER", arguments.other, Use::Read},
                                       NamedFile{"--csv", arguments.csv, Use::Written}}));
    KG_TRY(const auto read, read_capture(arguments.file));
    if (!arguments.csv.empty()) {
        KG_TRY(auto csv, TextOutput::create(arguments.csv));
        KG_CHECK(csv.write(profile::to_csv(read.capture)));
        if (arguments.csv == "-") return {};
    }
    if (arguments.other.empty()) {
        const auto spans = read.file.recorder->spans();
        return print(describe(read) + "\n" + passes_table(read.capture, arguments.top) + "\n" +
                     pacing_text(*read.profile) + counters_table(*read.file.recorder) + lanes_table(read, spans) +
                     steps_text(*read.profile));
    }
    KG_TRY(const auto other, read_capture(arguments.other));
    return print(describe(read) + describe(other) + "\n" +
                 changes_table(compare(read.capture, other.capture), arguments.top));
}

}  // namespace

void add_trace(CLI::App& app, Action& action) {
    auto arguments = std::make_shared<TraceArguments>();
    CLI::App* command = app.add_subcommand("trace", "Show the passes of a capture, or compare two captures");
    command->add_option("capture", arguments->file, "Written by `view --trace` or `decode --trace`")
        ->required()
        ->type_name("CAPTURE.json");
    command->add_option("other", arguments->other, "What changed from CAPTURE to this one")->type_name("OTHER.json");
    command->add_option("--csv", arguments->csv, "Write every pass of CAPTURE here; -: to standard output, alone")
        ->type_name("FILE");
    command->add_option("--top", arguments->top, "Rows of a table (default 30)")
        ->check(CLI::Range(1, 1'000'000).description(""))
        ->type_name("N");
    command->final_callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace kinetograph::cli
