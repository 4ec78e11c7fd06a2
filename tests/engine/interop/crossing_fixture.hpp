// CrossingTest: a graph whose passes run alternately on an accelerator and on Vulkan queues, in shared memory.
#pragma once

#include "interop_fixture.hpp"

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::interop::testing {

inline constexpr std::uint32_t kCrossingWords = 256;
inline constexpr std::uint64_t kCrossingBytes = kCrossingWords * sizeof(std::uint32_t);
inline constexpr graph::BufferDesc kCrossingBuffer{.bytes = kCrossingBytes, .domain = graph::MemoryDomain::Shared};
/// Steps in flight in fill_pools(): the 16 whose passes are stamped one by one, and 8 without.
inline constexpr std::uint32_t kFilling = 24;

/// One step: Vulkan fills a buffer with a word, the accelerator computes another buffer from it and from what it kept
/// of the step before, and Vulkan copies that out. The derived test defines what the accelerator computes.
class CrossingTest : public InteropTest {
  protected:
    struct Fill {
        graph::Buffer out;
    };
    struct Copy {
        graph::Buffer in, out;
    };

    /// The word that Vulkan fills a step's buffer with.
    virtual std::uint32_t word_of(std::uint32_t step) const = 0;
    /// Declares the accelerator's pass, which reads `filled` and updates `kept`; returns the buffer to copy out.
    virtual graph::Buffer declare_accelerators(graph::FrameGraph& frame, graph::Buffer filled, graph::Buffer kept) = 0;

    /// Call once the devices and the bridge exist.
    void make_lanes(accel::Batches batches = accel::Batches::Eager) {
        accelerator_lane_ = accel::AcceleratorLane::create(*accelerator_, &recorder_, batches).value();
        for (auto [vulkan_lane, lane] :
             {std::pair(&graphics_, graph::Lane::Graphics), std::pair(&transfer_, graph::Lane::Transfer)}) {
            *vulkan_lane = vulkan::VulkanLane::create(*display_, lane, &recorder_, bridge_->lane_sharing()).value();
            const auto connected = bridge_->connect(*accelerator_lane_, **vulkan_lane);
            ASSERT_TRUE(connected) << connected.error().message;
        }
        graphics_memory_ = std::make_unique<vulkan::VulkanMemory>(*display_);
        accelerator_memory_ = std::make_unique<accel::AcceleratorMemory>(*accelerator_);
        executor_ = graph::Executor::create({.lanes = {accelerator_lane_.get(), graphics_.get(), transfer_.get()},
                                             .memory = {{graph::MemoryDomain::Graphics, graphics_memory_.get()},
                                                        {graph::MemoryDomain::Accelerator, accelerator_memory_.get()},
                                                        {graph::MemoryDomain::Shared, &bridge_->memory()}},
                                             .compile = {.topology = bridge_->lane_topology()}})
                        .value();
        result_ = vulkan::Buffer::create(*display_, "result", kCrossingBytes, {.memory = vulkan::MemoryUse::Readback})
                      .value();
        kept_ = bridge_->memory().create_buffer("kept", kCrossingBytes).value();
        const auto zeros = accelerator_->create_stream("zeros").value();
        zeros->fill(kept_->physical().address(), std::byte{0}, kCrossingBytes);
        ASSERT_TRUE(zeros->synchronize());
    }
    void release() override {
        executor_.reset();
        kept_.reset();
        accelerator_memory_.reset();
        graphics_memory_.reset();
        result_.reset();
        accelerator_lane_.reset();
        graphics_.reset();
        transfer_.reset();
    }
    void declare(graph::FrameGraph& frame, std::uint32_t step) {
        const std::uint32_t word = word_of(step);
        const graph::Buffer filled =
            frame
                .add_pass<Fill>(
                    "fill", graph::Lane::Graphics,
                    [&](graph::PassBuilder& pass, Fill& data) {
                        data.out = pass.create("filled", kCrossingBuffer, graph::Access::TransferWrite);
                    },
                    [word](const Fill& data, vulkan::PassContext& context) {
                        const vulkan::BufferRange range = context.range(data.out);
                        context.table().vkCmdFillBuffer(context.commands(), range.buffer, range.offset, range.bytes,
                                                        word);
                    })
                .out;
        const graph::Buffer made =
            declare_accelerators(frame, filled, frame.import_buffer("kept", kCrossingBuffer, kept_->physical()));
        const graph::Buffer result =
            frame.import_buffer("result", {.bytes = kCrossingBytes, .domain = graph::MemoryDomain::Graphics},
                                vulkan::physical_of(*result_));
        frame.add_pass<Copy>(
            "copy out", graph::Lane::Transfer,
            [&](graph::PassBuilder& pass, Copy& data) {
                data.in = pass.read(made, graph::Access::TransferRead);
                data.out = pass.write(result, graph::Access::TransferWrite);
                pass.has_side_effect();
            },
            [](const Copy& data, vulkan::PassContext& context) {
                const vulkan::BufferRange from = context.range(data.in), to = context.range(data.out);
                const VkBufferCopy region{from.offset, to.offset, kCrossingBytes};
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
    /// Runs with more steps in flight than any test does later, so that pools reach their final size.
    void fill_pools() {
        const auto gate = accelerator_->create_timeline().value();
        accelerator_lane_->stream().wait(gate, 1);
        graph::Execution last;
        for (std::uint32_t step = 0; step < kFilling; ++step) last = execute(step);
        gate->signal(1);
        wait(last);
    }
    /// Runs `steps` steps, none of which may allocate or create anything in Vulkan or wait for it.
    void run_steadily(std::uint32_t steps) {
        auto& faults = vulkan::testing::faults();
        faults.allocations = faults.objects = faults.waits = 0;
        std::vector<graph::Execution> executions;
        for (std::uint32_t step = 0; step < steps; ++step) {
            faults.watched = std::this_thread::get_id();
            executions.push_back(execute(step));
            EXPECT_TRUE(executions.back().reused_plan);
            faults.watched = std::thread::id{};  // the wait below is the test's, not the step's
            if (step >= 2) wait(executions[step - 2]);
        }
        wait(executions.back());
        EXPECT_EQ(faults.waits.load(), 0);
        EXPECT_EQ(faults.allocations.load(), 0);
        EXPECT_EQ(faults.objects.load(), 0);
    }
    /// Runs steps 1 to `steps`, two in flight as in a display's loop; calls `between` with each after it was submitted
    /// and the one before has ended.
    template <class Between>
    graph::Execution run_two_in_flight(std::uint32_t steps, const Between& between) {
        graph::Execution before;
        for (std::uint32_t step = 1; step <= steps; ++step) {
            const graph::Execution now = execute(step);
            if (step > 1) wait(before);
            before = now;
            between(step);
        }
        wait(before);
        return before;
    }
    /// The spans of one step's three passes, in order of their begin.
    std::vector<profile::Span> spans_of(std::uint32_t step) {
        recorder_.clear();
        wait(execute(step));
        graphics_->collect();
        transfer_->collect();
        auto spans = recorder_.spans();
        std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
        return spans;
    }
    template <class Word>
    void expect_result(Word wanted) const {
        std::vector<Word> values(kCrossingWords);
        static_assert(sizeof(Word) * kCrossingWords == kCrossingBytes);
        std::memcpy(values.data(), result_->mapped(), kCrossingBytes);
        EXPECT_EQ(std::count(values.begin(), values.end(), wanted), static_cast<std::ptrdiff_t>(kCrossingWords))
            << "wanted " << wanted << ", first is " << values.front();
    }

    profile::Recorder recorder_;
    std::unique_ptr<accel::AcceleratorLane> accelerator_lane_;
    std::unique_ptr<vulkan::VulkanLane> graphics_, transfer_;
    std::unique_ptr<vulkan::VulkanMemory> graphics_memory_;
    std::unique_ptr<accel::AcceleratorMemory> accelerator_memory_;
    std::unique_ptr<vulkan::Buffer> result_;
    std::unique_ptr<SharedBuffer> kept_;  ///< from one step to the next
    graph::FrameGraph frame_;
    std::unique_ptr<graph::Executor> executor_;
};

}  // namespace kinetograph::interop::testing
