// kinetograph bench interop: what an accelerator and a Vulkan device that take turns cost each other, with and without
// a decoder, and whether anything grows.
#include <fmt/ranges.h>
#include <kinetograph/engine/profile/recorder.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/frame_size.hpp>
#include <kinetograph/tools/kinetograph/hand_overs.hpp>
#include <kinetograph/tools/kinetograph/presented_decode.hpp>
#include <kinetograph/tools/kinetograph/soak.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>

#include <map>

namespace kinetograph::cli {
namespace {

struct InteropBench {
    LaneChoice lane = LaneChoice::Auto;
    std::string device;  ///< part of the Vulkan device's name; empty: any
    std::int64_t executions = 200;
    std::string weights;  ///< of a decoder that runs too; empty: hand-overs only
    FrameSize size{.width = 1280, .height = 704};
    std::int64_t decode_steps = 24;
    std::int64_t soak = 0;
    std::string json, command_line;
};

struct RouteTimes {
    Route route;
    HandOverTimes times;
};

/// A decoder whose frames are drawn.
struct DecodeTimes {
    double passes = 0;  ///< what the decoder's own passes take of a step, seconds
    PresentedTimes times;
    /// Of a step, the part that is none of the decoder's passes: frame graph, interop and presentation.
    double share_beside_passes() const { return 1 - passes / times.period.median(); }
};

/// Everything that was measured.
struct Measured {
    std::vector<RouteTimes> routes;
    std::optional<DecodeTimes> decode;
    std::optional<Soak> soak;
};

/// What one hand-over adds: half of what the way there and back costs more than staying on the accelerator.
double hand_over(const Measured& measured, double (*figure)(const HandOverTimes&)) {
    return (figure(measured.routes[1].times) - figure(measured.routes[0].times)) / 2;
}
double one_by_one(const HandOverTimes& times) { return times.one_by_one.median(); }
double batched(const HandOverTimes& times) { return times.batched; }

std::string to_text(const InteropBench& bench, const interop::Bridge& bridge, const Measured& measured) {
    Table table({"route", ">one by one us", ">its submission us", ">batched us"});
    for (const auto& [route, times] : measured.routes) {
        table.add({std::string(to_string(route)), fmt::format("{:.1f}", 1e6 * times.one_by_one.median()),
                   fmt::format("{:.1f}", 1e6 * times.submission.median()), fmt::format("{:.1f}", 1e6 * times.batched)});
    }
    std::string text = table.to_string();
    text += fmt::format("\none hand-over: {:.1f} us one by one, {:.1f} us batched; medians of {}\n",
                        1e6 * hand_over(measured, one_by_one), 1e6 * hand_over(measured, batched), bench.executions);
    if (measured.decode) {
        const auto& [passes, times] = *measured.decode;
        text += fmt::format(
            "\n{} at {}x{}, four frames a step, each drawn by Vulkan; medians of {}\n"
            "  step           {:.4f} ms from picture to picture\n"
            "  its passes     {:.4f} ms on the accelerator; graph, interop and presentation are {:.2f} % of the step\n"
            "  on the host    {:.4f} ms, of which the decoder {:.4f} ms\n",
            bench.weights, bench.size.width, bench.size.height, times.period.count(), 1e3 * times.period.median(),
            1e3 * passes, 100 * measured.decode->share_beside_passes(), 1e3 * times.host.median(),
            1e3 * times.host_decode.median());
    }
    if (measured.soak) text += '\n' + to_text(*measured.soak);
    return text + fmt::format("\n{}\n{}; {}\n", bridge.choice().reason, describe_machine(bridge.accelerator().info()),
                              bridge.display()->report().name);
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
    if (measured.decode) {
        json["decode"] = {{"weights", bench.weights},
                          {"width", bench.size.width},
                          {"height", bench.size.height},
                          {"seconds_per_step", measured.decode->times.period.to_json()},
                          {"seconds_passes", measured.decode->passes},
                          {"share_beside_passes", measured.decode->share_beside_passes()},
                          {"seconds_host", measured.decode->times.host.to_json()},
                          {"seconds_host_decoder", measured.decode->times.host_decode.to_json()}};
    }
    if (measured.soak) json["soak"] = to_json(*measured.soak);
    return json;
}

/// Median over the steps of what a step's spans add up to.
double time_in_passes(const profile::Recorder& recorder) {
    std::map<std::uint64_t, double> steps;
    for (const profile::Span& span : recorder.spans()) steps[span.execution] += to_seconds(span.end - span.begin);
    Samples sums;
    for (const auto& [execution, seconds] : steps) sums.add(seconds);
    return sums.empty() ? 0 : sums.median();
}

/// The passes' times come from a decoder with stamps between them, everything else from one without.
Result<void> measure_decode(const InteropBench& bench, interop::Bridge& bridge, Measured& measured) {
    KG_TRY(auto checkpoint, vae::Checkpoint::open(bench.weights));
    const vae::LatentSize size = bench.size.latents();
    DecodeTimes decode;
    {
        profile::Recorder recorder;
        vae::DecoderOptions options;
        options.recorder = &recorder;
        KG_TRY(auto stamped, PresentedDecode::create(bridge, checkpoint, size, options));
        state_memory(stamped->decoder(), bridge.accelerator().info());
        KG_CHECK(stamped->run(bench.decode_steps));
        decode.passes = time_in_passes(recorder);
    }
    KG_TRY(auto plain, PresentedDecode::create(bridge, checkpoint, size, {}));
    KG_TRY(decode.times, plain->run(bench.decode_steps));
    measured.decode = std::move(decode);
    if (bench.soak == 0) return {};
    KG_TRY(measured.soak, soak_through(*plain, bench.soak));
    return {};
}

Result<Measured> measure(const InteropBench& bench, interop::Bridge& bridge) {
    KG_TRY(auto hand_overs, HandOvers::create(bridge));
    Measured measured;
    for (const Route route : {Route::AcceleratorOnly, Route::ThereAndBack}) {
        KG_TRY(auto times, hand_overs->time(route, bench.executions));
        measured.routes.push_back({route, std::move(times)});
    }
    if (!bench.weights.empty()) {
        hand_overs.reset();
        KG_CHECK(measure_decode(bench, bridge, measured));
    } else if (bench.soak > 0) {
        KG_TRY(measured.soak, soak_through(*hand_overs, bench.soak));
    }
    return measured;
}

Result<void> run(const InteropBench& bench) {
    KG_TRY(auto report, BenchReport::create(bench.json));
    KG_TRY(auto accelerator, open_lane(bench.lane));
    KG_TRY(auto loader, vulkan::Loader::open());
    KG_TRY(auto instance, vulkan::Instance::create(loader));
    KG_TRY(auto display, vulkan::Device::create(*instance, {.name_contains = bench.device}));
    KG_TRY(auto bridge, interop::Bridge::create(*accelerator, display.get()));
    if (bridge->choice().topology == interop::Topology::Headless)
        return fail(ErrorCode::Unsupported, "nothing to hand over: {}", bridge->choice().reason);
    KG_TRY(auto measured, measure(bench, *bridge));
    auto written = report.write(to_text(bench, *bridge, measured), to_json(bench, *bridge, measured));
    if (!written) return written;
    if (measured.soak && !measured.soak->changes.empty())
        return fail(ErrorCode::OutOfRange, "the soak left traces: {}", fmt::join(measured.soak->changes, "; "));
    return {};
}

}  // namespace

void add_bench_interop(CLI::App& bench, Action& action, const std::string& command_line) {
    auto arguments = std::make_shared<InteropBench>();
    arguments->command_line = command_line;
    CLI::App* command = bench.add_subcommand("interop", "What an accelerator and Vulkan cost each other");
    add_lane_option(*command, arguments->lane);
    command->add_option("--device", arguments->device, "Only a Vulkan device whose name contains this")
        ->type_name("NAME");
    command->add_option("--executions", arguments->executions, "Timed executions of each route (default 200)")
        ->check(CLI::Range(1, 100'000).description(""))
        ->type_name("N");
    auto* weights = command->add_option("--weights", arguments->weights,
                                        "Decode and draw as well: a checkpoint, or synthetic:wan2.1[,dim=N]");
    weights->type_name("CHECKPOINT");
    add_frame_size(*command, arguments->size)->needs(weights);
    command->add_option("--decode-steps", arguments->decode_steps, "Timed steps of the decoder (default 24)")
        ->check(CLI::Range(8, 100'000).description(""))
        ->type_name("N")
        ->needs(weights);
    command
        ->add_option("--steps", arguments->soak,
                     "Then run so many more, of the decoder or else of hand-overs; fail if memory or timelines drift")
        ->check(CLI::Range(1, 10'000'000).description(""))
        ->type_name("N");
    command->add_option("--json", arguments->json, "Write the results here; -: to standard output")->type_name("FILE");
    command->final_callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace kinetograph::cli
