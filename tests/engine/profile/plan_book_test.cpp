#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/profile/plan_book.hpp>
#include <kinetograph/engine/profile/profile.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace kinetograph::profile {
namespace {

using graph::Access;
using graph::Lane;

/// The passes never run.
struct AnyContext : graph::PassContext {
    static constexpr bool serves(Lane) { return true; }
};

struct Nothing {
    graph::Buffer made;
};

/// make on the accelerator -> take on the host; unused reaches nothing.
graph::FrameGraph two_passes(std::uint64_t bytes) {
    graph::FrameGraph frame;
    const graph::BufferDesc desc{bytes, 16, graph::MemoryDomain::Accelerator};
    const auto declare = [&](const char* name, Lane lane, auto setup) {
        return frame.add_pass<Nothing>(name, lane, setup, [](const Nothing&, AnyContext&) {}).made;
    };
    const graph::Buffer made = declare("make", Lane::Accelerator, [&](graph::PassBuilder& pass, Nothing& data) {
        data.made = pass.create("values", desc, Access::KernelWrite);
        pass.describe_work({.operations = 1e9, .kernel = "fast", .reason = "it is fast"});
    });
    declare("unused", Lane::Accelerator, [&](graph::PassBuilder& pass, Nothing& data) {
        data.made = pass.create("waste", desc, Access::KernelWrite);
    });
    declare("take", Lane::Host, [&](graph::PassBuilder& pass, Nothing&) {
        pass.read(made, Access::HostRead);
        pass.has_side_effect();
    });
    return frame;
}

/// Tells `book` of the batch, as its lane does.
PlanId note(PlanBook& book, const graph::FrameGraph& frame, const graph::Plan& plan, std::size_t batch,
            std::uint64_t executor = 1, NameId track = 0) {
    std::vector<graph::PassRecord> passes;
    for (const std::uint32_t index : plan.batches[batch].passes)
        passes.push_back({&plan.passes[index], &frame.passes()[plan.passes[index].pass], {}});
    graph::BatchRecord record;
    record.plan = &plan;
    record.batch = &plan.batches[batch];
    record.executor = executor;
    record.passes = passes;
    return book.note(record, track);
}

TEST(PlanBook, KnowsPassesWorkWaitsAndMemoryOnceTheLanesHaveTold) {
    const graph::FrameGraph frame = two_passes(4096);
    const auto plan = graph::compile(frame, {.topology = graph::LaneTopology::without_vulkan()});
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->batches.size(), 2U);
    NameTable names;
    PlanBook book(names);
    const NameId accelerator = names.intern("accelerator #2"), host = names.intern("host");
    const PlanId id = note(book, frame, *plan, 0, 1, accelerator);
    EXPECT_FALSE(book.find(id)->is_complete());
    EXPECT_EQ(note(book, frame, *plan, 1, 1, host), id);
    EXPECT_EQ(note(book, frame, *plan, 1, 1, host), id) << "the next execution";
    const auto facts = book.find(id);
    EXPECT_TRUE(facts->is_complete());
    ASSERT_EQ(facts->passes.size(), 2U);
    const PassFacts &make = facts->passes[0], &take = facts->passes[1];
    EXPECT_EQ(names.text(make.name), "make");
    EXPECT_EQ(names.text(make.track), "accelerator #2") << "as its lane says";
    EXPECT_EQ(make.operations, 1e9);
    EXPECT_EQ(make.bytes, 4096U) << "what it writes, for it does not say";
    EXPECT_EQ(make.kernel, "fast");
    EXPECT_EQ(names.text(take.track), "host");
    EXPECT_EQ(take.bytes, 4096U);
    ASSERT_EQ(facts->dependencies.size(), 1U);
    EXPECT_EQ(facts->dependencies[0].from, 0U);
    EXPECT_EQ(facts->dependencies[0].to, 1U);
    EXPECT_EQ(facts->resources[facts->dependencies[0].resource].name, "values");
    ASSERT_EQ(facts->batches[1].waits.size(), 1U);
    EXPECT_EQ(facts->batches[1].waits[0].batch, 0U);
    EXPECT_EQ(facts->culled, (std::vector<CulledFacts>{{"unused", "nothing reads \"waste\""}}));
    ASSERT_EQ(facts->arenas.size(), 1U);
    EXPECT_EQ(facts->arenas[0].domain, "accelerator");
}

TEST(PlanBook, FactsOfAPassStayWhileLanesStillTellOfItsPlan) {
    const graph::FrameGraph frame = two_passes(4096);
    const auto plan = graph::compile(frame, {.topology = graph::LaneTopology::without_vulkan()});
    ASSERT_TRUE(plan);
    Recorder recorder;
    Profile profile(recorder);
    const NameId accelerator = recorder.names().intern("accelerator"), host = recorder.names().intern("host");
    const PlanId id = note(recorder.plans(), frame, *plan, 0, 1, accelerator);
    const NameId make = recorder.names().intern("make");
    recorder.add(SpanRecord{make, accelerator, id, Nanoseconds(0), Nanoseconds(10), 0});
    profile.update(Nanoseconds(100));
    const auto facts = profile.facts(*profile.find(make, accelerator));
    ASSERT_NE(facts, nullptr);
    note(recorder.plans(), frame, *plan, 1, 1, host);
    EXPECT_TRUE(profile.plan(id)->is_complete()) << "the profile has replaced what it kept";
    EXPECT_EQ(facts->kernel, "fast");
    EXPECT_EQ(facts->reason, "it is fast");
    EXPECT_EQ(facts.use_count(), 1) << "it alone keeps the facts of before";
}

TEST(PlanBook, ForgetsThePlanThatWasUsedLongestAgo) {
    NameTable names;
    PlanBook book(names);
    PlanId first = kNoPlan, second = kNoPlan;
    for (std::uint64_t i = 0; i <= PlanBook::kMost; ++i) {
        const graph::FrameGraph frame = two_passes(64 * (i + 1));
        const auto plan = graph::compile(frame, {.topology = graph::LaneTopology::without_vulkan()});
        ASSERT_TRUE(plan);
        const PlanId id = note(book, frame, *plan, 0);
        if (i == 0) first = id;
        if (i == 1) second = id;
        if (i == 5) {
            const graph::FrameGraph again = two_passes(64);
            EXPECT_EQ(note(book, again, *graph::compile(again, {.topology = graph::LaneTopology::without_vulkan()}), 0),
                      first);
        }
    }
    EXPECT_NE(book.find(first), nullptr);
    EXPECT_EQ(book.find(second), nullptr);
    EXPECT_EQ(book.all().size(), PlanBook::kMost);
}

TEST(PlanBook, FindsTheNumberOfAPlanThatWasNoted) {
    const graph::FrameGraph frame = two_passes(4096), other = two_passes(8192);
    const auto plan = graph::compile(frame, {.topology = graph::LaneTopology::without_vulkan()});
    const auto unknown = graph::compile(other, {.topology = graph::LaneTopology::without_vulkan()});
    NameTable names;
    PlanBook book(names);
    const PlanId id = note(book, frame, *plan, 0);
    EXPECT_EQ(book.id_of(plan->fingerprint, 1), id);
    EXPECT_EQ(book.id_of(unknown->fingerprint, 1), kNoPlan);
    EXPECT_EQ(book.id_of(plan->fingerprint, 2), kNoPlan) << "of another executor";
}

TEST(PlanBook, KeepsEqualGraphsOfTwoExecutorsApart) {
    const graph::FrameGraph frame = two_passes(4096);
    const auto plan = graph::compile(frame, {.topology = graph::LaneTopology::without_vulkan()});
    NameTable names;
    PlanBook book(names);
    const NameId first = names.intern("accelerator"), second = names.intern("accelerator #2");
    const PlanId of_first = note(book, frame, *plan, 0, 1, first), of_second = note(book, frame, *plan, 0, 2, second);
    EXPECT_NE(of_first, of_second);
    EXPECT_EQ(note(book, frame, *plan, 0, 1, first), of_first) << "the next execution";
    EXPECT_EQ(book.find(of_first)->batches[0].track, first);
    EXPECT_EQ(book.find(of_second)->batches[0].track, second);
}

/// Looks up known plans while another thread makes the book forget others: what is found is always the plan's own.
TEST(PlanBook, GivesEveryPlanItsOwnNumberWhileOthersAreForgotten) {
    NameTable names;
    PlanBook book(names);
    const graph::FrameGraph kept = two_passes(64);
    const auto plan = graph::compile(kept, {.topology = graph::LaneTopology::without_vulkan()});
    const PlanId id = note(book, kept, *plan, 0);
    std::atomic<bool> stop = false;
    std::thread reader([&] {
        while (!stop) {
            EXPECT_EQ(note(book, kept, *plan, 0), id);
            EXPECT_EQ(book.id_of(plan->fingerprint, 1), id);
        }
    });
    for (std::uint64_t i = 2; i < 200; ++i) {
        const graph::FrameGraph frame = two_passes(64 * i);
        const auto other = graph::compile(frame, {.topology = graph::LaneTopology::without_vulkan()});
        EXPECT_NE(note(book, frame, *other, 0), id);
        while (note(book, kept, *plan, 0) != id) ADD_FAILURE() << "the plan in use was forgotten";
    }
    stop = true;
    reader.join();
}

}  // namespace
}  // namespace kinetograph::profile
