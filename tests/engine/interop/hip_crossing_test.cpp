// The staged topology with the HIP lane on one side (on the stand-in runtime, whose pinned memory has another address
// on the device than on the host) and a real Vulkan device on the other.
#include "interop_fixture.hpp"

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/tests/engine/accel/hip/standin_fixture.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace kinetograph::interop {
namespace {

using accel::hip::control_of;
using accel::hip::kStandin;
using graph::Lane;

constexpr std::uint32_t kCount = 256;
constexpr std::uint64_t kBytes = kCount * sizeof(float);
constexpr std::uint32_t kFilling = 8;  // steps in flight at most, see fill_pools()
constexpr graph::BufferDesc kShared{.bytes = kBytes, .domain = graph::MemoryDomain::Shared};

struct Pass {
    graph::Buffer in, between, out;
    graph::History values;
};

struct Case {
    std::string name;
    Staging staging;
    accel::Batches batches;
};
std::ostream& operator<<(std::ostream& out, const Case& chosen) { return out << chosen.name; }

class HipCrossing : public testing::InteropTest, public ::testing::WithParamInterface<Case> {
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
        kernel_ = accelerator_->load("test kernels", standin::placeholder_image())
                      .value()
                      ->kernel("standin_scale_add")
                      .value();
        accelerator_lane_ = accel::AcceleratorLane::create(*accelerator_, &recorder_, GetParam().batches).value();
        graphics_ = vulkan::VulkanLane::create(*display_, Lane::Graphics, &recorder_).value();
        transfer_ = vulkan::VulkanLane::create(*display_, Lane::Transfer, &recorder_).value();
        graphics_memory_ = std::make_unique<vulkan::VulkanMemory>(*display_);
        accelerator_memory_ = std::make_unique<accel::AcceleratorMemory>(*accelerator_);
        executor_ = graph::Executor::create({.lanes = {accelerator_lane_.get(), graphics_.get(), transfer_.get()},
                                             .memory = {{graph::MemoryDomain::Graphics, graphics_memory_.get()},
                                                        {graph::MemoryDomain::Accelerator, accelerator_memory_.get()},
                                                        {graph::MemoryDomain::Shared, &bridge_->memory()}},
                                             .compile = {.topology = bridge_->lane_topology()}})
                        .value();
        result_ = vulkan::Buffer::create(*display_, "result", kBytes, {.memory = vulkan::MemoryUse::Readback}).value();
        values_ =
            executor_
                ->create_history("values", {.value_bytes = kBytes, .slots = 2, .domain = graph::MemoryDomain::Shared})
                .value();
    }
    void release() override {
        executor_.reset();
        accelerator_memory_.reset();
        graphics_memory_.reset();
        result_.reset();
        accelerator_lane_.reset();
        graphics_.reset();
        transfer_.reset();
        kernel_.reset();
    }
    void TearDown() override {
        InteropTest::TearDown();
        EXPECT_EQ(control_.live(), standin::Live{});
        for (const std::string& complaint : control_.complaints()) ADD_FAILURE() << complaint;
        control_.reset({});
    }
    /// Vulkan writes `step`; the accelerator makes 2 * step + 1 of it, keeps that, and hands on what it kept of the
    /// step before; Vulkan copies that out.
    void declare(graph::FrameGraph& frame, float step) {
        const graph::Buffer filled =
            frame
                .add_pass<Pass>(
                    "fill", Lane::Graphics,
                    [&](graph::PassBuilder& pass, Pass& data) {
                        data.out = pass.create("filled", kShared, graph::Access::TransferWrite);
                    },
                    [step](const Pass& data, vulkan::PassContext& context) {
                        const vulkan::BufferRange range = context.range(data.out);
                        context.table().vkCmdFillBuffer(context.commands(), range.buffer, range.offset, range.bytes,
                                                        std::bit_cast<std::uint32_t>(step));
                    })
                .out;
        const graph::History kept = frame.import_history(*values_, {.keep = 1, .push = 1});
        const graph::Buffer added =
            frame
                .add_pass<Pass>(
                    "scale", Lane::Accelerator,
                    [&](graph::PassBuilder& pass, Pass& data) {
                        data.in = pass.read(filled, graph::Access::KernelRead);
                        data.between = pass.create("between", {.bytes = kBytes}, graph::Access::KernelWrite);
                        data.values = pass.push(pass.read(kept, graph::Access::KernelRead), graph::Access::KernelWrite);
                        data.out = pass.create("out", kShared, graph::Access::KernelWrite);
                    },
                    [this](const Pass& data, accel::PassContext& context) {
                        launch(context, context.address(data.in), context.address(data.between), 2.0F, 0.0F);
                        launch(context, context.address(data.between), context.address(data.values, 0), 1.0F, 1.0F);
                        launch(context, context.address(data.values, -1), context.address(data.out), 1.0F, 0.0F);
                    })
                .out;
        const graph::Buffer result = frame.import_buffer(
            "result", {.bytes = kBytes, .domain = graph::MemoryDomain::Graphics}, vulkan::physical_of(*result_));
        frame.add_pass<Pass>(
            "copy out", Lane::Transfer,
            [&](graph::PassBuilder& pass, Pass& data) {
                data.in = pass.read(added, graph::Access::TransferRead);
                data.out = pass.write(result, graph::Access::TransferWrite);
                pass.has_side_effect();
            },
            [](const Pass& data, vulkan::PassContext& context) {
                const vulkan::BufferRange from = context.range(data.in), to = context.range(data.out);
                const VkBufferCopy region{from.offset, to.offset, kBytes};
                context.table().vkCmdCopyBuffer(context.commands(), from.buffer, to.buffer, 1, &region);
            });
    }
    void launch(accel::PassContext& context, const std::byte* in, std::byte* out, float scale, float offset) {
        const standin::ScaleAddParams params{reinterpret_cast<const float*>(in), reinterpret_cast<float*>(out), kCount,
                                             scale, offset};
        context.stream().launch({.name = context.pass_name(),
                                 .kernel = *kernel_,
                                 .grid = {kCount / 64},
                                 .block = {64},
                                 .arguments = accel::bytes_of(params)});
    }
    graph::Execution execute(std::uint32_t step) {
        frame_.clear();
        declare(frame_, static_cast<float>(step));
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
    void expect_result(float wanted) const {
        std::vector<float> values(kCount);
        std::memcpy(values.data(), result_->mapped(), kBytes);
        EXPECT_EQ(std::count(values.begin(), values.end(), wanted), static_cast<std::ptrdiff_t>(kCount))
            << "wanted " << wanted << ", first is " << values.front();
    }

    standin::Control& control_ = control_of(kStandin);
    profile::Recorder recorder_;
    std::shared_ptr<accel::Kernel> kernel_;
    std::unique_ptr<accel::AcceleratorLane> accelerator_lane_;
    std::unique_ptr<vulkan::VulkanLane> graphics_, transfer_;
    std::unique_ptr<vulkan::VulkanMemory> graphics_memory_;
    std::unique_ptr<accel::AcceleratorMemory> accelerator_memory_;
    std::unique_ptr<vulkan::Buffer> result_;
    graph::HistoryStorage* values_ = nullptr;
    graph::FrameGraph frame_;
    std::unique_ptr<graph::Executor> executor_;
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
    recorder_.clear();
    wait(execute(5));
    graphics_->collect();
    transfer_->collect();
    auto spans = recorder_.spans();
    std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    ASSERT_EQ(spans.size(), 3U);
    EXPECT_EQ(spans[0].track, "graphics");
    EXPECT_EQ(spans[1].track, "accelerator");
    EXPECT_EQ(spans[2].track, "transfer");
}

TEST_P(HipCrossing, ASteadyStateAllocatesNothingAndWaitsForNobody) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    auto& faults = vulkan::testing::faults();
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
    faults.allocations = faults.objects = faults.waits = 0;
    std::vector<graph::Execution> steps;
    for (std::uint32_t step = 0; step < 40; ++step) {
        faults.watched = std::this_thread::get_id();
        steps.push_back(execute(step));
        faults.watched = std::thread::id{};
        if (step >= 2) wait(steps[step - 2]);
    }
    wait(steps.back());
    for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(control_.calls(asked[i]), before[i]) << asked[i];
    EXPECT_EQ(faults.allocations.load(), 0);
    EXPECT_EQ(faults.objects.load(), 0);
    EXPECT_EQ(faults.waits.load(), 0);
}

TEST_P(HipCrossing, AThousandStepsNeitherGrowNorDrift) {
    ASSERT_NO_FATAL_FAILURE(set_up());
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr std::uint32_t kSteps = 200;
#else
    constexpr std::uint32_t kSteps = 1000;
#endif
    fill_pools();
    std::optional<graph::Execution> before;
    const standin::Live live = control_.live();
    for (std::uint32_t step = 1; step <= kSteps; ++step) {
        const graph::Execution now = execute(step);
        if (before) wait(*before);
        before = now;
    }
    wait(*before);
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
