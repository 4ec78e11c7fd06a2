// What an executor says and does when a lane waits for a value that never comes.
#include <kinetograph/engine/graph/bounded_wait.hpp>
#include <kinetograph/engine/graph/host_lane.hpp>
#include <kinetograph/tests/sanitizers.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <regex>
#include <thread>

#include "host_memory.hpp"
#include "scene.hpp"

namespace kinetograph::graph {
namespace {

/// "waiting for 0 s" as "waiting": a busy machine may be late with what it says.
std::string without_time(std::string_view report) {
    return std::regex_replace(std::string(report), std::regex("^waiting for [0-9]+ s"), "waiting");
}

/// A lane that takes batches and never does them.
class StandingLane final : public LaneBackend {
  public:
    Lane lane() const override { return Lane::Accelerator; }
    Result<void> submit(const BatchRecord& record) override {
        submitted_ = record.signal;
        return {};
    }
    using LaneBackend::wait;
    Result<bool> wait(std::uint64_t value, Nanoseconds timeout) override {
        KG_TRY(const bool reached, wait_for({timeline_, value}, timeout));
        if (!reached && gives_up) return fail(ErrorCode::DeviceLost, "lane accelerator stands still");
        return reached;
    }
    std::shared_ptr<Timeline> timeline() const override { return timeline_; }
    /// It waits for a point of another party, as a stream would.
    LaneState state() const override {
        LaneState state{.lane = lane(), .submitted = submitted_, .reached = timeline_->value()};
        if (says_for_what) state.waits = {{submitted_, {never_, 7}}};
        if (gives_up) state.patience = std::chrono::milliseconds(100);
        return state;
    }
    bool says_for_what = true;
    bool gives_up = false;  ///< as a queue that stands still after a loss on its GPU
    void reach(std::uint64_t value) { timeline_->signal(value); }

  private:
    std::uint64_t submitted_ = 0;
    std::shared_ptr<HostTimeline> timeline_ = std::make_shared<HostTimeline>("lane accelerator");
    std::shared_ptr<HostTimeline> never_ = std::make_shared<HostTimeline>("a timeline of the application's");
};

class LongWaits : public ::testing::Test {
  protected:
    /// Longer than report_after also where the machine is busy.
    static constexpr Nanoseconds kLongWait = std::chrono::seconds(3);

    Result<Execution> execute_hand_over() {
        scene_.frame.clear();
        const Buffer made =
            scene_.pass("make", Lane::Accelerator, {.creates = {"made"}, .domain = MemoryDomain::Host}).front();
        scene_.frame.add_pass<NoData>(
            "look", Lane::Host,
            [&](PassBuilder& pass, NoData&) {
                pass.read(made, Access::HostRead);
                pass.has_side_effect();
            },
            [](const NoData&, HostContext&) {});
        return executor->execute(scene_.frame);
    }

    template <class Context>
    Result<Execution> execute_one_pass(Lane lane, std::function<void()> work) {
        scene_.frame.clear();
        scene_.frame.add_pass<NoData>(
            "work", lane, [](PassBuilder& pass, NoData&) { pass.has_side_effect(); },
            [work = std::move(work)](const NoData&, Context&) { work(); });
        return executor->execute(scene_.frame);
    }

    std::vector<std::string> reports;
    StandingLane accelerator;
    std::unique_ptr<HostLane> host = std::make_unique<HostLane>();
    HostMemory memory;
    std::unique_ptr<Executor> executor =
        Executor::create(
            {.lanes = {&accelerator, host.get()},
             .memory = {{MemoryDomain::Host, &memory}},
             .compile = {.topology = LaneTopology::without_vulkan()},
             .report_after = std::chrono::milliseconds(500),
             .log = Log([this](LogLevel, std::string_view message) { reports.push_back(without_time(message)); })})
            .value();

  private:
    Scene scene_;
};

const std::string kBothLanes =
    "lane accelerator: submitted 1, reached 0; batch 1 waits for value 7 of a timeline of the application's, which is "
    "at 0\n"
    "lane host: submitted 1, reached 0; batch 1 waits for value 1 of lane accelerator, which is at 0";

TEST_F(LongWaits, AreDescribedOnceAndEndAtTheirTimeout) {
    const auto execution = execute_hand_over();
    ASSERT_TRUE(execution);
    const auto waited = executor->wait(*execution, kLongWait);
    ASSERT_TRUE(waited);
    EXPECT_FALSE(*waited);
    EXPECT_EQ(reports, std::vector<std::string>{"waiting:\n" + kBothLanes});
    accelerator.reach(1);
    EXPECT_TRUE(executor->wait(*execution));
    EXPECT_EQ(reports.size(), 1U);
}

TEST(PendingWaits, LastUntilTheDeviceSeesThePointToo) {
    const auto lane = std::make_shared<HostTimeline>("lane accelerator"), semaphore = std::make_shared<HostTimeline>();
    PendingWaits pending;
    pending.add(10, {lane, 31}, semaphore);
    lane->signal(31);
    semaphore->signal(30);
    ASSERT_EQ(pending.unmet(9).size(), 1U);
    EXPECT_EQ(
        describe(LaneState{.lane = Lane::Graphics, .submitted = 12, .reached = 9, .waits = pending.unmet(9)}),
        "lane graphics: submitted 12, reached 9; batch 10 waits for value 31 of lane accelerator, which is at 31, "
        "and at 30 where the device sees it");
    semaphore->signal(31);
    EXPECT_EQ(pending.unmet(9).size(), 0U);
}

/// As where a queue is blocked by work that its lane does not know of.
TEST_F(LongWaits, AreDescribedThoughNoLaneKnowsForWhatItWaits) {
    accelerator.says_for_what = false;
    const auto execution = execute_one_pass<TestContext>(Lane::Accelerator, [] {});
    ASSERT_TRUE(execution);
    const auto waited = executor->wait(*execution, kLongWait);
    ASSERT_TRUE(waited);
    EXPECT_FALSE(*waited);
    EXPECT_EQ(reports, std::vector<std::string>{"waiting:\nlane accelerator: submitted 1, reached 0\nlane host: "
                                                "submitted 0, reached 0"});
    accelerator.reach(1);
    EXPECT_TRUE(executor->wait(*execution));
}

TEST_F(LongWaits, AreNotDescribedWhileTheHostSeesALaneExecute) {
    std::promise<void> started;
    const auto execution = execute_one_pass<HostContext>(Lane::Host, [&] {
        started.set_value();
        std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    });
    ASSERT_TRUE(execution);
    started.get_future().wait();
    ASSERT_TRUE(executor->wait(*execution));
    EXPECT_EQ(reports, std::vector<std::string>{});
}

TEST_F(LongWaits, AreGivenUpAtTheEndOfAnExecutorWithoutFreeingWhatTheyTouch) {
    const test::KeptOnPurpose kept;
    ASSERT_TRUE(execute_hand_over());
    const Nanoseconds begin = host_now();
    executor.reset();
    const Nanoseconds took = host_now() - begin;
    EXPECT_GE(took, kPatience);
    EXPECT_LT(took, kWorkPatience / 2);
    ASSERT_EQ(reports.size(), 2U);
    EXPECT_EQ(reports.front(), "waiting:\n" + kBothLanes);
    EXPECT_EQ(reports.back(), "given up at the end of an executor:\n" + kBothLanes);
    EXPECT_GT(memory.bytes_now, 0U) << "a device may still write there";
    accelerator.reach(1);
}

TEST_F(LongWaits, ForALaneThatGivesUpEndSoonWithoutFreeingWhatItTouches) {
    const test::KeptOnPurpose kept;
    accelerator.gives_up = true;
    accelerator.says_for_what = false;
    const auto execution = execute_hand_over();
    ASSERT_TRUE(execution);
    EXPECT_FALSE(executor->wait(*execution));
    const Nanoseconds begin = host_now();
    executor.reset();
    EXPECT_LT(host_now() - begin, kPatience);
    EXPECT_GT(memory.bytes_now, 0U) << "the device may still write there";
    accelerator.reach(1);
}

TEST_F(LongWaits, AreGivenUpAtTheEndOfAHostLane) {
    const test::KeptOnPurpose kept;
    ASSERT_TRUE(execute_hand_over());
    const auto timeline = host->timeline();
    const Nanoseconds begin = host_now();
    executor.reset();
    host.reset();
    EXPECT_LT(host_now() - begin, kWorkPatience / 2);
    EXPECT_EQ(timeline->value(), 1U) << "what it has promised it brings";
    const auto status = timeline->status();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(status.error().message, "lane host, waiting for lane accelerator: value 1 was never reached");
}

TEST_F(LongWaits, ForALaneThatIsToBecomeIdleEndWithItsState) {
    ASSERT_TRUE(execute_one_pass<TestContext>(Lane::Accelerator, [] {}));
    const auto stood = wait_until_idle(accelerator, "a test", std::chrono::seconds(1));
    ASSERT_FALSE(stood);
    EXPECT_EQ(stood.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(stood.error().message,
              "waiting for a test: nothing has moved for 1 s:\nlane accelerator: submitted 1, reached 0; batch 1 waits "
              "for value 7 of a timeline of the application's, which is at 0");
    accelerator.reach(1);
    EXPECT_TRUE(wait_until_idle(accelerator, "a test", std::chrono::seconds(1)));
}

}  // namespace
}  // namespace kinetograph::graph
