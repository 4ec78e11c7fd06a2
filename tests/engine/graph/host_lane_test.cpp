#include <kinetograph/engine/graph/host_lane.hpp>

#include <gtest/gtest.h>
#include <array>
#include <atomic>
#include <stdexcept>

#include "host_memory.hpp"
#include "scene.hpp"

namespace kinetograph::graph {
namespace {

/// A lane whose timeline the test moves by hand.
class ManualLane final : public LaneBackend {
  public:
    Lane lane() const override { return Lane::Accelerator; }
    Result<void> submit(const BatchRecord& record) override {
        submitted = record.signal;
        return {};
    }
    using LaneBackend::wait;
    Result<bool> wait(std::uint64_t value, Nanoseconds timeout) override {
        return wait_for({timeline_, value}, timeout);
    }
    std::shared_ptr<Timeline> timeline() const override { return timeline_; }
    void reach(std::uint64_t value) { timeline_->signal(value); }
    void lose() { timeline_->report({ErrorCode::DeviceLost, "the device is gone"}); }
    std::uint64_t submitted = 0;

  private:
    std::shared_ptr<HostTimeline> timeline_ = std::make_shared<HostTimeline>("lane accelerator");
};

class HostLanes : public ::testing::Test {
  protected:
    /// A pass on the manual lane, then one on the host that counts.
    Result<Execution> execute_hand_over() {
        FrameGraph frame;
        Buffer made;
        frame.add_pass<NoData>(
            "make", Lane::Accelerator,
            [&](PassBuilder& pass, NoData&) {
                made = pass.create("made", {.bytes = 64, .domain = MemoryDomain::Host}, Access::KernelWrite);
            },
            [](const NoData&, TestContext&) {});
        frame.add_pass<NoData>(
            "count", Lane::Host,
            [&](PassBuilder& pass, NoData&) {
                pass.read(made, Access::HostRead);
                pass.has_side_effect();
            },
            [this](const NoData&, HostContext& context) {
                counted = counted * 10 + static_cast<int>(context.execution()) + 1;
            });
        return executor->execute(frame);  // the frame is gone before the pass runs
    }

    std::atomic<int> counted{0};
    std::vector<std::string> observed;
    std::string observer_refuses;  ///< a pass
    ManualLane accelerator;
    HostLane host{[this](std::string_view pass, std::uint64_t execution, Nanoseconds begin, Nanoseconds end) {
        EXPECT_LE(begin, end);
        observed.push_back(fmt::format("{} {}", pass, execution));
        if (pass == observer_refuses) throw std::runtime_error("the observer is gone");
    }};
    HostMemory memory;
    std::unique_ptr<Executor> executor = Executor::create({.lanes = {&accelerator, &host},
                                                           .memory = {{MemoryDomain::Host, &memory}},
                                                           .compile = {.topology = LaneTopology::without_vulkan()}})
                                             .value();
};

TEST_F(HostLanes, RunPassesInOrderOnceOtherLanesHaveGotThere) {
    const auto first = execute_hand_over();
    const auto second = execute_hand_over();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(counted, 0);
    accelerator.reach(1);
    ASSERT_TRUE(host.wait(1));
    EXPECT_EQ(counted, 1);
    accelerator.reach(2);
    ASSERT_TRUE(executor->wait(*second));
    EXPECT_EQ(counted, 12);
    EXPECT_EQ(observed, (std::vector<std::string>{"count 0", "count 1"}));
}

TEST_F(HostLanes, SkipPassesButReachValuesWhenALaneIsLost) {
    ASSERT_TRUE(execute_hand_over());
    ASSERT_TRUE(execute_hand_over());
    accelerator.lose();
    const auto waited = host.wait(2);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(waited.error().message, "lane host, waiting for lane accelerator: the device is gone");
    EXPECT_EQ(counted, 0);
    EXPECT_FALSE(execute_hand_over());
}

TEST_F(HostLanes, TurnWhatAPassThrowsIntoAnErrorAndReachTheirValues) {
    FrameGraph frame;
    const auto declare = [](PassBuilder& pass, NoData&) { pass.has_side_effect(); };
    frame.add_pass<NoData>("of the application", Lane::Host, declare,
                           [](const NoData&, HostContext&) { throw std::runtime_error("its file is gone"); });
    frame.add_pass<NoData>("after it", Lane::Host, declare, [this](const NoData&, HostContext&) { ++counted; });
    const auto execution = executor->execute(frame);
    ASSERT_TRUE(execution) << execution.error().message;
    const auto waited = executor->wait(*execution);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().message, "of the application: its file is gone");
    EXPECT_EQ(counted, 0);
    EXPECT_FALSE(executor->execute(frame));
}

TEST_F(HostLanes, TurnWhatTheirObserverThrowsIntoAnErrorAndReachTheirValues) {
    observer_refuses = "count";
    const auto execution = execute_hand_over();
    ASSERT_TRUE(execution) << execution.error().message;
    accelerator.reach(1);
    const auto waited = executor->wait(*execution);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().message, "lane host: the observer is gone");
    EXPECT_EQ(host.timeline()->value(), 1U);
}

TEST_F(HostLanes, WaitForThePointsOfWhatTheirPassesImport) {
    const auto theirs = std::make_shared<HostTimeline>("a timeline of the application's");
    FrameGraph frame;
    std::array<std::byte, 64> memory_of_theirs{};
    const Physical place{.object = reinterpret_cast<std::uintptr_t>(memory_of_theirs.data()), .bytes = 64};
    const Buffer given = frame.import_buffer("given", {.bytes = 64, .domain = MemoryDomain::Host}, place, {theirs, 3});
    frame.add_pass<NoData>(
        "look", Lane::Host,
        [&](PassBuilder& pass, NoData&) {
            pass.read(given, Access::HostRead);
            pass.has_side_effect();
        },
        [this](const NoData&, HostContext&) { ++counted; });
    const auto execution = executor->execute(frame);
    ASSERT_TRUE(execution) << execution.error().message;
    const auto early = executor->wait(*execution, std::chrono::milliseconds(50));
    ASSERT_TRUE(early) << early.error().message;
    EXPECT_FALSE(*early);
    EXPECT_EQ(counted, 0);
    ASSERT_EQ(host.state().waits.size(), 1U);
    EXPECT_EQ(host.state().waits.front().point.value, 3U);
    theirs->signal(3);
    ASSERT_TRUE(executor->wait(*execution));
    EXPECT_EQ(counted, 1);
}

TEST_F(HostLanes, RefuseAPassTheResourcesThatItDidNotDeclare) {
    FrameGraph frame;
    Buffer made;
    frame.add_pass<NoData>(
        "make", Lane::Host,
        [&](PassBuilder& pass, NoData&) {
            made = pass.create("made", {.bytes = 64, .domain = MemoryDomain::Host}, Access::HostWrite);
            pass.has_side_effect();
        },
        [](const NoData&, HostContext&) {});
    frame.add_pass<NoData>(
        "peep", Lane::Host, [](PassBuilder& pass, NoData&) { pass.has_side_effect(); },
        [&made](const NoData&, HostContext& context) { static_cast<void>(context.address(made)); });
    const auto execution = executor->execute(frame);
    ASSERT_TRUE(execution) << execution.error().message;
    const auto waited = executor->wait(*execution);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().message, "peep: it asks for a resource that it did not declare");
}

}  // namespace
}  // namespace kinetograph::graph
