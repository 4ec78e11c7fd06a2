#include <kinetograph/engine/profile/profile.hpp>
#include <kinetograph/engine/profile/trace.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace kinetograph::profile {
namespace {

void fill(Recorder& recorder) {
    for (const Span& span : {Span{"up2.res1.conv1", "accelerator", Nanoseconds(5000), Nanoseconds(9500), 3},
                             Span{"draw", "graphics", Nanoseconds(4000), Nanoseconds(4250), 7},
                             Span{"up2.res1.conv2", "accelerator", Nanoseconds(9500), Nanoseconds(9600), 3}})
        recorder.add(span);
}

/// decode on the accelerator, then draw on the graphics lane, which waits for it.
PlanFacts two_lanes(NameTable& names) {
    PlanFacts plan;
    plan.passes = {{.name = names.intern("decode"),
                    .track = names.intern("accelerator"),
                    .batch = 0,
                    .operations = 2e9,
                    .bytes = 1000,
                    .kernel = "direct-cpu",
                    .reason = "first of the open"},
                   {.name = names.intern("draw"), .track = names.intern("graphics"), .batch = 1}};
    plan.batches = {{.track = names.intern("accelerator"), .first_pass = 0, .last_pass = 0},
                    {.track = names.intern("graphics"), .waits = {{.batch = 0}}, .first_pass = 1, .last_pass = 1}};
    plan.dependencies = {{0, 1, kNone}};
    plan.batches_told = 2;
    return plan;
}

TEST(Trace, HasOneNamedThreadATrackAndOneCompleteEventASpan) {
    Recorder recorder;
    fill(recorder);
    const auto trace = nlohmann::json::parse(to_chrome_trace(recorder, {{"device", "a test"}}));
    std::map<int, std::string> threads;
    std::vector<nlohmann::json> events;
    for (const auto& event : trace["traceEvents"]) {
        if (event["ph"] == "M")
            threads[event["tid"]] = event["args"]["name"];
        else
            events.push_back(event);
    }
    EXPECT_EQ(threads.size(), 2U);
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(threads[events[0]["tid"]], "accelerator");
    EXPECT_EQ(threads[events[1]["tid"]], "graphics");
    EXPECT_DOUBLE_EQ(events[0]["ts"], 1.0);
    EXPECT_DOUBLE_EQ(events[0]["dur"], 4.5);
    EXPECT_EQ(events[0]["args"]["execution"], 3);
    EXPECT_DOUBLE_EQ(events[1]["ts"], 0.0);
    EXPECT_EQ(trace["otherData"]["device"], "a test");
}

TEST(Trace, AnArrowGoesFromTheLastPassOfABatchToTheFirstOfTheOneThatWaitsForIt) {
    Recorder recorder;
    const PlanId plan = recorder.plans().add(two_lanes(recorder.names()));
    recorder.add(Span{"decode", "accelerator", Nanoseconds(1000), Nanoseconds(5000), 1, plan});
    recorder.add(Span{"draw", "graphics", Nanoseconds(6000), Nanoseconds(7000), 1, plan});
    recorder.count({.name = "queue"}, Nanoseconds(6500), 3.0);
    const auto trace = nlohmann::json::parse(to_chrome_trace(recorder));
    std::map<std::string, nlohmann::json> events;
    for (const auto& event : trace["traceEvents"]) events[event["ph"]] = event;
    ASSERT_TRUE(events.contains("s") && events.contains("f") && events.contains("C"));
    EXPECT_EQ(events["s"]["id"], events["f"]["id"]);
    EXPECT_NEAR(events["s"]["ts"], 4.0, 0.01) << "inside of decode, which begins at 0 and ends at 4";
    EXPECT_DOUBLE_EQ(events["f"]["ts"], 5.0);
    EXPECT_EQ(events["C"]["name"], "queue");
    EXPECT_EQ(events["C"]["args"]["value"], 3.0);
}

/// A decoder's step that made frame 4 late, and a display's that waited for it; with an arena.
PlanId record_frame(Recorder& recorder) {
    PlanFacts plan = two_lanes(recorder.names());
    plan.passes.pop_back();
    plan.batches.pop_back();
    plan.dependencies.clear();
    plan.batches_told = 1;
    plan.resources = {{.name = "values", .domain = "accelerator", .bytes = 3U << 20U, .first_pass = 0, .last_pass = 0}};
    plan.arenas = {{"accelerator", 4U << 20U}};
    const PlanId decoder = recorder.plans().add(plan);
    plan.passes[0].name = recorder.names().intern("draw");
    plan.passes[0].track = plan.batches[0].track = recorder.names().intern("graphics");
    plan.resources.clear();
    plan.arenas.clear();
    const PlanId display = recorder.plans().add(plan);
    recorder.add(Span{"decode", "accelerator", Nanoseconds(1000), Nanoseconds(5000), 1, decoder});
    recorder.add(Span{"draw", "graphics", Nanoseconds(7000), Nanoseconds(8000), 9, display});
    recorder.note({.counter = 5, .value = 3, .step = {decoder, 1}, .batch = 0, .signals = true});
    recorder.note({.counter = 5, .value = 3, .step = {display, 9}, .batch = 0});
    recorder.add_frame({.index = 4,
                        .shown = Nanoseconds(9000),
                        .present = Nanoseconds(2500),
                        .late = true,
                        .made_by = {decoder, 1},
                        .drawn_by = {display, 9}});
    recorder.add_on_screen({4, Nanoseconds(12'000)});
    return decoder;
}

TEST(Trace, AFrameIsAnInstantAndSlicesOfWhatItsLatencyConsistsOf) {
    Recorder recorder;
    record_frame(recorder);
    const auto trace = nlohmann::json::parse(to_chrome_trace(recorder));
    std::map<std::string, std::pair<double, double>> slices;
    nlohmann::json instant, thread;
    for (const auto& event : trace["traceEvents"]) {
        if (event["ph"] == "b") slices[event["name"]].first = event["ts"];
        if (event["ph"] == "e") slices[event["name"]].second = event["ts"];
        if (event["ph"] == "i") instant = event;
        if (event["ph"] == "M" && event["args"]["name"] == "frames") thread = event["tid"];
    }
    EXPECT_EQ(
        slices,
        (std::map<std::string, std::pair<double, double>>{
            {"frame 4, late", {0.0, 8.0}}, {"decode", {0.0, 4.0}}, {"queue", {4.0, 5.5}}, {"present", {5.5, 8.0}}}));
    EXPECT_EQ(instant["name"], "frame 4, late");
    EXPECT_EQ(instant["tid"], thread);
    EXPECT_EQ(instant["args"]["latency_ns"], 8000);
}

TEST(Trace, SlicesOfFramesThatOverlapHaveNumbersOfTheirOwn) {
    Recorder recorder;
    record_frame(recorder);
    recorder.add_frame({.index = 5, .shown = Nanoseconds(9500), .present = Nanoseconds(2500)});
    std::map<std::string, std::set<int>> numbers;
    const auto trace = nlohmann::json::parse(to_chrome_trace(recorder));
    for (const auto& event : trace["traceEvents"])
        if (event["ph"] == "b") numbers[event["name"]].insert(event["id"].get<int>());
    EXPECT_EQ(numbers["present"].size(), 2U);
    EXPECT_EQ(numbers["decode"], numbers["frame 4, late"]);
}

TEST(Trace, SaysHowManySpansWereOverwrittenBefore) {
    const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "overwritten.json";
    Recorder recorder(10);
    for (std::int64_t i = 0; i < 10; ++i)
        recorder.add(Span{"decode", "accelerator", Nanoseconds(10 * i), Nanoseconds(10 * i + 5), 1});
    EXPECT_EQ(nlohmann::json::parse(to_chrome_trace(recorder))["kinetograph"]["missed_spans"], 0);
    for (std::int64_t i = 10; i < 17; ++i)
        recorder.add(Span{"decode", "accelerator", Nanoseconds(10 * i), Nanoseconds(10 * i + 5), 1});
    ASSERT_TRUE(write_chrome_trace(path, recorder));
    const auto trace = read_chrome_trace(path);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->missed_spans, 7U);
    EXPECT_EQ(trace->recorder->spans().size(), 10U);
}

TEST(Trace, AFrameOfALoopedClipHasTheScreenTimeOfItsOwnLoop) {
    const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "loops.json";
    Recorder recorder;
    using std::chrono::milliseconds;
    for (int i = 0; i < 1200; ++i) {  // two frames again and again, each 1 ms later on the screen than the one before
        const Nanoseconds shown = milliseconds(40 * i + 40);
        recorder.add_frame({.index = static_cast<std::uint64_t>(i % 2), .shown = shown});
        recorder.add_on_screen({static_cast<std::uint64_t>(i % 2), shown + milliseconds(1 + i % 30)});
    }
    const auto json = nlohmann::json::parse(to_chrome_trace(recorder));
    int frame = 0;
    for (const auto& event : json["traceEvents"])
        if (event["ph"] == "i") {
            EXPECT_EQ(event["args"]["to_screen_ns"], (1 + frame % 30) * 1'000'000) << frame;
            ++frame;
        }
    EXPECT_EQ(frame, 1200);

    ASSERT_TRUE(write_chrome_trace(path, recorder));
    const auto trace = read_chrome_trace(path);
    ASSERT_TRUE(trace) << trace.error().message;
    Profile profile(*trace->recorder);
    profile.finish(milliseconds(60'000));
    EXPECT_EQ(profile.pacing().display.count(), 1200U) << "all, although only the newest frames are kept";
    EXPECT_EQ(profile.pacing().display.min(), milliseconds(1));
    EXPECT_EQ(profile.pacing().display.max(), milliseconds(30));
}

TEST(Trace, ArrowsGoBetweenGraphsAndMemoryIsCountedWhereAPassTakesIt) {
    Recorder recorder;
    const PlanId decoder = record_frame(recorder);
    const auto trace = nlohmann::json::parse(to_chrome_trace(recorder));
    std::map<std::string, nlohmann::json> arrow;
    std::vector<std::pair<double, double>> arena;
    for (const auto& event : trace["traceEvents"]) {
        if (event["ph"] == "s" || event["ph"] == "f") arrow[event["ph"]] = event;
        if (event["ph"] == "C" && event["name"] == fmt::format("arena accelerator of plan {} (MiB)", decoder))
            arena.emplace_back(event["ts"], event["args"]["value"]);
    }
    ASSERT_EQ(arrow.size(), 2U);
    EXPECT_NEAR(arrow["s"]["ts"], 4.0, 0.01);
    EXPECT_DOUBLE_EQ(arrow["f"]["ts"], 6.0);
    EXPECT_NE(arrow["s"]["tid"], arrow["f"]["tid"]);
    EXPECT_EQ(arena, (std::vector<std::pair<double, double>>{{0.0, 3.0}, {4.0, 0.0}}));
}

TEST(Trace, ArrowsReachBackAsFarAsTheSpansDo) {
    Recorder recorder;
    PlanFacts plan = two_lanes(recorder.names());
    plan.passes.pop_back();
    plan.batches.pop_back();
    plan.dependencies.clear();
    plan.batches_told = 1;
    const PlanId decoder = recorder.plans().add(plan);
    plan.passes[0].name = recorder.names().intern("draw");
    plan.passes[0].track = plan.batches[0].track = recorder.names().intern("graphics");
    const PlanId display = recorder.plans().add(plan);
    constexpr std::uint64_t kSteps = GraphWaits::kMost + 100;
    for (std::uint64_t i = 1; i <= kSteps; ++i) {
        const Nanoseconds begin(1000 * i);
        recorder.note({.counter = 5, .value = i, .step = {decoder, i}, .batch = 0, .signals = true});
        recorder.note({.counter = 5, .value = i, .step = {display, i}, .batch = 0});
        recorder.add(Span{"decode", "accelerator", begin, begin + Nanoseconds(400), i, decoder});
        recorder.add(Span{"draw", "graphics", begin + Nanoseconds(500), begin + Nanoseconds(900), i, display});
    }
    const auto trace = nlohmann::json::parse(to_chrome_trace(recorder));
    EXPECT_EQ(trace["kinetograph"]["waits"].size(), kSteps);
}

TEST(Trace, FramesAndWaitsBetweenGraphsComeBack) {
    const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "frames.json";
    Recorder recorder;
    record_frame(recorder);
    ASSERT_TRUE(write_chrome_trace(path, recorder));
    const auto trace = read_chrome_trace(path);
    ASSERT_TRUE(trace) << trace.error().message;
    Profile profile(*trace->recorder);
    profile.finish(Nanoseconds(20'000));
    const Pacing& pacing = profile.pacing();
    ASSERT_EQ(pacing.newest.size(), 1U);
    const FrameTimes& frame = pacing.newest.front();
    EXPECT_EQ(frame.index, 4U);
    EXPECT_EQ(frame.decode, Nanoseconds(4000));
    EXPECT_EQ(frame.queued, Nanoseconds(1500));
    EXPECT_EQ(frame.present, Nanoseconds(2500));
    EXPECT_EQ(frame.latency, Nanoseconds(8000));
    EXPECT_EQ(frame.on_screen - frame.shown, Nanoseconds(3000));
    EXPECT_EQ(pacing.to_screen.max(), Nanoseconds(11'000));
    ASSERT_EQ(pacing.late_frames.size(), 1U);
    EXPECT_EQ(pacing.late_frames[0].step, frame.made_by);
    const Step* drawn = profile.find(frame.drawn_by);
    ASSERT_NE(drawn, nullptr);
    const auto others = profile.surroundings(*drawn).from_others;
    ASSERT_EQ(others.size(), 1U);
    EXPECT_EQ(profile.text(others[0].from.name), "decode");
}

TEST(Trace, CountersAreNamedByDeviceAndUnitAndComeBack) {
    const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "counters.json";
    Recorder recorder;
    recorder.add(Span{"decode", "accelerator", Nanoseconds(1000), Nanoseconds(5000), 1});
    const Counter power{.name = "power", .device = "NVIDIA H200", .unit = "W"};
    recorder.count(power, Nanoseconds(500), 685.25);
    recorder.count(power, Nanoseconds(2500), 100.0);
    ASSERT_TRUE(write_chrome_trace(path, recorder));
    const auto trace = read_chrome_trace(path);
    ASSERT_TRUE(trace) << trace.error().message;
    const auto samples = trace->recorder->counters();
    ASSERT_EQ(samples.size(), 2U);
    EXPECT_EQ(trace->recorder->names().text(samples[0].name), "NVIDIA H200 power (W)");
    EXPECT_EQ(samples[0].value, 685.25);
    EXPECT_EQ(samples[1].time - samples[0].time, Nanoseconds(2000));
    EXPECT_EQ(trace->recorder->newest_counters().size(), 1U);
}

TEST(Trace, ComesBackFromItsFileWithPlansAndFacts) {
    const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "comes_back.json";
    Recorder recorder;
    const PlanFacts plan = two_lanes(recorder.names());
    const PlanId id = recorder.plans().add(plan);
    recorder.add(Span{"decode", "accelerator", Nanoseconds(1000), Nanoseconds(5001), 1, id});
    recorder.add(Span{"draw", "graphics", Nanoseconds(6000), Nanoseconds(7000), 1, id});
    const Ceiling ceiling{4e12, 30e9, "a product of 512x512 matrices, a copy"};
    recorder.note_ceiling("accelerator", ceiling);
    recorder.note_clock("accelerator", Nanoseconds(7250), -1.5);
    recorder.note_clock("graphics", Nanoseconds(400), 0.25);
    ASSERT_TRUE(write_chrome_trace(path, recorder, {{"commit", "abc"}}));
    const auto trace = read_chrome_trace(path);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->facts.at("commit"), "abc");
    ASSERT_EQ(trace->recorder->ceilings().size(), 1U);
    EXPECT_EQ(trace->recorder->ceilings()[0].ceiling, ceiling);
    const auto clocks = trace->recorder->clocks();
    ASSERT_EQ(clocks.size(), 2U);
    EXPECT_EQ(trace->recorder->names().text(clocks[0].track), "accelerator");
    EXPECT_EQ(clocks[0].error, Nanoseconds(7250));
    EXPECT_EQ(clocks[0].drift_ppm, -1.5);
    EXPECT_EQ(clocks[1].error, Nanoseconds(400));
    const auto spans = trace->recorder->spans();
    ASSERT_EQ(spans.size(), 2U);
    EXPECT_EQ(spans[0].name, "decode");
    EXPECT_EQ(spans[0].end - spans[0].begin, Nanoseconds(4001));
    EXPECT_EQ(spans[1].track, "graphics");
    EXPECT_EQ(spans[1].begin - spans[0].begin, Nanoseconds(5000));
    const auto read = trace->recorder->plans().find(spans[1].plan);
    ASSERT_NE(read, nullptr);
    ASSERT_EQ(read->passes.size(), 2U);
    EXPECT_EQ(read->passes[0].kernel, "direct-cpu");
    EXPECT_EQ(read->passes[0].operations, 2e9);
    EXPECT_EQ(read->passes[1].batch, 1U);
    ASSERT_EQ(read->batches[1].waits.size(), 1U);
    EXPECT_EQ(read->batches[1].waits[0].batch, 0U);
    EXPECT_EQ(read->dependencies, plan.dependencies);
}

std::string an_event(const char* begin, const char* duration, const std::string& thread = "1") {
    return fmt::format(R"([{{"ph": "X", "name": "a", "pid": 1, "tid": {}, "ts": {}, "dur": {}}}])", thread, begin,
                       duration);
}
std::string a_pass(const char* counts) {
    return fmt::format(R"({{"traceEvents": [], "kinetograph": {{"plans": [{{"id": 1, "culled": [],
        "passes": [{{"name": "a", "track": "b", "kernel": "", "reason": "", {}}}]}}]}}}})",
                       counts);
}

TEST(Trace, FilesThatAreNoTracesAreRefusedByName) {
    const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "no_trace.json";
    const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
    for (const std::string& text :
         {std::string(""), std::string("{"), std::string("{}"), std::string("[1, 2]"),
          std::string(R"({"traceEvents": 3})"), std::string(R"({"traceEvents": [{"ph": "X"}]})"),
          std::string(R"({"traceEvents": [], "kinetograph": {"plans": [{"id": 1, "culled": 4}]}})"), deep,
          an_event("0", "1", deep), an_event("1e300", "1e300"), an_event("0", "-9.3e15"), an_event("0", "-10"),
          a_pass(R"("operations": 1, "bytes": -5, "barriers": 0)"),
          a_pass(R"("operations": 1, "bytes": 5, "barriers": 1e99)"),
          std::string(R"([{"ph": "i", "cat": "frame", "name": "frame 1", "ts": 0}])")}) {
        std::ofstream(path) << text;
        const auto trace = read_chrome_trace(path);
        ASSERT_FALSE(trace) << text;
        EXPECT_EQ(trace.error().code, ErrorCode::Corrupt) << text;
        EXPECT_NE(trace.error().message.find("no_trace.json"), std::string::npos);
    }
    EXPECT_EQ(read_chrome_trace("/nonexistent/trace.json").error().code, ErrorCode::NotFound);
}

TEST(Trace, APlanInAFileWhoseIndicesLeadNowhereIsReadWithoutThem) {
    const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "odd_plan.json";
    std::ofstream(path) << R"({"traceEvents": [], "kinetograph": {"plans": [{"id": 1, "culled": [],
        "batches": [{"track": "host", "first_pass": 7, "last_pass": 9,
                     "waits": [{"batch": 5, "executions_ago": 0, "hand_over_ns": 1}]}],
        "dependencies": [[3, 4]]}]}})";
    const auto trace = read_chrome_trace(path);
    ASSERT_TRUE(trace) << trace.error().message;
    const auto plans = trace->recorder->plans().all();
    ASSERT_EQ(plans.size(), 1U);
    EXPECT_EQ(plans[0]->batches[0].first_pass, kNone);
    EXPECT_EQ(plans[0]->batches[0].waits[0].batch, kNone);
    EXPECT_TRUE(plans[0]->dependencies.empty());
}

TEST(Trace, SurvivesNamesThatAreNotUtf8) {
    Recorder recorder;
    recorder.add(Span{"quote\" and \xff", "host", Nanoseconds(0), Nanoseconds(1), 0});
    EXPECT_NO_THROW({ const auto trace = nlohmann::json::parse(to_chrome_trace(recorder)); });
}

TEST(Trace, NamesThePathThatItCannotWrite) {
    const auto result = write_chrome_trace("/nonexistent/trace.json", Recorder());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::Io);
    EXPECT_NE(result.error().message.find("/nonexistent/trace.json"), std::string::npos);
}

}  // namespace
}  // namespace kinetograph::profile
