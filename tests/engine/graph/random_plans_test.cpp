// Random graphs, every plan judged by the independent checker; and every part of a plan taken away in turn, which the
// checker has to notice: so each barrier and wait is needed, and the checker sees what each one is for.
#include <gtest/gtest.h>

#include "plan_checker.hpp"
#include "random_graph.hpp"

namespace kinetograph::graph {
namespace {

constexpr std::uint64_t kPlans = random_graphs(4000);

/// The only mistake that a random declaration makes: reading outdated contents can close a cycle.
bool is_cycle(const Error& error) { return error.message.rfind("a cycle: ", 0) == 0; }

TEST(RandomPlans, HaveNoUnsynchronisedHazardAndNoOverlap) {
    std::uint64_t compiled = 0;
    for (std::uint64_t seed = 0; seed < kPlans; ++seed) {
        const RandomGraph graph(seed);
        const auto plan = compile(graph.frame, graph.options);
        if (!plan) {
            ASSERT_TRUE(is_cycle(plan.error())) << "seed " << seed << ": " << plan.error().message;
            continue;
        }
        ++compiled;
        const auto problems = check_plan(graph.frame, *plan);
        ASSERT_TRUE(problems.empty()) << "seed " << seed << ": " << problems.front() << "\n"
                                      << batches_of(*plan) << "\n"
                                      << waits_of(*plan) << "\n"
                                      << barriers_of(*plan);
    }
    EXPECT_GT(compiled, kPlans * 8 / 10);
}

TEST(RandomPlans, NeedEveryBarrier) {
    std::uint64_t dropped = 0;
    for (std::uint64_t seed = 0; seed < kPlans / 4; ++seed) {
        const RandomGraph graph(seed);
        auto plan = compile(graph.frame, graph.options);
        if (!plan) continue;
        for (PlannedPass& pass : plan->passes)
            for (std::size_t b = 0; b < pass.barriers.size(); ++b, ++dropped) {
                const Barrier barrier = pass.barriers[b];
                pass.barriers.erase(pass.barriers.begin() + static_cast<std::ptrdiff_t>(b));
                const bool noticed = !check_plan(graph.frame, *plan, true).empty();
                pass.barriers.insert(pass.barriers.begin() + static_cast<std::ptrdiff_t>(b), barrier);
                ASSERT_TRUE(noticed) << "seed " << seed << ", barrier " << b << " of \"" << pass.name << "\"\n"
                                     << batches_of(*plan) << "\n"
                                     << waits_of(*plan) << "\n"
                                     << barriers_of(*plan);
            }
    }
    EXPECT_GT(dropped, kPlans);
}

TEST(RandomPlans, NeedEveryWait) {
    std::uint64_t dropped = 0;
    for (std::uint64_t seed = 0; seed < kPlans / 2; ++seed) {
        const RandomGraph graph(seed);
        auto plan = compile(graph.frame, graph.options);
        if (!plan) continue;
        for (Batch& batch : plan->batches)
            for (std::size_t w = 0; w < batch.waits.size(); ++w, ++dropped) {
                const Wait wait = batch.waits[w];
                batch.waits.erase(batch.waits.begin() + static_cast<std::ptrdiff_t>(w));
                const bool noticed = !check_plan(graph.frame, *plan, true).empty();
                batch.waits.insert(batch.waits.begin() + static_cast<std::ptrdiff_t>(w), wait);
                ASSERT_TRUE(noticed) << "seed " << seed << ", wait " << w << " of " << to_string(batch.lane) << " "
                                     << batch.ordinal << "\n"
                                     << batches_of(*plan) << "\n"
                                     << waits_of(*plan) << "\n"
                                     << barriers_of(*plan);
            }
    }
    EXPECT_GT(dropped, kPlans / 2);
}

TEST(RandomPlans, NeedEveryTransientToKeepItsBytesForItsLifetime) {
    std::uint64_t moved = 0;
    for (std::uint64_t seed = 0; seed < kPlans / 2; ++seed) {
        const RandomGraph graph(seed);
        auto plan = compile(graph.frame, graph.options);
        if (!plan) continue;
        for (PlannedResource& one : plan->resources)
            for (const PlannedResource& other : plan->resources) {
                const bool both = one.kind == ResourceKind::Transient && other.kind == ResourceKind::Transient &&
                                  !one.culled && !other.culled && one.resource != other.resource;
                if (!both || one.domain != other.domain) continue;
                if (one.last_pass < other.first_pass || other.last_pass < one.first_pass) continue;
                const std::uint64_t offset = std::exchange(one.offset, other.offset);
                const bool noticed = !check_plan(graph.frame, *plan, true).empty();
                one.offset = offset;
                ASSERT_TRUE(noticed) << "seed " << seed << ", " << one.name << " over " << other.name;
                ++moved;
            }
    }
    EXPECT_GT(moved, kPlans);
}

TEST(RandomPlans, AreEqualWhereFingerprintsAreEqualWhateverTheStorage) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> plans;
    for (std::uint64_t seed = 0; seed < kPlans / 4; ++seed)
        for (std::uintptr_t address : {4096U, 1U << 20U}) {
            const RandomGraph graph(seed, {.imports = address});
            const auto plan = compile(graph.frame, graph.options);
            if (!plan) continue;
            const Fingerprint print = fingerprint(graph.frame, graph.options);
            ASSERT_EQ(plan->fingerprint, print);
            const auto [known, first] = plans.try_emplace({print.low, print.high}, plan->to_json());
            EXPECT_EQ(first, address == 4096U) << "seed " << seed;
            EXPECT_EQ(known->second, plan->to_json()) << "seed " << seed;
        }
}

}  // namespace
}  // namespace kinetograph::graph
