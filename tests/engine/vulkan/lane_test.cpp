#include "vulkan_fixture.hpp"

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/clock.hpp>

#include <condition_variable>
#include <cstring>
#include <regex>
#include <stdexcept>
#include <thread>

namespace kinetograph::vulkan {
namespace {

constexpr std::uint32_t kScaleAdd[] = {
#include "scale_add.comp.inc"
};
constexpr std::uint32_t kImageToBuffer[] = {
#include "image_to_buffer.comp.inc"
};
constexpr std::uint32_t kCount = 4096;
constexpr std::uint64_t kBytes = kCount * sizeof(std::uint32_t);

struct Constants {
    std::uint32_t factor, offset, count;
};
struct Step {
    graph::Buffer input, output;
};
struct Write {
    graph::Buffer output;
};
struct Paint {
    graph::Image image;
};
struct Sample {
    graph::Image image;
    graph::Buffer output;
};
struct Roll {
    graph::Buffer state;
};
struct Nothing {};

class Lanes : public testing::VulkanTest {
  protected:
    void SetUp() override {
        VulkanTest::SetUp();
        auto scale = Pipeline::create(
            *device_, ComputePipelineDesc{.name = "scale_add",
                                          .shader = kScaleAdd,
                                          .bindings = {BindingKind::StorageBuffer, BindingKind::StorageBuffer},
                                          .push_constant_bytes = sizeof(Constants)});
        auto sample = Pipeline::create(
            *device_, ComputePipelineDesc{.name = "image_to_buffer",
                                          .shader = kImageToBuffer,
                                          .bindings = {BindingKind::SampledImage, BindingKind::StorageBuffer}});
        auto result = Buffer::create(*device_, "result", kBytes, {.memory = MemoryUse::Readback});
        ASSERT_TRUE(scale && sample && result);
        scale_add_ = std::move(*scale);
        image_to_buffer_ = std::move(*sample);
        result_ = std::move(*result);
    }
    void release() override {
        scale_add_.reset();
        image_to_buffer_.reset();
        result_.reset();
    }

    graph::Buffer fill(graph::FrameGraph& frame, graph::Lane lane, std::string_view name, std::uint32_t value) {
        return frame
            .add_pass<Write>(
                name, lane,
                [&](graph::PassBuilder& pass, Write& data) {
                    data.output = pass.create(name, {.bytes = kBytes, .domain = graph::MemoryDomain::Graphics},
                                              graph::Access::TransferWrite);
                },
                [value](const Write& data, PassContext& context) {
                    const BufferRange range = context.range(data.output);
                    context.table().vkCmdFillBuffer(context.commands(), range.buffer, range.offset, range.bytes, value);
                })
            .output;
    }
    graph::Buffer scale_add(graph::FrameGraph& frame, graph::Lane lane, std::string_view name, graph::Buffer input,
                            std::uint32_t factor, std::uint32_t offset) {
        return frame
            .add_pass<Step>(
                name, lane,
                [&](graph::PassBuilder& pass, Step& data) {
                    data.input = pass.read(input, graph::Access::ComputeRead);
                    data.output = pass.create(name, {.bytes = kBytes, .domain = graph::MemoryDomain::Graphics},
                                              graph::Access::ComputeWrite);
                },
                [this, factor, offset](const Step& data, PassContext& context) {
                    const Constants constants{factor, offset, kCount};
                    context.bind(*scale_add_, {Descriptor::storage(context.range(data.input)),
                                               Descriptor::storage(context.range(data.output))});
                    context.push_constants(*scale_add_, &constants, sizeof(constants));
                    context.table().vkCmdDispatch(context.commands(), kCount / 64, 1, 1);
                })
            .output;
    }
    void copy_out(graph::FrameGraph& frame, graph::Lane lane, graph::Buffer input) {
        const graph::Buffer result = frame.import_buffer(
            "result", {.bytes = kBytes, .domain = graph::MemoryDomain::Graphics}, physical_of(*result_), ready_);
        const Step& copied = frame.add_pass<Step>(
            "copy out", lane,
            [&](graph::PassBuilder& pass, Step& data) {
                data.input = pass.read(input, graph::Access::TransferRead);
                data.output = pass.write(result, graph::Access::TransferWrite);
                pass.has_side_effect();
            },
            [](const Step& data, PassContext& context) {
                const BufferRange from = context.range(data.input), to = context.range(data.output);
                const VkBufferCopy region{from.offset, to.offset, kBytes};
                context.table().vkCmdCopyBuffer(context.commands(), from.buffer, to.buffer, 1, &region);
            });
        written_ = copied.output;
    }
    graph::Image paint(graph::FrameGraph& frame, std::string_view name, float red) {
        return frame
            .add_pass<Paint>(
                name, graph::Lane::Graphics,
                [&](graph::PassBuilder& pass, Paint& data) {
                    data.image = pass.create(name, {.width = 64, .height = 64}, graph::Access::ColorAttachment);
                },
                [red](const Paint& data, PassContext& context) {
                    context.begin_rendering(context.image(data.image), PassContext::Contents::Clear,
                                            {{red, 0.0F, 0.0F, 1.0F}});
                    context.end_rendering();
                })
            .image;
    }
    graph::Buffer sample(graph::FrameGraph& frame, graph::Lane lane, std::string_view name, graph::Image image) {
        return frame
            .add_pass<Sample>(
                name, lane,
                [&](graph::PassBuilder& pass, Sample& data) {
                    data.image = pass.read(image, graph::Access::SampledRead);
                    data.output = pass.create(name, {.bytes = kBytes, .domain = graph::MemoryDomain::Graphics},
                                              graph::Access::ComputeWrite);
                },
                [this](const Sample& data, PassContext& context) {
                    context.bind(*image_to_buffer_,
                                 {Descriptor::sampled(context.image(data.image), context.device().linear_sampler()),
                                  Descriptor::storage(context.range(data.output))});
                    context.table().vkCmdDispatch(context.commands(), 8, 8, 1);
                })
            .output;
    }
    /// Every value of the result must be `wanted`.
    void expect_result(std::uint32_t wanted) const {
        std::vector<std::uint32_t> values(kCount);
        std::memcpy(values.data(), result_->mapped(), kBytes);
        for (std::uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], wanted) << "at " << i;
    }
    /// fill(3) on the transfer lane, * 5 + 1 on async compute, * 2 + 7 on graphics: 39 for 3.
    graph::FrameGraph three_lanes(std::uint32_t value) {
        graph::FrameGraph frame = make_graph();
        const graph::Buffer filled = fill(frame, graph::Lane::Transfer, "fill", value);
        const graph::Buffer scaled = scale_add(frame, graph::Lane::AsyncCompute, "scale", filled, 5, 1);
        const graph::Buffer again = scale_add(frame, graph::Lane::Graphics, "scale again", scaled, 2, 7);
        copy_out(frame, graph::Lane::Graphics, again);
        return frame;
    }

    /// The lane's first batch: no passes, after `points`.
    static Result<void> submit_nothing(VulkanLane& lane, const std::vector<graph::Point>& points = {}) {
        graph::Batch batch;
        batch.lane = lane.lane();
        graph::Plan plan;
        plan.batches_on_lane[lane.lane().index()] = 1;
        return lane.submit({.plan = &plan,
                            .batch = &batch,
                            .waits = {},
                            .points = points,
                            .passes = {},
                            .resources = {},
                            .signal = 1});
    }
    /// Another device, on whose GPU `neighbour` is another API's lane.
    std::unique_ptr<Device> device_beside(const std::shared_ptr<graph::HostTimeline>& neighbour) const {
        auto device = Device::create(*instance_).value();
        device->share_gpu_with(*neighbour);
        return device;
    }

    std::unique_ptr<Pipeline> scale_add_, image_to_buffer_;
    std::unique_ptr<Buffer> result_;
    graph::Point ready_;     ///< of the result's memory
    graph::Buffer written_;  ///< the result
};

TEST_F(Lanes, ThreeLanesHandOverThroughTimelines) {
    for (std::uint32_t value = 0; value < 20; ++value) {
        run(three_lanes(value));
        expect_result((value * 5 + 1) * 2 + 7);
    }
}

TEST_F(Lanes, ExecutionsInFlightDoNotDisturbEachOther) {
    std::optional<graph::Execution> last;
    for (std::uint32_t value = 0; value < 50; ++value) {
        auto execution = executor_->execute(three_lanes(value));
        ASSERT_TRUE(execution) << execution.error().message;
        last = *execution;
    }
    ASSERT_TRUE(executor_->wait(*last));
    expect_result((49 * 5 + 1) * 2 + 7);
}

TEST_F(Lanes, AliasedBuffersAndImagesKeepTheirContentsWhileTheyAreNeeded) {
    for (const graph::Aliasing aliasing : {graph::Aliasing::Packed, graph::Aliasing::Separate}) {
        make_executor(aliasing);
        for (std::uint32_t round = 1; round <= 4; ++round) {
            graph::FrameGraph frame = make_graph();
            // Images and buffers alternate, each dead before the next but one begins.
            graph::Buffer values = sample(frame, graph::Lane::Graphics, "sample 0", paint(frame, "paint 0", 1.0F));
            for (std::uint32_t i = 0; i < 6; ++i) {
                values = scale_add(frame, i % 2 == 0 ? graph::Lane::AsyncCompute : graph::Lane::Graphics,
                                   fmt::format("scale {}", i), values, 1, round);
            }
            const graph::Buffer painted =
                sample(frame, graph::Lane::Graphics, "sample 1", paint(frame, "paint 1", 0.4F));
            copy_out(frame, graph::Lane::Transfer, round % 2 == 0 ? painted : values);
            run(frame);
            expect_result(round % 2 == 0 ? 102 : 255 + 6 * round);
            if (round % 2 == 0) continue;  // the chain of buffers is culled then
            const graph::Plan& plan = *executor_->plan();
            const std::uint64_t arena = plan.arena_bytes[graph::MemoryDomain::Graphics.index()];
            if (aliasing == graph::Aliasing::Packed) {
                EXPECT_LT(arena, plan.transient_bytes);
            } else {
                EXPECT_GE(arena, plan.transient_bytes);
            }
        }
    }
}

TEST_F(Lanes, AnImportKeepsValuesAcrossExecutions) {
    const auto state = Buffer::create(*device_, "running", kBytes, {}).value();
    ASSERT_TRUE(device_->run_once("zeroing", [&](VkCommandBuffer commands) {
        device_->table().vkCmdFillBuffer(commands, state->handle(), 0, VK_WHOLE_SIZE, 0);
    }));
    for (std::uint32_t step = 1; step <= 5; ++step) {
        graph::FrameGraph frame = make_graph();
        const graph::Buffer kept = frame.import_buffer(
            "running", {.bytes = kBytes, .domain = graph::MemoryDomain::Graphics}, physical_of(*state));
        const auto& rolled = frame.add_pass<Roll>(
            "roll", graph::Lane::Graphics,
            [&](graph::PassBuilder& pass, Roll& data) {
                data.state = pass.write(pass.read(kept, graph::Access::ComputeRead), graph::Access::ComputeWrite);
            },
            [this, step](const Roll& data, PassContext& context) {
                const Constants constants{1, step, kCount};
                const Descriptor values = Descriptor::storage(context.range(data.state));
                context.bind(*scale_add_, {values, values});
                context.push_constants(*scale_add_, &constants, sizeof(constants));
                context.table().vkCmdDispatch(context.commands(), kCount / 64, 1, 1);
            });
        copy_out(frame, graph::Lane::Graphics, rolled.state);
        run(frame);
        expect_result(step * (step + 1) / 2);
    }
}

TEST_F(Lanes, EveryPassBecomesASpanOnTheHostAxisInOrder) {
    run(three_lanes(1));  // pipelines and arenas exist afterwards
    recorder_.clear();
    const Nanoseconds before = host_now();
    run(three_lanes(3));
    const Nanoseconds after = host_now();
    std::vector<profile::Span> spans;
    for (auto& lane : lanes_) lane->collect();
    spans = recorder_.spans();
    ASSERT_EQ(spans.size(), 4U);
    std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    EXPECT_EQ(spans[0].name, "fill");
    EXPECT_EQ(spans[0].track, "transfer");
    EXPECT_EQ(spans[1].name, "scale");
    EXPECT_EQ(spans[1].track, "async_compute");
    EXPECT_EQ(spans[2].name, "scale again");
    EXPECT_EQ(spans[3].name, "copy out");
    const Nanoseconds tolerance = std::chrono::microseconds(200);
    for (std::size_t i = 0; i < spans.size(); ++i) {
        EXPECT_LE(spans[i].begin, spans[i].end);
        EXPECT_GE(spans[i].begin, before - tolerance);
        EXPECT_LE(spans[i].end, after + tolerance);
        if (i > 0) {
            EXPECT_GE(spans[i].begin, spans[i - 1].end - tolerance) << spans[i].name;
        }
    }
}

TEST_F(Lanes, NothingIsAllocatedInSteadyState) {
    for (int i = 0; i < 8; ++i) run(three_lanes(1));
    testing::faults().allocations = 0;
    for (int i = 0; i < 50; ++i) run(three_lanes(1));
    EXPECT_EQ(testing::faults().allocations.load(), 0);
}

TEST_F(Lanes, UploadsReachTheDevice) {
    graph::FrameGraph frame = make_graph();
    const auto& written = frame.add_pass<Write>(
        "upload", graph::Lane::Transfer,
        [&](graph::PassBuilder& pass, Write& data) {
            data.output = pass.create("uploaded", {.bytes = kBytes, .domain = graph::MemoryDomain::Graphics},
                                      graph::Access::TransferWrite);
        },
        [](const Write& data, PassContext& context) {
            const auto upload = context.upload(kBytes);
            ASSERT_TRUE(upload);
            const std::vector<std::uint32_t> values(kCount, 77);
            std::memcpy(upload->data, values.data(), kBytes);
            const VkBufferCopy region{upload->offset, context.range(data.output).offset, kBytes};
            context.table().vkCmdCopyBuffer(context.commands(), upload->buffer, context.range(data.output).buffer, 1,
                                            &region);
        });
    copy_out(frame, graph::Lane::Graphics, written.output);
    run(frame);
    expect_result(77);
}

TEST_F(Lanes, OutOfMemoryInAPassStopsTheSubmissionAndNamesThePass) {
    graph::FrameGraph frame = make_graph();
    frame.add_pass<Write>(
        "greedy", graph::Lane::Graphics, [&](graph::PassBuilder& pass, Write&) { pass.has_side_effect(); },
        [](const Write&, PassContext& context) {
            testing::faults().out_of_memory = true;
            EXPECT_FALSE(context.upload(100ULL << 20U));
            testing::faults().out_of_memory = false;
        });
    const auto execution = executor_->execute(frame);
    ASSERT_FALSE(execution);
    EXPECT_EQ(execution.error().code, ErrorCode::OutOfMemory);
    EXPECT_NE(execution.error().message.find("pass \"greedy\""), std::string::npos) << execution.error().message;
    EXPECT_NE(execution.error().message.find("needs 128.0 MiB"), std::string::npos) << execution.error().message;
}

TEST_F(Lanes, GoOnAfterACommandBufferCouldNotBeAllocated) {
    testing::faults().no_command_buffers = true;
    const auto refused = executor_->execute(three_lanes(1));
    testing::faults().no_command_buffers = false;
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_NE(refused.error().message.find("allocating a command buffer"), std::string::npos)
        << refused.error().message;
    run(three_lanes(1));
    expect_result((1 * 5 + 1) * 2 + 7);
}

TEST_F(Lanes, WhatAPassThrowsStopsTheSubmissionAndNotTheNextOne) {
    graph::FrameGraph frame = make_graph();
    frame.add_pass<Step>(
        "of the application", graph::Lane::Graphics, [](graph::PassBuilder& pass, Step&) { pass.has_side_effect(); },
        [](const Step&, PassContext&) { throw std::runtime_error("its mesh is gone"); });
    const auto refused = executor_->execute(frame);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "execution 0, lane graphics: of the application: its mesh is gone");
    run(three_lanes(1));
    expect_result((1 * 5 + 1) * 2 + 7);
}

TEST_F(Lanes, ABatchThatFailsLeavesImagesTheirLayouts) {
    const auto image = Image::create(*device_, "picture", {.width = 64, .height = 64}).value();
    const auto draw = [&](bool fails) {
        graph::FrameGraph frame = make_graph();
        const graph::Image painted =
            frame
                .add_pass<Paint>(
                    "paint", graph::Lane::Graphics,
                    [&](graph::PassBuilder& pass, Paint& data) {
                        data.image = pass.write(frame.import_image("picture", image->desc(), physical_of(*image)),
                                                graph::Access::ColorAttachment);
                    },
                    [](const Paint& data, PassContext& context) {
                        context.begin_rendering(context.image(data.image), PassContext::Contents::Clear,
                                                {{1.0F, 0.0F, 0.0F, 1.0F}});
                        context.end_rendering();
                    })
                .image;
        graph::Buffer sampled = sample(frame, graph::Lane::Graphics, "sample", painted);
        if (fails)
            sampled = frame
                          .add_pass<Step>(
                              "fails", graph::Lane::Graphics,
                              [&](graph::PassBuilder& pass, Step& data) {
                                  data.input = pass.read(sampled, graph::Access::ComputeRead);
                                  data.output = pass.write(data.input, graph::Access::ComputeWrite);
                              },
                              [](const Step&, PassContext&) { throw std::runtime_error("its mesh is gone"); })
                          .output;
        copy_out(frame, graph::Lane::Graphics, sampled);
        return executor_->execute(frame);
    };
    EXPECT_FALSE(draw(true));
    EXPECT_EQ(image->layout(), VK_IMAGE_LAYOUT_UNDEFINED);
    const auto drawn = draw(false);
    ASSERT_TRUE(drawn) << drawn.error().message;
    ASSERT_TRUE(executor_->wait(*drawn));
    EXPECT_EQ(image->layout(), VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    expect_result(255);
}

TEST_F(Lanes, ALostDeviceIsReportedByName) {
    testing::faults().device_lost = true;
    const auto execution = executor_->execute(three_lanes(1));
    testing::faults().device_lost = false;
    ASSERT_FALSE(execution);
    EXPECT_EQ(execution.error().code, ErrorCode::DeviceLost);
    EXPECT_NE(execution.error().message.find(device_->report().name + " was lost while submitting"), std::string::npos)
        << execution.error().message;
}

TEST_F(Lanes, AnImageDeclaredWithoutTheDevicesFootprintIsRefused) {
    graph::FrameGraph frame({.image_footprint = [](const graph::ImageDesc&) { return graph::Footprint{64, 1}; }});
    copy_out(frame, graph::Lane::Graphics,
             sample(frame, graph::Lane::Graphics, "sample", paint(frame, "picture", 1.0F)));
    const auto execution = executor_->execute(frame);
    ASSERT_FALSE(execution);
    EXPECT_EQ(execution.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(execution.error().message.find("image \"picture\""), std::string::npos) << execution.error().message;
    EXPECT_NE(execution.error().message.find("Device::footprint"), std::string::npos) << execution.error().message;
}

/// A lane whose timeline the test advances.
class ManualLane final : public graph::LaneBackend {
  public:
    graph::Lane lane() const override { return graph::Lane::Host; }
    Result<void> submit(const graph::BatchRecord&) override { return {}; }
    Result<bool> wait(std::uint64_t value, Nanoseconds timeout) override {
        return graph::wait_for({timeline_, value}, timeout);
    }
    std::shared_ptr<graph::Timeline> timeline() const override { return timeline_; }
    void reach(std::uint64_t value) { timeline_->signal(value); }

  private:
    std::shared_ptr<graph::HostTimeline> timeline_ = std::make_shared<graph::HostTimeline>();
};

TEST_F(Lanes, AQueueWaitsForALaneThatVulkanCannotSeeWithoutBlockingTheCaller) {
    ManualLane host;
    graph::Batch batch;
    batch.lane = graph::Lane::Transfer;
    graph::Plan plan;
    plan.batches_on_lane[graph::Lane::Transfer.index()] = 1;
    const graph::ResolvedWait wait{&host, 5};
    graph::BatchRecord record{};
    record.plan = &plan;
    record.batch = &batch;
    record.waits = {&wait, 1};
    record.signal = 1;
    VulkanLane& transfer = lane(graph::Lane::Transfer);
    ASSERT_TRUE(transfer.submit(record));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(transfer.completed(), 0U);
    host.reach(5);
    ASSERT_TRUE(transfer.wait(1));
    EXPECT_EQ(transfer.completed(), 1U);
}

/// Other work, which the lane does not know of, blocks its queue.
TEST_F(Lanes, AreDescribedWhereTheirQueueIsBlocked) {
    std::vector<std::string> reports;
    const auto gate = TimelineSemaphore::create(*device_, "gate").value();
    testing::block(*device_, graph::Lane::Graphics, *gate);
    executor_ = graph::Executor::create(
                    {.lanes = {&lane(graph::Lane::Graphics)},
                     .memory = {{graph::MemoryDomain::Graphics, memory_.get()}},
                     .compile = {},
                     .report_after = std::chrono::milliseconds(500),
                     .log = Log([&](LogLevel, std::string_view message) { reports.emplace_back(message); })})
                    .value();
    graph::FrameGraph frame = make_graph();
    copy_out(frame, graph::Lane::Graphics, fill(frame, graph::Lane::Graphics, "fill", 9));
    const auto execution = executor_->execute(frame);
    ASSERT_TRUE(execution) << execution.error().message;
    const auto waited = executor_->wait(*execution, std::chrono::seconds(3));
    gate->signal(1);
    ASSERT_TRUE(waited) << waited.error().message;
    EXPECT_FALSE(*waited);
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_TRUE(
        std::regex_match(reports.front(), std::regex("waiting for [0-9]+ s:\nlane graphics: submitted 1, reached 0")))
        << reports.front();
    ASSERT_TRUE(executor_->wait(*execution));
    expect_result(9);
    executor_.reset();
}

TEST_F(Lanes, ABlockedQueueEndsTheWaitsOfSetUpAndForAnIdleDevice) {
    constexpr Nanoseconds kPatience = std::chrono::milliseconds(200);
    const auto gate = TimelineSemaphore::create(*device_, "gate").value();
    testing::block(*device_, graph::Lane::Graphics, *gate);
    const auto buffer = Buffer::create(*device_, "cleared", kBytes, {}).value();
    const auto once = device_->run_once(
        "clearing a buffer",
        [&](VkCommandBuffer commands) {
            device_->table().vkCmdFillBuffer(commands, buffer->handle(), 0, VK_WHOLE_SIZE, 0);
        },
        kPatience);
    const auto all = device_->wait_idle(kPatience), one = device_->wait_idle(graph::Lane::Graphics, kPatience);
    gate->signal(1);
    ASSERT_FALSE(once || all || one);
    EXPECT_EQ(once.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(once.error().message,
              device_->report().name + ": clearing a buffer: its queue has not come to it within 0.2 s");
    EXPECT_EQ(all.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(all.error().message, device_->report().name + ": a queue has not finished its work within 0.2 s");
    EXPECT_TRUE(device_->wait_idle());
}

/// Some GPUs leave a queue standing still, without an error, when another API's context is lost beside it.
TEST_F(Lanes, AQueueThatStandsStillAfterALossOnItsGpuIsGivenUpSoon) {
    const auto neighbour = std::make_shared<graph::HostTimeline>();
    const auto device = device_beside(neighbour);
    const auto gate = TimelineSemaphore::create(*device, "gate").value();
    auto made = VulkanLane::create(*device, graph::Lane::Graphics).value();
    testing::block(*device, graph::Lane::Graphics, *gate);
    ASSERT_TRUE(submit_nothing(*made));
    const auto before = made->wait(1, 2 * GpuLosses::kPatience);
    ASSERT_TRUE(before) << before.error().message;  // without a loss a wait lasts as long as it is asked to
    EXPECT_FALSE(*before);

    neighbour->report({ErrorCode::DeviceLost, "lane accelerator: lost"});
    const Nanoseconds begin = host_now();
    const auto waited = made->wait(1, graph::kWorkPatience);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(waited.error().message,
              device->report().name + ": lane graphics has stalled since lane accelerator: lost");
    EXPECT_FALSE(device->wait_idle());
    EXPECT_TRUE(device->losses().gave_up(graph::Lane::Graphics));
    made.reset();
    EXPECT_LT(host_now() - begin, std::chrono::seconds(2));
    gate->signal(1);
    ASSERT_EQ(device->table().vkDeviceWaitIdle(device->handle()), VK_SUCCESS);
}

TEST_F(Lanes, AnIdleQueueIsNotGivenUpAfterALossOnItsGpu) {
    const auto neighbour = std::make_shared<graph::HostTimeline>();
    const auto device = device_beside(neighbour);
    neighbour->report({ErrorCode::DeviceLost, "lane accelerator: lost"});
    const auto idle = VulkanLane::create(*device, graph::Lane::Graphics).value();
    const auto waited = idle->wait(1, 3 * GpuLosses::kPatience);  // for a value that is not submitted
    ASSERT_TRUE(waited) << waited.error().message;
    EXPECT_FALSE(*waited);
    EXPECT_FALSE(device->losses().gave_up());
}

TEST_F(Lanes, AQueueThatMovesAfterALossOnItsGpuGoesOn) {
    const auto neighbour = std::make_shared<graph::HostTimeline>();
    const auto device = device_beside(neighbour);
    neighbour->report({ErrorCode::DeviceLost, "lane accelerator: lost"});
    const auto made = VulkanLane::create(*device, graph::Lane::Graphics).value();
    const auto gate = TimelineSemaphore::create(*device, "gate").value();
    ASSERT_TRUE(submit_nothing(*made, {{gate, 1}}));
    const auto waited = made->wait(1, 2 * GpuLosses::kPatience);  // for an application's point, not for the GPU
    ASSERT_TRUE(waited) << waited.error().message;
    EXPECT_FALSE(*waited);
    gate->signal(1);
    const auto reached = made->wait(1, std::chrono::seconds(10));
    ASSERT_TRUE(reached) << reached.error().message;
    EXPECT_TRUE(*reached);
    EXPECT_TRUE(device->wait_idle());
}

TEST_F(Lanes, ATimelineTellsThatTheDriverHasRefusedToSignalIt) {
    const auto semaphore = TimelineSemaphore::create(*device_, "a timeline").value();
    testing::faults().refuses_signals = true;
    semaphore->signal(2);
    testing::faults().refuses_signals = false;
    EXPECT_EQ(semaphore->value(), 0U);
    const auto waited = graph::wait_for({semaphore, 2});
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::OutOfMemory);
    EXPECT_NE(waited.error().message.find("signalling value 2 of a timeline"), std::string::npos)
        << waited.error().message;
}

TEST_F(Lanes, WaitForTheSemaphoreOfAnImportAndTellWhenTheyAreDoneWithIt) {
    const auto semaphore = TimelineSemaphore::create(*device_, "external").value();
    ready_ = {semaphore, 1};
    const auto execution = executor_->execute(three_lanes(3));
    ready_ = {};
    ASSERT_TRUE(execution) << execution.error().message;
    const graph::Point written = executor_->ready(written_);
    EXPECT_EQ(written.timeline, lane(graph::Lane::Graphics).timeline());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(written.reached());
    semaphore->signal(1);
    const auto reached = graph::wait_for(written, std::chrono::seconds(10));
    ASSERT_TRUE(reached && *reached);
    expect_result((3 * 5 + 1) * 2 + 7);
    ASSERT_TRUE(executor_->wait(*execution));
}

TEST_F(Lanes, TellAtTheirEndThatTheirValuesDoNotCome) {
    const auto gate = TimelineSemaphore::create(*device_, "gate").value();
    auto made = VulkanLane::create(*device_, graph::Lane::Transfer).value();
    const auto timeline = made->timeline();
    ASSERT_TRUE(submit_nothing(*made, {{gate, 1}}));
    const Nanoseconds begin = host_now();
    made.reset();
    EXPECT_LT(host_now() - begin, graph::kWorkPatience / 2);
    const auto waited = graph::wait_for({timeline, 1});
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(waited.error().message, "lane transfer has ended at value 0, before value 1");
    gate->signal(1);
    EXPECT_TRUE(device_->wait_idle());
}

TEST_F(Lanes, TimelinesOutliveTheirOwnersForAWhileAndGoWithTheDevice) {
    constexpr int kRetired = Device::kRetired;
    const int held = testing::faults().alive;
    {
        const auto device = Device::create(*instance_).value();
        const int of_device = testing::faults().alive;
        VulkanLane::create(*device, graph::Lane::Graphics).value().reset();
        EXPECT_EQ(testing::faults().alive, of_device + 1);
        for (int i = 0; i < kRetired + 5; ++i) device->retire(create_timeline(*device, "without an owner").value());
        device->retire(VK_NULL_HANDLE);
        EXPECT_EQ(testing::faults().alive, of_device + kRetired);
    }
    EXPECT_EQ(testing::faults().alive, held);
}

TEST(Clock, StatesWhatItsTimesMayBeOffByAtMost) {
    auto loader = Loader::open();
    ASSERT_TRUE(loader) << loader.error().message;
    auto instance = Instance::create(*loader);
    ASSERT_TRUE(instance) << instance.error().message;
    auto device = Device::create(**instance);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_GE((*device)->clock().error(), std::chrono::microseconds(10))
        << "by a drift of 100 ppm until the next reading: there is only one";
}

TEST(Clock, WithoutCalibratedTimestampsItIsFittedToTheLanesWork) {
    testing::faults().reset();
    testing::faults().no_calibrated_timestamps = true;
    auto loader = testing::faulty_loader();
    auto instance = Instance::create(*loader, {.validation = Validation::On});
    ASSERT_TRUE(instance) << instance.error().message;
    {
        auto device = Device::create(**instance);
        ASSERT_TRUE(device) << device.error().message;
        EXPECT_NE((*device)->clock().describe().find("estimated from submissions and completions"), std::string::npos)
            << (*device)->clock().describe();
        EXPECT_EQ((*device)->clock().drift_ppm(), 0.0) << "one reading says nothing of it";
        profile::Recorder recorder;
        auto lane = VulkanLane::create(**device, graph::Lane::Graphics, &recorder);
        ASSERT_TRUE(lane) << lane.error().message;
        auto executor = graph::Executor::create({.lanes = {lane->get()}, .memory = {}, .compile = {}});
        ASSERT_TRUE(executor);
        graph::FrameGraph frame;
        frame.add_pass<Nothing>(
            "work", graph::Lane::Graphics, [](graph::PassBuilder& pass, Nothing&) { pass.has_side_effect(); },
            [](const Nothing&, PassContext&) {});
        const Nanoseconds begin = host_now();
        while ((*device)->clock().drift_ppm() == 0.0 && host_now() - begin < std::chrono::seconds(10)) {
            const auto execution = (*executor)->execute(frame);
            ASSERT_TRUE(execution && (*executor)->wait(*execution));
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        EXPECT_NE((*device)->clock().drift_ppm(), 0.0) << "a second reading, of the lane's work";
        EXPECT_GT((*device)->clock().error(), Nanoseconds{});
        for (const profile::Span& span : recorder.spans()) {
            EXPECT_GE(span.begin, begin - (*device)->clock().error());
            EXPECT_LE(span.end, host_now() + (*device)->clock().error());
        }
    }
    EXPECT_EQ((*instance)->validation()->text(), "");
    testing::faults().reset();
}

}  // namespace
}  // namespace kinetograph::vulkan
