// kinetograph bench interop: what it costs an accelerator and a Vulkan device to take turns, and whether anything
// grows.
#include <fmt/ranges.h>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/hand_overs.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>

#include <array>

namespace kinetograph::cli {
namespace {

struct InteropBench {
    LaneChoice lane = LaneChoice::Auto;
    std::string device;  ///< part of the Vulkan device's name; empty: any
    std::int64_t executions = 200;
    std::int64_t soak = 0;
    std::string json, command_line;
};

struct RouteTimes {
    Route route;
    HandOverTimes times;
};

/// Everything that was measured.
struct Measured {
    std::vector<RouteTimes> routes;
    InteropState before, after;  ///< the soak
    double soak_seconds = 0;
};

/// What one hand-over adds: half of what the way there and back costs more than staying on the accelerator.
double hand_over(const Measured& measured, double (*figure)(const HandOverTimes&)) {
    return (figure(measured.routes[1].times) - figure(measured.routes[0].times)) / 2;
}
double one_by_one(const HandOverTimes& times) { return times.one_by_one.median(); }
double batched(const HandOverTimes& times) { return times.batched; }

constexpr std::uint64_t kResidentGrowth = 16U << 20U;  // of a process whose allocator keeps what is freed

/// What should have stayed as it was, in one sentence each; empty: nothing did change.
std::vector<std::string> changes(const Measured& measured) {
    const InteropState &before = measured.before, &after = measured.after;
    std::vector<std::string> sentences;
    if (after.accelerator_bytes != before.accelerator_bytes)
        sentences.push_back(fmt::format("the accelerator's memory went from {} to {} bytes", before.accelerator_bytes,
                                        after.accelerator_bytes));
    if (after.vulkan_bytes != before.vulkan_bytes)
        sentences.push_back(
            fmt::format("Vulkan's memory went from {} to {} bytes", before.vulkan_bytes, after.vulkan_bytes));
    if (after.resident_bytes > before.resident_bytes + kResidentGrowth)
        sentences.push_back(
            fmt::format("the process grew from {} to {} bytes in memory", before.resident_bytes, after.resident_bytes));
    const auto check = [&](std::string_view name, const InteropState::Timeline& timeline) {
        if (timeline.value != timeline.expected)
            sentences.push_back(
                fmt::format("the {} timeline is at {} instead of {}", name, timeline.value, timeline.expected));
    };
    check("accelerator's", after.accelerator);
    check("Vulkan lane's", after.vulkan);
    return sentences;
}

std::string to_text(const InteropBench& bench, const interop::Bridge& bridge, const Measured& measured) {
    Table table({"route", ">one by one us", ">its submission us", ">batched us"});
    for (const auto& [route, times] : measured.routes) {
        table.add({std::string(to_string(route)), fmt::format("{:.1f}", 1e6 * times.one_by_one.median()),
                   fmt::format("{:.1f}", 1e6 * times.submission.median()), fmt::format("{:.1f}", 1e6 * times.batched)});
    }
    std::string text =
        table.to_string() + fmt::format("\none hand-over: {:.1f} us one by one, {:.1f} us batched; medians of {}\n",
                                        1e6 * hand_over(measured, one_by_one), 1e6 * hand_over(measured, batched),
                                        bench.executions);
    if (bench.soak > 0) {
        const InteropState &before = measured.before, &after = measured.after;
        Table soak({"soak", ">before", ">after"});
        const auto row = [&](const char* name, std::uint64_t a, std::uint64_t b) {
            soak.add({name, std::to_string(a), std::to_string(b)});
        };
        row("executions", before.executions, after.executions);
        row("accelerator's memory, bytes", before.accelerator_bytes, after.accelerator_bytes);
        row("Vulkan's memory, bytes", before.vulkan_bytes, after.vulkan_bytes);
        row("this process in memory, bytes", before.resident_bytes, after.resident_bytes);
        row("accelerator's timeline", before.accelerator.value, after.accelerator.value);
        row("as executions say", before.accelerator.expected, after.accelerator.expected);
        row("Vulkan lane's timeline", before.vulkan.value, after.vulkan.value);
        row("as executions say", before.vulkan.expected, after.vulkan.expected);
        text += fmt::format("\n{}{} executions in {:.2f} s\n", soak.to_string(), bench.soak, measured.soak_seconds);
    }
    return text + fmt::format("\n{}\n{}; {}\n", bridge.choice().reason, describe_machine(bridge.accelerator().info()),
                              bridge.display()->report().name);
}

nlohmann::ordered_json to_json(const InteropState& state) {
    return {{"executions", state.executions},
            {"accelerator_bytes", state.accelerator_bytes},
            {"vulkan_bytes", state.vulkan_bytes},
            {"resident_bytes", state.resident_bytes},
            {"accelerator_timeline", {{"value", state.accelerator.value}, {"expected", state.accelerator.expected}}},
            {"vulkan_timeline", {{"value", state.vulkan.value}, {"expected", state.vulkan.expected}}}};
}

nlohmann::ordered_json to_json(const InteropBench& bench, const interop::Bridge& bridge, const Measured& measured) {
    nlohmann::ordered_json json = report_head("interop", bench.command_line, bridge.accelerator().info());
    json["machine"]["vulkan_device"] = bridge.display()->report().name;
    json["machine"]["vulkan_driver"] = bridge.display()->report().driver;
    json["topology"] = interop::to_string(bridge.choice().topology);
    json["topology_reason"] = bridge.choice().reason;
    json["executions"] = bench.executions;
    for (const auto& [route, times] : measured.routes) {
        json["routes"].push_back({{"route", to_string(route)},
                                  {"seconds_one_by_one", times.one_by_one.to_json()},
                                  {"seconds_submission", times.submission.to_json()},
                                  {"seconds_batched", times.batched}});
    }
    json["seconds_hand_over_one_by_one"] = hand_over(measured, one_by_one);
    json["seconds_hand_over_batched"] = hand_over(measured, batched);
    if (bench.soak > 0) {
        json["soak"] = {{"steps", bench.soak},
                        {"seconds", measured.soak_seconds},
                        {"before", to_json(measured.before)},
                        {"after", to_json(measured.after)},
                        {"changes", changes(measured)}};
    }
    return json;
}

Result<Measured> measure(const InteropBench& bench, interop::Bridge& bridge) {
    auto hand_overs = HandOvers::create(bridge);
    if (!hand_overs) return fail(hand_overs.error());
    Measured measured;
    for (const Route route : {Route::AcceleratorOnly, Route::ThereAndBack}) {
        auto times = (*hand_overs)->time(route, bench.executions);
        if (!times) return fail(times.error());
        measured.routes.push_back({route, std::move(*times)});
    }
    measured.before = (*hand_overs)->state();
    const Nanoseconds begin = host_now();
    if (auto soaked = (*hand_overs)->soak(bench.soak); !soaked) return fail(soaked.error());
    measured.soak_seconds = to_seconds(host_now() - begin);
    measured.after = (*hand_overs)->state();
    return measured;
}

Result<void> run(const InteropBench& bench) {
    auto report = BenchReport::create(bench.json);
    if (!report) return fail(report.error());
    auto accelerator = open_lane(bench.lane);
    if (!accelerator) return fail(accelerator.error());
    auto loader = vulkan::Loader::open();
    if (!loader) return fail(loader.error());
    auto instance = vulkan::Instance::create(*loader);
    if (!instance) return fail(instance.error());
    auto display = vulkan::Device::create(**instance, {.name_contains = bench.device});
    if (!display) return fail(display.error());
    auto bridge = interop::Bridge::create(**accelerator, display->get());
    if (!bridge) return fail(bridge.error());
    if ((*bridge)->choice().topology == interop::Topology::Headless)
        return fail(ErrorCode::Unsupported, "nothing to hand over: {}", (*bridge)->choice().reason);
    auto measured = measure(bench, **bridge);
    if (!measured) return fail(measured.error());
    auto written = report->write(to_text(bench, **bridge, *measured), to_json(bench, **bridge, *measured));
    if (!written) return written;
    if (const auto grown = changes(*measured); !grown.empty())
        return fail(ErrorCode::OutOfRange, "the soak left traces: {}", fmt::join(grown, "; "));
    return {};
}

}  // namespace

void add_bench_interop(CLI::App& bench, Action& action, const std::string& command_line) {
    auto arguments = std::make_shared<InteropBench>();
    arguments->command_line = command_line;
    CLI::App* command = bench.add_subcommand("interop", "What hand-overs between an accelerator and Vulkan cost");
    add_lane_option(*command, arguments->lane);
    command->add_option("--device", arguments->device, "Only a Vulkan device whose name contains this")
        ->type_name("NAME");
    command->add_option("--executions", arguments->executions, "Timed executions of each route (default 200)")
        ->check(CLI::Range(1, 100'000).description(""))
        ->type_name("N");
    command->add_option("--steps", arguments->soak, "Then run so many more, and fail if memory or timelines drift")
        ->check(CLI::Range(1, 10'000'000).description(""))
        ->type_name("N");
    command->add_option("--json", arguments->json, "Write the results here; -: to standard output")->type_name("FILE");
    command->final_callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace kinetograph::cli
