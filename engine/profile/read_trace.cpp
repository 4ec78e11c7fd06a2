#include <kinetograph/engine/profile/trace.hpp>

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace kinetograph::profile {
namespace {

using nlohmann::json;

constexpr int kDeepest = 64;
constexpr double kLongestMicroseconds = 4e15;  // the sum of two fits into Nanoseconds
constexpr double kMostOfACount = 1e18;

/// The number under `key`, checked to lie in [least, most] so that later arithmetic cannot overflow. Throws
/// std::runtime_error otherwise; the caller catches that together with json's exceptions.
double number_of(const json& object, const char* key, double least, double most) {
    const auto number = object.at(key).get<double>();
    if (number >= least && number <= most) return number;
    throw std::runtime_error(fmt::format("{} is {}, which is not between {} and {}", key, number, least, most));
}

Nanoseconds time_of(const json& event, const char* key) {
    return Nanoseconds(std::llround(number_of(event, key, -kLongestMicroseconds, kLongestMicroseconds) * 1000.0));
}
Nanoseconds duration_of(const json& event) {
    return Nanoseconds(std::llround(number_of(event, "dur", 0, kLongestMicroseconds) * 1000.0));
}

PassFacts pass_from(const json& stored, NameTable& names) {
    return {.name = names.intern(stored.at("name").get<std::string>()),
            .track = names.intern(stored.at("track").get<std::string>()),
            .operations = number_of(stored, "operations", 0, kMostOfACount),
            .bytes = static_cast<std::uint64_t>(number_of(stored, "bytes", 0, kMostOfACount)),
            .barriers = static_cast<std::uint32_t>(number_of(stored, "barriers", 0, kNone)),
            .kernel = stored.at("kernel"),
            .reason = stored.at("reason")};
}

/// The index if it is below `size`, else kNone.
std::uint32_t index_from(const json& stored, std::size_t size) {
    const auto index = stored.get<std::uint32_t>();
    return index < size ? index : kNone;
}

BatchFacts batch_from(const json& stored, std::size_t batches, std::size_t passes, NameTable& names) {
    BatchFacts batch{.track = names.intern(stored.at("track").get<std::string>()),
                     .first_pass = index_from(stored.at("first_pass"), passes),
                     .last_pass = index_from(stored.at("last_pass"), passes)};
    if (batch.last_pass == kNone) batch.first_pass = kNone;
    for (const json& wait : stored.at("waits"))
        batch.waits.push_back({index_from(wait.at("batch"), batches), wait.at("executions_ago"),
                               Nanoseconds(wait.at("hand_over_ns").get<std::int64_t>())});
    return batch;
}

PlanFacts plan_from(const json& stored, NameTable& names) {
    PlanFacts plan;
    for (const json& pass : stored.at("culled")) plan.culled.push_back({pass.at("name"), pass.at("reason")});
    const json none = json::array();
    for (const json& pass : stored.value("passes", none)) plan.passes.push_back(pass_from(pass, names));
    const json batches = stored.value("batches", none);
    for (const json& batch : batches)
        plan.batches.push_back(batch_from(batch, batches.size(), plan.passes.size(), names));
    for (std::uint32_t i = 0; i < plan.batches.size(); ++i)
        for (std::uint32_t pass = plan.batches[i].first_pass; pass != kNone && pass <= plan.batches[i].last_pass;
             ++pass)
            plan.passes[pass].batch = i;
    for (const json& pair : stored.value("dependencies", none)) {
        const std::uint32_t from = index_from(pair.at(0), plan.passes.size()),
                            to = index_from(pair.at(1), plan.passes.size());
        if (from != kNone && to != kNone) plan.dependencies.push_back({from, to, kNone});
    }
    plan.batches_told = static_cast<std::uint32_t>(plan.batches.size());
    return plan;
}

/// A counter keeps its title as a name. Other programs put several values into one counter event: those are left out.
void add_counter(const json& event, Recorder& recorder) {
    const json value = event.value("args", json::object()).value("value", json());
    if (value.is_number()) recorder.count({.name = event.at("name").get<std::string>()}, time_of(event, "ts"), value);
}

using Plans = std::map<std::uint64_t, PlanId>;  // number in the file -> here

StepKey step_from(const json& plan, const json& execution, const Plans& plans) {
    const auto known = plans.find(plan.get<std::uint64_t>());
    return {known != plans.end() ? known->second : kNoPlan, execution.get<std::uint64_t>()};
}

/// Adds each wait as a signal and a wait for value 1 of a counter of its own.
void add_waits(const json& stored, const Plans& plans, Recorder& recorder) {
    std::uint64_t counter = 0;
    for (const json& wait : stored) {
        PointRecord point{.counter = ++counter,
                          .value = 1,
                          .step = step_from(wait.at("from_plan"), wait.at("from_execution"), plans),
                          .batch = wait.at("from_batch").get<std::uint32_t>(),
                          .signals = true};
        recorder.note(point);
        point.step = step_from(wait.at("plan"), wait.at("execution"), plans);
        point.batch = wait.at("batch").get<std::uint32_t>();
        point.signals = false;
        recorder.note(point);
    }
}

/// Adds the frame of one of our instant events; those of other programs have another category.
void add_frame(const json& event, const Plans& plans, Recorder& recorder) {
    if (event.value("cat", "") != "frame") return;
    const json& args = event.at("args");
    const auto nanoseconds = [&](const char* key) {
        return Nanoseconds(std::llround(number_of(args, key, -1, kLongestMicroseconds * 1000.0)));
    };
    const auto step = [&](const char* key) {
        return step_from(args.at(key).at("plan"), args.at(key).at("execution"), plans);
    };
    FrameTimes frame{.index = args.at("index").get<std::uint64_t>(),
                     .shown = time_of(event, "ts"),
                     .decode = nanoseconds("decode_ns"),
                     .queued = nanoseconds("queued_ns"),
                     .present = nanoseconds("present_ns"),
                     .latency = nanoseconds("latency_ns"),
                     .late = args.at("late").get<bool>(),
                     .made_by = step("made_by"),
                     .drawn_by = step("drawn_by")};
    recorder.add_frame(frame);
    if (const Nanoseconds to_screen = nanoseconds("to_screen_ns"); to_screen >= Nanoseconds{})
        recorder.add_on_screen({frame.index, frame.shown + to_screen});
}

TraceFile trace_from(const json& stored) {
    const json& events = stored.is_array() ? stored : stored.at("traceEvents");
    TraceFile trace{std::make_unique<Recorder>(events.size()), {}, 0};
    Recorder& recorder = *trace.recorder;
    Plans plans;
    if (stored.is_object()) {
        trace.facts = stored.value("otherData", TraceFacts{});
        const json ours = stored.value("kinetograph", json::object());
        for (const json& plan : ours.value("plans", json::array()))
            plans[plan.at("id")] = recorder.plans().add(plan_from(plan, recorder.names()));
        for (const json& ceiling : ours.value("ceilings", json::array()))
            recorder.note_ceiling(
                ceiling.at("track").get<std::string>(),
                {ceiling.at("operations_per_second"), ceiling.at("bytes_per_second"), ceiling.at("source")});
        if (ours.contains("missed_spans"))
            trace.missed_spans = static_cast<std::uint64_t>(number_of(ours, "missed_spans", 0, kMostOfACount));
        for (const json& clock : ours.value("clocks", json::array()))
            recorder.note_clock(clock.at("track").get<std::string>(),
                                Nanoseconds(std::llround(number_of(clock, "error_ns", 0, kMostOfACount))),
                                number_of(clock, "drift_ppm", -kMostOfACount, kMostOfACount));
        add_waits(ours.value("waits", json::array()), plans, recorder);
    }
    const auto key_of = [](const json& event) { return std::pair(event.at("pid").dump(), event.at("tid").dump()); };
    std::map<std::pair<std::string, std::string>, std::string> threads;
    for (const json& event : events)
        if (event.value("ph", "") == "M" && event.value("name", "") == "thread_name")
            threads[key_of(event)] = event.at("args").at("name");
    for (const json& event : events) {
        if (event.value("ph", "") == "C") add_counter(event, recorder);
        if (event.value("ph", "") == "i") add_frame(event, plans, recorder);
        if (event.value("ph", "") != "X") continue;
        const auto key = key_of(event);
        const auto thread = threads.find(key);
        const std::string name = event.at("name"), track = thread != threads.end() ? thread->second : key.second;
        const json args = event.value("args", json::object());
        const auto plan = plans.find(args.value("plan", std::uint64_t{0}));
        const Nanoseconds begin = time_of(event, "ts");
        recorder.add(Span{name, track, begin, begin + duration_of(event), args.value("execution", std::uint64_t{0}),
                          plan != plans.end() ? plan->second : kNoPlan});
    }
    return trace;
}

}  // namespace

Result<TraceFile> read_chrome_trace(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(ErrorCode::NotFound, "{}: no such file, or it cannot be read", path.string());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    bool too_deep = false;  // the parser does not recurse, but what copies a value or writes it as text does
    const auto within_depth = [&](int depth, json::parse_event_t, json&) {
        too_deep = too_deep || depth > kDeepest;
        return !too_deep;
    };
    try {  // nlohmann's access functions throw
        const json stored = json::parse(text, within_depth);
        if (too_deep)
            return fail(ErrorCode::Corrupt, "{}: not a Chrome trace: objects and arrays more than {} deep",
                        path.string(), kDeepest);
        return trace_from(stored);
    } catch (const std::exception& error) {
        std::string_view reason = error.what();
        if (reason.starts_with("[json.")) reason.remove_prefix(reason.find("] ") + 2);  // nlohmann's tag
        return fail(ErrorCode::Corrupt, "{}: not a Chrome trace: {}", path.string(), reason);
    }
}

}  // namespace kinetograph::profile
