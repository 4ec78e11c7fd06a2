// Graphs whose passes run on an accelerator and on Vulkan queues in turns, in memory that both see.
#include "interop_fixture.hpp"

#include <kinetograph/engine/vulkan/api.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::interop {
namespace {

using graph::Lane;
using testing::Pairing;

constexpr std::uint64_t kWords = 64;
constexpr std::uint64_t kBytes = kWords * sizeof(std::uint32_t);
constexpr std::uint32_t kFilling = 8;  // steps in flight at most, see fill_pools()
constexpr graph::BufferDesc kShared{.bytes = kBytes, .domain = graph::MemoryDomain::Shared};

struct Fill {
    graph::Buffer out;
};
struct Add {
    graph::Buffer in, out;
    graph::History sums;
};
struct Copy {
    graph::Buffer in, out;
};

std::uint32_t* words(std::byte* address) { return reinterpret_cast<std::uint32_t*>(address); }

class Crossing : public testing::InteropTest, public ::testing::WithParamInterface<Pairing> {
  protected:
    void set_up() {
        validation_ = vulkan::Validation::WithoutSynchronization;  // relays signal while tests wait
        ASSERT_NO_FATAL_FAILURE(open(GetParam()));
        if (IsSkipped()) return;
        accelerator_lane_ = accel::AcceleratorLane::create(*accelerator_, &recorder_).value();
        for (const Lane lane : {Lane::Graphics, Lane::Transfer}) {
            lanes_.push_back(vulkan::VulkanLane::create(*display_, lane, &recorder_, bridge_->lane_sharing()).value());
            const auto connected = bridge_->connect(*accelerator_lane_, *lanes_.back());
            ASSERT_TRUE(connected) << connected.error().message;
        }
        graphics_memory_ = std::make_unique<vulkan::VulkanMemory>(*display_);
        executor_ = graph::Executor::create({.lanes = {accelerator_lane_.get(), lanes_[0].get(), lanes_[1].get()},
                                             .memory = {{graph::MemoryDomain::Graphics, graphics_memory_.get()},
                                                        {graph::MemoryDomain::Shared, &bridge_->memory()}},
                                             .compile = {.topology = bridge_->lane_topology()}})
                        .value();
        result_ = vulkan::Buffer::create(*display_, "result", kBytes, {.memory = vulkan::MemoryUse::Readback}).value();
        sums_ = executor_
                    ->create_history("sums", {.value_bytes = kBytes, .slots = 2, .domain = graph::MemoryDomain::Shared})
                    .value();
    }
    void release() override {
        executor_.reset();
        result_.reset();
        graphics_memory_.reset();
        accelerator_lane_.reset();
        lanes_.clear();
    }
    /// Vulkan writes `step` into shared memory, the accelerator adds it to the sums of all steps before, and Vulkan
    /// copies sum + step out.
    void declare(graph::FrameGraph& frame, std::uint32_t step) {
        const graph::Buffer filled = frame
                                         .add_pass<Fill>(
                                             "fill", Lane::Graphics,
                                             [&](graph::PassBuilder& pass, Fill& data) {
                                                 data.out =
                                                     pass.create("filled", kShared, graph::Access::TransferWrite);
                                             },
                                             [step](const Fill& data, vulkan::PassContext& context) {
                                                 const vulkan::BufferRange range = context.range(data.out);
                                                 context.table().vkCmdFillBuffer(context.commands(), range.buffer,
                                                                                 range.offset, range.bytes, step);
                                             })
                                         .out;
        const graph::History kept = frame.import_history(*sums_, {.keep = 1, .push = 1});
        const graph::Buffer added =
            frame
                .add_pass<Add>(
                    "add", Lane::Accelerator,
                    [&](graph::PassBuilder& pass, Add& data) {
                        data.in = pass.read(filled, graph::Access::KernelRead);
                        data.sums = pass.push(pass.read(kept, graph::Access::KernelRead), graph::Access::KernelWrite);
                        data.out = pass.create("added", kShared, graph::Access::KernelWrite);
                    },
                    [](const Add& data, accel::PassContext& context) {
                        context.stream().enqueue(
                            context.pass_name(),
                            [in = words(context.address(data.in)), out = words(context.address(data.out)),
                             before = words(context.address(data.sums, -1)),
                             now = words(context.address(data.sums, 0))]() -> Result<void> {
                                for (std::uint64_t i = 0; i < kWords; ++i) {
                                    now[i] = before[i] + in[i];
                                    out[i] = now[i] + in[i];
                                }
                                return {};
                            });
                    })
                .out;
        const graph::Buffer result = frame.import_buffer(
            "result", {.bytes = kBytes, .domain = graph::MemoryDomain::Graphics}, vulkan::physical_of(*result_));
        frame.add_pass<Copy>(
            "copy out", Lane::Transfer,
            [&](graph::PassBuilder& pass, Copy& data) {
                data.in = pass.read(added, graph::Access::TransferRead);
                data.out = pass.write(result, graph::Access::TransferWrite);
                pass.has_side_effect();
            },
            [](const Copy& data, vulkan::PassContext& context) {
                const vulkan::BufferRange from = context.range(data.in), to = context.range(data.out);
                const VkBufferCopy region{from.offset, to.offset, kBytes};
                context.table().vkCmdCopyBuffer(context.commands(), from.buffer, to.buffer, 1, &region);
            });
    }
    graph::Execution execute(std::uint32_t step) {
        frame_.clear();
        declare(frame_, step);
        auto execution = executor_->execute(frame_);
        EXPECT_TRUE(execution) << execution.error().message;
        return execution ? *execution : graph::Execution{};
    }
    void wait(const graph::Execution& execution) {
        const auto done = executor_->wait(execution);
        ASSERT_TRUE(done) << done.error().message;
    }
    /// Runs with more steps in flight than tests keep later: pools are as large afterwards as they will ever be.
    void fill_pools() {
        const auto gate = accelerator_->create_timeline().value();
        accelerator_lane_->wait_before_next(gate, 1);
        graph::Execution last;
        for (std::uint32_t step = 0; step < kFilling; ++step) last = execute(step);
        gate->signal(1);
        wait(last);
    }
    void expect_result(std::uint32_t wanted) const {
        std::vector<std::uint32_t> values(kWords);
        std::memcpy(values.data(), result_->mapped(), kBytes);
        EXPECT_EQ(std::count(values.begin(), values.end(), wanted), static_cast<std::ptrdiff_t>(kWords))
            << "wanted " << wanted << ", first is " << values.front();
    }

    profile::Recorder recorder_;
    std::unique_ptr<accel::AcceleratorLane> accelerator_lane_;
    std::vector<std::unique_ptr<vulkan::VulkanLane>> lanes_;
    std::unique_ptr<vulkan::VulkanMemory> graphics_memory_;
    std::unique_ptr<vulkan::Buffer> result_;
    graph::HistoryStorage* sums_ = nullptr;
    graph::FrameGraph frame_;
    std::unique_ptr<graph::Executor> executor_;
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

TEST_P(Crossing, AfterAResetTheSharedHistoryBeginsAtZero) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    wait(execute(7));
    ASSERT_TRUE(executor_->reset_histories());
    wait(execute(5));
    expect_result(10);
}

TEST_P(Crossing, ThePlanSaysWhatTheHandOversCost) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    wait(execute(1));
    const auto lanes = bridge_->lane_topology();
    const auto& pair =
        lanes.waits[static_cast<std::size_t>(Lane::Accelerator)][static_cast<std::size_t>(Lane::Graphics)];
    EXPECT_EQ(executor_->plan()->hand_over_cost, 2 * pair.hand_over);
}

TEST_P(Crossing, TheAcceleratorsPassLiesBetweenVulkansOnOneTimeAxis) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    wait(execute(1));  // pipelines of the driver, arenas
    recorder_.clear();
    wait(execute(2));
    for (const auto& lane : lanes_) lane->collect();
    auto spans = recorder_.spans();
    std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    ASSERT_EQ(spans.size(), 3U);
    EXPECT_EQ(spans[0].name + " on " + spans[0].track, "fill on graphics");
    EXPECT_EQ(spans[1].name + " on " + spans[1].track, "add on accelerator");
    EXPECT_EQ(spans[2].name + " on " + spans[2].track, "copy out on transfer");
    const Nanoseconds tolerance = std::chrono::microseconds(200);  // of the calibration of Vulkan's clock
    EXPECT_GE(spans[1].begin, spans[0].end - tolerance);
    EXPECT_GE(spans[2].begin, spans[1].end - tolerance);
}

TEST_P(Crossing, ASteadyStateAsksNeitherDriverForAnythingAndNeverWaits) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    auto& faults = vulkan::testing::faults();
    fill_pools();
    calls_.allocations = faults.allocations = faults.objects = faults.waits = 0;
    std::vector<graph::Execution> steps;
    for (std::uint32_t step = 0; step < 64; ++step) {
        faults.watched = std::this_thread::get_id();
        steps.push_back(execute(step));
        EXPECT_TRUE(steps.back().reused_plan);
        faults.watched = std::thread::id{};  // keeping few steps in flight is this test's wish, not a step's
        if (step >= 2) wait(steps[step - 2]);
    }
    wait(steps.back());
    EXPECT_EQ(faults.waits.load(), 0);
    EXPECT_EQ(calls_.allocations.load(), 0);
    EXPECT_EQ(faults.allocations.load(), 0);
    EXPECT_EQ(faults.objects.load(), 0);
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
    graph::Execution before;
    std::uint64_t resident = 0;
    std::uint32_t sum = kFilling * (kFilling - 1) / 2;
    for (std::uint32_t step = 1; step <= kSteps; ++step) {
        const graph::Execution now = execute(step);
        sum += step;
        if (step > 1) wait(before);  // at most two in flight, as a display's loop has them
        before = now;
        if (step == kSteps / 3) resident = resident_bytes();
    }
    wait(before);
    expect_result(sum + kSteps);
    EXPECT_EQ(before.number, kFilling + kSteps - 1);
    for (const Lane lane : {Lane::Graphics, Lane::Transfer, Lane::Accelerator})
        EXPECT_EQ(before.done[static_cast<std::size_t>(lane)], kFilling + kSteps) << graph::to_string(lane);
    EXPECT_EQ(lanes_[0]->completed(), kFilling + kSteps);
    EXPECT_EQ(accelerator_lane_->timeline()->value(), kFilling + kSteps);
    EXPECT_EQ(accelerator_->bytes_allocated(), accelerator);
    EXPECT_EQ(display_->memory().bytes_held(), display);
    EXPECT_LT(resident_bytes(), resident + kGrowth);
}

TEST_P(Crossing, AKernelsErrorReachesWhoeverWaitsForVulkan) {
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
