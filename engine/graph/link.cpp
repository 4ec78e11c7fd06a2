#include <kinetograph/engine/graph/compilation.hpp>

#include <fmt/ranges.h>
#include <algorithm>

namespace kinetograph::graph {

namespace {

void depend(Compilation& c, const Dependency& dependency) {
    if (dependency.before != kNoIndex && dependency.before != dependency.after) c.dependencies.push_back(dependency);
}

/// Writer of `version`; kNoIndex for contents from outside, and for a version that validate() has complained about.
std::uint32_t writer_of(const ResourceNode& resource, std::uint32_t version) {
    return version < resource.writer_of.size() ? resource.writer_of[version] : kNoIndex;
}

void depend_for(Compilation& c, const Use& use) {
    const ResourceNode& resource = c.resource(use.resource);
    if (use.read_version != kNoIndex) {
        depend(c, {.before = writer_of(resource, use.read_version),
                   .after = use.pass,
                   .resource = use.resource,
                   .version = use.read_version,
                   .after_reads = true});
        const std::uint32_t next = writer_of(resource, use.read_version + 1);
        if (next != kNoIndex)
            depend(c, {.before = use.pass, .after = next, .resource = use.resource, .version = use.read_version + 1});
    }
    if (use.writes())
        depend(c, {.before = writer_of(resource, use.written_version - 1),
                   .after = use.pass,
                   .resource = use.resource,
                   .version = use.written_version});
}

void index_dependencies(Compilation& c) {
    const std::size_t passes = c.frame.passes().size();
    auto& [begin, items] = c.dependencies_of;
    begin.assign(passes + 1, 0);
    items.resize(c.dependencies.size());
    for (const Dependency& dependency : c.dependencies) ++begin[dependency.before + 1];
    for (std::size_t p = 0; p < passes; ++p) begin[p + 1] += begin[p];
    std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
    for (std::uint32_t d = 0; d < c.dependencies.size(); ++d) items[next[c.dependencies[d].before]++] = d;
}

/// Fills c.topological; returns how many dependencies each pass still waits for: all zero unless there is a cycle.
std::vector<std::uint32_t> sort_topologically(Compilation& c) {
    const auto passes = static_cast<std::uint32_t>(c.frame.passes().size());
    std::vector<std::uint32_t> open(passes, 0);
    for (const Dependency& dependency : c.dependencies) ++open[dependency.after];
    c.topological.reserve(passes);
    for (std::uint32_t p = 0; p < passes; ++p)
        if (open[p] == 0) c.topological.push_back(p);
    for (std::size_t i = 0; i < c.topological.size(); ++i)
        for (std::uint32_t d : c.dependencies_of.row(c.topological[i]))
            if (--open[c.dependencies[d].after] == 0) c.topological.push_back(c.dependencies[d].after);
    return open;
}

std::string edge(const Compilation& c, const Dependency& d) {
    const ResourceNode& resource = c.resource(d.resource);
    const auto sentence = [&](std::string_view why) {
        return fmt::format("\"{}\" waits for \"{}\" because {} \"{}\" version {}", c.pass(d.after).name,
                           c.pass(d.before).name, why, resource.name, d.version);
    };
    return sentence(d.after_reads ? "it reads" : "it overwrites contents to make");
}

/// Walks backwards along unresolved dependencies until a pass comes up for the second time.
void report_cycle(Compilation& c, const std::vector<std::uint32_t>& open) {
    std::vector<std::uint32_t> cause(open.size(), kNoIndex);  // [pass] -> an unresolved dependency of it
    for (std::uint32_t d = 0; d < c.dependencies.size(); ++d)
        if (open[c.dependencies[d].after] != 0 && open[c.dependencies[d].before] != 0)
            cause[c.dependencies[d].after] = d;
    std::vector<char> seen(open.size(), 0);
    auto at = static_cast<std::uint32_t>(
        std::find_if(cause.begin(), cause.end(), [](auto d) { return d != kNoIndex; }) - cause.begin());
    while (seen[at] == 0) {
        seen[at] = 1;
        at = c.dependencies[cause[at]].before;
    }
    std::vector<std::string> edges;
    const std::uint32_t start = at;
    do {
        edges.push_back(edge(c, c.dependencies[cause[at]]));
        at = c.dependencies[cause[at]].before;
    } while (at != start);
    c.errors.push_back(fmt::format("a cycle: {}", fmt::join(edges, "; ")));
}

}  // namespace

void link(Compilation& c) {
    c.dependencies.reserve(c.uses.size() * 2);
    for (const Use& use : c.uses) depend_for(c, use);
    index_dependencies(c);
    const std::vector<std::uint32_t> open = sort_topologically(c);
    if (c.topological.size() < c.frame.passes().size()) report_cycle(c, open);
}

}  // namespace kinetograph::graph
