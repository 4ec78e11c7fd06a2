// The order in which clips that share a lane submit their steps.
#include <kinetograph/compute/vae/step_queue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace kinetograph::vae {
namespace {

using Turn = StepQueue::Turn;

constexpr auto kRoom = [](Nanoseconds) -> Result<bool> { return true; };

/// Steps of threads that wait at a queue while the test has the turn.
class StepQueues : public ::testing::Test {
  protected:
    void TearDown() override {
        for (std::thread& thread : threads_) thread.join();
    }
    void wait_at(int due, const std::string& name, bool is_skipped = false) {
        const std::size_t before = queue_.waiting();
        threads_.emplace_back([this, due, name, is_skipped] {
            const auto turn = queue_.enter(Nanoseconds(due), kRoom, {}, is_skipped);
            ASSERT_TRUE(turn && *turn);
            order_.push_back(name);  // under the turn
        });
        while (queue_.waiting() == before) std::this_thread::yield();
    }
    void join() {
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
    }
    StepQueue queue_;
    std::vector<std::string> order_;
    std::vector<std::thread> threads_;
};

TEST_F(StepQueues, LetTheStepGoThatIsDueFirstAndAmongEqualsTheFirstThatCame) {
    {
        const Turn held = queue_.enter_first();
        wait_at(30, "late");
        wait_at(10, "first");
        wait_at(20, "second");
        wait_at(20, "third");
        wait_at(5, "urgent");
        EXPECT_EQ(queue_.waiting(), 5U);
    }
    join();
    EXPECT_EQ(order_, (std::vector<std::string>{"urgent", "first", "second", "third", "late"}));
}

TEST_F(StepQueues, LetStepsThatAreSkippedGoWhenNoOtherWaits) {
    {
        const Turn held = queue_.enter_first();
        wait_at(10, "second of the skipped", true);
        wait_at(5, "skipped", true);
        wait_at(30, "late");
        wait_at(20, "first");
    }
    join();
    EXPECT_EQ(order_, (std::vector<std::string>{"first", "late", "skipped", "second of the skipped"}));
    EXPECT_EQ(queue_.served(), Nanoseconds(30)) << "what is skipped does not say how far behind the queue is";
}

TEST_F(StepQueues, LetAnUrgentStepPassOneThatWaitsForRoom) {
    std::atomic<bool> room{false}, asked{false};
    threads_.emplace_back([&] {
        const auto turn = queue_.enter(Nanoseconds(10), [&](Nanoseconds) -> Result<bool> {
            asked = true;
            return room.load();
        });
        ASSERT_TRUE(turn && *turn);
        order_.emplace_back("waited for room");
    });
    while (!asked) std::this_thread::yield();
    std::atomic<bool> urgent_asked{false};
    threads_.emplace_back([&] {
        const auto turn = queue_.enter(Nanoseconds(5), [&](Nanoseconds) -> Result<bool> {
            urgent_asked = true;
            return room.load();
        });
        ASSERT_TRUE(turn && *turn);
        order_.emplace_back("urgent");
    });
    while (!urgent_asked) std::this_thread::yield();
    room = true;
    join();
    EXPECT_EQ(order_, (std::vector<std::string>{"urgent", "waited for room"}));
}

TEST_F(StepQueues, LetNobodyInWhoGivesUpOrWhoseLaneFailed) {
    const auto none = queue_.enter(
        Nanoseconds(1), [](Nanoseconds) -> Result<bool> { return false; }, [] { return true; });
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
    const auto lost =
        queue_.enter(Nanoseconds(1), [](Nanoseconds) -> Result<bool> { return fail(ErrorCode::DeviceLost, "lost"); });
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().message, "lost");
    EXPECT_EQ(queue_.waiting(), 0U);
    EXPECT_TRUE(*queue_.enter(Nanoseconds(1), kRoom)) << "the queue goes on";
}

/// Clips in a lane where a step takes 10 ms, each step of 40 ms of video, for 40 s.
class DueClips : public ::testing::Test {
  protected:
    static constexpr Nanoseconds kStep = std::chrono::milliseconds(10), kShown = std::chrono::milliseconds(40);
    struct Clip {
        DueTimes dues;
        Nanoseconds period{};  ///< in which latents arrive; 0: they are always there
        Nanoseconds asked{};
        int steps = 0, misses = 0;
    };
    void run(std::map<std::string, Clip>& clips) {
        Nanoseconds now{}, served = Nanoseconds::max();
        while (now < std::chrono::seconds(40)) {
            Clip* next = nullptr;
            DueTimes::Due first{};
            for (auto& [name, clip] : clips) {
                const DueTimes::Due due = clip.dues.next(clip.asked, kShown, served);
                if (clip.asked <= now && (next == nullptr || due.order < first.order)) next = &clip, first = due;
            }
            now += kStep;
            if (next == nullptr) continue;
            next->dues.take(first);
            served = first.order;
            ++next->steps;
            next->misses += now > first.wanted ? 1 : 0;
            next->asked = next->period == Nanoseconds{} ? now : std::max(now, next->asked + next->period);
        }
    }
};

TEST_F(DueClips, ShareALaneByTheirWeightsWhereThereIsTooMuchToDoAndNoneStarves) {
    std::map<std::string, Clip> clips{{"two", {DueTimes(2)}},
                                      {"one", {DueTimes(1)}},
                                      {"another", {DueTimes(1)}},
                                      {"third", {DueTimes(1)}},
                                      {"background", {DueTimes(1, true)}}};
    run(clips);
    const double one = clips["one"].steps;
    EXPECT_NEAR(clips["two"].steps / one, 2, 0.05);
    EXPECT_NEAR(clips["another"].steps / one, 1, 0.01);
    EXPECT_GT(clips["background"].steps, one / 10);
    EXPECT_LT(clips["background"].steps, one / 6);
}

TEST_F(DueClips, MissNoDueTimeWhereTheLaneSufficesWhateverRunsInTheBackground) {
    std::map<std::string, Clip> clips{{"background", {DueTimes(1, true)}}};
    for (const char* name : {"a", "b", "c"}) clips[name] = {DueTimes(1), kShown};
    run(clips);
    for (const char* name : {"a", "b", "c"}) {
        EXPECT_EQ(clips[name].misses, 0) << name;
        EXPECT_NEAR(clips[name].steps, 1000, 2) << name;
    }
    EXPECT_NEAR(clips["background"].steps, 1000, 10) << "what is left";
}

TEST_F(DueClips, OfferTheLaneToOneThatComesLateAsToTheOthers) {
    std::map<std::string, Clip> clips;
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) clips[name] = {DueTimes(1)};
    clips["late"] = {DueTimes(1), {}, std::chrono::seconds(20)};
    run(clips);
    EXPECT_NEAR(clips["late"].steps, 2000 / 7, 5) << "neither all of it nor none";
}

}  // namespace
}  // namespace kinetograph::vae
