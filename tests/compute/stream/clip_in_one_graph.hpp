// ClipInOneGraph: a clip's passes in the caller's graph, between passes on Vulkan queues: one before them provides the
// latents, one after them copies the frames.
#pragma once

#include "stream_fixture.hpp"

#include <kinetograph/compute/vae/clip.hpp>
#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/accel/graph_memory.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>

namespace kinetograph::stream::testing {

class ClipInOneGraph : public StreamTest {
  protected:
    static constexpr std::int64_t kLatents = 4;

    /// Call once the devices and the bridge exist. `width` in latent pixels.
    void make_clip(std::int64_t width) {
        latents_ = small_clip(kLatents, width);
        expected_ = expected_frames(*small_decoder(*accelerator_, width), latents_);
        model_ = small_model(*accelerator_);
        clip_ = vae::Clip::create(model_, {kHeight, width}).value();
        decoding_ = accel::AcceleratorLane::create(*accelerator_).value();
        for (auto [made, lane] :
             {std::pair(&drawing_, graph::Lane::Graphics), std::pair(&copying_, graph::Lane::Transfer)}) {
            *made = vulkan::VulkanLane::create(*display_, lane, nullptr, bridge_->lane_sharing()).value();
            ASSERT_TRUE(bridge_->connect(*decoding_, **made));
        }
        graphics_memory_ = std::make_unique<vulkan::VulkanMemory>(*display_);
        accelerator_memory_ = std::make_unique<accel::AcceleratorMemory>(*accelerator_);
        executor_ = graph::Executor::create({.lanes = {decoding_.get(), drawing_.get(), copying_.get()},
                                             .memory = {{graph::MemoryDomain::Graphics, graphics_memory_.get()},
                                                        {graph::MemoryDomain::Accelerator, accelerator_memory_.get()},
                                                        {graph::MemoryDomain::Shared, &bridge_->memory()}},
                                             .compile = {.topology = bridge_->lane_topology()}})
                        .value();
        ASSERT_TRUE(clip_->reset(decoding_->stream()));
        source_ = vulkan::Buffer::create(*display_, "latents", kLatents * clip_->latent_bytes(),
                                         {.memory = vulkan::MemoryUse::Upload})
                      .value();
        for (std::int64_t t = 0; t < kLatents; ++t)
            std::memcpy(source_->mapped() + static_cast<std::uint64_t>(t) * clip_->latent_bytes(),
                        latents_.frame(t).data(), clip_->latent_bytes());
        shown_ = vulkan::Buffer::create(*display_, "shown", expected_.size() * frame_bytes(),
                                        {.memory = vulkan::MemoryUse::Readback})
                     .value();
    }
    void release() override {
        executor_.reset();
        accelerator_memory_.reset();
        graphics_memory_.reset();
        shown_.reset();
        source_.reset();
        decoding_.reset();
        drawing_.reset();
        copying_.reset();
        clip_.reset();
        model_.reset();
        StreamTest::release();
    }
    std::uint64_t frame_bytes() const { return expected_.front().size(); }
    std::vector<std::uint8_t> shown(std::size_t frame) const {
        const auto* first = reinterpret_cast<const std::uint8_t*>(shown_->mapped()) + frame * frame_bytes();
        return {first, first + frame_bytes()};
    }

    /// Copies latent frame `t` from Vulkan's memory to memory that both devices access.
    graph::Buffer declare_latents(graph::FrameGraph& frame, std::int64_t t) {
        struct Brought {
            graph::Buffer from, latents;
        };
        const std::uint64_t bytes = clip_->latent_bytes(), first = static_cast<std::uint64_t>(t) * bytes;
        const graph::Buffer source = frame.import_buffer(
            "source", {.bytes = source_->bytes(), .domain = graph::MemoryDomain::Graphics}, physical_of(*source_));
        return frame
            .add_pass<Brought>(
                "bring latents", graph::Lane::Transfer,
                [&](graph::PassBuilder& pass, Brought& data) {
                    data.from = pass.read(source, graph::Access::TransferRead);
                    data.latents = pass.create("brought", {.bytes = bytes, .domain = graph::MemoryDomain::Shared},
                                               graph::Access::TransferWrite);
                },
                [first](const Brought& data, vulkan::PassContext& context) {
                    copy(context, data.from, first, data.latents, 0, context.range(data.latents).bytes);
                })
            .latents;
    }
    /// Copies each frame to its place among those of the clip, the first to place `first`.
    void declare_showing(graph::FrameGraph& frame, const std::vector<graph::Buffer>& frames, std::size_t first) {
        struct Showing {
            std::vector<graph::Buffer> frames;
            graph::Buffer shown;
        };
        const graph::Buffer shown = frame.import_buffer(
            "shown", {.bytes = shown_->bytes(), .domain = graph::MemoryDomain::Graphics}, physical_of(*shown_));
        frame.add_pass<Showing>(
            "show", graph::Lane::Graphics,
            [&](graph::PassBuilder& pass, Showing& data) {
                for (const graph::Buffer each : frames)
                    data.frames.push_back(pass.read(each, graph::Access::TransferRead));
                data.shown = pass.write(shown, graph::Access::TransferWrite);
                pass.has_side_effect();
            },
            [first, bytes = frame_bytes()](const Showing& data, vulkan::PassContext& context) {
                for (std::size_t i = 0; i < data.frames.size(); ++i)
                    copy(context, data.frames[i], 0, data.shown, (first + i) * bytes, bytes);
            });
    }
    void declare_step(graph::FrameGraph& frame, std::int64_t t) {
        const auto frames = clip_->declare(frame, declare_latents(frame, t), {.domain = graph::MemoryDomain::Shared});
        ASSERT_TRUE(frames) << frames.error().message;
        declare_showing(frame, *frames, t == 0 ? 0 : static_cast<std::size_t>(4 * t - 3));
    }
    /// Decodes the clip with two steps in flight and compares every frame.
    void expect_every_frame_is_shown() {
        std::vector<graph::FrameGraph> graphs(kLatents);
        std::vector<graph::Execution> executions;
        for (std::int64_t t = 0; t < kLatents; ++t) {
            graph::FrameGraph& frame = graphs[static_cast<std::size_t>(t)];
            ASSERT_NO_FATAL_FAILURE(declare_step(frame, t));
            auto execution = executor_->execute(frame);
            ASSERT_TRUE(execution) << execution.error().message;
            clip_->advance();
            executions.push_back(*execution);
            if (t == 0) continue;
            ASSERT_TRUE(executor_->wait(executions[static_cast<std::size_t>(t - 1)]));
        }
        ASSERT_TRUE(executor_->wait(executions.back()));
        for (std::size_t i = 0; i < expected_.size(); ++i) EXPECT_EQ(shown(i), expected_[i]) << "frame " << i;
    }
    /// A graph with Vulkan passes around must need no more accelerator memory than the model states for a clip alone.
    void expect_as_much_memory_as_alone() {
        for (const bool first : {true, false}) {
            graph::FrameGraph frame;
            ASSERT_NO_FATAL_FAILURE(declare_step(frame, first ? 0 : 1));
            const auto plan = graph::compile(frame, {.topology = bridge_->lane_topology()});
            ASSERT_TRUE(plan) << plan.error().message;
            EXPECT_LE(plan->arena_bytes[graph::MemoryDomain::Accelerator.index()], clip_->plans().transients)
                << (first ? "first step" : "later step");
            clip_->advance();
        }
        ASSERT_TRUE(clip_->reset(decoding_->stream()));
    }

  private:
    static void copy(vulkan::PassContext& context, graph::Buffer source, std::uint64_t from, graph::Buffer target,
                     std::uint64_t to, std::uint64_t bytes) {
        const vulkan::BufferRange read = context.range(source), written = context.range(target);
        const VkBufferCopy region{read.offset + from, written.offset + to, bytes};
        context.table().vkCmdCopyBuffer(context.commands(), read.buffer, written.buffer, 1, &region);
    }

    vae::Latents latents_;
    std::vector<std::vector<std::uint8_t>> expected_;
    std::shared_ptr<vae::Model> model_;
    std::unique_ptr<vae::Clip> clip_;
    std::unique_ptr<accel::AcceleratorLane> decoding_;
    std::unique_ptr<vulkan::VulkanLane> drawing_, copying_;
    std::unique_ptr<vulkan::VulkanMemory> graphics_memory_;
    std::unique_ptr<accel::AcceleratorMemory> accelerator_memory_;
    std::unique_ptr<vulkan::Buffer> source_, shown_;
    std::unique_ptr<graph::Executor> executor_;
};

}  // namespace kinetograph::stream::testing
