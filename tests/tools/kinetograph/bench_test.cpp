// kinetograph bench: the contents of its reports, on the CPU lane.
#include <algorithm>
#include <cmath>
#include <map>

#include "latent_files.hpp"
#include "program_json.hpp"

namespace kinetograph::test {
namespace {

/// The beginning of every report.
void expect_head(const nlohmann::json& json, const std::string& bench) {
    EXPECT_EQ(json.at("bench"), bench);
    EXPECT_FALSE(json.at("commit").get<std::string>().empty());
    EXPECT_NE(json.at("command").get<std::string>().find(" bench " + bench + " "), std::string::npos);
    EXPECT_EQ(json.at("machine").at("lane"), "cpu");
    for (const char* name : {"device", "driver", "features"})
        EXPECT_FALSE(json.at("machine").at(name).get<std::string>().empty()) << name;
    EXPECT_GT(json.at("machine").at("compute_units").get<int>(), 0);
    EXPECT_GT(json.at("machine").at("memory_bytes").get<std::uint64_t>(), 0);
}

std::vector<std::string> bench_decode(const std::string& steps, const std::string& rounds) {
    return {"bench",  "decode", "--weights", kSmallWeights, "--size",   "48x32",
            "--lane", "cpu",    "--steps",   steps,         "--rounds", rounds};
}

TEST(BenchDecode, ReportsTheSteadyRateAndACostForEveryPassWhoseSharesAddUpToOne) {
    const auto json = run_json(bench_decode("4", "1"));
    expect_head(json, "decode");
    EXPECT_EQ(json.at("seconds_per_step_all").size(), 2U);
    EXPECT_NEAR(json.at("fps_steady").get<double>(), 4 / json.at("seconds_per_step").get<double>(), 1e-6);
    double shares = 0, medians = 0;
    for (const auto& pass : json.at("passes")) {
        shares += pass.at("share").get<double>();
        medians += pass.at("seconds_median").get<double>();
        EXPECT_EQ(pass.at("count"), 2) << pass.at("name");
    }
    EXPECT_GT(json.at("passes").size(), 10U);
    EXPECT_NEAR(shares, 1.0, 1e-6);
    EXPECT_GT(medians, 0);
}

TEST(BenchClips, ReportsStreamsThatShareAndWhatAFurtherOneTakes) {
    const auto json = run_json({"bench", "clips", "--lane", "cpu", "--weights", "synthetic:taew2.1,dim=4", "--size",
                                "64x64", "--steps", "3", "--clips", "1", "3", "--rate", "40"});
    expect_head(json, "clips");
    EXPECT_TRUE(json.at("shared").get<bool>());
    ASSERT_EQ(json.at("clips").size(), 2U);
    const auto& three = json.at("clips").at(1);
    EXPECT_EQ(three.at("clips"), 3);
    EXPECT_EQ(three.at("fps_of_each").at("count"), 3);
    EXPECT_EQ(three.at("seconds_wait").at("count"), 3 * 3);
    EXPECT_GE(three.at("seconds_wait_p99").get<double>(), three.at("seconds_wait").at("median").get<double>());
    EXPECT_EQ(three.at("queued_steps"), 3 * (1 + 3));
    EXPECT_EQ(three.at("further_clip_bytes"), three.at("declared_bytes"));
    EXPECT_LT(three.at("further_clip_bytes"), json.at("clips").at(0).at("further_clip_bytes"));
    EXPECT_LT(three.at("fps").get<double>(), 3 * 40 * 3.0 / 2);  // the last of three steps is pushed two periods late
    EXPECT_GT(json.at("state").at("bytes").get<int>(), 0);
    EXPECT_EQ(json.at("state").at("seconds_fork").at("count"), 5);
}

TEST(BenchDecode, CountsAllFramesOfTheClipAndLeavesTheFirstOfSeveralRoundsOut) {
    const auto json = run_json(bench_decode("3", "3"));
    EXPECT_EQ(json.at("frames"), 9);
    const auto& clip = json.at("seconds_clip");
    EXPECT_EQ(clip.at("count"), 2);
    EXPECT_DOUBLE_EQ(clip.at("median").get<double>(),
                     (clip.at("min").get<double>() + clip.at("max").get<double>()) / 2);
    EXPECT_NEAR(json.at("fps_clip").get<double>(), 9 / json.at("seconds_clip").at("median").get<double>(), 1e-6);
    EXPECT_EQ(json.at("seconds_per_step_all").size(), 1U + 2U + 2U);
    EXPECT_EQ(json.at("seconds_per_step_on_device").at("count"), 5);
    EXPECT_LE(json.at("seconds_per_step_on_device").at("min").get<double>(),
              json.at("seconds_per_step_all").back().get<double>());
    EXPECT_GT(json.at("seconds_first_frame_after_load").get<double>(), 0);
    EXPECT_GT(json.at("seconds_load").get<double>(), 0);
}

TEST(BenchDecode, TakesSeveralLatentFramesAStepAndCountsTheWholeSteps) {
    auto arguments = bench_decode("6", "1");
    arguments.insert(arguments.end(), {"--no-passes", "--latent-frames", "2"});
    const auto json = run_json(arguments);
    EXPECT_EQ(json.at("frames"), 21);
    EXPECT_EQ(json.at("latent_frames_a_step"), 2);
    EXPECT_EQ(json.at("seconds_per_step_all").size(), 1U);  // the steps take 1, 2, 2 and 1; the first of 2 is separate
    EXPECT_NEAR(json.at("fps_steady").get<double>(), 8 / json.at("seconds_per_step").get<double>(), 1e-6);
}

/// Of any clip there are the first frame and the whole clip's rate.
void expect_no_steady_step(const std::vector<std::string>& arguments, int frames) {
    const auto json = run_json(arguments);
    EXPECT_EQ(json.at("frames"), frames);
    for (const char* figure : {"seconds_per_step", "seconds_per_step_on_device", "fps_steady"})
        EXPECT_TRUE(json.at(figure).is_null()) << figure << ": " << json.at(figure);
    EXPECT_TRUE(json.at("seconds_per_step_all").empty()) << json;
    EXPECT_FALSE(json.contains("passes"));
    EXPECT_GT(json.at("seconds_first_frame_after_load").get<double>(), 0);
    EXPECT_NEAR(json.at("fps_clip").get<double>(), frames / json.at("seconds_clip").at("median").get<double>(), 1e-6);
    const auto text = run_program(arguments);
    ASSERT_EQ(text.exit_code, 0) << text.messages;
    EXPECT_NE(text.out.find("steady step    none"), std::string::npos) << text.out;
    EXPECT_EQ(text.out.find("steady rate"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find(fmt::format("{} frame", frames)), std::string::npos) << text.out;
}

TEST(BenchDecode, SaysOfAClipWithoutSteadyStepsWhatItHas) {
    expect_no_steady_step(bench_decode("1", "3"), 1);
    expect_no_steady_step(bench_decode("2", "1"), 5);
    EXPECT_TRUE(run_json(bench_decode("1", "1")).at("seconds_second_step").is_null());
    EXPECT_GT(run_json(bench_decode("2", "1")).at("seconds_second_step").get<double>(), 0);
    auto of_two = bench_decode("4", "1");  // the steps take 1, 2 and 1
    of_two.insert(of_two.end(), {"--latent-frames", "2"});
    expect_no_steady_step(of_two, 13);
    EXPECT_EQ(run_program(bench_decode("0", "1")).exit_code, 2);
}

TEST(BenchDecode, TimesAPictureAndTheMemoryOfASecondOne) {
    const std::vector<std::string> picture{"bench",   "decode", "--weights", "synthetic:qwen-image,dim=8",
                                           "--size",  "48x32",  "--lane",    "cpu",
                                           "--steps", "1",      "--rounds",  "3"};
    expect_no_steady_step(picture, 1);
    auto with_second = picture;
    with_second.push_back("--second-clip");
    EXPECT_GT(run_json(with_second).at("second_clip_device_bytes").get<std::uint64_t>(), 0U);
}

TEST(BenchDecode, SaysWhatASecondClipOfTheSameWeightsTakes) {
    auto arguments = bench_decode("3", "1");
    EXPECT_FALSE(run_json(arguments).contains("second_clip_device_bytes"));
    arguments.insert(arguments.end(), {"--no-passes", "--second-clip"});
    const auto json = run_json(arguments);
    const std::uint64_t second = json.at("second_clip_device_bytes"), stated = json.at("stated_device_bytes"),
                        parameters = json.at("stated_bytes").at("parameters");
    EXPECT_GT(second, 0U);
    EXPECT_LE(second, stated - parameters);
}

TEST(BenchDecode, StatesTheMemoryBeforeItStartsAndKeepsToIt) {
    auto arguments = bench_decode("3", "1");
    arguments.insert(arguments.end(), {"--json", "-", "--no-passes"});
    const auto result = run_program(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    const auto statement = result.messages.find("decoding takes ");
    ASSERT_NE(statement, std::string::npos) << result.messages;
    EXPECT_LT(statement, result.messages.find("1/3 steps"));
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_FALSE(json.contains("passes"));
    EXPECT_TRUE(json.at("seconds_per_step_on_device").is_null());
    std::uint64_t sum = 0;
    for (const char* part : {"transients", "histories", "parameters", "staging"})
        sum += json.at("stated_bytes").at(part).get<std::uint64_t>();
    EXPECT_EQ(json.at("stated_device_bytes"), sum);  // a CPU's staging buffers are in its memory too
    EXPECT_LE(json.at("peak_device_bytes").get<std::uint64_t>(), sum);
    EXPECT_GT(json.at("peak_device_bytes").get<std::uint64_t>(), sum / 2);
}

TEST(BenchConv, TimesEveryConvolutionOfAStepOnEveryOpenBackEnd) {
    const auto json = run_json({"bench", "conv", "--lane", "cpu", "--size", "16x16", "--dim", "16", "--repeats", "2"});
    expect_head(json, "conv");
    EXPECT_EQ(json.at("dim"), 16);
    std::int64_t launches = 0;
    double step = 0;
    for (const auto& layer : json.at("layers")) {
        launches += layer.at("launches").get<std::int64_t>();
        double best = 1e9;
        for (const auto& result : layer.at("backends")) {
            const double seconds = result.at("seconds");
            EXPECT_TRUE(result.at("backend") != "reference-cpu" || layer.at("backends").size() == 1U) << layer;
            EXPECT_NEAR(result.at("tflops").get<double>(), layer.at("flops").get<double>() / seconds / 1e12, 1e-9);
            EXPECT_EQ(result.at("seconds_of_repeats").at("count"), 2);
            best = std::min(best, seconds);
        }
        EXPECT_GE(layer.at("backends").size(), 1U) << layer.at("layer");
        EXPECT_GT(layer.at("bytes").get<std::uint64_t>(), 0);
        step += layer.at("launches").get<double>() * best;
    }
    // conv1, 28 of residual blocks and one shortcut, 1 of the attention, 2 in time, 3 after doubling, the head
    EXPECT_EQ(launches, 37);
    EXPECT_NEAR(json.at("seconds_per_step").get<double>(), step, 1e-12);
}

/// The last layers run in two parts of two frames; the head keeps sums from step to step.
TEST(BenchConv, TimesEveryLaunchAsDecodersOfExactAndOfFastSumsDeclareIt) {
    const auto json =
        run_json({"bench", "conv", "--declared", "--lane", "cpu", "--size", "16x16", "--dim", "8", "--repeats", "1"});
    EXPECT_EQ(json.at("declared"), true);
    std::map<std::string, std::int64_t> launches, layers;
    std::map<std::string, double> step;
    const nlohmann::json *shuffled = nullptr, *wide = nullptr;
    for (const auto& layer : json.at("layers")) {
        const std::string whole = layer.at("part_of"), epilogue = layer.at("epilogue");
        layers[whole + (epilogue.empty() ? "" : ", ") + epilogue] = layer.at("layers_alike").get<std::int64_t>();
        for (const auto& [sums, choice] : layer.at("sums").items()) {
            launches[sums] += choice.at("launches").get<std::int64_t>();
            for (const auto& result : layer.at("backends"))
                if (result.at("backend") == choice.at("backend"))
                    step[sums] += choice.at("launches").get<double>() * result.at("seconds").get<double>();
        }
        if (layer.at("pass") == "decoder.upsamples.3.time_conv") shuffled = &layer;
        if (layer.at("pass") == "decoder.upsamples.12.residual.6") wide = &layer;
    }
    // Of 37 layers two in time have two halves, and fourteen of the last fifteen run in two parts, and the head in
    // three.
    EXPECT_EQ(launches, (std::map<std::string, std::int64_t>{{"exact", 37 + 2 + 15 + 1}, {"fast", 37 + 2 + 15 + 1}}));
    std::int64_t sum = 0;
    for (const auto& [layer, count] : layers) sum += count;
    EXPECT_EQ(sum, 37);
    EXPECT_EQ(layers.at("8>8 3x3x3, 4x16x16, norm instead"), 3);
    EXPECT_EQ(layers.at("8>8 3x3x3, 4x16x16, residual, norm beside"), 3);
    for (const auto& [sums, seconds] : step)
        EXPECT_NEAR(json.at("seconds_per_step_of_sums").at(sums).get<double>(), seconds, 1e-12) << sums;
    EXPECT_FALSE(json.contains("seconds_per_step"));  // which is of another list of launches
    ASSERT_TRUE(shuffled != nullptr && wide != nullptr);
    EXPECT_EQ(shuffled->at("layer"), "decoder.upsamples.3.time_conv: 32>32 3x1x1, 1x2x2, one frame of 2");
    EXPECT_EQ(shuffled->at("part_of"), "32>64 3x1x1, 1x2x2");
    EXPECT_EQ(shuffled->at("launches"), 2);
    EXPECT_EQ(
        wide->at("problem"),
        "1x4x16x16x8 bf16 * 8x3x3x3 pad 0,0,1,1,1,1 + bias, + 1 * residual, norm, silu beside -> 1x2x16x16x8 bf16");
}

TEST(BenchConv, NamesLayersByChannelsTapsAndOutputAndTimesThoseThatAreAskedFor) {
    const auto json = run_json({"bench", "conv", "--lane", "cpu", "--size", "48x32", "--dim", "32", "--repeats", "1",
                                "--layer", "32>32", "--backend", "onednn-f32-cpu"});
    ASSERT_EQ(json.at("layers").size(), 1U);
    const auto& layer = json.at("layers").front();
    EXPECT_EQ(layer.at("layer"), "32>32 3x3x3, 4x32x48");
    EXPECT_EQ(layer.at("launches"), 6);
    EXPECT_EQ(layer.at("problem"), "1x6x32x48x32 bf16 * 32x3x3x3 pad 0,0,1,1,1,1 + bias -> 1x4x32x48x32 bf16");
    ASSERT_EQ(layer.at("backends").size(), 1U);
    EXPECT_EQ(layer.at("backends").front().at("backend"), "onednn-f32-cpu");
    EXPECT_TRUE(json.at("seconds_per_step").is_null());  // of one layer only
}

TEST(BenchConv, TimesOneProblemGivenByFlags) {
    const auto json = run_json({"bench", "conv", "--lane", "cpu", "--input", "1,3,5,7,8", "--filter", "16,3,3,3",
                                "--pad", "0,0,1,1,1,1", "--residual", "--activation", "silu", "--dtype", "fp32",
                                "--repeats", "3", "--backend", "reference-cpu"});
    ASSERT_EQ(json.at("layers").size(), 1U);
    const auto& layer = json.at("layers").front();
    EXPECT_EQ(layer.at("layer"), "8>16 3x3x3, 1x5x7");
    EXPECT_EQ(layer.at("bytes"), 4 * (3 * 5 * 7 * 8 + 16 * 8 * 27 + 2 * 5 * 7 * 16));
    EXPECT_EQ(layer.at("backends").front().at("backend"), "reference-cpu");
}

TEST(BenchConv, WritesItsReportAlsoWhereANameIsNotUtf8) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "r\xff.json";
    const auto result = run_program({"bench", "conv", "--lane", "cpu", "--input", "1,1,8,8,4", "--filter", "4,1,1,1",
                                     "--repeats", "1", "--json", path});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    const auto json = nlohmann::json::parse(read_text(path));
    EXPECT_NE(json.at("command").get<std::string>().find("r\xef\xbf\xbd.json"), std::string::npos) << json;
}

TEST(BenchConv, RefusesALayerThatDoesNotExistWithTheListOfThoseThatDo) {
    const auto result = run_program({"bench", "conv", "--lane", "cpu", "--size", "48x32", "--layer", "7>7"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("\"7>7\""), std::string::npos) << result.messages;
    EXPECT_NE(result.messages.find("96>96 3x3x3, 4x32x48"), std::string::npos) << result.messages;
}

TEST(BenchConv, ReportsABackEndThatDeclinesAndFails) {
    const auto result = run_program({"bench", "conv", "--lane", "cpu", "--size", "48x32", "--dim", "32", "--layer",
                                     "32>3 ", "--backend", "implicit-gemm-sm80", "--json", "-"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("32>3 3x3x3, 4x32x48: "), std::string::npos) << result.messages;
    const auto json = nlohmann::json::parse(result.out);
    const auto& refused = json.at("layers").front().at("backends").front();
    EXPECT_NE(refused.at("error").get<std::string>().find("wants a CUDA device since sm_80, met cpu"),
              std::string::npos)
        << refused;
}

TEST(BenchProfiler, ComparesStepsWithoutWithHiddenAndWithShownPanelsAndPassesWithEventsAroundThem) {
    const auto json = run_json({"bench", "profiler", "--lane", "cpu", "--weights", "synthetic:wan2.1,dim=2", "--size",
                                "48x32", "--rounds", "2", "--steps", "3", "--bar", "1e9"});
    expect_head(json, "profiler");
    ASSERT_EQ(json.at("watches").size(), 4U);
    for (const auto& watch : json.at("watches")) EXPECT_EQ(watch.at("seconds_per_step").at("count"), 2 * (3 - 2));
    EXPECT_TRUE(json.at("watches")[0].at("overhead").is_null()) << "it is what the others are compared with";
    EXPECT_EQ(json.at("watches")[3].at("profiler"), "shown");
    EXPECT_EQ(json.at("watches")[3].at("overhead").at("count"), 2);
    EXPECT_GT(json.at("passes").get<int>(), 50);
    const auto& times = json.at("pass_times");
    EXPECT_EQ(times.at("seconds_by_passes").at("count"), 2 * 9);
    EXPECT_EQ(times.at("seconds_by_events").at("count"), 2 * 9);
    EXPECT_EQ(times.at("difference").at("count"), 2);
    EXPECT_GT(times.at("passes").size(), 50U);
    double worst = 0.0;
    for (const auto& pass : times.at("passes")) {
        EXPECT_EQ(pass.at("seconds_by_profiler").at("count"), 2 * 9) << pass;
        EXPECT_EQ(pass.at("seconds_by_events").at("count"), 2 * 9) << pass;
        EXPECT_GT(pass.at("seconds_by_events").at("median").get<double>(), 0.0) << pass;
        worst = std::max(worst, std::abs(pass.at("difference").at("median").get<double>()));
    }
    EXPECT_EQ(std::abs(times.at("worst_difference").get<double>()), worst);
    EXPECT_EQ(times.at("worst_rounds_beyond_bar"), 0);
    EXPECT_NE(json.at("alignment").at("absent").get<std::string>().find("only CUDA kernels read the timer"),
              std::string::npos);
}

TEST(BenchProfiler, FailsAfterItsReportWhereAPassIsBeyondTheBar) {
    const auto result = run_program({"bench", "profiler", "--lane", "cpu", "--weights", "synthetic:wan2.1,dim=2",
                                     "--size", "48x32", "--rounds", "1", "--steps", "3", "--bar", "0"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.out.find("beside events around each"), std::string::npos) << result.out;
    EXPECT_NE(result.messages.find("by events without it"), std::string::npos) << result.messages;
    EXPECT_NE(result.messages.find("between rounds, 1 of 1 beyond the 0 % that are allowed"), std::string::npos)
        << result.messages;
}

TEST(BenchInterop, TimesHandOversAndFindsMemoryAndTimelinesWhereTheyBelongAfterASoak) {
    const auto json = run_json({"bench", "interop", "--lane", "cpu", "--executions", "10", "--steps", "100"});
    expect_head(json, "interop");
    EXPECT_FALSE(json.at("machine").at("vulkan_device").get<std::string>().empty());
    ASSERT_EQ(json.at("routes").size(), 2U);
    for (const auto& route : json.at("routes")) {
        EXPECT_EQ(route.at("seconds_one_by_one").at("count"), 10);
        EXPECT_LE(route.at("seconds_submission").at("min").get<double>(),
                  route.at("seconds_one_by_one").at("max").get<double>());
        EXPECT_GT(route.at("seconds_batched").get<double>(), 0);
    }
    const auto& soak = json.at("soak");
    const auto &before = soak.at("before"), &after = soak.at("after");
    EXPECT_TRUE(soak.at("changes").empty()) << soak;
    EXPECT_EQ(after.at("executions").get<int>(), before.at("executions").get<int>() + 100);
    EXPECT_EQ(after.at("accelerator_bytes"), before.at("accelerator_bytes"));
    for (const std::string timeline : {"accelerator_timeline", "vulkan_timeline"}) {
        EXPECT_EQ(after.at(timeline), after.at(timeline + "_expected")) << timeline;
        EXPECT_GE(after.at(timeline).get<int>(), before.at(timeline).get<int>() + 100);
    }
}

TEST(BenchInterop, RunsADecoderWhoseFramesAreDrawnAndCountsEveryOneOfThem) {
    const auto json = run_json(
        {"bench",    "interop",      "--lane",         "cpu",  "--executions", "5",    "--weights",   kSmallWeights,
         "--size",   "48x32",        "--decode-steps", "12",   "--steps",      "10",   "--copy-lane", "graphics",
         "--copies", "once-decoded", "--precision",    "fp32", "--sums",       "fast", "--game-loop", "10"});
    const auto& game = json.at("game_loop");
    EXPECT_EQ(game.at("seconds_picture_alone").at("count"), 10);
    EXPECT_EQ(game.at("seconds_picture_beside_decoder").at("count"), 10);
    EXPECT_GE(game.at("seconds_picture_alone").at("median").get<double>(), 0.002) << "of the 0.004 that it is made for";
    EXPECT_EQ(game.at("seconds_picture_alone_p99"), game.at("seconds_picture_alone").at("max"));
    EXPECT_GE(game.at("seconds_per_step").at("count"), 4) << "one round of the decoder's, beside the pictures";
    const auto& decode = json.at("decode");
    EXPECT_EQ(decode.at("precision"), "fp32");
    EXPECT_EQ(decode.at("sums"), "fast");
    EXPECT_EQ(decode.at("weights"), kSmallWeights);
    EXPECT_EQ(decode.at("width"), 48);
    EXPECT_EQ(decode.at("copy_lane"), "graphics");
    EXPECT_EQ(decode.at("copies"), "once-decoded");
    EXPECT_EQ(decode.at("seconds_host").at("count"), 12);
    EXPECT_LE(decode.at("seconds_host_decoder").at("median").get<double>(),
              decode.at("seconds_host").at("max").get<double>());
    const auto &before = json.at("soak").at("before"), &after = json.at("soak").at("after");
    EXPECT_TRUE(json.at("soak").at("changes").empty()) << json.at("soak");
    EXPECT_EQ(before.at("frames"), 1 + 4 * 23);  // the 12, and 12 that are not counted
    EXPECT_EQ(after.at("frames"), 1 + 4 * 33);
    EXPECT_EQ(after.at("frames_published"), after.at("frames"));
    EXPECT_EQ(after.at("drawing_timeline"), after.at("frames"));
    EXPECT_EQ(after.at("accelerator_bytes"), before.at("accelerator_bytes"));
}

/// With a decoder this small on a CPU that also draws, drawing takes most of a step. Whatever else the machine does
/// falls on either kind of step, so the sign of their difference is sure only of several runs.
TEST(BenchInterop, ComparesStepsWithAndWithoutDrawingInTurnAndSaysTheSpread) {
    double median = 0;
    for (int attempt = 0; attempt < 20 && median <= 0; ++attempt) {
        const auto json = run_json({"bench", "interop", "--lane", "cpu", "--executions", "5", "--weights",
                                    "synthetic:wan2.1,dim=2", "--size", "64x64", "--decode-steps", "18"});
        const auto& decode = json.at("decode");
        const auto &drawn = decode.at("seconds_per_step"), &alone = decode.at("seconds_per_step_decoded_only");
        EXPECT_EQ(drawn.at("count"), 3 * 4);
        EXPECT_EQ(alone.at("count"), 3 * 4);
        const auto& share = decode.at("share_of_interop_and_drawing");
        EXPECT_EQ(share.at("count"), 3);
        median = share.at("median").get<double>();
        EXPECT_LT(median, 1.0);
        EXPECT_LE(share.at("min").get<double>(), median);
        EXPECT_GE(share.at("max").get<double>(), median);
    }
    EXPECT_GT(median, 0.0);
}

TEST(BenchInterop, FailsWhereInteropAndDrawingTakeMoreThanTheyMay) {
    ProgramResult result;
    // The share of a few small steps is a difference of two noisy times, and now and then below 0.
    for (int attempt = 0; attempt < 20 && result.exit_code == 0; ++attempt)
        result = run_program({"bench", "interop", "--lane", "cpu", "--executions", "5", "--weights",
                              "synthetic:wan2.1,dim=2", "--size", "16x16", "--decode-steps", "18", "--at-most", "0"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("of a step, 0.00 % were allowed"), std::string::npos) << result.messages;
}

TEST(BenchInterop, SaysWithoutAVulkanDriverWhyThereIsNothingToMeasure) {
    const ProgramOptions no_driver{.environment = {"VK_DRIVER_FILES=/nowhere.json", "VK_ICD_FILENAMES=/nowhere.json"}};
    const auto result = run_program({"bench", "interop", "--lane", "cpu"}, no_driver);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("Vulkan"), std::string::npos) << result.messages;
}

}  // namespace
}  // namespace kinetograph::test
