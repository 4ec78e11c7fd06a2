#include <kinetograph/engine/graph/plan.hpp>

#include <fmt/format.h>
#include <iterator>

namespace kinetograph::graph {

namespace {

std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + '"';
}

std::string node_of(const Batch& batch) { return fmt::format("{}_{}", to_string(batch.lane), batch.ordinal); }

/// One label per batch: a line for each pass, with a line such as "-- 2 --" before a pass that has two barriers.
std::string label_of(const Plan& plan, const Batch& batch) {
    if (batch.passes.empty()) return "(relay)";
    std::string label;
    for (std::uint32_t position : batch.passes) {
        const PlannedPass& pass = plan.passes[position];
        if (!pass.barriers.empty()) label += fmt::format("-- {} --\n", pass.barriers.size());
        label += pass.name + "\n";
    }
    label.pop_back();
    return label;
}

std::string escaped_lines(std::string_view text) {
    std::string result;
    for (char c : quoted(text)) result += c == '\n' ? std::string("\\l") : std::string(1, c);
    return result;
}

}  // namespace

std::string Plan::to_graphviz() const {
    std::string text = "digraph plan {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];\n";
    const auto line = std::back_inserter(text);
    for (Lane lane : kLanes) {
        if (batches_on_lane[lane.index()] == 0) continue;
        fmt::format_to(line, "  subgraph cluster_{} {{\n    label={};\n", to_string(lane), quoted(to_string(lane)));
        for (const Batch& batch : batches)
            if (batch.lane == lane)
                fmt::format_to(line, "    {} [label={}];\n", node_of(batch), escaped_lines(label_of(*this, batch)));
        for (const Batch& batch : batches)
            if (batch.lane == lane && batch.ordinal > 0)
                fmt::format_to(line, "    {}_{} -> {};\n", to_string(lane), batch.ordinal - 1, node_of(batch));
        text += "  }\n";
    }
    for (const Batch& batch : batches)
        for (const Wait& wait : batch.waits) {
            fmt::format_to(line, "  {}_{} -> {} [style=dashed", to_string(wait.lane), wait.batch, node_of(batch));
            if (wait.executions_ago > 0)
                fmt::format_to(line, ", color=gray, constraint=false, label=\"{} ago\"", wait.executions_ago);
            else
                fmt::format_to(line, ", label=\"{} us\"", wait.hand_over.count() / 1000);
            text += "];\n";
        }
    std::string arenas;
    for (const PlannedResource& resource : resources)
        if (resource.kind == ResourceKind::Transient && !resource.culled)
            arenas += fmt::format("{} [{}, {}) of {}, passes {}-{}\n", resource.name, resource.offset,
                                  resource.offset + resource.bytes, to_string(resource.domain), resource.first_pass,
                                  resource.last_pass);
    if (!arenas.empty()) fmt::format_to(line, "  arenas [shape=note, label={}];\n", escaped_lines(arenas));
    std::string unused;
    for (const CulledPass& pass : culled) unused += fmt::format("{}: {}\n", pass.name, pass.reason);
    if (!unused.empty())
        fmt::format_to(line, "  culled [shape=note, style=dotted, label={}];\n", escaped_lines(unused));
    text += "}\n";
    return text;
}

}  // namespace kinetograph::graph
