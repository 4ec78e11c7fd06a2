// The staged topology with the HIP lane on one side (on the stand-in runtime, whose pinned memory has another address
// on the device than on the host) and a real Vulkan device on the other.
#include "scale_crossing.hpp"

#include <kinetograph/tests/engine/accel/hip/standin_fixture.hpp>

namespace kinetograph::interop {
namespace {

using accel::hip::control_of;
using accel::hip::kStandin;
using testing::kFilling;

struct Case {
    std::string name;
    Staging staging;
    accel::Batches batches;
};
std::ostream& operator<<(std::ostream& out, const Case& chosen) { return out << chosen.name; }

class HipCrossing : public testing::ScaleCrossing, public ::testing::WithParamInterface<Case> {
  protected:
    void start(const standin::Options& options, const Case& chosen) {
        control_.reset(options);
        vulkan::testing::faults().no_external_memory_host = chosen.staging == Staging::Mapped;
        validation_ = vulkan::Validation::WithoutSynchronization;  // relays signal while tests wait
        ASSERT_NO_FATAL_FAILURE(open_display());
        auto device = accel::hip::create_device({.library = kStandin});
        ASSERT_TRUE(device) << device.error().message;
        accelerator_ = std::move(*device);
        ASSERT_NO_FATAL_FAILURE(make_bridge());
    }
    void set_up() {
        ASSERT_NO_FATAL_FAILURE(start({}, GetParam()));
        ASSERT_EQ(bridge_->choice().topology, Topology::Staged) << bridge_->choice().reason;
        ASSERT_EQ(bridge_->choice().staging, GetParam().staging) << bridge_->choice().reason;
        load_kernel();
        make_lanes(GetParam().batches);
    }
    void TearDown() override {
        InteropTest::TearDown();
        EXPECT_EQ(control_.live(), standin::Live{});
        for (const std::string& complaint : control_.complaints()) ADD_FAILURE() << complaint;
        control_.reset({});
    }

    standin::Control& control_ = control_of(kStandin);
};

TEST_P(HipCrossing, EveryStepSeesWhatTheOtherSideHasMade) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    for (std::uint32_t step = 1; step <= 12; ++step) {
        wait(execute(step));
        expect_result(step == 1 ? 0.0F : 2.0F * static_cast<float>(step - 1) + 1.0F);
    }
    const accel::BatchCounts counts = accelerator_lane_->batch_counts();
    EXPECT_EQ(counts.replayed > 0, GetParam().batches == accel::Batches::Replayed) << counts.declined;
}

TEST_P(HipCrossing, TheAcceleratorsPassLiesBetweenVulkansOnOneTimeAxis) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    for (std::uint32_t step = 1; step <= 4; ++step) wait(execute(step));
    const auto spans = spans_of(5);
    ASSERT_EQ(spans.size(), 3U);
    EXPECT_EQ(spans[0].track, "graphics");
    EXPECT_EQ(spans[1].track, "accelerator");
    EXPECT_EQ(spans[2].track, "transfer");
}

TEST_P(HipCrossing, ASteadyStateAllocatesNothingAndNeverWaits) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    // Not hipEventSynchronize: the device clock's own thread reads its anchors with it.
    const std::array asked{"hipMalloc",
                           "hipHostMalloc",
                           "hipHostRegister",
                           "hipExtMallocWithFlags",
                           "hipStreamCreateWithFlags",
                           "hipEventCreateWithFlags",
                           "hipStreamSynchronize",
                           "hipDeviceSynchronize",
                           "hipModuleLoadData"};
    fill_pools();
    std::vector<std::uint64_t> before;
    for (const char* call : asked) before.push_back(control_.calls(call));
    run_steadily(40);
    for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(control_.calls(asked[i]), before[i]) << asked[i];
}

TEST_P(HipCrossing, AThousandStepsNeitherGrowNorDrift) {
    ASSERT_NO_FATAL_FAILURE(set_up());
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr std::uint32_t kSteps = 200;
#else
    constexpr std::uint32_t kSteps = 1000;
#endif
    fill_pools();
    const standin::Live live = control_.live();
    run_two_in_flight(kSteps, [](std::uint32_t) {});
    expect_result(2.0F * (kSteps - 1) + 1.0F);
    EXPECT_EQ(accelerator_lane_->timeline()->value(), kFilling + kSteps);
    EXPECT_EQ(graphics_->completed(), kFilling + kSteps);
    EXPECT_EQ(control_.live(), live);
}

INSTANTIATE_TEST_SUITE_P(Cases, HipCrossing,
                         ::testing::Values(Case{"PinnedMemory", Staging::Pinned, accel::Batches::Eager},
                                           Case{"PinnedMemoryReplayed", Staging::Pinned, accel::Batches::Replayed},
                                           Case{"MappedMemory", Staging::Mapped, accel::Batches::Eager}),
                         [](const auto& chosen) { return chosen.param.name; });

class HipStaging : public HipCrossing {};

TEST_P(HipStaging, WithoutRegisteredMemoryItIsHeadlessAndSaysWhy) {
    ASSERT_NO_FATAL_FAILURE(start({.registers_host_memory = false}, GetParam()));
    EXPECT_EQ(bridge_->choice().topology, Topology::Headless);
    for (const char* reason :
         {"Stand-in MI355X", "VK_EXT_external_memory_host is not enabled", "cannot address mapped"})
        EXPECT_NE(bridge_->choice().reason.find(reason), std::string::npos) << bridge_->choice().reason;
}

INSTANTIATE_TEST_SUITE_P(Cases, HipStaging,
                         ::testing::Values(Case{"MappedMemory", Staging::Mapped, accel::Batches::Eager}),
                         [](const auto& chosen) { return chosen.param.name; });

}  // namespace
}  // namespace kinetograph::interop
