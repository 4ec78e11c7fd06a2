// Clips that declare into graphs of the caller's, against the same steps through the host, bit for bit.
#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <map>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

constexpr std::int64_t kMostFrames = 4;

class Clips : public ::testing::Test {
  protected:
    std::shared_ptr<Model> model() {
        auto model = Model::create(*device_, *checkpoint_, {.precision = Precision::Fp32, .latents = LatentScale::Raw});
        EXPECT_TRUE(model) << model.error().message;
        return std::move(*model);
    }
    std::unique_ptr<Decoder> decoder() {
        auto created = Decoder::create(model(), {1, 2}, {.latent_frames = kMostFrames});
        EXPECT_TRUE(created) << created.error().message;
        return std::move(*created);
    }
    std::unique_ptr<Clip> clip() {
        auto created = Clip::create(model(), {1, 2}, {.latent_frames = kMostFrames});
        EXPECT_TRUE(created) << created.error().message;
        return std::move(*created);
    }
    /// Latents of `frames` frames from frame `first` on, [frames, c, h, w].
    std::vector<float> latents(std::int64_t first, std::int64_t frames) const {
        const std::int64_t each = checkpoint_->z_dim() * 2;
        std::vector<float> values;
        for (std::int64_t i = first * each; i < (first + frames) * each; ++i)
            values.push_back(2.0F * std::sin(1.3F * static_cast<float>(i)));
        return values;
    }
    std::unique_ptr<accel::Memory> on_device(std::span<const float> values) {
        auto memory = device_->allocate("latents", values.size_bytes()).value();
        std::memcpy(memory->data(), values.data(), values.size_bytes());
        return memory;
    }
    static graph::Physical whole(const accel::Memory& memory) {
        return {reinterpret_cast<std::uintptr_t>(memory.data()), 0, memory.bytes()};
    }

    /// Runs the stream cut into steps of these many latent frames, through the host, and into memory that is given in
    /// a graph of the test's; compares the bytes.
    void expect_the_same(const std::vector<std::int64_t>& cut, FrameFormat format) {
        const auto on_host = decoder();
        const auto made = this->clip();
        Clip& clip = *made;
        const auto runner = Runner::create(clip).value();
        std::int64_t next = 0;
        for (const std::int64_t frames : cut) {
            const std::vector<float> input = latents(next, frames);
            const auto expected = on_host->step(input, frames);
            ASSERT_TRUE(expected) << expected.error().message;
            const auto memory = on_device(input);
            std::vector<std::unique_ptr<accel::Memory>> outputs;
            std::vector<graph::Buffer> places;
            graph::FrameGraph frame;
            const graph::BufferDesc desc = clip.frame_desc(format);
            for (std::int64_t i = 0; i < expected->frames.count; ++i) {
                outputs.push_back(device_->allocate("frame", desc.bytes).value());
                places.push_back(frame.import_buffer(fmt::format("frame {}", i), desc, whole(*outputs.back())));
            }
            const graph::Buffer source = clip.import_latents(frame, whole(*memory), frames);
            const auto declared = clip.declare(frame, source, {.format = format, .places = places}, frames);
            ASSERT_TRUE(declared) << declared.error().message;
            const auto step = runner->execute(clip, frame, frames);
            ASSERT_TRUE(step) << step.error().message;
            EXPECT_EQ(step->frames.first, expected->frames.first);
            EXPECT_EQ(step->frames.count, expected->frames.count);
            ASSERT_TRUE(runner->wait(clip, *step));
            for (std::size_t i = 0; i < outputs.size(); ++i) expect_frame(expected->pictures[i], *outputs[i], format);
            next += frames;
        }
    }
    static void expect_frame(std::span<const float> expected, const accel::Memory& frame, FrameFormat format) {
        if (format == FrameFormat::Float32) {
            EXPECT_EQ(std::memcmp(frame.data(), expected.data(), expected.size_bytes()), 0);
            return;
        }
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const auto* rgba = reinterpret_cast<const std::uint8_t*>(frame.data()) + i / 3 * 4;
            ASSERT_EQ(rgba[i % 3], nn::to_unorm8(expected[i])) << i;
            ASSERT_EQ(rgba[3], 255);
        }
    }

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    std::optional<Checkpoint> checkpoint_{*Checkpoint::open("synthetic:wan2.1,dim=2")};
};

TEST_F(Clips, WriteThePicturesOfTheSameStepsThroughTheHost) { expect_the_same({1, 1, 1, 1, 1}, FrameFormat::Rgba8); }

TEST_F(Clips, WriteTheFloatsOfTheSameStepsThroughTheHostForAnyCutOfTheStream) {
    expect_the_same({1, 4, 2, 3, 1}, FrameFormat::Float32);
}

TEST_F(Clips, HandTheirFramesToPassesOfTheCallersInAGraphThatServesEveryStepOfItsKind) {
    const auto made = this->clip();
    Clip& clip = *made;
    const auto runner = Runner::create(clip).value();
    struct Sum {
        std::vector<graph::Buffer> frames;
    };
    std::vector<std::uint64_t> sums;
    const auto declare = [&](graph::FrameGraph& frame, const accel::Memory& latents) {
        const auto frames = clip.declare(frame, clip.import_latents(frame, whole(latents)));
        ASSERT_TRUE(frames) << frames.error().message;
        frame.add_pass<Sum>(
            "sum", graph::Lane::Accelerator,
            [&](graph::PassBuilder& pass, Sum& data) {
                for (const graph::Buffer buffer : *frames)
                    data.frames.push_back(pass.read(buffer, graph::Access::KernelRead));
                pass.has_side_effect();
            },
            [&sums](const Sum& data, accel::PassContext& context) {
                std::vector<const std::byte*> addresses;
                for (const graph::Buffer buffer : data.frames) addresses.push_back(context.address(buffer));
                context.stream().enqueue("sum", [&sums, addresses]() -> Result<void> {
                    std::uint64_t sum = 0;
                    for (const std::byte* pixels : addresses)
                        for (std::size_t i = 0; i < 16 * 8 * 4; ++i) sum += std::to_integer<std::uint64_t>(pixels[i]);
                    sums.push_back(sum);
                    return {};
                });
            });
    };
    const auto memory = on_device(latents(0, 1));
    std::map<StepKind, graph::FrameGraph> graphs;
    EnqueuedStep last;
    for (int step = 0; step < 4; ++step) {
        const auto [known, added] = graphs.try_emplace(*clip.next());
        if (added) {
            ASSERT_NO_FATAL_FAILURE(declare(known->second, *memory));
        }
        const auto enqueued = runner->execute(clip, known->second);
        ASSERT_TRUE(enqueued) << enqueued.error().message;
        last = *enqueued;
    }
    ASSERT_TRUE(runner->wait(clip, last));
    EXPECT_EQ(graphs.size(), 2U) << "one for the first step, one for the others";
    ASSERT_EQ(sums.size(), 4U);
    EXPECT_GT(sums[0], 16U * 8U * 255U) << "alpha alone is that much";
    EXPECT_GT(sums[1], 4U * 16U * 8U * 255U);
}

/// Passes of two clips in one graph that no decoder owns: latents made by a pass, frames read by another.
TEST_F(Clips, AreDeclaredIntoTheCallersGraphTwoClipsBesideEachOther) {
    const auto model = this->model();
    const std::array clips{Clip::create(model, {1, 2}).value(), Clip::create(model, {1, 2}).value()};
    const auto lane = accel::AcceleratorLane::create(*device_).value();
    accel::AcceleratorMemory arena(*device_);
    const auto executor =
        graph::Executor::create(
            {.lanes = {lane.get()}, .memory = {{graph::MemoryDomain::Accelerator, &arena}}, .compile = {}})
            .value();
    for (const auto& clip : clips) ASSERT_TRUE(clip->reset(lane->stream()));

    const std::array<std::unique_ptr<Decoder>, 2> alone{decoder(), decoder()};
    for (std::int64_t step = 0; step < 4; ++step) {
        graph::FrameGraph frame;
        std::array<std::vector<std::vector<std::byte>>, 2> found;
        for (std::size_t c = 0; c < 2; ++c) {
            struct Made {
                graph::Buffer latents;
            };
            const std::vector<float> values = latents(10 * static_cast<std::int64_t>(c) + step, 1);
            const Made& made = frame.add_pass<Made>(
                "generator", graph::Lane::Accelerator,
                [&](graph::PassBuilder& pass, Made& data) {
                    data.latents = pass.create("made", graph::BufferDesc{.bytes = values.size() * sizeof(float)},
                                               graph::Access::KernelWrite);
                },
                [values](const Made& data, accel::PassContext& context) {
                    context.stream().enqueue("generator",
                                             [values, to = context.address(data.latents)]() -> Result<void> {
                                                 std::memcpy(to, values.data(), values.size() * sizeof(float));
                                                 return {};
                                             });
                });
            const auto frames = clips[c]->declare(frame, made.latents);
            ASSERT_TRUE(frames) << frames.error().message;
            ASSERT_EQ(frames->size(), step == 0 ? 1U : 4U);
            struct Read {
                std::vector<graph::Buffer> frames;
            };
            frame.add_pass<Read>(
                "read", graph::Lane::Accelerator,
                [&](graph::PassBuilder& pass, Read& data) {
                    for (const graph::Buffer buffer : *frames)
                        data.frames.push_back(pass.read(buffer, graph::Access::KernelRead));
                    pass.has_side_effect();
                },
                [&found, c](const Read& data, accel::PassContext& context) {
                    for (const graph::Buffer buffer : data.frames)
                        context.stream().enqueue("read",
                                                 [&to = found[c], from = context.address(buffer)]() -> Result<void> {
                                                     to.emplace_back(from, from + std::ptrdiff_t{16 * 8 * 4});
                                                     return {};
                                                 });
                });
        }
        const auto execution = executor->execute(frame);
        ASSERT_TRUE(execution) << execution.error().message;
        ASSERT_TRUE(executor->wait(*execution));
        for (std::size_t c = 0; c < 2; ++c) {
            clips[c]->advance();
            const auto expected = alone[c]->step(latents(10 * static_cast<std::int64_t>(c) + step, 1));
            ASSERT_TRUE(expected);
            ASSERT_EQ(found[c].size(), step == 0 ? 1U : 4U);
            const std::vector<float> values = expected->thwc();
            for (std::size_t i = 0; i < values.size(); ++i)
                ASSERT_EQ(std::to_integer<std::uint8_t>(found[c][i / 384][i % 384 / 3 * 4 + i % 3]),
                          nn::to_unorm8(values[i]))
                    << "step " << step << ", clip " << c << ", value " << i;
        }
    }
    graph::FrameGraph frame;
    const auto small = frame.import_buffer("too small", {.bytes = 8}, {1, 0, 8});
    const auto refused = clips[0]->declare(frame, small);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "unpack_latents: \"too small\" has 8 bytes, the step's latents are 128");
}

TEST_F(Clips, RunWhereTheyArePlaced) {
    std::vector<std::vector<std::byte>> pictures;
    for (const std::uint32_t device : {0U, 1U, 2U}) {
        const Placement placement = Placement::on(device);
        const auto clip = Clip::create(model(), {1, 2}, {.placement = placement}).value();
        const auto runner = Runner::create(*clip, {}, graph::LaneTopology::without_vulkan(3)).value();
        const auto memory = on_device(latents(0, 1));
        graph::FrameGraph frame;
        const graph::BufferDesc desc = clip->frame_desc(FrameFormat::Rgba8);
        EXPECT_EQ(desc.domain, placement.memory);
        const auto output = device_->allocate("frame", desc.bytes).value();
        const std::array places{frame.import_buffer("frame 0", desc, whole(*output))};
        ASSERT_TRUE(clip->declare(frame, clip->import_latents(frame, whole(*memory)), {.places = places}));
        const auto step = runner->execute(*clip, frame);
        ASSERT_TRUE(step) << step.error().message;
        ASSERT_TRUE(runner->wait(*clip, *step));
        for (const graph::Batch& batch : runner->executor().plan()->batches) EXPECT_EQ(batch.lane, placement.lane);
        EXPECT_GT(step->execution.done[placement.lane.index()], 0U);
        pictures.emplace_back(output->data(), output->data() + desc.bytes);
    }
    EXPECT_EQ(pictures[1], pictures[0]);
    EXPECT_EQ(pictures[2], pictures[0]);
}

TEST_F(Clips, RefuseAnotherNumberOfPlacesThanFramesAndStepsThatWereNotPlanned) {
    const auto made = this->clip();
    Clip& clip = *made;
    const auto runner = Runner::create(clip).value();
    graph::FrameGraph frame;
    const auto memory = on_device(latents(0, 1));
    const graph::Buffer source = clip.import_latents(frame, whole(*memory));
    const std::array places{frame.import_buffer("a", clip.frame_desc(FrameFormat::Rgba8), {1, 0, 512}),
                            frame.import_buffer("b", clip.frame_desc(FrameFormat::Rgba8), {1, 0, 512})};
    const auto two = clip.declare(frame, source, {.places = places});
    ASSERT_FALSE(two);
    EXPECT_EQ(two.error().message, "write_frames: the step makes 1 frames, memory is given for 2");
    const auto five = clip.declare(frame, source, StepOutput{}, 5);
    ASSERT_FALSE(five);
    EXPECT_EQ(five.error().message, "a step takes 1 to 4 latent frames, 5 were given");
}

TEST_F(Clips, GoOnThroughTheHostWhereAGraphOfTheCallersEnded) {
    const auto mixed = decoder(), plain = decoder();
    Clip& clip = mixed->clip();
    const auto memory = on_device(latents(0, 1));
    graph::FrameGraph frame;
    const graph::BufferDesc desc = clip.frame_desc(FrameFormat::Float32);
    const auto output = device_->allocate("frame", desc.bytes).value();
    const std::array places{frame.import_buffer("frame 0", desc, whole(*output))};
    ASSERT_TRUE(clip.declare(frame, clip.import_latents(frame, whole(*memory)),
                             {.format = FrameFormat::Float32, .places = places}));
    ASSERT_TRUE(mixed->runner().execute(clip, frame));
    ASSERT_TRUE(plain->step(latents(0, 1)));
    const auto found = mixed->step(latents(1, 1)), expected = plain->step(latents(1, 1));
    ASSERT_TRUE(found && expected);
    EXPECT_EQ(found->thwc(), expected->thwc());
}

}  // namespace
}  // namespace kinetograph::vae
