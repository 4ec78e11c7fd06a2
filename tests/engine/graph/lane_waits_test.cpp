// What a lane's batches wait for on its device and by the relay, and how a lane ends whose work does not.
#include <kinetograph/engine/graph/lane_waits.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace kinetograph::graph {
namespace {

constexpr char kDevice{};

/// A timeline that the lane's device can wait for.
class DeviceTimeline final : public HostTimeline {
  public:
    const void* owner() const override { return &kDevice; }
};

struct LanesWaits : testing::Test {
    std::shared_ptr<Timeline> own = std::make_shared<DeviceTimeline>(), seen = std::make_shared<DeviceTimeline>(),
                              unseen = std::make_shared<HostTimeline>("the application's");
    LaneWaits waits{own, [](const Timeline& timeline) { return timeline.owner() == &kDevice; },
                    []() -> Result<std::shared_ptr<Timeline>> { return std::make_shared<DeviceTimeline>(); }};

    std::vector<Point> resolve(std::vector<Point> points, std::uint64_t signal) {
        BatchRecord record;
        record.points = points;
        record.signal = signal;
        EXPECT_EQ(waits.are_relayed(record),
                  std::ranges::any_of(points, [&](const Point& point) { return !waits.seen(point.timeline); }));
        const auto resolved = waits.resolve(record);
        EXPECT_TRUE(resolved) << resolved.error().message;
        return {resolved->begin(), resolved->end()};
    }
};

TEST_F(LanesWaits, AreTheDevicesWhereItSeesTheTimelineOrAView) {
    const auto direct = resolve({{seen, 3}}, 1);
    ASSERT_EQ(direct.size(), 1U);
    EXPECT_EQ(direct[0].timeline, seen);
    EXPECT_EQ(direct[0].value, 3U);
    unseen->add_view(seen);
    EXPECT_EQ(resolve({{unseen, 4}}, 2)[0].timeline, seen);
    EXPECT_FALSE(waits.relayed()) << "nothing for a thread of the host";
}

TEST_F(LanesWaits, AreRelayedWhereItSeesNone) {
    const auto points = resolve({{unseen, 2}, {seen, 1}}, 1);
    ASSERT_EQ(points.size(), 2U);
    EXPECT_EQ(points[0].timeline, seen);
    EXPECT_EQ(points[1].timeline, waits.relayed());
    EXPECT_FALSE(points[1].reached());
    unseen->signal(2);
    EXPECT_TRUE(points[1].timeline->wait(points[1].value, std::chrono::seconds(10)));
    EXPECT_TRUE(resolve({{unseen, 2}}, 2).empty()) << "reached already";
    EXPECT_TRUE(waits.status());
}

TEST_F(LanesWaits, ReportWhatFailsWithoutLosingTheSignal) {
    unseen->report({ErrorCode::DeviceLost, "the application's device is lost"});
    const auto points = resolve({{unseen, 2}}, 1);
    ASSERT_EQ(points.size(), 1U);
    EXPECT_TRUE(points[0].timeline->wait(points[0].value, std::chrono::seconds(10)));
    const auto status = waits.status();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "the application's device is lost");
}

TEST_F(LanesWaits, ArePendingUntilMetOrTheirBatchIsDone) {
    resolve({{seen, 1}, {own, 1}}, 2);
    resolve({{unseen, 1}}, 3);
    ASSERT_EQ(waits.unmet().size(), 2U) << "not what the lane itself reaches";
    EXPECT_EQ(waits.unmet()[0].batch, 2U);
    seen->signal(1);
    EXPECT_EQ(waits.unmet().size(), 1U);
    own->signal(3);
    EXPECT_TRUE(waits.unmet().empty());
    unseen->signal(1);
}

/// A lane that was given a batch which waits for the application.
struct WaitingLane final : LaneBackend {
    explicit WaitingLane(LanesWaits& test) : test_(test) { test.own->set_name("lane transfer"); }
    Lane lane() const override { return Lane::Transfer; }
    Result<void> submit(const BatchRecord& /*record*/) override { return {}; }
    Result<bool> wait(std::uint64_t value, Nanoseconds timeout) override { return test_.own->wait(value, timeout); }
    std::shared_ptr<Timeline> timeline() const override { return test_.own; }
    LaneState state() const override {
        return {.lane = lane(), .submitted = 4, .reached = test_.own->value(), .waits = test_.waits.unmet()};
    }

  private:
    LanesWaits& test_;
};

TEST_F(LanesWaits, EndWithTheWorkIfItEnds) {
    own->signal(4);
    EXPECT_FALSE(end_of_lane(WaitingLane(*this), waits, [] { return true; }));
    EXPECT_TRUE(own->status());
}

TEST_F(LanesWaits, EndByGivingUpTheRelayThatTheWorkWaitsFor) {
    own->signal(3);
    const Point relayed = resolve({{unseen, 1}}, 4).at(0);
    EXPECT_FALSE(end_of_lane(WaitingLane(*this), waits, [&] { return relayed.timeline->wait(relayed.value, kLook); }));
    EXPECT_EQ(waits.status().error().message, "value 1 of the application's was never reached");
}

TEST_F(LanesWaits, EndWithAnErrorOfTheTimelineIfTheWorkDoesNot) {
    own->signal(3);
    resolve({{seen, 1}}, 4);
    const auto given_up = end_of_lane(WaitingLane(*this), waits, [] {
        std::this_thread::sleep_for(kLook);
        return false;
    });
    ASSERT_TRUE(given_up);
    EXPECT_EQ(given_up->message, "lane transfer has ended at value 3, before value 4");
    EXPECT_EQ(own->status().error().code, ErrorCode::Cancelled);
}

}  // namespace
}  // namespace kinetograph::graph
