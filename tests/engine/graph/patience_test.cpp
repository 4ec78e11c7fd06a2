#include <kinetograph/engine/graph/bounded_wait.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace kinetograph::graph {
namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds kForPoints = 50ms, kForWork = 500ms, kEndless = 1h;

/// How long lanes in this state are waited for; at most `most`, however busy the machine is.
Nanoseconds patience_with(
    const LaneState& state, Nanoseconds for_work, Nanoseconds most, const std::function<void()>& meanwhile = [] {}) {
    const Nanoseconds begin = host_now();
    Patience patience(kForPoints, for_work);
    while (host_now() - begin < most && !patience.is_over({&state, 1})) {
        meanwhile();
        std::this_thread::sleep_for(1ms);
    }
    return host_now() - begin;
}

LaneState waiting_for(const std::shared_ptr<HostTimeline>& timeline) {
    return {.lane = Lane::Graphics, .submitted = 2, .reached = 1, .waits = {{2, {timeline, 1'000'000}}}};
}

TEST(Patiences, AreShortWithPointsThatDoNotCome) {
    const Nanoseconds took = patience_with(waiting_for(std::make_shared<HostTimeline>()), kEndless, 60s);
    EXPECT_GT(took, kForPoints);
    EXPECT_LT(took, 60s);
}

TEST(Patiences, LastWhileTheTimelineOfSuchAPointAdvances) {
    const auto timeline = std::make_shared<HostTimeline>();
    std::uint64_t value = 0;
    EXPECT_GE(patience_with(waiting_for(timeline), kEndless, 1s, [&] { timeline->signal(++value); }), 1s);
}

TEST(Patiences, AreLongerWithWorkButNotEndless) {
    const Nanoseconds took = patience_with({.lane = Lane::Graphics, .submitted = 2, .reached = 1}, kForWork, 60s);
    EXPECT_GT(took, kForWork);
    EXPECT_LT(took, 60s);
}

TEST(Patiences, LastWhileTheHostSeesALaneExecute) {
    LaneState state{.lane = Lane::Host, .submitted = 2, .reached = 1};
    state.executes = true;
    EXPECT_GE(patience_with(state, kForWork, 2 * kForWork), 2 * kForWork);
}

TEST(Patiences, OfABoundedWaitAreTheOnesThatWereAskedForWhateverItsLanesWaitFor) {
    constexpr Nanoseconds kAsked = 1s;
    static_assert(kAsked < kPatience && kAsked < kWorkPatience);
    for (const LaneState& state : {waiting_for(std::make_shared<HostTimeline>()),
                                   LaneState{.lane = Lane::Graphics, .submitted = 2, .reached = 1}}) {
        const Nanoseconds begin = host_now();
        const auto stood = wait_while_lanes_move(
            "the test", kAsked, [&] { return std::vector{state}; },
            [](Nanoseconds timeout) -> Result<bool> {
                std::this_thread::sleep_for(timeout);
                return false;
            });
        ASSERT_FALSE(stood);
        EXPECT_EQ(stood.error().message.find("waiting for the test: nothing has moved for 1 s:\n"), 0U)
            << stood.error().message;
        EXPECT_GE(host_now() - begin, kAsked);
        EXPECT_LT(host_now() - begin, kPatience);
    }
}

}  // namespace
}  // namespace kinetograph::graph
