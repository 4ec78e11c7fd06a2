// A bridge and its lanes end in any order; one lane's trouble is not another's.
#include "interop_fixture.hpp"

#include <kinetograph/engine/vulkan/api.hpp>

#include <thread>

namespace kinetograph::interop {
namespace {

using graph::Lane;
using testing::Pairing;

constexpr Nanoseconds kSoon = std::chrono::seconds(10), kMoment = std::chrono::milliseconds(30);

class LanesOfABridge : public testing::InteropTest, public ::testing::WithParamInterface<Pairing> {
  protected:
    void set_up() {
        validation_ = vulkan::Validation::WithoutSynchronization;  // relays signal while tests wait
        ASSERT_NO_FATAL_FAILURE(open(GetParam()));
        if (IsSkipped()) return;
        gate_ = accelerator_->create_timeline().value();
        application_ = vulkan::create_timeline(*display_, "the application's").value();
    }
    void release() override {
        if (gate_) gate_->signal(UINT64_MAX);
        accelerators_.clear();
        drawing_.reset();
        gate_.reset();
        if (application_ != VK_NULL_HANDLE)
            display_->table().vkDestroySemaphore(display_->handle(), application_, nullptr);
    }
    accel::AcceleratorLane& add_accelerator_lane() {
        accelerators_.push_back(accel::AcceleratorLane::create(*accelerator_).value());
        return *accelerators_.back();
    }
    void add_drawing_lane() {
        drawing_ = vulkan::VulkanLane::create(*display_, Lane::Graphics, nullptr, bridge_->lane_sharing()).value();
    }
    /// A batch without passes: it waits for what it is told to, and signals `value`.
    void submit(graph::LaneBackend& lane, std::uint64_t value, std::span<const graph::ResolvedWait> waits = {}) {
        graph::Batch batch;
        batch.lane = lane.lane();
        graph::Plan plan;
        plan.batches_on_lane[static_cast<std::size_t>(lane.lane())] = 1;
        ASSERT_TRUE(lane.submit(
            {.plan = &plan, .batch = &batch, .waits = waits, .passes = {}, .resources = {}, .signal = value}));
    }
    TimelinePoint of_application(std::uint64_t value) const { return {application_, nullptr, value}; }
    void application_signals(std::uint64_t value) const {
        VkSemaphoreSignalInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
        info.semaphore = application_;
        info.value = value;
        ASSERT_EQ(display_->table().vkSignalSemaphore(display_->handle(), &info), VK_SUCCESS);
    }
    bool reached_in_time(const TimelinePoint& point) {
        const auto reached = bridge_->wait(point, kSoon);
        return reached && *reached;
    }
    static void expect_cancelled(accel::AcceleratorLane& lane, std::uint64_t value) {
        const auto waited = lane.wait(value);
        ASSERT_FALSE(waited);
        EXPECT_EQ(waited.error().code, ErrorCode::Cancelled);
        EXPECT_NE(waited.error().message.find("value 1 of a timeline was never reached"), std::string::npos)
            << waited.error().message;
    }

    std::shared_ptr<accel::Timeline> gate_;
    VkSemaphore application_ = VK_NULL_HANDLE;
    std::vector<std::unique_ptr<accel::AcceleratorLane>> accelerators_;
    std::unique_ptr<vulkan::VulkanLane> drawing_;
};

TEST_P(LanesOfABridge, ALanesLastPointIsReachedThoughTheLaneIsGone) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    for (std::uint64_t i = 1; i <= 40; ++i) {  // with the relay wherever it happens to be
        auto lane = accel::AcceleratorLane::create(*accelerator_).value();
        ASSERT_TRUE(bridge_->connect(*lane));
        lane->wait_before_next(gate_, i);
        submit(*lane, 7);
        const TimelinePoint point = bridge_->point_of(*lane, 7).value();
        EXPECT_FALSE(bridge_->has_reached(point));
        gate_->signal(i);
        lane.reset();
        EXPECT_TRUE(reached_in_time(point));
    }
}

TEST_P(LanesOfABridge, APointThatTheLaneHasNotReachedIsTheRelaysToBringWhenTheLaneEnds) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    if (GetParam().timelines == Timelines::Shared) return;  // nobody relays
    accel::AcceleratorLane& lane = add_accelerator_lane();
    const TimelinePoint point = bridge_->point_of(lane, 1).value();
    std::this_thread::sleep_for(kMoment);  // the relay waits for the lane by now
    EXPECT_FALSE(bridge_->has_reached(point));
    accelerators_.clear();
    EXPECT_TRUE(reached_in_time(point));
}

TEST_P(LanesOfABridge, ALaneThatStandsStillHoldsNoOtherLanesPointBack) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    accel::AcceleratorLane& slow = add_accelerator_lane();
    accel::AcceleratorLane& quick = add_accelerator_lane();
    for (accel::AcceleratorLane* lane : {&slow, &quick}) ASSERT_TRUE(bridge_->connect(*lane));
    slow.wait_before_next(gate_, 1);
    submit(slow, 1);
    submit(quick, 1);
    const TimelinePoint of_slow = bridge_->point_of(slow, 1).value();
    const TimelinePoint of_quick = bridge_->point_of(quick, 1).value();
    EXPECT_TRUE(reached_in_time(of_quick));
    EXPECT_FALSE(bridge_->has_reached(of_slow));
    gate_->signal(1);
    EXPECT_TRUE(reached_in_time(of_slow));
}

TEST_P(LanesOfABridge, ALaneAtTheAddressOfOneThatIsGoneStartsAnew) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    add_drawing_lane();
    for (std::uint64_t i = 1; i <= 8; ++i) {  // where addresses are used again, the first two suffice
        auto lane = accel::AcceleratorLane::create(*accelerator_).value();
        ASSERT_TRUE(bridge_->connect(*lane, *drawing_));
        lane->wait_before_next(gate_, i);
        submit(*lane, 1);
        const TimelinePoint point = bridge_->point_of(*lane, 1).value();
        const graph::ResolvedWait wait{lane.get(), 1};
        submit(*drawing_, i, {&wait, 1});
        std::this_thread::sleep_for(kMoment);
        EXPECT_FALSE(bridge_->has_reached(point));
        EXPECT_EQ(drawing_->completed(), i - 1);
        gate_->signal(i);
        EXPECT_TRUE(reached_in_time(point));
        EXPECT_TRUE(drawing_->wait(i));
    }
}

TEST_P(LanesOfABridge, LettingGoOfALaneEndsItsWaitsAndNobodyElses) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    accel::AcceleratorLane& abandoned = add_accelerator_lane();
    accel::AcceleratorLane& patient = add_accelerator_lane();
    for (accel::AcceleratorLane* lane : {&abandoned, &patient}) {
        bridge_->wait_before_next(*lane, of_application(1));
        submit(*lane, 1);
    }
    bridge_->let_go(abandoned);
    expect_cancelled(abandoned, 1);
    bridge_->wait_before_next(abandoned, of_application(2));  // nor does it wait from now on
    submit(abandoned, 2);
    EXPECT_TRUE(abandoned.timeline()->wait(2, kSoon));
    std::this_thread::sleep_for(kMoment);
    EXPECT_EQ(patient.timeline()->value(), 0U);
    application_signals(1);
    EXPECT_TRUE(patient.wait(1));
}

TEST_P(LanesOfABridge, OneThatEndsBeforeItsLanesEndsTheirWaits) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    accel::AcceleratorLane& lane = add_accelerator_lane();
    add_drawing_lane();
    ASSERT_TRUE(bridge_->connect(lane, *drawing_));
    bridge_->wait_before_next(lane, of_application(1));
    submit(lane, 1);
    static_cast<void>(bridge_->point_of(lane, 1).value());
    const graph::ResolvedWait wait{&lane, 1};
    submit(*drawing_, 1, {&wait, 1});
    bridge_.reset();
    expect_cancelled(lane, 1);
    static_cast<void>(drawing_->wait(1));  // that a lane it waited for has failed, where a relay has seen it
    EXPECT_EQ(drawing_->completed(), 1U);
    submit(lane, 2);
    const graph::ResolvedWait again{&lane, 2};
    submit(*drawing_, 2, {&again, 1});
    static_cast<void>(drawing_->wait(2));
    EXPECT_EQ(drawing_->completed(), 2U);
}

TEST_P(LanesOfABridge, OneThatEndsLeavesAQueueTheSemaphoreThatItWaitsFor) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    accel::AcceleratorLane& lane = add_accelerator_lane();
    ASSERT_TRUE(bridge_->connect(lane));
    add_drawing_lane();
    lane.wait_before_next(gate_, 1);
    submit(lane, 1);
    bridge_->wait_before_next(*drawing_, bridge_->point_of(lane, 1).value());
    submit(*drawing_, 1);
    bridge_.reset();
    std::this_thread::sleep_for(kMoment);
    EXPECT_EQ(drawing_->completed(), 0U);
    gate_->signal(1);
    EXPECT_TRUE(drawing_->wait(1));
}

INSTANTIATE_TEST_SUITE_P(Pairings, LanesOfABridge,
                         ::testing::Values(testing::kSharedTimelines, testing::kSharedRelayed, testing::kStagedPinned,
                                           testing::kStagedMapped),
                         [](const auto& pairing) { return pairing.param.name; });

}  // namespace
}  // namespace kinetograph::interop
