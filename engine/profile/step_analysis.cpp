#include <kinetograph/engine/profile/step_analysis.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace kinetograph::profile {

void Step::add(const SpanRecord& span) {
    begin = spans.empty() ? span.begin : std::min(begin, span.begin);
    end = spans.empty() ? span.end : std::max(end, span.end);
    const auto at = std::upper_bound(spans.begin(), spans.end(), span.begin,
                                     [](Nanoseconds time, const SpanRecord& other) { return time < other.begin; });
    spans.insert(at, span);
}

std::vector<std::uint32_t> spans_of_passes(const Step& step, const PlanFacts& plan) {
    struct Named {
        std::uint64_t key;
        std::uint32_t index;
    };
    const auto key_of = [](NameId name, NameId track) { return std::uint64_t{name} << 32U | track; };
    std::vector<Named> sorted;
    const auto sort_passes = [&] {
        for (std::uint32_t i = 0; i < plan.passes.size(); ++i)
            sorted.push_back({key_of(plan.passes[i].name, plan.passes[i].track), i});
        std::ranges::stable_sort(sorted, {}, &Named::key);
    };
    std::vector<std::uint32_t> result(plan.passes.size(), kNone);
    std::uint32_t next = 0;  // all passes before this one have their spans
    for (std::uint32_t i = 0; i < step.spans.size(); ++i) {
        const std::uint64_t key = key_of(step.spans[i].name, step.spans[i].track);
        while (next < result.size() && result[next] != kNone) ++next;
        if (next < result.size() && key_of(plan.passes[next].name, plan.passes[next].track) == key) {
            result[next] = i;
            continue;
        }
        if (sorted.empty()) sort_passes();
        // Passes of one name ran in the plan's order.
        for (auto pass = std::ranges::lower_bound(sorted, key, {}, &Named::key);
             pass != sorted.end() && pass->key == key; ++pass)
            if (result[pass->index] == kNone) {
                result[pass->index] = i;
                break;
            }
    }
    return result;
}

std::vector<HandOver> hand_overs(const Step& step, const PlanFacts& plan) {
    const std::vector<std::uint32_t> span_of = spans_of_passes(step, plan);
    std::vector<HandOver> result;
    for (const BatchFacts& batch : plan.batches)
        for (const BatchFacts::Wait& wait : batch.waits) {
            if (wait.executions_ago != 0 || wait.batch == kNone || batch.first_pass == kNone) continue;
            const std::uint32_t last = plan.batches[wait.batch].last_pass;
            if (last == kNone || span_of[last] == kNone || span_of[batch.first_pass] == kNone) continue;
            const std::uint32_t from = span_of[last], to = span_of[batch.first_pass];
            result.push_back({from, to, std::max(Nanoseconds{}, step.spans[to].begin - step.spans[from].end)});
        }
    return result;
}

namespace {

std::vector<std::uint32_t> passes_of_spans(const Step& step, const std::vector<std::uint32_t>& span_of) {
    std::vector<std::uint32_t> result(step.spans.size(), kNone);
    for (std::uint32_t pass = 0; pass < span_of.size(); ++pass)
        if (span_of[pass] != kNone) result[span_of[pass]] = pass;
    return result;
}

/// Why a pass did not begin when its track was free.
std::string reason_of(const Step& step, std::uint32_t pass, Nanoseconds free, const PlanFacts& plan,
                      const std::vector<HandOver>& waits, const std::vector<std::uint32_t>& span_of,
                      const NameTable& names) {
    if (pass == kNone) return "between passes";
    const SpanRecord* latest = nullptr;
    for (const HandOver& wait : waits)
        if (wait.to == span_of[pass] && (latest == nullptr || step.spans[wait.from].end > latest->end))
            latest = &step.spans[wait.from];
    if (latest != nullptr && latest->end > free)
        return fmt::format("waiting for {} ({})", names.text(latest->name), names.text(latest->track));
    if (latest != nullptr)
        return fmt::format("hand-over from {} ({})", names.text(latest->name), names.text(latest->track));
    const std::uint32_t batch = plan.passes[pass].batch;
    return batch != kNone && plan.batches[batch].first_pass == pass ? "not submitted yet" : "between passes";
}

/// What a span waited for in other steps, if that ended after `free`; null if nothing did.
const SpanRecord* waited_for(const StepSurroundings& around, std::uint32_t span, Nanoseconds free) {
    const SpanRecord* latest = nullptr;
    for (const StepHandOver& each : around.from_others)
        if (each.to == span && each.from.end > free && (latest == nullptr || each.from.end > latest->end))
            latest = &each.from;
    return latest;
}

std::string reason_of(const SpanRecord& other, const NameTable& names) {
    return fmt::format("waiting for step {} of plan {}: {} ({})", other.execution, other.plan, names.text(other.name),
                       names.text(other.track));
}

/// As spans_of_passes() has it; null if there is none.
const SpanRecord* span_of_pass(const Step& step, const PlanFacts& plan, std::uint32_t pass) {
    const auto is_alike = [&wanted = plan.passes[pass]](const auto& each) {
        return each.name == wanted.name && each.track == wanted.track;
    };
    auto before = std::count_if(plan.passes.begin(), plan.passes.begin() + pass, is_alike);
    for (const SpanRecord& span : step.spans)
        if (is_alike(span) && before-- == 0) return &span;
    return nullptr;
}

/// Of a batch in a step: the span of one of its passes, else, of a batch whose passes were not timed, the last or the
/// first span of its track. Null if there is none.
const SpanRecord* span_of_batch(const Step& step, const PlanFacts& plan, std::uint32_t batch, bool last) {
    if (batch >= plan.batches.size()) return nullptr;
    const BatchFacts& facts = plan.batches[batch];
    const std::uint32_t pass = last ? facts.last_pass : facts.first_pass;
    if (pass == kNone) return nullptr;
    if (const SpanRecord* span = span_of_pass(step, plan, pass); span != nullptr) return span;
    const SpanRecord* found = nullptr;
    for (const SpanRecord& span : step.spans)
        if (span.track == facts.track && plan.find(span.name, span.track) == kNone &&
            (found == nullptr || (last && span.end > found->end)))
            found = &span;
    return found;
}

}  // namespace

std::vector<StepHandOver> hand_overs_from_others(const Step& step, const PlanFacts& plan,
                                                 std::span<const GraphWait> waits, const StepIndex& others) {
    std::vector<StepHandOver> result;
    for (const GraphWait& wait : waits) {
        const Step* other = others.step(wait.from);
        const auto facts = others.plan(wait.from.plan);
        if (other == nullptr || facts == nullptr) continue;
        const SpanRecord* from = span_of_batch(*other, *facts, wait.from_batch, true);
        const SpanRecord* to = span_of_batch(step, plan, wait.batch, false);
        if (from == nullptr || to == nullptr || from->track == to->track) continue;  // a lane has an order anyway
        result.push_back({*from, static_cast<std::uint32_t>(to - step.spans.data()),
                          std::max(Nanoseconds{}, to->begin - from->end)});
    }
    return result;
}

std::vector<IdleGap> idle_gaps(const Step& step, const PlanFacts& plan, const NameTable& names, Nanoseconds shortest,
                               const StepSurroundings& around) {
    const std::vector<std::uint32_t> span_of = spans_of_passes(step, plan);
    const std::vector<std::uint32_t> pass_of = passes_of_spans(step, span_of);
    const std::vector<HandOver> waits = hand_overs(step, plan);
    std::vector<StepSurroundings::Reached> tracks;
    std::vector<IdleGap> gaps;
    for (std::uint32_t i = 0; i < step.spans.size(); ++i) {
        const SpanRecord& span = step.spans[i];
        auto known = std::ranges::find(tracks, span.track, &StepSurroundings::Reached::track);
        const bool is_first = known == tracks.end();
        if (is_first) {
            const auto before = std::ranges::find(around.free_since, span.track, &StepSurroundings::Reached::track);
            tracks.push_back({span.track, before != around.free_since.end() ? before->time : span.begin});
            known = std::prev(tracks.end());
        }
        if (span.begin - known->time >= shortest && span.begin > known->time) {
            const SpanRecord* other = waited_for(around, i, known->time);
            if (other != nullptr)
                gaps.push_back({span.track, known->time, span.begin, reason_of(*other, names)});
            else if (!is_first)
                gaps.push_back({span.track, known->time, span.begin,
                                reason_of(step, pass_of[i], known->time, plan, waits, span_of, names)});
        }
        known->time = is_first ? span.end : std::max(known->time, span.end);
    }
    return gaps;
}

std::vector<std::uint32_t> critical_path(const Step& step, const PlanFacts& plan) {
    const std::vector<std::uint32_t> span_of = spans_of_passes(step, plan);
    std::vector<std::vector<std::uint32_t>> before(step.spans.size());  // [span] -> what may have held it back
    for (const Dependency& each : plan.dependencies)
        if (span_of[each.from] != kNone && span_of[each.to] != kNone)
            before[span_of[each.to]].push_back(span_of[each.from]);
    for (const HandOver& wait : hand_overs(step, plan)) before[wait.to].push_back(wait.from);
    std::vector<std::pair<NameId, std::uint32_t>> newest;  // of every track
    std::uint32_t last = kNone;
    for (std::uint32_t i = 0; i < step.spans.size(); ++i) {
        const auto track = std::ranges::find(newest, step.spans[i].track, &std::pair<NameId, std::uint32_t>::first);
        if (track == newest.end()) {
            newest.emplace_back(step.spans[i].track, i);
        } else {
            before[i].push_back(track->second);
            track->second = i;
        }
        if (last == kNone || step.spans[i].end > step.spans[last].end) last = i;
    }
    std::vector<std::uint32_t> path;
    while (last != kNone) {
        path.push_back(last);
        std::uint32_t latest = kNone;
        for (const std::uint32_t each : before[last])  // each began before, so the walk ends
            if (each < last && (latest == kNone || step.spans[each].end > step.spans[latest].end)) latest = each;
        last = latest;
    }
    std::ranges::reverse(path);
    return path;
}

}  // namespace kinetograph::profile
