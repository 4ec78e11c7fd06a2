// What steps of a small network take of the device's memory, and keep from step to step.
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/base/processor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace kinetograph::vae {
namespace {

using stream::DecodedFrames;
using stream::Decoder;

TEST(Runners, StateTheirMemoryCorrectlyWhereAnotherOwnerFreesSomeMeanwhile) {
    const auto device = accel::cpu::create_device();
    auto others = device->allocate("another owner's", 64U << 20U).value();
    NetworkDesc desc;
    desc.network = nn::Network(8);
    desc.network.append(nn::Network::input(), nn::primitive::Conv{.key = "conv", .c_in = 8, .filter = {8, 3, 3, 3}});
    desc.dtype = tensor::DType::F32;
    const auto load = [&](const std::string& name) {
        others.reset();
        return std::vector<float>(name == "conv.weight" ? 8 * 8 * 27 : 8, 0.5F);
    };
    const auto clip = Clip::create(*Model::create(*device, "a network", desc, load), {4, 4});
    ASSERT_TRUE(clip) << clip.error().message;
    EXPECT_LT((*clip)->memory().total(), 1U << 20U);
}

NetworkDesc three_convolutions() {
    NetworkDesc desc;
    desc.network = nn::Network(8);
    nn::Value x = nn::Network::input();
    for (const char* key : {"a", "b", "c"})
        x = desc.network.append(x, nn::primitive::Conv{.key = key, .c_in = 8, .filter = {8, 1, 3, 3}});
    desc.dtype = tensor::DType::F32;
    return desc;
}

std::vector<float> some_parameters(const std::string& name) {
    return std::vector<float>(name.ends_with("weight") ? 8 * 8 * 9 : 8, 0.01F);
}

TEST(Runners, StopPackingBetweenLayersWhenAskedAndGoOnThereLater) {
    if (processor().uses < InstructionSet::Avx2) GTEST_SKIP() << "below AVX2 there are the plain loops alone";
    const auto device = accel::cpu::create_device();
    std::stop_source source;
    std::vector<std::string> loaded;
    const auto model = *Model::create(*device, "a network", three_convolutions(), [&](const std::string& name) {
        loaded.push_back(name);
        if (name == "b.weight") source.request_stop();
        return some_parameters(name);
    });
    const auto stopped = Clip::create(model, {4, 4}, {.limits = {.until = {}, .stop = source.get_token()}});
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(stopped.error().message, "a network: packing its parameters: a stop was requested");
    EXPECT_EQ(std::ranges::count(loaded, "c.weight"), 0);
    EXPECT_TRUE(Clip::create(model, {4, 4}));
    EXPECT_EQ(std::ranges::count(loaded, "a.weight"), 1);
    EXPECT_EQ(std::ranges::count(loaded, "c.weight"), 1);
}

/// The sums that the second convolution reads are not rounded to bf16, in a network whose other values are.
TEST(Runners, RunANetworkWhoseValuesAreStoredInDifferentTypes) {
    if (processor().uses < InstructionSet::Avx2) GTEST_SKIP() << "below AVX2 there are the plain loops alone";
    const auto device = accel::cpu::create_device();
    const auto frames = [&](nn::primitive::Conv::Stored between) {
        NetworkDesc desc;
        desc.network = nn::Network(8);
        nn::primitive::Conv conv{.key = "a", .c_in = 8, .filter = {8, 1, 3, 3}, .stored = between};
        const nn::Value x = desc.network.append(nn::Network::input(), conv);
        conv.key = "b";
        conv.stored = nn::primitive::Conv::Stored::Float32;
        desc.network.append(x, conv);
        const auto model = Model::create(*device, "a network", std::move(desc), some_parameters).value();
        const auto decoder = Decoder::create(model, {4, 4}).value();
        std::vector<float> latents(8 * 16);
        for (std::size_t i = 0; i < latents.size(); ++i) latents[i] = static_cast<float>(i % 16) / 8;  // exact in bf16
        return decoder->step(latents).value().thwc();
    };
    const auto exact = frames(nn::primitive::Conv::Stored::Float32);
    const auto rounded = frames(nn::primitive::Conv::Stored::LikeInput);
    double most = 0;
    for (std::size_t i = 0; i < exact.size(); ++i)
        most = std::max(most, std::abs(double{exact[i]} / double{rounded[i]} - 1));
    EXPECT_GT(most, 1e-4) << "the values between are stored alike";
    EXPECT_LT(most, 1e-2);
}

TEST(Runners, PlanNothingPastTheirDeadline) {
    const auto device = accel::cpu::create_device();
    const auto model = *Model::create(*device, "a network", three_convolutions(), some_parameters);
    const auto late = Clip::create(model, {4, 4}, {.limits = {.until = host_now(), .stop = {}}});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().message, "a network: compiling its steps: the deadline has passed");
}

/// The lane waits for a point that comes only afterwards.
TEST(Decoders, GiveUpWaitingForAStepAtItsDeadlineAndDecodeTheNextClipRightly) {
    const auto device = accel::cpu::create_device();
    const auto decoder =
        Decoder::create(*Model::create(*device, "a network", three_convolutions(), some_parameters), {4, 4}).value();
    const std::vector<float> latents(8 * 4 * 4, 0.5F);
    const auto values = [](const DecodedFrames& frames) { return frames.thwc(); };
    const std::vector<float> wanted = values(decoder->step(latents).value());
    const auto timeline = device->create_timeline().value();
    decoder->runner().lane().stream().wait(timeline, 1);
    const auto late = decoder->step(latents, 1, {.until = host_now() + std::chrono::milliseconds(30), .stop = {}});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(late.error().message, "waiting for a step: the deadline has passed");
    EXPECT_EQ(decoder->step(latents).error().code, ErrorCode::Cancelled) << "until reset()";
    timeline->signal(1);
    ASSERT_TRUE(decoder->reset());
    EXPECT_EQ(values(decoder->step(latents).value()), wanted);
    std::stop_source source;
    source.request_stop();
    EXPECT_EQ(decoder->step(latents, 1, {.until = {}, .stop = source.get_token()}).error().message,
              "a step: a stop was requested");
    EXPECT_TRUE(decoder->step(latents)) << "nothing had begun";
}

/// A residual block between two convolutions, the last of which reads it normed or as it is; all but the first convolve
/// in time.
NetworkDesc block_between_convolutions(bool normed) {
    using namespace nn::primitive;
    NetworkDesc desc;
    desc.dtype = tensor::DType::F32;
    nn::Network& network = desc.network = nn::Network(8);
    const nn::Value skip =
        network.append(nn::Network::input(), Conv{.key = "first", .c_in = 8, .filter = {8, 1, 3, 3}});
    nn::Value x = network.append(skip, Norm{.key = "norm", .channels = 8});
    x = network.append(x, Activate{});
    x = network.append(x, Conv{.key = "middle", .c_in = 8, .filter = {8, 3, 3, 3}});
    x = network.append(x, Conv{.key = "close", .c_in = 8, .filter = {8, 3, 3, 3}});
    x = network.add(x, skip);
    if (normed) x = network.append(x, Norm{.key = "second_norm", .channels = 8});
    network.append(x, Conv{.key = "last", .c_in = 8, .filter = {3, 3, 3, 3}});
    return desc;
}

std::shared_ptr<Model> block_model(accel::Device& device, bool normed) {
    const auto load = [](const std::string& name) {
        const std::size_t taps = name.starts_with("first") ? 9 : 27, channels = name.starts_with("last") ? 3 : 8;
        std::vector<float> values(name.ends_with("weight") ? channels * 8 * taps : channels);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = 0.2F * std::sin(1.7F * static_cast<float>(i + name.size()));
        return values;
    };
    return Model::create(device, "a network", block_between_convolutions(normed), load).value();
}

/// Latents from value `next` on, which goes on.
std::vector<float> waves(std::int64_t frames, std::int64_t& next) {
    constexpr std::int64_t kEach = 8 * 5 * 6;
    std::vector<float> input(static_cast<std::size_t>(frames * kEach));
    for (float& value : input) value = std::cos(0.37F * static_cast<float>(next++));
    return input;
}

/// Decodes eleven frames in steps of these many, and keeps what the last step's graph was called.
class Steps {
  public:
    explicit Steps(const std::vector<std::int64_t>& cut, bool normed = true) {
        const auto device = accel::cpu::create_device();
        const auto decoder = Decoder::create(block_model(*device, normed), {5, 6}, {.latent_frames = 6}).value();
        std::int64_t next = 0;
        for (const std::int64_t count : cut) {
            const auto made = decoder->step(waves(count, next), count);
            EXPECT_TRUE(made) << made.error().message;
            if (!made) return;
            made->append_to(frames);
        }
        for (const graph::PlannedPass& pass : decoder->runner().executor().plan()->passes) passes.push_back(pass.name);
    }
    bool has(const std::string& pass) const { return std::ranges::find(passes, pass) != passes.end(); }

    /// The largest between two values: the CPU's convolutions add in another order for another number of frames.
    float difference(const Steps& other) const {
        float largest = frames.size() == other.frames.size() ? 0.0F : INFINITY;
        for (std::size_t i = 0; i < std::min(frames.size(), other.frames.size()); ++i)
            largest = std::max(largest, std::abs(frames[i] - other.frames[i]));
        return largest;
    }

    std::vector<float> frames;
    std::vector<std::string> passes;
};

TEST(Runners, GiveTheSameWhetherFramesAreKeptInPlaceOrCopied) {
    const Steps copied({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), in_place({4, 1, 6});
    EXPECT_TRUE(copied.has("last.keep"));
    EXPECT_FALSE(copied.has("last.tail"));
    for (const std::string key : {"middle", "close", "last"}) {
        EXPECT_TRUE(in_place.has(key + ".tail")) << key;
        EXPECT_FALSE(in_place.has(key + ".keep")) << key;
    }
    EXPECT_LE(in_place.difference(copied), 1e-5F);
    EXPECT_LE(Steps({6, 5}).difference(copied), 1e-5F);
}

TEST(Runners, CopyTheFramesToKeepThatLieInAResidualsPlace) {
    const Steps steps({6, 5}, false);
    EXPECT_TRUE(steps.has("last.keep"));
    EXPECT_FALSE(steps.has("last.tail"));
    EXPECT_LE(steps.difference(Steps({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, false)), 1e-5F);
}

TEST(Decoders, MakeTheSameFramesWhenAStepIsEnqueuedBeforeTheOneBeforeIsTaken) {
    const auto device = accel::cpu::create_device();
    const auto decoder = Decoder::create(block_model(*device, true), {5, 6}).value();
    std::int64_t next = 0;
    std::vector<float> frames;
    const auto take = [&] {
        const auto made = decoder->take();
        ASSERT_TRUE(made) << made.error().message;
        EXPECT_EQ(made->frames.first, static_cast<std::int64_t>(frames.size()) / (3 * 5 * 6));
        made->append_to(frames);
    };
    ASSERT_TRUE(decoder->enqueue(waves(1, next)));
    for (int step = 1; step < 11; ++step) {
        ASSERT_TRUE(decoder->enqueue(waves(1, next)));
        take();
    }
    take();
    EXPECT_EQ(frames, Steps(std::vector<std::int64_t>(11, 1)).frames);
}

TEST(Decoders, RefuseMoreStepsUnderWayThanTheyHaveMemoryForAndGoOn) {
    const auto device = accel::cpu::create_device();
    const auto decoder = Decoder::create(block_model(*device, true), {5, 6}).value();
    std::int64_t next = 0;
    const auto latents = waves(1, next);
    const auto none = decoder->take();
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message, "no step is under way");
    ASSERT_TRUE(decoder->enqueue(latents));
    const auto blocking = decoder->step(latents);
    ASSERT_FALSE(blocking);
    EXPECT_EQ(blocking.error().message, "a step is under way: its frames must be taken first");
    ASSERT_TRUE(decoder->enqueue(latents));
    const auto third = decoder->enqueue(latents);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(third.error().message, "2 steps are under way: their frames must be taken first");
    EXPECT_EQ(decoder->take().value().frames.first, 0);
    ASSERT_TRUE(decoder->enqueue(latents));
    EXPECT_EQ(decoder->take().value().frames.first, 1);
    ASSERT_TRUE(decoder->reset());
    EXPECT_FALSE(decoder->take());
    EXPECT_EQ(decoder->step(latents).value().frames.first, 0);
}

}  // namespace
}  // namespace kinetograph::vae
