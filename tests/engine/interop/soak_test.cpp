// Lanes that come and go on one bridge leave nothing behind: no pinned page, semaphore, descriptor or thread.
// KINETOGRAPH_SOAK_ROUNDS lanes, 200 unless it says otherwise; a soak takes 10000.
#include "held.hpp"
#include "interop_fixture.hpp"
#include "watchdog.hpp"

#include <kinetograph/engine/vulkan/lane.hpp>
#include <kinetograph/tests/engine/accel/device_fixture.hpp>
#include <kinetograph/tests/engine/accel/hip/standin_fixture.hpp>

namespace kinetograph::interop {
namespace {

/// CUDA's lanes share memory and timelines with the display. HIP's are staged, and relays wait and signal.
class LanesThatComeAndGo : public testing::InteropTest, public ::testing::WithParamInterface<std::string_view> {
  protected:
    void open() {
        validation_ = vulkan::Validation::Off;  // the layers grow with every object
        if (is_cuda()) {
            ASSERT_NO_FATAL_FAILURE(InteropTest::open(cuda_));
            return;
        }
        driver().reset({});
        ASSERT_NO_FATAL_FAILURE(open_display());
        auto device = accel::hip::create_device({.library = accel::hip::kStandin});
        ASSERT_TRUE(device) << device.error().message;
        accelerator_ = std::move(*device);
        ASSERT_NO_FATAL_FAILURE(make_bridge());
        ASSERT_EQ(bridge_->choice().topology, Topology::Staged) << bridge_->choice().reason;
    }
    void TearDown() override {
        InteropTest::TearDown();
        EXPECT_EQ(driver().complaints(), std::vector<std::string>{});
        EXPECT_EQ(driver().live(), standin::Live{});
    }
    static bool is_cuda() { return GetParam() == "cuda"; }
    static standin::Control& driver() {
        return *accel::control_of(is_cuda() ? KINETOGRAPH_STANDIN_CUDA_LIBRARY : accel::hip::kStandin);
    }
    std::unique_ptr<vulkan::VulkanLane> make_vulkan_lane() {
        return vulkan::VulkanLane::create(*display_, graph::Lane::Graphics, nullptr, bridge_->lane_sharing()).value();
    }
    /// `lane` stays, others come and go; round(n) has it signal n. The first time that it waits for a point that is not
    /// reached yet, it makes a relay, which it keeps: before anything is counted. Timelines that were retired go again
    /// after as many others.
    template <class Round>
    void expect_nothing_grows(graph::LaneBackend& lane, Round round) {
        const auto unreached = std::make_shared<graph::HostTimeline>();
        std::uint64_t count = 1;
        ASSERT_NO_FATAL_FAILURE(submit(lane, count, {}, {unreached, 1}));
        unreached->signal(1);
        ASSERT_TRUE(lane.wait(count));
        const testing::Holders holders{.driver = &driver()};
        testing::expect_nothing_grows(holders, 2 * vulkan::Device::kRetired, testing::soak_rounds(),
                                      [&] { round(++count); });
    }

    testing::CudaSide cuda_{KINETOGRAPH_STANDIN_CUDA_LIBRARY};
};

TEST_P(LanesThatComeAndGo, OfTheAcceleratorLeaveNothingOnTheBridgeNorOnTheLaneThatWaitedForThem) {
    const testing::Watchdog watchdog("lanes", std::chrono::seconds(3600));
    ASSERT_NO_FATAL_FAILURE(open());
    const auto drawing = make_vulkan_lane();
    expect_nothing_grows(*drawing, [&](std::uint64_t round) {
        const auto lane = accel::AcceleratorLane::create(*accelerator_).value();
        ASSERT_TRUE(bridge_->connect(*lane, *drawing));
        ASSERT_NO_FATAL_FAILURE(submit(*lane, 1));
        const graph::ResolvedWait wait{lane.get(), 1};
        ASSERT_NO_FATAL_FAILURE(submit(*drawing, round, {&wait, 1}));
        ASSERT_TRUE(bridge_->wait(bridge_->export_point({lane->timeline(), 1}).value()));
        ASSERT_TRUE(drawing->wait(round));
    });
}

TEST_P(LanesThatComeAndGo, OfVulkanLeaveNothingOnTheBridgeNorOnTheLaneThatWaitedForThem) {
    const testing::Watchdog watchdog("lanes", std::chrono::seconds(3600));
    ASSERT_NO_FATAL_FAILURE(open());
    const auto lane = accel::AcceleratorLane::create(*accelerator_).value();
    expect_nothing_grows(*lane, [&](std::uint64_t round) {
        const auto drawing = make_vulkan_lane();
        ASSERT_TRUE(bridge_->connect(*lane, *drawing));
        ASSERT_NO_FATAL_FAILURE(submit(*drawing, 1));
        const graph::ResolvedWait wait{drawing.get(), 1};
        ASSERT_NO_FATAL_FAILURE(submit(*lane, round, {&wait, 1}));
        ASSERT_TRUE(lane->wait(round));
    });
}

INSTANTIATE_TEST_SUITE_P(Kinds, LanesThatComeAndGo, ::testing::Values("cuda", "hip"),
                         [](const auto& kind) { return kind.param == "cuda" ? "Cuda" : "Hip"; });

}  // namespace
}  // namespace kinetograph::interop
