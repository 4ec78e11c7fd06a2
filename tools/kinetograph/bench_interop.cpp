// kinetograph bench interop: the cost of alternating between an accelerator and a Vulkan device, with and without a
// decoder, and whether any resource grows.
#include <fmt/ranges.h>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/frame_size.hpp>
#include <kinetograph/tools/kinetograph/game_loop.hpp>
#include <kinetograph/tools/kinetograph/hand_overs.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>
#include <kinetograph/tools/kinetograph/plain_decode.hpp>
#include <kinetograph/tools/kinetograph/presented_decode.hpp>
#include <kinetograph/tools/kinetograph/soak.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>

#include <array>
#include <atomic>
#include <future>
#include <optional>

namespace kinetograph::cli {
namespace {

struct InteropBench {
    std::string lane = "auto";
    std::string device;  ///< part of the Vulkan device's name; empty: any
    std::int64_t executions = 200;
    std::string weights;  ///< of a decoder to run as well; empty: only hand-overs
    vae::ModelOptions model;
    FrameSize size{.width = 1280, .height = 704};
    std::int64_t decode_steps = 48;  ///< of each of the two decoders
    std::string copy_lane = "async_compute", copies = "ahead";
    std::optional<double> most_percent;  ///< largest share of a step for interop and drawing
    std::int64_t soak = 0;
    std::int64_t pictures = 0;  ///< of a game loop, without and with the decoder; 0: none
    std::string json, command_line;
};

struct RouteTimes {
    Route route;
    HandOverTimes times;
};

/// A decoder whose frames are drawn, alternating with one of the same kind whose frames stay where it writes them.
struct MeasuredDecode {
    Samples alone;  ///< step periods of the second one
    PresentedTimes presented;
    Samples share;  ///< of a step's time that interop and drawing take; one from each round's medians

    void add_round(const Samples& alone_round, const PresentedTimes& presented_round) {
        alone.add(alone_round);
        presented.period.add(presented_round.period);
        presented.host.add(presented_round.host);
        presented.host_decode.add(presented_round.host_decode);
        share.add(1 - alone_round.median() / presented_round.period.median());
    }
};

/// Pictures of an engine at 60 Hz, from submission to end, and the decoder's steps meanwhile.
struct MeasuredGame {
    std::int64_t copies = 0;  ///< GameLoop::copies
    Samples alone, beside, steps;

    static double late(const Samples& pictures) {
        const auto& sorted = pictures.sorted();
        const auto first = std::ranges::upper_bound(sorted, to_seconds(GameLoop::kPeriod));
        return static_cast<double>(sorted.end() - first) / static_cast<double>(sorted.size());
    }
    static double p99(const Samples& pictures) { return pictures.sorted()[pictures.count() * 99 / 100]; }
};

/// All measurements.
struct MeasuredInterop {
    std::vector<RouteTimes> routes;
    std::optional<MeasuredDecode> decode;
    std::optional<Soak> soak;
    std::optional<MeasuredGame> game;
};

/// The cost of one hand-over: half of the extra cost of going there and back over staying on the accelerator.
double hand_over(const MeasuredInterop& measured, double (*figure)(const HandOverTimes&)) {
    return (figure(measured.routes[1].times) - figure(measured.routes[0].times)) / 2;
}
double one_by_one(const HandOverTimes& times) { return times.one_by_one.median(); }
double batched(const HandOverTimes& times) { return times.batched; }

std::string to_text(const MeasuredGame& game) {
    const auto line = [](std::string_view which, const Samples& pictures) {
        return fmt::format("  {:<18} {:.2f} ms median, {:.2f} p99, {:.2f} at most; {:.1f} % later than 1/60 s\n", which,
                           1e3 * pictures.median(), 1e3 * MeasuredGame::p99(pictures), 1e3 * pictures.most(),
                           100 * MeasuredGame::late(pictures));
    };
    return fmt::format("\na game loop at 60 Hz, {} scaled copies of 1920x1080 a picture, from submission to end:\n",
                       game.copies) +
           line("alone", game.alone) + line("beside the decoder", game.beside) +
           fmt::format("  whose steps then take {:.2f} ms\n", 1e3 * game.steps.median());
}

nlohmann::ordered_json to_json(const MeasuredGame& game) {
    return {{"copies", game.copies},
            {"seconds_picture_alone", game.alone.to_json()},
            {"seconds_picture_alone_p99", MeasuredGame::p99(game.alone)},
            {"late_alone", MeasuredGame::late(game.alone)},
            {"seconds_picture_beside_decoder", game.beside.to_json()},
            {"seconds_picture_beside_decoder_p99", MeasuredGame::p99(game.beside)},
            {"late_beside_decoder", MeasuredGame::late(game.beside)},
            {"seconds_per_step", game.steps.to_json()}};
}

std::string to_text(const InteropBench& bench, const interop::Bridge& bridge, const MeasuredInterop& measured) {
    Table table({"route", ">one by one us", ">its submission us", ">batched us"});
    for (const auto& [route, times] : measured.routes) {
        table.add({std::string(to_string(route)), fmt::format("{:.1f}", 1e6 * times.one_by_one.median()),
                   fmt::format("{:.1f}", 1e6 * times.submission.median()), fmt::format("{:.1f}", 1e6 * times.batched)});
    }
    std::string text = table.to_string();
    text += fmt::format("\none hand-over: {:.1f} us one by one, {:.1f} us batched; medians of {}\n",
                        1e6 * hand_over(measured, one_by_one), 1e6 * hand_over(measured, batched), bench.executions);
    if (measured.decode) {
        const auto& [alone, presented, share] = *measured.decode;
        text += fmt::format(
            "\n{} at {}x{} in {} with {} sums, four frames a step, each drawn by Vulkan; medians of {}\n"
            "  step           {:.4f} ms from picture to picture\n"
            "  decoded only   {:.4f} ms; interop and drawing take {:.2f} % of the step, {:.2f} to {:.2f} in {} rounds\n"
            "  on the host    {:.4f} ms, of which the decoder {:.4f} ms\n",
            bench.weights, bench.size.width, bench.size.height, vae::to_string(bench.model.precision),
            to_string(bench.model.sums), presented.period.count(), 1e3 * presented.period.median(),
            1e3 * alone.median(), 100 * share.median(), 100 * share.least(), 100 * share.most(), share.count(),
            1e3 * presented.host.median(), 1e3 * presented.host_decode.median());
    }
    if (measured.soak) text += '\n' + to_text(*measured.soak);
    if (measured.game) text += to_text(*measured.game);
    return text + fmt::format("\n{}\n{}; {}\n", bridge.choice().reason, describe_machine(bridge.accelerator().info()),
                              bridge.display()->report().name);
}

nlohmann::ordered_json to_json(const InteropBench& bench, const interop::Bridge& bridge,
                               const MeasuredInterop& measured) {
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
                          {"precision", vae::to_string(bench.model.precision)},
                          {"sums", to_string(bench.model.sums)},
                          {"width", bench.size.width},
                          {"height", bench.size.height},
                          {"copy_lane", bench.copy_lane},
                          {"copies", bench.copies},
                          {"seconds_per_step", measured.decode->presented.period.to_json()},
                          {"seconds_per_step_decoded_only", measured.decode->alone.to_json()},
                          {"share_of_interop_and_drawing", measured.decode->share.to_json()},
                          {"seconds_host", measured.decode->presented.host.to_json()},
                          {"seconds_host_decoder", measured.decode->presented.host_decode.to_json()}};
    }
    if (measured.soak) json["soak"] = to_json(*measured.soak);
    if (measured.game) json["game_loop"] = to_json(*measured.game);
    return json;
}

PresentedOptions presented_options(const InteropBench& bench) {
    PresentedOptions options;
    if (bench.copy_lane == "graphics") options.copy_lane = graph::Lane::Graphics;
    if (bench.copy_lane == "transfer") options.copy_lane = graph::Lane::Transfer;
    if (bench.copies == "once-decoded") options.copies = vae::Copies::OnceDecoded;
    return options;
}

/// Rounds of a few steps, the two decoders in alternating order, so that drift (a GPU's clock, other programs) affects
/// both alike. Each counted run follows an equally long one that is not counted: a GPU that was idle runs faster at
/// first than its power limit allows later.
Result<void> measure_decode(const InteropBench& bench, interop::Bridge& bridge, MeasuredInterop& measured) {
    constexpr std::int64_t kStepsOfARound = 6;
    KG_TRY(auto checkpoint, vae::Checkpoint::open(bench.weights));
    KG_TRY(const auto size, bench.size.latents(checkpoint.family()));
    KG_TRY(const auto model, vae::Model::create(bridge.accelerator(), checkpoint, bench.model));
    KG_TRY(auto presented, PresentedDecode::create(bridge, model, size, presented_options(bench)));
    state_memory(presented->clip().memory(), bridge.accelerator());
    {
        KG_TRY(auto plain, PlainDecode::create(model, size));
        MeasuredDecode times;
        const auto time_alone = [&]() -> Result<Samples> {
            KG_CHECK(plain->run(kStepsOfARound));
            return plain->run(kStepsOfARound);
        };
        for (std::int64_t round = 0; round < bench.decode_steps / kStepsOfARound; ++round) {
            const bool plain_first = round % 2 == 0;
            Result<Samples> alone = plain_first ? time_alone() : Samples{};
            KG_CHECK(alone);
            KG_CHECK(presented->run(kStepsOfARound));
            KG_TRY(auto drawn, presented->run(kStepsOfARound));
            if (!plain_first) alone = time_alone();
            KG_CHECK(alone);
            times.add_round(*alone, drawn);
        }
        measured.decode = std::move(times);
    }
    if (bench.soak == 0) return {};
    KG_TRY(measured.soak, soak_through(*presented, bench.soak));
    return {};
}

/// Pictures alone, then beside a decoder on a thread of its own, whose frames stay where it writes them.
Result<MeasuredGame> measure_game(const InteropBench& bench, interop::Bridge& bridge) {
    constexpr std::int64_t kStepsOfARound = 6, kWarmUp = 10;
    KG_TRY(auto checkpoint, vae::Checkpoint::open(bench.weights));
    KG_TRY(const auto size, bench.size.latents(checkpoint.family()));
    KG_TRY(const auto model, vae::Model::create(bridge.accelerator(), checkpoint, bench.model));
    KG_TRY(auto decoder, PlainDecode::create(model, size));
    KG_TRY(auto game, GameLoop::create(bridge.display()->device()));
    MeasuredGame measured{.copies = game->copies(), .alone = {}, .beside = {}, .steps = {}};
    KG_CHECK(game->run(kWarmUp));
    KG_TRY(measured.alone, game->run(bench.pictures));
    KG_CHECK(decoder->run(kStepsOfARound));
    std::atomic<bool> over{false};
    auto decoding = std::async(std::launch::async, [&]() -> Result<void> {
        while (!over) {
            KG_TRY(const auto steps, decoder->run(kStepsOfARound));
            measured.steps.add(steps);
        }
        return {};
    });
    const auto warm = game->run(kWarmUp);
    auto beside = game->run(bench.pictures);
    over = true;
    KG_CHECK(decoding.get());
    KG_CHECK(warm);
    KG_TRY(measured.beside, std::move(beside));
    return measured;
}

/// Errors: OutOfRange (interop and drawing take more of a step than --at-most allows).
Result<void> check_share(const InteropBench& bench, const MeasuredInterop& measured) {
    if (!measured.decode || !bench.most_percent) return {};
    const double percent = 100 * measured.decode->share.median();
    if (percent <= *bench.most_percent) return {};
    return fail(ErrorCode::OutOfRange, "interop and drawing take {:.2f} % of a step, {:.2f} % were allowed", percent,
                *bench.most_percent);
}

Result<MeasuredInterop> measure(const InteropBench& bench, interop::Bridge& bridge) {
    KG_TRY(auto hand_overs, HandOvers::create(bridge));
    MeasuredInterop measured;
    for (const Route route : {Route::AcceleratorOnly, Route::ThereAndBack}) {
        KG_TRY(auto times, hand_overs->time(route, bench.executions));
        measured.routes.push_back({route, std::move(times)});
    }
    if (!bench.weights.empty()) {
        hand_overs.reset();
        KG_CHECK(measure_decode(bench, bridge, measured));
        if (bench.pictures > 0) {
            KG_TRY(measured.game, measure_game(bench, bridge));
        }
    } else if (bench.soak > 0) {
        KG_TRY(measured.soak, soak_through(*hand_overs, bench.soak));
    }
    return measured;
}

Result<void> run(const InteropBench& bench) {
    KG_CHECK(check_distinct(std::array{NamedFile{"--weights", bench.weights, NamedFile::Use::Read},
                                       NamedFile{"--json", bench.json, NamedFile::Use::Written}}));
    KG_TRY(auto report, BenchReport::create(bench.json));
    KG_TRY(auto loader, vulkan::Loader::open());
    KG_TRY(auto instance, vulkan::Instance::create(loader));
    KG_TRY(auto display, vulkan::Device::create(*instance, {.name_contains = bench.device}));
    KG_TRY(auto accelerator, open_lane(bench.lane, 0, display.get()));
    KG_TRY(auto bridge, interop::Bridge::create(*accelerator, display.get()));
    if (bridge->choice().topology == interop::Topology::Headless)
        return fail(ErrorCode::Unsupported, "nothing to hand over: {}", bridge->choice().reason);
    KG_TRY(auto measured, measure(bench, *bridge));
    KG_CHECK(report.write(to_text(bench, *bridge, measured), to_json(bench, *bridge, measured)));
    if (measured.soak && !measured.soak->changes.empty())
        return fail(ErrorCode::OutOfRange, "the soak left traces: {}", fmt::join(measured.soak->changes, "; "));
    return check_share(bench, measured);
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
                                        "Decode and draw as well, with this checkpoint: " + weights_help());
    weights->check(check_name)->type_name("CHECKPOINT");
    add_frame_size(*command, arguments->size)->needs(weights);
    add_precision_option(*command, arguments->model.precision)->needs(weights);
    add_sums_option(*command, arguments->model.sums)->needs(weights);
    command
        ->add_option("--decode-steps", arguments->decode_steps,
                     "Timed steps with drawing, and as many without (default 48)")
        ->check(CLI::Range(12, 100'000).description(""))
        ->type_name("N")
        ->needs(weights);
    command
        ->add_option("--copy-lane", arguments->copy_lane, "Whose queue copies frames to images (default async_compute)")
        ->check(CLI::IsMember({"async_compute", "graphics", "transfer"}).description(""))
        ->type_name("async_compute|graphics|transfer")
        ->needs(weights);
    command
        ->add_option("--copies", arguments->copies,
                     "Submitted with their step (ahead, the default), or once it is done")
        ->check(CLI::IsMember({"ahead", "once-decoded"}).description(""))
        ->type_name("ahead|once-decoded")
        ->needs(weights);
    command->add_option("--at-most", arguments->most_percent, "Fail if interop and drawing take more of a step")
        ->check(CLI::Range(0.0, 100.0).description(""))
        ->type_name("PERCENT")
        ->needs(weights);
    command
        ->add_option("--steps", arguments->soak,
                     "Then run so many more, of the decoder or else of hand-overs; fail if memory or timelines drift")
        ->check(CLI::Range(1, 10'000'000).description(""))
        ->type_name("N");
    command
        ->add_option("--game-loop", arguments->pictures,
                     "Also draw so many pictures at 60 Hz, without and with the decoder beside them, and time them")
        ->check(CLI::Range(10, 100'000).description(""))
        ->type_name("N")
        ->needs(weights);
    command->add_option("--json", arguments->json, "Write the results here; -: to standard output")->type_name("FILE");
    command->final_callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace kinetograph::cli
