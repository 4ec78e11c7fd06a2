#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/engine/profile/step_analysis.hpp>
#include <kinetograph/engine/profile/trace.hpp>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace kinetograph::profile {
namespace {

using nlohmann::json;

class Writer {
  public:
    explicit Writer(const Recorder& recorder) : recorder_(recorder) {
        Recorder::Cursor cursor;
        recorder.read(cursor, spans_);
        counters_ = recorder.counters();
        for (const SpanRecord& span : spans_) origin_ = std::min(origin_, span.begin);
        for (const CounterSample& sample : counters_) origin_ = std::min(origin_, sample.time);
    }

    json events() {
        for (const SpanRecord& span : spans_) add_span(span);
        add_flows();
        for (const CounterSample& sample : counters_)
            events_.push_back({{"name", title_of(sample)},
                               {"ph", "C"},
                               {"pid", 1},
                               {"ts", microseconds(sample.time)},
                               {"args", {{"value", sample.value}}}});
        return std::move(events_);
    }

  private:
    std::string_view text(NameId id) const { return recorder_.names().text(id); }
    /// "NVIDIA H200 clock (MHz)"
    std::string title_of(const CounterSample& sample) const {
        std::string title(text(sample.name));
        if (const auto device = text(sample.device); !device.empty()) title = fmt::format("{} {}", device, title);
        if (const auto unit = text(sample.unit); !unit.empty()) title += fmt::format(" ({})", unit);
        return title;
    }
    double microseconds(Nanoseconds time) const { return static_cast<double>((time - origin_).count()) / 1000.0; }

    int thread_of(NameId track) {
        const auto [thread, is_new] = threads_.try_emplace(track, static_cast<int>(threads_.size()) + 1);
        if (is_new)
            events_.push_back({{"name", "thread_name"},
                               {"ph", "M"},
                               {"pid", 1},
                               {"tid", thread->second},
                               {"args", {{"name", text(track)}}}});
        return thread->second;
    }

    void add_span(const SpanRecord& span) {
        const int thread = thread_of(span.track);
        events_.push_back({{"name", text(span.name)},
                           {"ph", "X"},
                           {"pid", 1},
                           {"tid", thread},
                           {"ts", microseconds(span.begin)},
                           {"dur", static_cast<double>(span.length().count()) / 1000.0},
                           {"args", {{"execution", span.execution}, {"plan", span.plan}}}});
    }

    /// An arrow's ends lie inside of its spans, or viewers do not know which they belong to.
    void add_flows() {
        std::map<std::pair<PlanId, std::uint64_t>, Step> steps;
        for (const SpanRecord& span : spans_)
            if (span.plan != kNoPlan) steps[{span.plan, span.execution}].add(span);
        int arrow = 0;
        for (const auto& [key, step] : steps) {
            const auto plan = recorder_.plans().find(key.first);
            if (plan == nullptr) continue;
            for (const HandOver& wait : hand_overs(step, *plan)) {
                const SpanRecord &from = step.spans[wait.from], &to = step.spans[wait.to];
                add_flow("s", ++arrow, from, std::max(from.begin, from.end - Nanoseconds(1)));
                add_flow("f", arrow, to, to.begin);
            }
        }
    }

    void add_flow(const char* phase, int arrow, const SpanRecord& span, Nanoseconds time) {
        events_.push_back({{"name", "wait"},
                           {"cat", "wait"},
                           {"ph", phase},
                           {"bp", "e"},
                           {"id", arrow},
                           {"pid", 1},
                           {"tid", thread_of(span.track)},
                           {"ts", microseconds(time)}});
    }

    const Recorder& recorder_;
    std::vector<SpanRecord> spans_;
    std::vector<CounterSample> counters_;
    Nanoseconds origin_ = Nanoseconds::max();
    std::map<NameId, int> threads_;
    json events_ = json::array();
};

json to_json(const PlanFacts& plan, const NameTable& names) {
    json result{{"id", plan.id}, {"culled", json::array()}};
    for (const CulledFacts& pass : plan.culled)
        result["culled"].push_back({{"name", pass.name}, {"reason", pass.reason}});
    for (const PassFacts& pass : plan.passes)
        result["passes"].push_back({{"name", names.text(pass.name)},
                                    {"track", names.text(pass.track)},
                                    {"operations", pass.operations},
                                    {"bytes", pass.bytes},
                                    {"barriers", pass.barriers},
                                    {"kernel", pass.kernel},
                                    {"reason", pass.reason}});
    for (const BatchFacts& batch : plan.batches) {
        json waits = json::array();
        for (const BatchFacts::Wait& wait : batch.waits)
            waits.push_back({{"batch", wait.batch},
                             {"executions_ago", wait.executions_ago},
                             {"hand_over_ns", wait.hand_over.count()}});
        result["batches"].push_back({{"track", names.text(batch.track)},
                                     {"first_pass", batch.first_pass},
                                     {"last_pass", batch.last_pass},
                                     {"waits", std::move(waits)}});
    }
    for (const Dependency& each : plan.dependencies) result["dependencies"].push_back({each.from, each.to});
    return result;
}

}  // namespace

std::string to_chrome_trace(const Recorder& recorder, const TraceFacts& facts) {
    json plans = json::array(), clocks = json::array(), ceilings = json::array();
    for (const auto& plan : recorder.plans().all()) plans.push_back(to_json(*plan, recorder.names()));
    for (const TrackClock& clock : recorder.clocks())
        clocks.push_back({{"track", recorder.names().text(clock.track)},
                          {"error_ns", clock.error.count()},
                          {"drift_ppm", clock.drift_ppm}});
    for (const auto& [track, ceiling] : recorder.ceilings())
        ceilings.push_back({{"track", recorder.names().text(track)},
                            {"operations_per_second", ceiling.operations_per_second},
                            {"bytes_per_second", ceiling.bytes_per_second},
                            {"source", ceiling.source}});
    const json trace{{"traceEvents", Writer(recorder).events()},
                     {"displayTimeUnit", "ms"},
                     {"otherData", facts},
                     {"kinetograph",
                      {{"plans", std::move(plans)}, {"clocks", std::move(clocks)}, {"ceilings", std::move(ceilings)}}}};
    // A name that is not UTF-8 must not fail the whole trace: its bytes are replaced.
    return trace.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<void> write_chrome_trace(const std::filesystem::path& path, const Recorder& recorder, const TraceFacts& facts) {
    KG_TRY(auto file, ReplacingFile::create(path));
    const std::string text = to_chrome_trace(recorder, facts);
    KG_CHECK(file.write(std::as_bytes(std::span(text))));
    return file.commit();
}

}  // namespace kinetograph::profile
