#include <kinetograph/engine/graph/host_lane.hpp>

#include <gtest/gtest.h>
#include <atomic>

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
    Result<void> wait(std::uint64_t value) override {
        std::unique_lock lock(mutex_);
        moved_.wait(lock, [&] { return value_ >= value || lost_; });
        if (lost_) return fail(ErrorCode::DeviceLost, "the device is gone");
        return {};
    }
    void reach(std::uint64_t value) {
        std::lock_guard lock(mutex_);
        value_ = value;
        moved_.notify_all();
    }
    void lose() {
        std::lock_guard lock(mutex_);
        lost_ = true;
        moved_.notify_all();
    }
    std::uint64_t submitted = 0;

  private:
    std::mutex mutex_;
    std::condition_variable moved_;
    std::uint64_t value_ = 0;
    bool lost_ = false;
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
    ManualLane accelerator;
    HostLane host{[this](std::string_view pass, std::uint64_t execution, Nanoseconds begin, Nanoseconds end) {
        EXPECT_LE(begin, end);
        observed.push_back(fmt::format("{} {}", pass, execution));
    }};
    HostMemory memory;
    std::unique_ptr<Executor> executor = Executor::create({.lanes = {&accelerator, &host},
                                                           .memory = {{MemoryDomain::Host, &memory}},
                                                           .compile = {.topology = LaneTopology::cpu_only()}})
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

TEST_F(HostLanes, CallBackWhenAValueIsReachedOrAtOnceIfItHasBeen) {
    ASSERT_TRUE(execute_hand_over());
    std::atomic<int> called{0};
    host.when_reached(1, [&] { called += 1; });
    EXPECT_EQ(called, 0);
    accelerator.reach(1);
    ASSERT_TRUE(host.wait(1));
    host.when_reached(1, [&] { called += 10; });
    while (called != 11) std::this_thread::yield();  // the first call comes after value() has been raised
    EXPECT_EQ(host.value(), 1U);
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

}  // namespace
}  // namespace kinetograph::graph
