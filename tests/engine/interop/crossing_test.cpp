// Graphs whose passes run on an accelerator and on Vulkan queues in turns, in memory that both see.
#include "crossing_fixture.hpp"

namespace kinetograph::interop {
namespace {

using graph::Lane;
using testing::kCrossingWords;
using testing::kFilling;
using testing::Pairing;

struct Add {
    graph::Buffer in, sums, out;
};

std::uint32_t* words(std::byte* address) { return reinterpret_cast<std::uint32_t*>(address); }

/// The accelerator adds a step's word to the sums of all steps before, and hands on sum + word.
class Crossing : public testing::CrossingTest, public ::testing::WithParamInterface<Pairing> {
  protected:
    void set_up() {
        validation_ = vulkan::Validation::WithoutSynchronization;  // relays signal while tests wait
        ASSERT_NO_FATAL_FAILURE(open(GetParam()));
        if (IsSkipped()) return;
        make_lanes();
    }
    std::uint32_t word_of(std::uint32_t step) const override { return step; }
    graph::Buffer declare_accelerators(graph::FrameGraph& frame, graph::Buffer filled, graph::Buffer kept) override {
        return frame
            .add_pass<Add>(
                "add", Lane::Accelerator,
                [&](graph::PassBuilder& pass, Add& data) {
                    data.in = pass.read(filled, graph::Access::KernelRead);
                    data.sums = pass.write(pass.read(kept, graph::Access::KernelRead), graph::Access::KernelWrite);
                    data.out = pass.create("added", testing::kCrossingBuffer, graph::Access::KernelWrite);
                },
                [](const Add& data, accel::PassContext& context) {
                    context.stream().enqueue(
                        context.pass_name(),
                        [in = words(context.address(data.in)), out = words(context.address(data.out)),
                         sums = words(context.address(data.sums))]() -> Result<void> {
                            for (std::uint32_t i = 0; i < kCrossingWords; ++i) {
                                sums[i] += in[i];
                                out[i] = sums[i] + in[i];
                            }
                            return {};
                        });
                })
            .out;
    }
};

TEST_P(Crossing, EveryStepSeesWhatTheOtherSideHasMade) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    for (std::uint32_t step = 1; step <= 20; ++step) {
        wait(execute(step));
        expect_result(step * (step + 1) / 2 + step);
    }
}

TEST_P(Crossing, StepsInFlightDoNotDisturbEachOther) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    graph::Execution last;
    for (std::uint32_t step = 1; step <= 50; ++step) last = execute(step);
    wait(last);
    expect_result(50 * 51 / 2 + 50);
}

TEST_P(Crossing, ThePlanSaysWhatTheHandOversCost) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    wait(execute(1));
    const auto lanes = bridge_->lane_topology();
    const auto& pair = lanes.waits[Lane::Accelerator.index()][Lane::Graphics.index()];
    EXPECT_EQ(executor_->plan()->hand_over_cost, 2 * pair.hand_over);
}

TEST_P(Crossing, TheAcceleratorsPassLiesBetweenVulkansOnOneTimeAxis) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    wait(execute(1));  // pipelines of the driver, arenas
    const auto spans = spans_of(2);
    ASSERT_EQ(spans.size(), 3U);
    EXPECT_EQ(fmt::format("{} on {}", spans[0].name, spans[0].track), "fill on graphics");
    EXPECT_EQ(fmt::format("{} on {}", spans[1].name, spans[1].track), "add on accelerator");
    EXPECT_EQ(fmt::format("{} on {}", spans[2].name, spans[2].track), "copy out on transfer");
    const Nanoseconds tolerance = std::chrono::microseconds(200);  // of the calibration of Vulkan's clock
    EXPECT_GE(spans[1].begin, spans[0].end - tolerance);
    EXPECT_GE(spans[2].begin, spans[1].end - tolerance);
}

TEST_P(Crossing, ASteadyStateAsksNeitherDriverForAnythingAndNeverWaits) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    fill_pools();
    calls_.allocations = 0;
    run_steadily(64);
    EXPECT_EQ(calls_.allocations.load(), 0);
}

/// Bytes of this process that lie in memory.
std::uint64_t resident_bytes() {
    std::uint64_t pages = 0, resident = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%lu %lu", &pages, &resident) != 2) resident = 0;
    if (file != nullptr) std::fclose(file);
    return resident * 4096;
}

TEST_P(Crossing, ThousandsOfStepsNeitherGrowNorDrift) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr std::uint32_t kSteps = 600;
    constexpr std::uint64_t kGrowth = 256U << 20U;  // freed memory stays in the sanitizer's quarantine
#else
    constexpr std::uint32_t kSteps = 3000;
    constexpr std::uint64_t kGrowth = 8U << 20U;
#endif
    fill_pools();
    const std::uint64_t accelerator = accelerator_->bytes_allocated(), display = display_->memory().bytes_held();
    std::uint64_t resident = 0;
    std::uint32_t sum = kFilling * (kFilling - 1) / 2;
    const graph::Execution last = run_two_in_flight(kSteps, [&](std::uint32_t step) {
        sum += step;
        if (step == kSteps / 3) resident = resident_bytes();
    });
    expect_result(sum + kSteps);
    EXPECT_EQ(last.number, kFilling + kSteps - 1);
    for (const Lane lane : {Lane::Graphics, Lane::Transfer, Lane::Accelerator})
        EXPECT_EQ(last.done[lane.index()], kFilling + kSteps) << graph::to_string(lane);
    EXPECT_EQ(graphics_->completed(), kFilling + kSteps);
    EXPECT_EQ(accelerator_lane_->timeline()->value(), kFilling + kSteps);
    EXPECT_EQ(accelerator_->bytes_allocated(), accelerator);
    EXPECT_EQ(display_->memory().bytes_held(), display);
    EXPECT_LT(resident_bytes(), resident + kGrowth);
}

TEST_P(Crossing, WaitsForVulkanReportAKernelsError) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    accelerator_lane_->stream().enqueue(
        "broken", []() -> Result<void> { return fail(ErrorCode::Unsupported, "no kernel for this shape"); });
    const auto execution = execute(1);
    const auto done = executor_->wait(execution);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("broken: no kernel for this shape"), std::string::npos) << done.error().message;
}

TEST_P(Crossing, AnImageInSharedMemoryIsRefusedByName) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    struct Paint {
        graph::Image image;
    };
    graph::FrameGraph frame;
    frame.add_pass<Paint>(
        "paint", Lane::Graphics,
        [](graph::PassBuilder& pass, Paint& data) {
            data.image = pass.create("canvas", {.width = 4, .height = 4, .domain = graph::MemoryDomain::Shared},
                                     graph::Access::ColorAttachment);
            pass.has_side_effect();
        },
        [](const Paint&, vulkan::PassContext&) {});
    const auto execution = executor_->execute(frame);
    ASSERT_FALSE(execution);
    EXPECT_NE(execution.error().message.find("image \"canvas\" cannot lie in memory that an accelerator shares"),
              std::string::npos)
        << execution.error().message;
}

INSTANTIATE_TEST_SUITE_P(Pairings, Crossing,
                         ::testing::Values(testing::kSharedTimelines, testing::kSharedRelayed, testing::kStagedPinned,
                                           testing::kStagedMapped),
                         [](const auto& pairing) { return pairing.param.name; });

}  // namespace
}  // namespace kinetograph::interop
