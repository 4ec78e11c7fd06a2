// Clips that share a runner open, fork, park, are saved, cancelled, restarted, refused and closed at drawn moments, get
// values that are not finite and are not read, while others lose their lane: every frame is that of a clip alone, and
// nothing is left. KINETOGRAPH_CHAOS_SECONDS and KINETOGRAPH_CHAOS_SEED say for how long, and which chaos.
#include "chaos.hpp"
#include "clip_states.hpp"

#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/engine/interop/held.hpp>
#include <kinetograph/tests/engine/interop/watchdog.hpp>

#include <array>
#include <atomic>

namespace kinetograph::stream {
namespace {

using kinetograph::testing::chaos_seed;
using kinetograph::testing::chaos_time;
using kinetograph::testing::Dice;
using testing::PushedClip;

constexpr std::int64_t kLatents = 6;

class ClipsChaos : public ::testing::Test {
  protected:
    vae::StepOptions drawn(Dice& dice) const {
        constexpr std::array kRates{24.0, 60.0, 1000.0, 1e6};  // frames/s
        return {.slots = 5 + dice.roll(8),
                .rewind_steps = dice.one_in(3) ? 1 : 0,
                .fps = kRates.at(dice.roll(kRates.size())),
                .share = share_,
                .weight = 1.0 + dice.roll(4),
                .background = dice.one_in(3)};
    }
    /// Decodes the clip's next latent frame; of a clip that has none left a new one's first.
    void decode(PushedClip& clip, std::int64_t& at) {
        if (at == kLatents) {
            clip.latents().begin_anew();
            at = 0;
        }
        EXPECT_EQ(clip.decode(at), wanted_.at(static_cast<std::size_t>(at))) << at;
        ++at;
        ++steps_;
    }
    void act(Dice& dice, PushedClip& clip, std::int64_t& at);
    void use_clips(Dice dice);
    void lose_lanes(Dice dice);

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device({.log = Log([](LogLevel, std::string_view) {})});
    std::shared_ptr<vae::Model> model_ = testing::small_model(*device_);
    std::shared_ptr<vae::RunnerShare> share_ = std::make_shared<vae::RunnerShare>();
    std::vector<PushedClip::Frames> wanted_;
    std::atomic<bool> over_{false};
    std::atomic<std::uint64_t> steps_{0}, clips_{0}, losses_{0};
};

void ClipsChaos::act(Dice& dice, PushedClip& clip, std::int64_t& at) {
    LatentQueue& latents = clip.latents();
    switch (dice.roll(10)) {
        case 0: {
            PushedClip branch(*device_, model_, drawn(dice));
            EXPECT_TRUE(latents.branch_to(branch.latents(), PushedClip::kLong).value());
            std::int64_t branch_at = at;
            decode(branch, branch_at);
            break;
        }
        case 1:
            EXPECT_TRUE(latents.park(PushedClip::kLong).value());
            dice.pause(std::chrono::milliseconds(5));
            EXPECT_TRUE(latents.resume(PushedClip::kLong).value());
            break;
        case 2: {
            const std::int64_t saved_at = at;
            const auto state = latents.save(PushedClip::kLong).value().value();
            decode(clip, at);
            EXPECT_TRUE(latents.load(state, PushedClip::kLong).value());
            at = saved_at;
            break;
        }
        case 3:
            if (at < kLatents) clip.push(at);
            clip.frames().cancel();
            clip.frames().restart();
            at = 0;
            break;
        case 4: {
            PushedClip bad(*device_, model_, drawn(dice));
            bad.push_nan();
            const auto frame = bad.frames().take(PushedClip::kLong).value().value();
            EXPECT_FALSE(frame.is_finite);
            EXPECT_TRUE(bad.frames().release(frame));
            break;
        }
        case 5: {
            const std::int64_t begin = at;
            for (; at < std::min(kLatents, begin + 2); ++at) clip.push(at);
            dice.pause(std::chrono::milliseconds(10));  // a slow reader
            for (std::int64_t t = begin; t < at; ++t)
                EXPECT_EQ(clip.take(t == 0 ? 1 : 4, t == 0 ? 0 : 4 * t - 3), wanted_.at(static_cast<std::size_t>(t)));
            break;
        }
        case 6: {
            vae::StepOptions greedy = drawn(dice);
            greedy.fps = 1e12;
            greedy.background = false;
            greedy.only_if_fits = true;
            greedy.storage = interop::FrameStorage::Host;
            const auto refused = StepLoop::of_pushed(interop::Bridge::create(*device_, nullptr).value(), model_,
                                                     {testing::kHeight, PushedClip::kWide}, greedy);
            if (!refused) {
                EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory) << refused.error().message;
            }
            break;
        }
        case 7:
            EXPECT_FALSE(share_->load().figures(host_now()).clips.empty());
            EXPECT_GE(clip.frames().stats().queue.number, 1U);
            break;
        default:
            decode(clip, at);
    }
}

/// One clip after the other, the last latents of some undecoded.
void ClipsChaos::use_clips(Dice dice) {
    while (!over_ && !HasFailure()) {
        PushedClip clip(*device_, model_, drawn(dice));
        ++clips_;
        std::int64_t at = 0;
        for (std::uint32_t i = dice.roll(12); i > 0 && !over_; --i) act(dice, clip, at);
        if (at < kLatents) clip.push(at);
    }
}

/// Runners whose lane fails while it has steps of two clips: both clips are told, at the latest when they go on.
void ClipsChaos::lose_lanes(Dice dice) {
    while (!over_ && !HasFailure()) {
        vae::StepOptions options = drawn(dice);
        options.share = std::make_shared<vae::RunnerShare>();
        options.slots = 12;
        PushedClip first(*device_, model_, options), second(*device_, model_, options);
        const auto holder = vae::Clip::create(model_, {testing::kHeight, PushedClip::kWide}).value();
        {
            const auto admitted = options.share->admit(*holder, {}).value();
            std::int64_t at = 0;
            decode(first, at);
            first.push(1);
            second.push(0);
            dice.pause(std::chrono::milliseconds(3));
            const auto turn = admitted.runner->turn(Nanoseconds::min());
            ASSERT_TRUE(turn && *turn);
            admitted.runner->lane().stream().enqueue(
                "loss", []() -> Result<void> { return fail(ErrorCode::DeviceLost, "the chaos lost it"); });
        }
        for (PushedClip* clip : {&first, &second}) {
            std::optional<Error> told;
            while (!told) {
                const auto frame = clip->frames().take(std::chrono::milliseconds(10));
                if (!frame) told = frame.error();
                if (frame && *frame) {
                    EXPECT_TRUE(clip->frames().release(**frame));
                }
                const auto pushed = clip->latents().push(testing::small_clip(1, PushedClip::kWide).frame(0), {});
                if (!pushed) told = pushed.error();
            }
            EXPECT_EQ(told->code, ErrorCode::DeviceLost) << told->message;
        }
        ++losses_;
        dice.pause(std::chrono::milliseconds(20));
    }
}

TEST_F(ClipsChaos, ChangesNoPictureAndLeavesNothing) {
    SCOPED_TRACE(fmt::format("KINETOGRAPH_CHAOS_SEED={}", chaos_seed()));
    const interop::testing::Watchdog watchdog(
        "the chaos of clips",
        std::chrono::seconds(600) + std::chrono::duration_cast<std::chrono::seconds>(2 * chaos_time()));
    {
        PushedClip alone(*device_, model_);
        for (int t = 0; t < kLatents; ++t) wanted_.push_back(alone.decode(t));
    }
    const interop::testing::Holders holders{.bytes = [&] { return device_->bytes_allocated(); }};
    const interop::testing::Held before = holders.now();
    Dice dice(chaos_seed());
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) threads.emplace_back([this, own = Dice(dice.roll(1U << 20U))] { use_clips(own); });
        threads.emplace_back([this, own = Dice(dice.roll(1U << 20U))] { lose_lanes(own); });
        const Nanoseconds end = host_now() + chaos_time();
        while ((host_now() < end || steps_ < 20 || losses_ == 0) && !HasFailure())
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        over_ = true;
    }
    holders.expect(before);
    fmt::print("{} clips, {} steps compared, {} lanes lost\n", clips_.load(), steps_.load(), losses_.load());
}

}  // namespace
}  // namespace kinetograph::stream
