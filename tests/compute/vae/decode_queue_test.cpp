#include <gtest/gtest.h>

#include <cstdlib>
#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/compute/vae/decode_queue.hpp>

#include <atomic>
#include <cmath>
#include <future>
#include <thread>

namespace kinetograph::vae {
namespace {

/// Decodes nothing: the frames of step t are filled with the latent's first value, so that order and resets can be
/// seen.
class CountingDecoder final : public Decoder {
  public:
    /// Of steps that take `delay` each, the first of them once `start` is there.
    explicit CountingDecoder(Nanoseconds delay = {}, std::shared_future<void> start = {})
        : delay_(delay), start_(std::move(start)) {}
    Result<DecodedFrames> step(std::span<const float> latent) override {
        if (latent[0] < 0) return fail(ErrorCode::InvalidArgument, "latent frame {} is negative", steps_);
        if (latent[0] > 1000) throw std::runtime_error("a library threw");
        if (start_.valid()) start_.wait();
        std::this_thread::sleep_for(delay_);
        const std::int64_t count = steps_ == 0 ? 1 : 4;
        pixels_.assign(static_cast<std::size_t>(count) * 8 * 8 * 3, latent[0]);
        DecodedFrames frames{next_, count, 8, 8, pixels_, delay_};
        next_ += count;
        ++steps_;
        return frames;
    }
    Result<void> reset() override {
        next_ = steps_ = 0;
        return {};
    }
    Result<void> attach(DeviceOutput) override { return fail(ErrorCode::Unsupported, "no device"); }
    Result<EnqueuedStep> enqueue(const DeviceStep&) override { return fail(ErrorCode::Unsupported, "no device"); }
    accel::AcceleratorLane& lane() override { std::abort(); }
    Result<std::vector<float>> trace(std::span<const float>, std::string_view) override { return std::vector<float>{}; }
    std::vector<std::string> modules() const override { return {}; }
    LatentSize latent_size() const override { return {1, 1}; }
    StepFrames step_frames() const override { return {4, 8, 8}; }
    const graph::Plan* plan() const override { return nullptr; }
    Result<graph::Plan> compile_plan(int) const override { return fail(ErrorCode::Unsupported, "no graph"); }
    std::uint64_t peak_device_bytes() const override { return 0; }
    StackMemory memory() const override { return {}; }

  private:
    Nanoseconds delay_;
    std::shared_future<void> start_;
    std::int64_t next_ = 0, steps_ = 0;
    std::vector<float> pixels_;
};

Latents clip(std::int64_t frames) {
    Latents latents{"clip", 1, frames, 1, 1, {}, 24.0, 0};
    for (std::int64_t t = 0; t < frames; ++t) latents.values.push_back(static_cast<float>(t) / 64.0F);
    return latents;
}

std::unique_ptr<DecodeQueue> queue(std::int64_t latent_frames, const DecodeQueueOptions& options = {},
                                   Nanoseconds delay = {}) {
    return std::move(*DecodeQueue::create(std::make_unique<CountingDecoder>(delay), clip(latent_frames), options));
}

TEST(DecodeQueues, GiveAllFramesInOrderAndThenNothing) {
    const auto frames = queue(5);
    for (std::int64_t i = 0; i < 17; ++i) {
        const auto frame = frames->pop();
        ASSERT_TRUE(frame && frame->has_value());
        EXPECT_EQ((*frame)->index, i);
        EXPECT_EQ((*frame)->step, (i + 3) / 4);
        EXPECT_EQ((*frame)->rgba.size(), 8U * 8U * 4U);
        EXPECT_EQ((*frame)->rgba[0], nn::to_unorm8(static_cast<float>((i + 3) / 4) / 64.0F));
        EXPECT_EQ((*frame)->rgba[3], 255);
        EXPECT_EQ((*frame)->presentation_time.count(), std::llround(static_cast<double>(i) * 1e9 / 24.0));
    }
    const auto end = frames->pop();
    ASSERT_TRUE(end);
    EXPECT_FALSE(end->has_value());
    EXPECT_TRUE(frames->stats().finished);
}

TEST(DecodeQueues, NeverHoldMoreFramesThanTheirCapacity) {
    const auto frames = queue(50, {.capacity = 8});
    for (int i = 0; i < 20; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        EXPECT_LE(frames->stats().depth, 8U);
        ASSERT_TRUE(frames->pop());
    }
}

TEST(DecodeQueues, TryPopDoesNotWaitForASlowDecoder) {
    std::promise<void> start;
    const auto frames = std::move(
        *DecodeQueue::create(std::make_unique<CountingDecoder>(Nanoseconds{}, start.get_future().share()), clip(2)));
    const auto frame = frames->try_pop();  // one that waited would wait for ever
    ASSERT_TRUE(frame);
    EXPECT_FALSE(frame->has_value());
    start.set_value();
    const auto first = frames->pop();
    ASSERT_TRUE(first && first->has_value());
    EXPECT_EQ((*first)->index, 0);
}

TEST(DecodeQueues, RestartDropsOldFramesAndBeginsANewGeneration) {
    const auto frames = queue(50, {.capacity = 8}, std::chrono::milliseconds(1));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(frames->pop());
    frames->restart();
    for (std::int64_t i = 0; i < 5; ++i) {
        const auto frame = frames->pop();
        ASSERT_TRUE(frame && frame->has_value());
        EXPECT_EQ((*frame)->index, i);
        EXPECT_EQ((*frame)->generation, 1U);
    }
}

TEST(DecodeQueues, LoopBeginsAgainAtFrameZero) {
    const auto frames = queue(2, {.loop = true});
    for (int round = 0; round < 3; ++round)
        for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ((**frames->pop()).index, i);
}

TEST(DecodeQueues, SwitchingLoopOnAtTheEndOfTheClipGoesOn) {
    const auto frames = queue(1);
    ASSERT_TRUE(frames->pop()->has_value());
    EXPECT_FALSE(frames->pop()->has_value());
    frames->set_loop(true);
    EXPECT_EQ((**frames->pop()).index, 0);
}

TEST(DecodeQueues, ReportTheDecodersErrorAfterTheFramesBeforeIt) {
    Latents broken = clip(3);
    broken.values[2] = -1;
    const auto frames = std::move(*DecodeQueue::create(std::make_unique<CountingDecoder>(), broken));
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(frames->pop());
    const auto error = frames->pop();
    ASSERT_FALSE(error);
    EXPECT_EQ(error.error().message, "latent frame 2 is negative");
}

TEST(DecodeQueues, TurnAnExceptionOfTheDecoderIntoAnErrorThatStaysUntilRestart) {
    Latents broken = clip(3);
    broken.values[1] = 1001;
    const auto frames = std::move(*DecodeQueue::create(std::make_unique<CountingDecoder>(), broken));
    for (int round = 0; round < 2; ++round) {
        ASSERT_TRUE(frames->pop()->has_value());
        for (int i = 0; i < 3; ++i) {
            const auto error = frames->pop();
            ASSERT_FALSE(error);
            EXPECT_EQ(error.error().message, "decoding: a library threw");
        }
        frames->restart();
    }
}

TEST(DecodeQueues, RefuseAClipOfAnotherSizeThanTheDecoders) {
    Latents wide = clip(1);
    wide.width = 2;
    const auto refused = DecodeQueue::create(std::make_unique<CountingDecoder>(), wide);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "clip: latents of 2x1 do not fit a decoder made for 1x1");
}

TEST(DecodeQueues, RefuseAClipWithoutFramesOrWithTooFewValues) {
    Latents cut = clip(3);
    cut.values.pop_back();
    const auto refused = DecodeQueue::create(std::make_unique<CountingDecoder>(), cut);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "clip: 2 values are not 3 latent frames of 1 channels");
    EXPECT_FALSE(DecodeQueue::create(std::make_unique<CountingDecoder>(), clip(0)));
}

TEST(DecodeQueues, CountStepsAndTheirLatency) {
    const auto frames = queue(3, {}, std::chrono::milliseconds(2));
    while (frames->pop()->has_value()) {
    }
    EXPECT_EQ(frames->stats().steps, 3U);
    EXPECT_EQ(frames->stats().last_step, std::chrono::milliseconds(2));
    EXPECT_EQ(frames->stats().average_step, std::chrono::milliseconds(2));
}

TEST(FrameValues, MapMinusOneToOneOntoEightBitsRoundedAndClamped) {
    EXPECT_EQ(nn::to_unorm8(-1.0F), 0);
    EXPECT_EQ(nn::to_unorm8(1.0F), 255);
    EXPECT_EQ(nn::to_unorm8(0.0F), 128);  // 127.5 rounds up
    EXPECT_EQ(nn::to_unorm8(-2.0F), 0);
    EXPECT_EQ(nn::to_unorm8(7.0F), 255);
    EXPECT_EQ(nn::to_unorm8(std::nanf("")), 0);
    EXPECT_EQ(nn::to_unorm8(1.4F / 255.0F - 1.0F), 1);
}

}  // namespace
}  // namespace kinetograph::vae
