// What clips that share a runner do, on the device of a test.
#pragma once

#include "clip_states.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

namespace kinetograph::stream::testing {

/// Clips that take turns make the frames of clips alone; one that ends or is cancelled stops no other.
inline void expect_clips_that_share_to_be_as_alone(accel::Device& device) {
    const auto model = small_model(device);
    const auto share = std::make_shared<vae::RunnerShare>();
    std::vector<PushedClip::Frames> wanted;
    {
        PushedClip alone(device, model);
        for (int t = 0; t < 4; ++t) wanted.push_back(alone.decode(t));
    }
    PushedClip first(device, model, {.share = share}), second(device, model, {.share = share, .weight = 3});
    auto third = std::make_unique<PushedClip>(device, model, vae::StepOptions{.share = share, .background = true});
    for (std::size_t t = 0; t < 2; ++t) {
        const auto latent = static_cast<std::int64_t>(t);
        for (PushedClip* clip : {&first, &second, third.get()}) clip->push(latent);
        for (PushedClip* clip : {third.get(), &second, &first})
            EXPECT_EQ(clip->take(t == 0 ? 1 : 4, t == 0 ? 0 : 1), wanted[t]) << t;
    }
    third->push(2);
    third->frames().cancel();
    EXPECT_EQ(first.decode(2), wanted[2]);
    third.reset();
    EXPECT_EQ(second.decode(2), wanted[2]);
    ASSERT_TRUE(first.latents().park(PushedClip::kLong));
    EXPECT_EQ(second.decode(3), wanted[3]);
    ASSERT_TRUE(first.latents().resume(PushedClip::kLong));
    EXPECT_EQ(first.decode(3), wanted[3]);
    first.frames().restart();
    EXPECT_EQ(first.decode(0), wanted[0]);
    EXPECT_EQ(first.frames().stats().queue.steps, 5U);
}

/// A further clip takes what is declared: its state and its frames.
inline void expect_further_clips_to_take_their_state_and_frames(accel::Device& device) {
    const auto model = small_model(device);
    const vae::StepOptions options{.storage = interop::FrameStorage::Host,
                                   .share = std::make_shared<vae::RunnerShare>()};
    const auto bridge = interop::Bridge::create(device, nullptr).value();
    const PushedClip first(device, model, options);
    for (int i = 0; i < 3; ++i) {
        const auto declared = StepLoop::declared_memory(*bridge, *model, {kHeight, PushedClip::kWide}, options);
        ASSERT_TRUE(declared) << declared.error().message;
        EXPECT_EQ(declared->transients, 0U);
        const std::uint64_t before = device.bytes_allocated();
        PushedClip clip(device, model, options);
        const std::uint64_t on_host = device.info().is_host() ? declared->io : 0;
        EXPECT_EQ(device.bytes_allocated() - before, declared->histories + declared->stream + on_host);
        EXPECT_EQ(clip.frames().facts().memory.clip(), declared->clip());
        clip.decode(0);
    }
}

/// While two steps are on the lane, the steps behind them go in the order in which they are due.
inline void expect_steps_in_the_order_in_which_they_are_due(accel::Device& device) {
    const auto model = small_model(device);
    const auto share = std::make_shared<vae::RunnerShare>();
    std::vector<std::unique_ptr<PushedClip>> clips;
    for (int i = 0; i < 5; ++i) {
        clips.push_back(std::make_unique<PushedClip>(device, model, vae::StepOptions{.share = share}));
        clips.back()->decode(0);
    }
    const auto holder = vae::Clip::create(model, {kHeight, PushedClip::kWide}).value();
    auto admitted = share->admit(*holder, {});
    ASSERT_TRUE(admitted) << admitted.error().message;
    vae::Runner& runner = *admitted->runner;
    const auto held = device.create_timeline().value();
    runner.lane().stream().wait(held, 1);
    const auto misses = [&](std::size_t clip) { return clips[clip]->frames().stats().queue.misses; };
    const std::uint64_t missed = misses(0), missed_by_late = misses(2);
    const Nanoseconds now = host_now();
    for (const std::size_t clip : {0, 1}) {
        clips[clip]->push(1, now);
        while (clips[clip]->frames().stats().queue.steps < 2) std::this_thread::yield();
    }
    clips[2]->push(1, now + std::chrono::hours(3));
    clips[3]->push(1, now + std::chrono::hours(1));
    clips[4]->push(1, now + std::chrono::hours(2));
    while (runner.queue().waiting() < 3) std::this_thread::yield();
    held->signal(1);
    std::vector<Nanoseconds> done;
    for (const std::size_t clip : {0, 3, 4, 2}) {
        FrameSource& frames = clips[clip]->frames();
        const auto record = frames.take(PushedClip::kLong).value().value();
        while (!frames.decoded_at(record)) std::this_thread::yield();
        done.push_back(*frames.decoded_at(record));
        EXPECT_TRUE(frames.release(record));
    }
    EXPECT_TRUE(std::ranges::is_sorted(done));
    EXPECT_EQ(misses(2), missed_by_late) << "due in hours";
    EXPECT_EQ(misses(0), missed + 1) << "due at once";
    EXPECT_GT(clips[2]->frames().stats().queue.longest, Nanoseconds{});
}

/// Values that are not finite, a reader that takes no frame, a cancellation and an end are one clip's: those that share
/// the runner with it make the frames of clips alone, meanwhile and afterwards.
inline void expect_trouble_of_a_clip_to_stop_no_other(accel::Device& device) {
    constexpr std::int64_t kSteps = 6;
    const auto model = small_model(device);
    std::vector<PushedClip::Frames> wanted;
    {
        PushedClip alone(device, model);
        for (int t = 0; t < kSteps; ++t) wanted.push_back(alone.decode(t));
    }
    const vae::StepOptions options{.slots = 5, .share = std::make_shared<vae::RunnerShare>()};
    PushedClip first(device, model, options), second(device, model, options);
    const auto decode_beside = [&](const std::function<void()>& trouble) {
        std::jthread thread([&] {
            for (int t = 0; t < kSteps; ++t) EXPECT_EQ(first.decode(t), wanted[static_cast<std::size_t>(t)]) << t;
        });
        trouble();
        for (int t = 0; t < kSteps; ++t) EXPECT_EQ(second.decode(t), wanted[static_cast<std::size_t>(t)]) << t;
        thread.join();
        for (PushedClip* clip : {&first, &second}) clip->latents().begin_anew();
    };
    decode_beside([&] {
        PushedClip bad(device, model, options);
        bad.push_nan();
        const auto frame = bad.frames().take(PushedClip::kLong).value().value();
        EXPECT_FALSE(frame.is_finite);
        EXPECT_TRUE(bad.frames().release(frame));
    });
    PushedClip slow(device, model, options);
    decode_beside([&] {
        for (int t = 0; t < 3; ++t) slow.push(t);  // the third waits: the slots hold the frames of two
    });
    EXPECT_EQ(slow.take(1, 0), wanted[0]);
    PushedClip cancelled(device, model, options);
    decode_beside([&] {
        for (int t = 0; t < 3; ++t) cancelled.push(t);
        cancelled.frames().cancel();
        EXPECT_EQ(cancelled.frames().take(PushedClip::kLong).error().code, ErrorCode::Cancelled);
    });
    auto ended = std::make_unique<PushedClip>(device, model, options);
    decode_beside([&] {
        for (int t = 0; t < 3; ++t) ended->push(t);
        ended.reset();
    });
}

/// Clips whose rates are above what the device does in a second: one in the background is held back, which its figures
/// and the log say, and its frames are those of a clip alone. A further clip is refused, and takes nothing.
inline void expect_overload_to_hold_the_background_back(accel::Device& device,
                                                        const std::function<bool(std::string_view)>& was_said) {
    const auto model = small_model(device);
    const auto share = std::make_shared<vae::RunnerShare>();
    std::vector<PushedClip::Frames> wanted;
    {
        PushedClip alone(device, model);
        for (int t = 0; t < 4; ++t) wanted.push_back(alone.decode(t));
    }
    constexpr double kTooMuch = 1e6;  // frames/s: a step is late whatever the device
    vae::StepOptions visible{.storage = interop::FrameStorage::Host, .fps = kTooMuch, .share = share};
    vae::StepOptions background = visible;
    background.fps = 24;
    background.background = true;
    PushedClip first(device, model, visible), second(device, model, background);
    EXPECT_EQ(second.frames().stats().queue.held_back, vae::HeldBack::No);
    for (std::size_t t = 0; t < 4; ++t) {
        const auto latent = static_cast<std::int64_t>(t);
        second.push(latent);
        EXPECT_EQ(first.decode(latent), wanted[t]);
        EXPECT_EQ(second.take(t == 0 ? 1 : 4, t == 0 ? 0 : 4 * latent - 3), wanted[t]);
        while (first.frames().stats().queue.misses <= t) std::this_thread::yield();
    }
    const vae::ClipFigures figures = second.frames().stats().queue;
    EXPECT_GE(figures.held_back, vae::HeldBack::Skipped);
    EXPECT_GT(figures.steps_held_back, 0U);
    EXPECT_EQ(first.frames().stats().queue.held_back, vae::HeldBack::No);
    EXPECT_TRUE(was_said("overload: 2 clips that share a device want "));

    const std::shared_ptr<interop::Bridge> bridge = interop::Bridge::create(device, nullptr).value();
    const vae::LatentSize size{kHeight, PushedClip::kWide};
    const auto answer = StepLoop::admission(*bridge, *model, size, visible);
    ASSERT_TRUE(answer) << answer.error().message;
    const auto declared = StepLoop::declared_memory(*bridge, *model, size, visible);
    EXPECT_EQ(answer->bytes.needed,
              declared->clip() - (device.info().is_host() ? 0 : declared->io) + declared->to_load);
    EXPECT_TRUE(answer->has_bytes());
    EXPECT_FALSE(answer->has_seconds());
    visible.only_if_fits = true;
    const std::uint64_t before = device.bytes_allocated();
    const auto refused = StepLoop::of_pushed(bridge, model, size, visible);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("seconds of it a second (as measured), of which 1 visible clips leave"),
              std::string::npos)
        << refused.error().message;
    EXPECT_EQ(device.bytes_allocated(), before);
    visible.background = true;
    EXPECT_TRUE(StepLoop::of_pushed(bridge, model, size, visible));
}

}  // namespace kinetograph::stream::testing
