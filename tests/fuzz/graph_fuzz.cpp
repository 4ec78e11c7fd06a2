// libFuzzer target: declarations that the generator of the property tests makes from bytes, for the graph compiler. The
// independent checker verifies every plan.
#include <kinetograph/tests/engine/graph/plan_checker.hpp>
#include <kinetograph/tests/engine/graph/random_graph.hpp>

#include <cstdio>

namespace {

void expect(bool promise, const std::string& problem) {
    if (promise) return;
    std::fprintf(stderr, "%s\n", problem.c_str());
    __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace kinetograph::graph;
    const RandomGraph graph(Choices(size, std::span(data, size)));
    const auto plan = compile(graph.frame, graph.options);
    if (!plan) {  // the generator's only possible error: a read of outdated contents can close a cycle
        expect(plan.error().message.starts_with("a cycle: "), plan.error().message);
        return 0;
    }
    const auto problems = check_plan(graph.frame, *plan, true);
    expect(problems.empty(), problems.empty() ? "" : problems.front());
    expect(plan->fingerprint == fingerprint(graph.frame, graph.options),
           "the plan carries another graph's fingerprint");
    return 0;
}
