// The device that draws as the accelerator, too: nothing is exported, imported or relayed between the two.
#include "scale_crossing.hpp"

#include <kinetograph/engine/accel/backend.hpp>

namespace kinetograph::interop {
namespace {

constexpr std::uint32_t kScaleAddWords[] = {
#include "scale_add.comp.inc"
};

struct ScaleAddParams {
    const std::byte* from;
    std::byte* to;
    std::uint32_t count;
    float scale, offset;
    std::uint32_t unused = 0;
};

class OneDevice : public testing::ScaleCrossing {
  protected:
    void set_up(const BridgeOptions& options = {}) {
        validation_ = vulkan::Validation::WithoutSynchronization;  // two lanes of one queue, ordered by timelines
        ASSERT_NO_FATAL_FAILURE(open_display());
        auto computing = accel::find_backend("vulkan")->in_vulkan->compute_in(*display_, {});
        ASSERT_TRUE(computing) << computing.error().message;
        accelerator_ = std::move(*computing);
        ASSERT_NO_FATAL_FAILURE(make_bridge(options));
        kernel_ = accelerator_->load("scale_add", std::as_bytes(std::span(kScaleAddWords)))
                      .value()
                      ->kernel("scale_add:64,1")
                      .value();
    }
    void launch(accel::PassContext& context, const std::byte* in, std::byte* out, float scale, float offset) override {
        const ScaleAddParams params{in, out, testing::kCrossingWords, scale, offset};
        context.stream().launch({.name = context.pass_name(),
                                 .kernel = *kernel_,
                                 .grid = {testing::kCrossingWords / 64},
                                 .block = {64},
                                 .arguments = accel::bytes_of(params)});
    }
};

TEST_F(OneDevice, SharesMemoryAndTimelinesWithoutExportingThem) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    const TopologyChoice& choice = bridge_->choice();
    EXPECT_EQ(choice.topology, Topology::Shared) << choice.reason;
    EXPECT_EQ(choice.timelines, Timelines::Own) << choice.reason;
    EXPECT_EQ(choice.reason,
              fmt::format("shared: {} computes and draws in one Vulkan device; nothing is exported or imported",
                          display_->report().name));
    EXPECT_EQ(bridge_->lane_sharing(), vulkan::Sharing::Private);
    const auto topology = bridge_->lane_topology();
    const auto hand_over = [&](graph::Lane to, graph::Lane from) {
        return topology.waits[to.index()][from.index()].hand_over;
    };
    EXPECT_EQ(hand_over(graph::Lane::Graphics, graph::Lane::Accelerator),
              hand_over(graph::Lane::Graphics, graph::Lane::Transfer));

    make_lanes();
    const auto semaphore = display_->semaphore_of(*accelerator_lane_->timeline());
    EXPECT_NE(semaphore, VkSemaphore{});
    const auto point = bridge_->export_point({accelerator_lane_->timeline(), 3});
    ASSERT_TRUE(point) << point.error().message;
    EXPECT_EQ(point->semaphore, semaphore) << "an application waits for the lane's own semaphore";
    const auto others = accel::find_backend("cpu")->open(0, {}).value();
    EXPECT_EQ(display_->semaphore_of(*others->create_timeline().value()), VkSemaphore{});
}

TEST_F(OneDevice, ComputesBetweenPassesOfItsQueues) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    for (const accel::Batches batches : {accel::Batches::Eager, accel::Batches::Replayed}) {
        make_lanes(batches);
        graph::Execution last;
        for (std::uint32_t step = 1; step <= 30; ++step) {
            last = execute(step);
            if (step % 3 != 0) continue;  // up to three in flight
            wait(last);
            expect_result(2.0F * static_cast<float>(step - 1) + (step > 1 ? 1.0F : 0.0F));
        }
        CrossingTest::release();
    }
}

TEST_F(OneDevice, IsCoupledLooserIfThatIsAskedFor) {
    ASSERT_NO_FATAL_FAILURE(set_up({.closest = Topology::Staged}));
    EXPECT_EQ(bridge_->choice().topology, Topology::Staged) << bridge_->choice().reason;
}

}  // namespace
}  // namespace kinetograph::interop
