// kinetograph trace: captures that decode and view write, read back by the program and by another parser.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "latent_files.hpp"
#include "program.hpp"

namespace kinetograph::test {
namespace {

/// A capture of a small decode.
std::string capture(const TemporaryFolder& folder, const std::string& name) {
    const std::string trace = (folder.path() / name).string();
    const auto result =
        run_program({"decode", write_latents(folder, "clip.safetensors", 4), "--weights", "synthetic:wan2.1,dim=2",
                     "--lane", "cpu", "-o", (folder.path() / "out.safetensors").string(), "--trace", trace});
    EXPECT_EQ(result.exit_code, 0) << result.messages;
    return trace;
}

void expect_all(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
}

TEST(TraceProgram, ShowsPassesLanesAndStepsOfACapture) {
    const TemporaryFolder folder;
    const auto result = run_program({"trace", capture(folder, "trace.json"), "--top", "5"});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_EQ(result.out.find("are missing"), std::string::npos) << result.out;
    expect_all(result.out, {"decoder.", "accelerator", "p99", "TFLOP/s", "-cpu", "more passes (--top)", "commit: ",
                            "busy", "steps, the first", "roofline of accelerator: ", "memory of the decoder (MiB)"});
}

TEST(TraceProgram, ShowsHowEvenlyFramesCameAndWhatTheirLatencyConsistsOf) {
    const TemporaryFolder folder;
    const auto result = run_program({"trace", capture(folder, "trace.json"), "--top", "5"});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    expect_all(result.out, {"13 frames, 0 late; ", "frames/s, lows: 1% ", ", 0.1% ", "interval", "decode", "latency",
                            "arena accelerator of plan"});
}

TEST(TraceProgram, ComparesTwoCapturesPassByPass) {
    const TemporaryFolder folder;
    const std::string trace = capture(folder, "trace.json");
    const auto result = run_program({"trace", trace, trace});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    expect_all(result.out, {"before", "by chance", "decoder.", "+0.0%"});
    EXPECT_EQ(result.out.find("faster"), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find("slower"), std::string::npos) << result.out;
}

TEST(TraceProgram, SaysHowWellTheClocksWereKnownAndHowManySpansAreMissing) {
    const TemporaryFolder folder;
    const std::string trace = (folder.path() / "trace.json").string();
    std::ofstream(trace) << R"({"traceEvents": [{"ph": "X", "name": "decode", "pid": 1, "tid": 1, "ts": 0, "dur": 5}],
        "kinetograph": {"missed_spans": 12, "clocks": [{"track": "graphics", "error_ns": 7250, "drift_ppm": -1.5}]}})";
    const auto result = run_program({"trace", trace});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    expect_all(result.out, {"clock of graphics: +-7.25 us, drift -1.50 ppm", "12 older spans are missing"});
}

TEST(TraceProgram, WritesEveryPassAsCsv) {
    const TemporaryFolder folder;
    const auto result = run_program({"trace", capture(folder, "trace.json"), "--csv", "-"});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_TRUE(result.out.starts_with("pass,track,kernel,calls,")) << result.out;
    EXPECT_GT(std::count(result.out.begin(), result.out.end(), '\n'), 50) << "a line a pass";
}

TEST(TraceProgram, ItsCapturesAreReadByPythonsParser) {
    const TemporaryFolder folder;
    const auto script = folder.path() / "read.py";
    std::ofstream(script) << R"python(import json, sys
trace = json.load(open(sys.argv[1]))
events = trace["traceEvents"]
threads = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
spans = [e for e in events if e["ph"] == "X"]
assert "accelerator" in threads.values(), threads
assert len(spans) > 100, len(spans)
for span in spans:
    assert span["tid"] in threads and span["dur"] >= 0 and span["ts"] >= 0, span
lane = sorted((s for s in spans if threads[s["tid"]] == "accelerator"), key=lambda s: s["ts"])
for a, b in zip(lane, lane[1:]):
    assert a["ts"] + a["dur"] <= b["ts"] + 0.001, (a, b)
assert {e["ph"] for e in events} <= {"M", "X", "s", "f", "C", "i", "b", "e"}
counted = [e for e in events if e["ph"] == "C" and e["name"].endswith("memory of the decoder (MiB)")]
assert counted and all(e["args"]["value"] >= 0 and e["ts"] >= 0 for e in counted), counted
print(len(spans), "spans")
)python";
    const auto result = run_program("/usr/bin/python3", {script.string(), capture(folder, "trace.json")});
    if (result.exit_code == 127) GTEST_SKIP() << "there is no python3";
    EXPECT_EQ(result.exit_code, 0) << result.messages;
    expect_all(result.out, {"spans"});
}

TEST(TraceProgram, RefusesWhatIsNoCaptureByName) {
    const TemporaryFolder folder;
    const std::string empty = (folder.path() / "empty.json").string(), text = (folder.path() / "text.json").string(),
                      other = (folder.path() / "other.json").string();
    std::ofstream(other) << R"({"events": []})";
    std::ofstream(empty) << R"({"traceEvents": []})";
    std::ofstream(text) << "these are words";
    for (const auto& [file, reason] :
         {std::pair(empty, "there are no spans in it"), std::pair(text, "text.json: not a Chrome trace: parse error"),
          std::pair(other, "other.json: not a Chrome trace: key 'traceEvents' not found"),
          std::pair(std::string("/nowhere/t.json"), "/nowhere/t.json: no such file")}) {
        const auto result = run_program({"trace", file});
        EXPECT_EQ(result.exit_code, 1);
        expect_all(result.messages, {reason});
    }
}

TEST(TraceProgram, DecodeFailsBeforeItDecodesWhereTheCaptureCannotBeWritten) {
    const TemporaryFolder folder;
    const auto result =
        run_program({"decode", write_latents(folder, "clip.safetensors"), "--weights", "synthetic:wan2.1,dim=2", "-o",
                     (folder.path() / "out.safetensors").string(), "--trace", "/nowhere/trace.json"});
    EXPECT_EQ(result.exit_code, 1);
    expect_all(result.messages, {"/nowhere/trace.json: cannot create"});
}

}  // namespace
}  // namespace kinetograph::test
