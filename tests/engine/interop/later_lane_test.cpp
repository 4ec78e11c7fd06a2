// A lane that is made where another one was has nothing of the other's.
#include "interop_fixture.hpp"

#include <kinetograph/engine/vulkan/lane.hpp>

#include <thread>

namespace kinetograph::interop {
namespace {

using testing::Pairing;

class LaterLanes : public testing::InteropTest, public ::testing::WithParamInterface<Pairing> {
  protected:
    void release() override {
        if (gate_) gate_->signal(UINT64_MAX);
        drawing_.reset();
        gate_.reset();
    }

    std::shared_ptr<accel::Timeline> gate_;
    std::unique_ptr<vulkan::VulkanLane> drawing_;
};

TEST_P(LaterLanes, AtTheAddressOfOneThatIsGoneStartAnew) {
    constexpr Nanoseconds kSoon = std::chrono::seconds(10), kMoment = std::chrono::milliseconds(30);
    validation_ = vulkan::Validation::WithoutSynchronization;  // relays signal while tests wait
    ASSERT_NO_FATAL_FAILURE(open(GetParam()));
    if (IsSkipped()) return;
    gate_ = accelerator_->create_timeline().value();
    drawing_ = vulkan::VulkanLane::create(*display_, graph::Lane::Graphics, nullptr, bridge_->lane_sharing()).value();
    for (std::uint64_t i = 1; i <= 8; ++i) {  // where addresses are used again, the first two suffice
        auto lane = accel::AcceleratorLane::create(*accelerator_).value();
        ASSERT_TRUE(bridge_->connect(*lane, *drawing_));
        submit(*lane, 1, {}, {gate_, i});
        const TimelinePoint point = bridge_->export_point({lane->timeline(), 1}).value();
        const graph::ResolvedWait wait{lane.get(), 1};
        submit(*drawing_, i, {&wait, 1});
        std::this_thread::sleep_for(kMoment);
        EXPECT_FALSE(bridge_->has_reached(point));
        EXPECT_EQ(drawing_->completed(), i - 1);
        gate_->signal(i);
        const auto reached = bridge_->wait(point, kSoon);
        EXPECT_TRUE(reached && *reached);
        EXPECT_TRUE(drawing_->wait(i));
    }
}

INSTANTIATE_TEST_SUITE_P(Pairings, LaterLanes,
                         ::testing::Values(testing::kSharedTimelines, testing::kSharedRelayed, testing::kStagedPinned,
                                           testing::kStagedMapped),
                         [](const auto& pairing) { return pairing.param.name; });

}  // namespace
}  // namespace kinetograph::interop
