#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/engine/profile/step_analysis.hpp>
#include <kinetograph/engine/profile/trace.hpp>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

namespace kinetograph::profile {
namespace {

using nlohmann::json;

double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

class Writer {
  public:
    explicit Writer(const Recorder& recorder) : recorder_(recorder), frames_(recorder.frames()) {
        Recorder::Cursor spans, points;
        std::vector<PointRecord> read;
        recorder.read(spans, spans_);
        missed_spans_ = spans.missed;
        recorder.read(points, read);
        graph_waits_.make_room(read.size());
        for (const PointRecord& point : read) graph_waits_.add(point);
        counters_ = recorder.counters();
        for (const SpanRecord& span : spans_)
            if (span.plan != kNoPlan) steps_[{span.plan, span.execution}].add(span);
        for (auto& [key, step] : steps_) std::tie(step.plan, step.execution) = key;
        complete_frames();
        for (const SpanRecord& span : spans_) origin_ = std::min(origin_, span.begin);
        for (const CounterSample& sample : counters_) origin_ = std::min(origin_, sample.time);
        for (const FrameTimes& frame : frames_) origin_ = std::min(origin_, frame.shown - frame.latency);
    }

    json events() {
        for (const SpanRecord& span : spans_) add_span(span);
        for (const auto& [key, step] : steps_)
            if (const auto plan = recorder_.plans().find(key.first)) add_step(step, *plan);
        for (const CounterSample& sample : counters_) add_counter(title_of(sample), sample.time, sample.value);
        for (const FrameTimes& frame : frames_) add_frame(frame);
        return std::move(events_);
    }
    std::uint64_t missed_spans() const { return missed_spans_; }
    /// Of those that became arrows; after events().
    json waits() { return std::move(waits_); }

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

    int thread_of(std::string_view track) {
        const auto [thread, is_new] = threads_.try_emplace(std::string(track), static_cast<int>(threads_.size()) + 1);
        if (is_new)
            events_.push_back({{"name", "thread_name"},
                               {"ph", "M"},
                               {"pid", 1},
                               {"tid", thread->second},
                               {"args", {{"name", track}}}});
        return thread->second;
    }

    const Step* find(StepKey key) const {
        const auto found = steps_.find({key.plan, key.execution});
        return found != steps_.end() ? &found->second : nullptr;
    }

    /// What their own steps and the screen say of them.
    void complete_frames() {
        std::map<std::uint64_t, std::vector<FrameTimes*>> of_index;  // in the order in which they were shown
        for (FrameTimes& frame : frames_) of_index[frame.index].push_back(&frame);
        for (const ScreenTime& time : recorder_.screen_times()) {
            const auto& same = of_index[time.frame];
            const auto after =
                std::ranges::partition_point(same, [&](const auto* each) { return time.may_be_of(*each); });
            if (after != same.begin()) (*std::prev(after))->on_screen = std::max((*std::prev(after))->shown, time.time);
        }
        for (FrameTimes& frame : frames_) {
            if (const Step* made = find(frame.made_by)) frame.set_step(made->begin, made->end);
            for (Nanoseconds* part : {&frame.decode, &frame.queued, &frame.present, &frame.latency})
                *part = std::max(*part, Nanoseconds{});  // clocks are known to within their errors
        }
    }

    void add_span(const SpanRecord& span) {
        const int thread = thread_of(text(span.track));
        events_.push_back({{"name", text(span.name)},
                           {"ph", "X"},
                           {"pid", 1},
                           {"tid", thread},
                           {"ts", microseconds(span.begin)},
                           {"dur", static_cast<double>(span.length().count()) / 1000.0},
                           {"args", {{"execution", span.execution}, {"plan", span.plan}}}});
    }

    void add_counter(const std::string& title, Nanoseconds time, double value) {
        events_.push_back(
            {{"name", title}, {"ph", "C"}, {"pid", 1}, {"ts", microseconds(time)}, {"args", {{"value", value}}}});
    }

    void add_step(const Step& step, const PlanFacts& plan) {
        for (const HandOver& wait : hand_overs(step, plan)) add_arrow(step.spans[wait.from], step.spans[wait.to]);
        const StepIndex others{[this](StepKey key) { return find(key); },
                               [this](PlanId id) { return recorder_.plans().find(id); }};
        for (const GraphWait& wait : graph_waits_.of(step.key()))
            for (const StepHandOver& each : hand_overs_from_others(step, plan, {&wait, 1}, others)) {
                add_arrow(each.from, step.spans[each.to]);
                waits_.push_back({{"plan", wait.step.plan},
                                  {"execution", wait.step.execution},
                                  {"batch", wait.batch},
                                  {"from_plan", wait.from.plan},
                                  {"from_execution", wait.from.execution},
                                  {"from_batch", wait.from_batch}});
            }
        add_arenas(step, plan);
    }

    /// An arrow's ends lie inside of its spans, or viewers do not know which they belong to.
    void add_arrow(const SpanRecord& from, const SpanRecord& to) {
        ++arrow_;
        add_flow("s", from, std::max(from.begin, std::min(from.end - Nanoseconds(1), to.begin)));
        add_flow("f", to, to.begin);
    }

    void add_flow(const char* phase, const SpanRecord& span, Nanoseconds time) {
        events_.push_back({{"name", "wait"},
                           {"cat", "wait"},
                           {"ph", phase},
                           {"bp", "e"},
                           {"id", arrow_},
                           {"pid", 1},
                           {"tid", thread_of(text(span.track))},
                           {"ts", microseconds(time)}});
    }

    /// The bytes of every arena that hold something, wherever a pass changes that.
    void add_arenas(const Step& step, const PlanFacts& plan) {
        const std::vector<std::uint32_t> span_of = spans_of_passes(step, plan);
        for (const ArenaFacts& arena : plan.arenas) {
            const std::string title = fmt::format("arena {} of plan {} (MiB)", arena.domain, plan.id);
            std::optional<std::uint64_t> before;
            for (std::uint32_t pass = 0; pass < span_of.size(); ++pass) {
                if (span_of[pass] == kNone) continue;
                std::uint64_t bytes = 0;
                for (const ResourceFacts& each : plan.resources)
                    if (!each.imported && !each.culled && each.domain == arena.domain && each.first_pass <= pass &&
                        pass <= each.last_pass)
                        bytes += each.bytes;
                if (bytes != before) add_counter(title, step.spans[span_of[pass]].begin, mebibytes(bytes));
                before = bytes;
            }
            if (before) add_counter(title, step.end, 0.0);
        }
    }

    /// An instant with all that is known of the frame, and nested slices: what became of it until it was shown.
    void add_frame(const FrameTimes& frame) {
        const std::string name = fmt::format("frame {}{}", frame.index, frame.late ? ", late" : "");
        const int thread = thread_of("frames");
        events_.push_back(
            {{"name", name},
             {"cat", "frame"},
             {"ph", "i"},
             {"s", "t"},
             {"pid", 1},
             {"tid", thread},
             {"ts", microseconds(frame.shown)},
             {"args",
              {{"index", frame.index},
               {"late", frame.late},
               {"decode_ns", frame.decode.count()},
               {"queued_ns", frame.queued.count()},
               {"present_ns", frame.present.count()},
               {"latency_ns", frame.latency.count()},
               {"to_screen_ns", frame.on_screen != Nanoseconds{} ? (frame.on_screen - frame.shown).count() : -1},
               {"made_by", {{"plan", frame.made_by.plan}, {"execution", frame.made_by.execution}}},
               {"drawn_by", {{"plan", frame.drawn_by.plan}, {"execution", frame.drawn_by.execution}}}}}});
        ++frame_;
        const Nanoseconds begin = frame.shown - frame.latency;
        add_slice(name, "b", begin);
        const auto part = [&](const char* what, Nanoseconds from, Nanoseconds length) {
            if (length <= Nanoseconds{}) return;
            add_slice(what, "b", std::max(from, begin));
            add_slice(what, "e", std::max(from + length, begin));
        };
        part("decode", begin, frame.decode);
        part("queue", frame.taken() - frame.queued, frame.queued);
        part("present", frame.taken(), frame.present);
        add_slice(name, "e", frame.shown);
    }

    void add_slice(std::string_view name, const char* phase, Nanoseconds time) {
        events_.push_back({{"name", name},
                           {"cat", "frame"},
                           {"ph", phase},
                           {"id", frame_},
                           {"pid", 1},
                           {"tid", thread_of("frames")},
                           {"ts", microseconds(time)}});
    }

    const Recorder& recorder_;
    std::vector<SpanRecord> spans_;
    std::uint64_t missed_spans_ = 0;
    std::vector<CounterSample> counters_;
    std::vector<FrameTimes> frames_;
    GraphWaits graph_waits_;
    std::map<std::pair<PlanId, std::uint64_t>, Step> steps_;
    Nanoseconds origin_ = Nanoseconds::max();
    std::map<std::string, int> threads_;
    int arrow_ = 0, frame_ = 0;  // numbers of the newest
    json events_ = json::array(), waits_ = json::array();
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
    Writer writer(recorder);
    json events = writer.events();
    const json trace{{"traceEvents", std::move(events)},
                     {"displayTimeUnit", "ms"},
                     {"otherData", facts},
                     {"kinetograph",
                      {{"plans", std::move(plans)},
                       {"clocks", std::move(clocks)},
                       {"ceilings", std::move(ceilings)},
                       {"missed_spans", writer.missed_spans()},
                       {"waits", writer.waits()}}}};
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
