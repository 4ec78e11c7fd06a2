// Lanes that come and go on one bridge leave nothing behind: no pinned page, semaphore, descriptor or thread.
// KINETOGRAPH_SOAK_ROUNDS lanes, 200 unless it says otherwise; a soak takes 10000.
#include "held.hpp"
#include "interop_fixture.hpp"
#include "watchdog.hpp"

#include <kinetograph/tests/engine/accel/device_fixture.hpp>

namespace kinetograph::interop {
namespace {

class LanesThatComeAndGo : public testing::InteropTest {
  protected:
    void open() {
        validation_ = vulkan::Validation::Off;  // the layers grow with every object
        ASSERT_NO_FATAL_FAILURE(InteropTest::open(cuda_));
    }
    void TearDown() override {
        InteropTest::TearDown();
        EXPECT_EQ(cuda_.complaints(), "");
    }
    std::unique_ptr<vulkan::VulkanLane> make_vulkan_lane() {
        return vulkan::VulkanLane::create(*display_, graph::Lane::Graphics, nullptr, bridge_->lane_sharing()).value();
    }
    /// Timelines that were retired go again after as many others.
    template <class Round>
    void expect_nothing_grows(Round round) {
        const testing::Holders holders{.driver = accel::control_of(KINETOGRAPH_STANDIN_CUDA_LIBRARY)};
        std::uint64_t count = 0;
        testing::expect_nothing_grows(holders, 2 * vulkan::Device::kRetired, testing::soak_rounds(),
                                      [&] { round(++count); });
    }

    testing::CudaSide cuda_{KINETOGRAPH_STANDIN_CUDA_LIBRARY};
};

TEST_F(LanesThatComeAndGo, OfTheAcceleratorLeaveNothingOnTheBridgeNorOnTheLaneThatWaitedForThem) {
    const testing::Watchdog watchdog("lanes", std::chrono::seconds(3600));
    ASSERT_NO_FATAL_FAILURE(open());
    const auto drawing = make_vulkan_lane();
    expect_nothing_grows([&](std::uint64_t round) {
        const auto lane = accel::AcceleratorLane::create(*accelerator_).value();
        ASSERT_TRUE(bridge_->connect(*lane, *drawing));
        ASSERT_NO_FATAL_FAILURE(submit(*lane, 1));
        const graph::ResolvedWait wait{lane.get(), 1};
        ASSERT_NO_FATAL_FAILURE(submit(*drawing, round, {&wait, 1}));
        ASSERT_TRUE(bridge_->wait(bridge_->export_point({lane->timeline(), 1}).value()));
        ASSERT_TRUE(drawing->wait(round));
    });
}

TEST_F(LanesThatComeAndGo, OfVulkanLeaveNothingOnTheBridgeNorOnTheLaneThatWaitedForThem) {
    const testing::Watchdog watchdog("lanes", std::chrono::seconds(3600));
    ASSERT_NO_FATAL_FAILURE(open());
    const auto lane = accel::AcceleratorLane::create(*accelerator_).value();
    expect_nothing_grows([&](std::uint64_t round) {
        const auto drawing = make_vulkan_lane();
        ASSERT_TRUE(bridge_->connect(*lane, *drawing));
        ASSERT_NO_FATAL_FAILURE(submit(*drawing, 1));
        const graph::ResolvedWait wait{drawing.get(), 1};
        ASSERT_NO_FATAL_FAILURE(submit(*lane, round, {&wait, 1}));
        ASSERT_TRUE(lane->wait(round));
    });
}

}  // namespace
}  // namespace kinetograph::interop
