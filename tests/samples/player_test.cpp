#include "fake_clip.hpp"

#include <kinetograph/samples/viewer/hud.hpp>
#include <kinetograph/samples/viewer/player.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace kinetograph::viewer {
namespace {

using testing::FakeSource;
constexpr Nanoseconds kDisplayPeriod = std::chrono::microseconds(16'667);

class Players : public ::testing::Test {
  protected:
    /// Turns, of a millisecond of the player's time each, until `done`; false if half a minute does not bring it.
    template <class Done>
    bool run_until(Player& player, Done done) {
        for (const Nanoseconds end = host_now() + std::chrono::seconds(30); host_now() < end;) {
            last_ = player.advance(now_ += std::chrono::milliseconds(1), kDisplayPeriod);
            if (done()) return true;
            std::this_thread::sleep_for(std::chrono::microseconds(100));  // for the threads that open and close clips
        }
        return false;
    }
    /// Some turns, in which nothing comes of what a gate holds up.
    void run_in_vain(Player& player) {
        int turns = 0;
        run_until(player, [&] { return ++turns == 50; });
    }
    void expect_that_nobody_waited() {
        EXPECT_EQ(source_.opening.gave_up() + source_.frames.gave_up() + source_.closing.gave_up(), 0);
    }
    FakeSource source_;  ///< of clips so small that making their pixels takes no time
    Nanoseconds now_ = std::chrono::seconds(1000);
    Result<bool> last_;
};

TEST_F(Players, SaysThatItOpensAndDecodesUntilTheFirstFrameIsThere) {
    source_.clips["a"] = {.width = 16, .height = 16};
    source_.frames.close();
    Player player(source_, false, 1.0);
    player.open("a", now_);
    ASSERT_TRUE(player.waiting_for_first_frame(now_));
    EXPECT_EQ(waiting_text(player, std::chrono::milliseconds(1234)), "opening clip \u2026 1.2 s");
    ASSERT_TRUE(run_until(player, [&] { return player.clip() != nullptr; }));
    EXPECT_EQ(waiting_text(player, std::chrono::milliseconds(1234)), "decoding first frame \u2026 1.2 s");
    source_.frames.open();
    ASSERT_TRUE(run_until(player, [&] { return player.frame() != nullptr; }));
    EXPECT_FALSE(player.waiting_for_first_frame(now_));
}

TEST_F(Players, SurviveASourceThatThrows) {
    source_.clips["a"] = {.throws = true};
    source_.clips["b"] = {.width = 16, .height = 16};
    Player player(source_, false, 1.0);
    player.open("a", now_);
    ASSERT_TRUE(run_until(player, [&] { return !last_; }));
    EXPECT_EQ(last_.error().message, "a: the host is out of memory");
    player.open("b", now_);
    ASSERT_TRUE(run_until(player, [&] { return player.frame() != nullptr; }));
}

TEST_F(Players, NeverBlocksOnASlowClip) {
    source_.clips["a"] = {.width = 16, .height = 16};
    source_.opening.close();
    source_.frames.close();
    Player player(source_, false, 1.0);
    player.open("a", now_);
    run_in_vain(player);
    EXPECT_EQ(player.clip(), nullptr);
    source_.opening.open();
    ASSERT_TRUE(run_until(player, [&] { return player.clip() != nullptr; }));
    run_in_vain(player);
    EXPECT_EQ(player.frame(), nullptr);
    source_.frames.open();
    ASSERT_TRUE(run_until(player, [&] { return player.frame() != nullptr; }));
    expect_that_nobody_waited();
}

TEST_F(Players, ADroppedFileThatDoesNotOpenLosesNothing) {
    source_.clips["a"] = {.width = 16, .height = 16};
    Player player(source_, true, 1.0);
    player.open("a", now_);
    ASSERT_TRUE(run_until(player, [&] { return player.frame() != nullptr; }));
    player.open("broken.safetensors", now_);
    ASSERT_TRUE(run_until(player, [&] { return !last_; }));
    EXPECT_EQ(player.latents(), "a");
    ASSERT_EQ(player.toasts().size(), 1U);
    EXPECT_TRUE(player.toasts()[0].is_error);
    EXPECT_EQ(player.toasts()[0].text, "broken.safetensors: no such clip");
    const std::int64_t before = player.frame()->index;
    ASSERT_TRUE(run_until(player, [&] { return player.frame()->index != before; }));  // it plays on
}

TEST_F(Players, ADroppedFileReplacesTheClipWhenItIsReady) {
    source_.clips["a"] = {.width = 16, .height = 16};
    source_.clips["b"] = {.width = 64, .height = 64};
    Player player(source_, true, 1.0);
    player.open("a", now_);
    ASSERT_TRUE(run_until(player, [&] { return player.frame() != nullptr; }));
    source_.opening.close();
    player.open("b", now_);
    run_in_vain(player);
    EXPECT_EQ(player.frame()->width, 16);
    source_.opening.open();
    ASSERT_TRUE(run_until(player, [&] { return player.latents() == "b" && player.frame() != nullptr; }));
    EXPECT_EQ(player.frame()->width, 64);
    ASSERT_TRUE(run_until(player, [&] { return source_.live_streams == 1; }));
    EXPECT_GT(player.counters().shown, 1U);  // of both clips
}

TEST_F(Players, OpenNothingWhileAnotherClipIsOnItsWayOut) {
    for (const char* name : {"a", "b", "c"}) source_.clips[name] = {.width = 16, .height = 16};
    Player player(source_, true, 1.0);
    const auto plays = [&](const char* name) { return [&, name] { return player.latents() == name; }; };
    player.open("a", now_);
    ASSERT_TRUE(run_until(player, plays("a")));
    source_.closing.close();
    player.open("b", now_);
    ASSERT_TRUE(run_until(player, plays("b")));
    player.open("c", now_);
    run_in_vain(player);
    EXPECT_EQ(player.latents(), "b");
    source_.closing.open();
    ASSERT_TRUE(run_until(player, plays("c")));
    EXPECT_EQ(source_.live_at_open, 1);  // the one that plays
    expect_that_nobody_waited();
}

TEST_F(Players, TheLastOfSeveralDroppedFilesWins) {
    for (const char* name : {"a", "b", "c"}) source_.clips[name] = {.width = 16, .height = 16};
    source_.opening.close();
    Player player(source_, false, 1.0);
    for (const char* name : {"a", "b", "c"}) player.open(name, now_);
    source_.opening.open();
    ASSERT_TRUE(run_until(player, [&] { return player.latents() == "c" && player.frame() != nullptr; }));
}

TEST_F(Players, EndsOnTheLastFrameAndPlaysAgainFromTheStart) {
    source_.clips["a"] = {.width = 16, .height = 16, .latent_frames = 2, .fps = 200.0};
    Player player(source_, false, 1.0);
    player.open("a", now_);
    ASSERT_TRUE(run_until(player, [&] { return player.ended(); }));
    EXPECT_EQ(player.frame()->index, 4);
    player.handle(Action::Restart, now_);
    ASSERT_TRUE(run_until(player, [&] { return player.frame() != nullptr && player.frame()->index == 0; }));
    EXPECT_FALSE(player.ended());
}

TEST_F(Players, LoopsUntilToldOtherwise) {
    source_.clips["a"] = {.width = 16, .height = 16, .latent_frames = 2, .fps = 200.0};
    Player player(source_, true, 1.0);
    player.open("a", now_);
    ASSERT_TRUE(run_until(player, [&] { return player.counters().shown > 12; }));
    player.handle(Action::Loop, now_);
    EXPECT_FALSE(player.looping());
    ASSERT_TRUE(run_until(player, [&] { return player.ended(); }));
}

TEST_F(Players, AnErrorOfTheDecoderStandsOnTheScreenAndStopsPlayback) {
    source_.clips["a"] = {.width = 16, .height = 16, .fps = 200.0, .fails_at = 3};
    Player player(source_, false, 1.0);
    player.open("a", now_);
    ASSERT_TRUE(run_until(player, [&] { return !last_; }));
    EXPECT_EQ(player.frame()->index, 2);
    EXPECT_FALSE(player.playing());
    run_in_vain(player);
    ASSERT_TRUE(player.failure());
    EXPECT_EQ(player.failure()->sentence, "latent frame 3 is not finite");
    EXPECT_FALSE(player.failure()->to_open_again);
    player.handle(Action::Restart, now_);
    EXPECT_FALSE(player.failure());
    EXPECT_EQ(source_.opened, 1) << "the decoder begins anew";
    EXPECT_EQ(source_.closed, 0);
}

TEST_F(Players, LetALostDeviceGoAndOpenItAgainWhenAsked) {
    source_.clips["a"] = {.width = 16, .height = 16, .fps = 200.0, .fails_at = 3, .fails_with = ErrorCode::DeviceLost};
    Player player(source_, true, 1.0);
    player.open("a", now_);
    for (int round = 1; round <= 3; ++round) {
        ASSERT_TRUE(run_until(player, [&] { return !last_; }));
        EXPECT_EQ(last_.error().code, ErrorCode::DeviceLost);
        EXPECT_EQ(player.frame(), nullptr);
        EXPECT_EQ(player.clip(), nullptr);
        EXPECT_FALSE(player.waiting_for_first_frame(now_));
        ASSERT_TRUE(run_until(player, [&] { return source_.closed == round; }));
        EXPECT_EQ(source_.live_streams, 0);
        now_ += std::chrono::hours(1);
        run_in_vain(player);
        ASSERT_TRUE(player.failure()) << "it stands for as long as nothing is opened";
        EXPECT_EQ(player.failure()->sentence, "latent frame 3 is not finite");
        EXPECT_EQ(player.failure()->to_open_again, "a");
        if (round == 3) source_.clips["a"].fails_at.reset();
        player.handle(Action::Restart, now_);
        ASSERT_TRUE(run_until(player, [&] { return player.frame() != nullptr; }));
        EXPECT_FALSE(player.failure());
    }
    EXPECT_EQ(source_.opened, 4);
    EXPECT_EQ(source_.live_at_open, 0) << "nothing is left of a lost device when the next is opened";
    EXPECT_GE(player.counters().shown, 10U) << "of all clips";
}

TEST_F(Players, OpenAgainWhatWasBeingOpenedOnADeviceThatIsLost) {
    source_.clips["a"] = {.width = 16, .height = 16, .fps = 200.0, .fails_at = 3, .fails_with = ErrorCode::DeviceLost};
    source_.clips["b"] = {.width = 16, .height = 16};
    Player player(source_, true, 1.0);
    player.open("a", now_);
    ASSERT_TRUE(run_until(player, [&] { return player.frame() != nullptr; }));
    source_.opening.close();
    player.open("b", now_);
    ASSERT_TRUE(run_until(player, [&] { return player.failure().has_value(); }));
    run_in_vain(player);
    EXPECT_EQ(source_.closed, 0);
    source_.opening.open();
    ASSERT_TRUE(run_until(player, [&] { return player.frame() != nullptr; }));
    EXPECT_EQ(player.latents(), "b");
    EXPECT_FALSE(player.failure());
    EXPECT_EQ(source_.opened, 3);
    EXPECT_EQ(source_.closed, 1);
    EXPECT_EQ(source_.live_at_close, 0);
    expect_that_nobody_waited();
}

TEST_F(Players, SayWhyALostDeviceDoesNotOpenAgain) {
    source_.clips["a"] = {.width = 16, .height = 16, .fails_at = 0, .fails_with = ErrorCode::DeviceLost};
    Player player(source_, false, 1.0);
    player.open("a", now_);
    ASSERT_TRUE(run_until(player, [&] { return player.failure().has_value(); }));
    source_.clips.erase("a");
    player.handle(Action::Restart, now_);
    ASSERT_TRUE(run_until(player, [&] { return !last_ && !player.loading(); }));
    EXPECT_EQ(player.failure()->sentence, "a: no such clip");
    source_.clips["b"] = {.width = 16, .height = 16};
    player.open("b", now_);
    ASSERT_TRUE(run_until(player, [&] { return player.frame() != nullptr; }));
    EXPECT_FALSE(player.failure());
}

TEST_F(Players, LeaveALostDisplayWithNothingThatKnowsOfIt) {
    for (const char* name : {"a", "b"}) source_.clips[name] = {.width = 16, .height = 16};
    Player player(source_, false, 1.0);
    player.open("a", now_);
    ASSERT_TRUE(run_until(player, [&] { return player.frame() != nullptr; }));
    player.open("b", now_);
    player.leave_display({ErrorCode::DeviceLost, "the display was lost"}, now_);
    EXPECT_EQ(source_.live_streams, 0);
    EXPECT_EQ(source_.closed, 1);
    EXPECT_FALSE(player.loading());
    EXPECT_EQ(player.toasts().back().text, "the display was lost");
    player.enter_display(now_);
    ASSERT_TRUE(run_until(player, [&] { return player.frame() != nullptr; }));
    EXPECT_EQ(player.latents(), "b");
    EXPECT_FALSE(player.failure());
}

TEST_F(Players, SpeedGoesUpAndDownInMpvsStepsAndMeetsOneAgain) {
    Player player(source_, false, 1.0);
    for (int i = 0; i < 9; ++i) player.handle(Action::Faster, now_);
    EXPECT_NEAR(player.speed(), 2.36, 0.01);
    for (int i = 0; i < 9; ++i) player.handle(Action::Slower, now_);
    EXPECT_DOUBLE_EQ(player.speed(), 1.0);
    for (int i = 0; i < 100; ++i) player.handle(Action::Slower, now_);
    EXPECT_DOUBLE_EQ(player.speed(), 0.05);
    player.handle(Action::NormalSpeed, now_);
    EXPECT_DOUBLE_EQ(player.speed(), 1.0);
    ASSERT_EQ(player.toasts().size(), 1U);  // the newest note replaces the one before
    EXPECT_EQ(player.toasts()[0].text, "speed 1.00x");
}

TEST_F(Players, WishesGoToTheWindow) {
    Player player(source_, false, 1.0);
    EXPECT_TRUE(player.handle(Action::Quit, now_).quit);
    EXPECT_TRUE(player.handle(Action::FullScreen, now_).toggle_full_screen);
    EXPECT_TRUE(player.handle(Action::LeaveFullScreen, now_).leave_full_screen);
    EXPECT_TRUE(player.handle(Action::Screenshot, now_).screenshot);
    EXPECT_FALSE(player.handle(Action::PlayPause, now_).quit);
    EXPECT_FALSE(player.playing());
}

TEST(ClipTime, CountsMinutesSecondsAndHundredths) {
    EXPECT_EQ(clip_time(Nanoseconds{}), "0:00.00");
    EXPECT_EQ(clip_time(std::chrono::milliseconds(62'540)), "1:02.54");
}

}  // namespace
}  // namespace kinetograph::viewer
