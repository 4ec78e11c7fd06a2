// Steps on the device against the same steps through the host, bit for bit.
#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/compute/vae/layer_stack.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

namespace kinetograph::vae {
namespace {

constexpr std::int64_t kMostFrames = 4;

class DeviceSteps : public ::testing::Test {
  protected:
    std::unique_ptr<LayerStack> stack() {
        const auto model =
            Model::create(*device_, *checkpoint_, {.precision = Precision::Fp32, .latents = LatentScale::Raw});
        EXPECT_TRUE(model) << model.error().message;
        auto created = LayerStack::create(*model, {.height = 1, .width = 2, .max_frames = kMostFrames});
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

    /// Runs the stream cut into steps of these many latent frames, through the host, and on the device into memory
    /// that is given; compares the bytes.
    void expect_the_same(const std::vector<std::int64_t>& cut, FrameFormat format) {
        const auto on_host = stack(), on_device_stack = stack();
        ASSERT_TRUE(on_device_stack->attach({.format = format}));
        std::int64_t next = 0;
        for (const std::int64_t frames : cut) {
            const std::vector<float> input = latents(next, frames);
            const nn::Extent shape = on_host->output({.first = next == 0, .frames = frames});
            const auto expected = on_host->step(input, frames);
            ASSERT_TRUE(expected) << expected.error().message;

            const auto memory = on_device(input);
            std::vector<std::unique_ptr<accel::Memory>> outputs;
            std::vector<graph::Physical> places;
            const auto pixels = static_cast<std::uint64_t>(shape.height * shape.width);
            for (std::int64_t i = 0; i < shape.frames; ++i) {
                outputs.push_back(device_->allocate("frame", pixels * bytes_per_pixel(format)).value());
                places.push_back(whole(*outputs.back()));
            }
            const auto execution = on_device_stack->enqueue({.latents = whole(*memory), .frames = places}, frames);
            ASSERT_TRUE(execution) << execution.error().message;
            ASSERT_TRUE(on_device_stack->lane().wait(execution->done[graph::Lane::Accelerator.index()]));
            for (std::size_t i = 0; i < outputs.size(); ++i)
                expect_frame(expected->subspan(i * pixels * 3, pixels * 3), *outputs[i], format);
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

TEST_F(DeviceSteps, WriteThePicturesOfTheSameStepsThroughTheHost) {
    expect_the_same({1, 1, 1, 1, 1}, FrameFormat::Rgba8);
}

TEST_F(DeviceSteps, WriteTheFloatsOfTheSameStepsThroughTheHostForAnyCutOfTheStream) {
    expect_the_same({1, 4, 2, 3, 1}, FrameFormat::Float32);
}

TEST_F(DeviceSteps, HandTheirFramesToPassesOfTheCallersInTheSameGraph) {
    const auto stack = this->stack();
    struct Sum {
        std::vector<graph::Buffer> frames;
    };
    int declared = 0;
    std::vector<std::uint64_t> sums;
    DeviceOutput output{.memory = DeviceOutput::Memory::Transient};
    output.then = [&](graph::FrameGraph& frame, std::span<const graph::Buffer> frames) {
        ++declared;
        frame.add_pass<Sum>(
            "sum", graph::Lane::Accelerator,
            [&](graph::PassBuilder& pass, Sum& data) {
                for (const graph::Buffer buffer : frames)
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
    ASSERT_TRUE(stack->attach(output));
    const auto memory = on_device(latents(0, 1));
    graph::Execution last;
    for (int step = 0; step < 4; ++step) {
        const auto execution = stack->enqueue({.latents = whole(*memory)}, 1);
        ASSERT_TRUE(execution) << execution.error().message;
        last = *execution;
    }
    ASSERT_TRUE(stack->lane().wait(last.done[graph::Lane::Accelerator.index()]));
    EXPECT_EQ(declared, 2) << "once for the first step, once for the others";
    ASSERT_EQ(sums.size(), 4U);
    EXPECT_GT(sums[0], 16U * 8U * 255U) << "alpha alone is that much";
    EXPECT_GT(sums[1], 4U * 16U * 8U * 255U);
}

/// Passes of two clips in one graph that no decoder owns: latents made by a pass, frames read by another.
TEST_F(DeviceSteps, AreDeclaredIntoTheCallersGraphTwoClipsBesideEachOther) {
    const auto model =
        *Model::create(*device_, *checkpoint_, {.precision = Precision::Fp32, .latents = LatentScale::Raw});
    const StepPlans& plans = **model->plan({.height = 1, .width = 2});
    std::array<Clip, 2> clips{*Clip::create(model, plans), *Clip::create(model, plans)};
    const auto lane = accel::AcceleratorLane::create(*device_).value();
    accel::AcceleratorMemory arena(*device_);
    const auto executor =
        graph::Executor::create(
            {.lanes = {lane.get()}, .memory = {{graph::MemoryDomain::Accelerator, &arena}}, .compile = {}})
            .value();
    for (Clip& clip : clips) ASSERT_TRUE(clip.reset(lane->stream()));

    const std::array<std::unique_ptr<LayerStack>, 2> alone{stack(), stack()};
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
            const auto frames = clips[c].declare(frame, made.latents);
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
            clips[c].advance();
            const auto expected = alone[c]->step(latents(10 * static_cast<std::int64_t>(c) + step, 1), 1);
            ASSERT_TRUE(expected);
            ASSERT_EQ(found[c].size(), step == 0 ? 1U : 4U);
            for (std::size_t i = 0; i < expected->size(); ++i)
                ASSERT_EQ(std::to_integer<std::uint8_t>(found[c][i / 384][i % 384 / 3 * 4 + i % 3]),
                          nn::to_unorm8((*expected)[i]))
                    << "step " << step << ", clip " << c << ", value " << i;
        }
    }
    graph::FrameGraph frame;
    const auto small = frame.import_buffer("too small", {.bytes = 8}, {1, 0, 8});
    const auto refused = clips[0].declare(frame, small);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "unpack_latents: \"too small\" has 8 bytes, the step's latents are 128");
}

TEST_F(DeviceSteps, SayWhatIsMissing) {
    const auto stack = this->stack();
    const auto memory = on_device(latents(0, 1));
    const auto unattached = stack->enqueue({.latents = whole(*memory)}, 1);
    ASSERT_FALSE(unattached);
    EXPECT_EQ(unattached.error().message, "a step on the device before attach()");
    ASSERT_TRUE(stack->attach({}));
    const auto nowhere = stack->enqueue({.latents = whole(*memory)}, 1);
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().message, "write_frames: the step makes 1 frames, memory is given for 0");
    const auto five = stack->enqueue({.latents = whole(*memory)}, 5);
    ASSERT_FALSE(five);
    EXPECT_EQ(five.error().message, "a step takes 1 to 4 latent frames, 5 were given");
}

TEST_F(DeviceSteps, ThroughTheHostGoOnWhereStepsOnTheDeviceEnded) {
    const auto mixed = stack(), plain = stack();
    ASSERT_TRUE(mixed->attach({.format = FrameFormat::Float32}));
    const auto memory = on_device(latents(0, 1));
    const auto frame = device_->allocate("frame", 16 * 8 * 12).value();
    const graph::Physical place = whole(*frame);
    ASSERT_TRUE(mixed->enqueue({.latents = whole(*memory), .frames = {&place, 1}}, 1));
    ASSERT_TRUE(plain->step(latents(0, 1), 1));
    const auto found = mixed->step(latents(1, 1), 1), expected = plain->step(latents(1, 1), 1);
    ASSERT_TRUE(found && expected);
    EXPECT_EQ(std::vector(found->begin(), found->end()), std::vector(expected->begin(), expected->end()));
}

}  // namespace
}  // namespace kinetograph::vae
