#include "fake_clip.hpp"

#include <kinetograph/samples/viewer/hud.hpp>
#include <kinetograph/samples/viewer/session.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace kinetograph::viewer {
namespace {

using testing::FakeSource;
constexpr Nanoseconds kDisplayPeriod = std::chrono::microseconds(16'667);

class Sessions : public ::testing::Test {
  protected:
    /// Turns, of a millisecond of the session's time each, until `done`; false if half a minute does not bring it.
    template <class Done>
    bool run_until(Session& session, Done done) {
        for (const Nanoseconds end = host_now() + std::chrono::seconds(30); host_now() < end;) {
            last_ = session.advance(now_ += std::chrono::milliseconds(1), kDisplayPeriod);
            if (done()) return true;
            std::this_thread::sleep_for(std::chrono::microseconds(100));  // for the threads that open and close clips
        }
        return false;
    }
    /// Some turns, in which nothing comes of what a gate holds up.
    void run_in_vain(Session& session) {
        int turns = 0;
        run_until(session, [&] { return ++turns == 50; });
    }
    void expect_that_nobody_waited() {
        EXPECT_EQ(source_.opening.gave_up() + source_.frames.gave_up() + source_.closing.gave_up(), 0);
    }
    FakeSource source_;  ///< of clips so small that making their pixels takes no time
    Nanoseconds now_ = std::chrono::seconds(1000);
    Result<bool> last_;
};

TEST_F(Sessions, SaysThatItOpensAndDecodesUntilTheFirstFrameIsThere) {
    source_.clips["a"] = {.width = 16, .height = 16};
    source_.frames.close();
    Session session(source_, false, 1.0);
    session.open("a", now_);
    ASSERT_TRUE(session.waiting_for_first_frame(now_));
    EXPECT_EQ(waiting_text(session, std::chrono::milliseconds(1234)), "opening clip \u2026 1.2 s");
    ASSERT_TRUE(run_until(session, [&] { return session.clip() != nullptr; }));
    EXPECT_EQ(waiting_text(session, std::chrono::milliseconds(1234)), "decoding first frame \u2026 1.2 s");
    source_.frames.open();
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    EXPECT_FALSE(session.waiting_for_first_frame(now_));
}

TEST_F(Sessions, SurviveASourceThatThrows) {
    source_.clips["a"] = {.throws = true};
    source_.clips["b"] = {.width = 16, .height = 16};
    Session session(source_, false, 1.0);
    session.open("a", now_);
    ASSERT_TRUE(run_until(session, [&] { return !last_; }));
    EXPECT_EQ(last_.error().message, "a: the host is out of memory");
    session.open("b", now_);
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
}

TEST_F(Sessions, NeverBlocksOnASlowClip) {
    source_.clips["a"] = {.width = 16, .height = 16};
    source_.opening.close();
    source_.frames.close();
    Session session(source_, false, 1.0);
    session.open("a", now_);
    run_in_vain(session);
    EXPECT_EQ(session.clip(), nullptr);
    source_.opening.open();
    ASSERT_TRUE(run_until(session, [&] { return session.clip() != nullptr; }));
    run_in_vain(session);
    EXPECT_EQ(session.frame(), nullptr);
    source_.frames.open();
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    expect_that_nobody_waited();
}

TEST_F(Sessions, ADroppedFileThatDoesNotOpenLosesNothing) {
    source_.clips["a"] = {.width = 16, .height = 16};
    Session session(source_, true, 1.0);
    session.open("a", now_);
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    session.open("broken.safetensors", now_);
    ASSERT_TRUE(run_until(session, [&] { return !last_; }));
    EXPECT_EQ(session.latents(), "a");
    ASSERT_EQ(session.toasts().size(), 1U);
    EXPECT_TRUE(session.toasts()[0].is_error);
    EXPECT_EQ(session.toasts()[0].text, "broken.safetensors: no such clip");
    const std::int64_t before = session.frame()->index;
    ASSERT_TRUE(run_until(session, [&] { return session.frame()->index != before; }));  // it plays on
}

TEST_F(Sessions, ADroppedFileReplacesTheClipWhenItIsReady) {
    source_.clips["a"] = {.width = 16, .height = 16};
    source_.clips["b"] = {.width = 64, .height = 64};
    Session session(source_, true, 1.0);
    session.open("a", now_);
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    source_.opening.close();
    session.open("b", now_);
    run_in_vain(session);
    EXPECT_EQ(session.frame()->width, 16);
    source_.opening.open();
    ASSERT_TRUE(run_until(session, [&] { return session.latents() == "b" && session.frame() != nullptr; }));
    EXPECT_EQ(session.frame()->width, 64);
    ASSERT_TRUE(run_until(session, [&] { return source_.live_streams == 1; }));
    EXPECT_GT(session.counters().shown, 1U);  // of both clips
}

TEST_F(Sessions, OpenNothingWhileAnotherClipIsOnItsWayOut) {
    for (const char* name : {"a", "b", "c"}) source_.clips[name] = {.width = 16, .height = 16};
    Session session(source_, true, 1.0);
    const auto plays = [&](const char* name) { return [&, name] { return session.latents() == name; }; };
    session.open("a", now_);
    ASSERT_TRUE(run_until(session, plays("a")));
    source_.closing.close();
    session.open("b", now_);
    ASSERT_TRUE(run_until(session, plays("b")));
    session.open("c", now_);
    run_in_vain(session);
    EXPECT_EQ(session.latents(), "b");
    source_.closing.open();
    ASSERT_TRUE(run_until(session, plays("c")));
    EXPECT_EQ(source_.live_at_open, 1);  // the one that plays
    expect_that_nobody_waited();
}

TEST_F(Sessions, TheLastOfSeveralDroppedFilesWins) {
    for (const char* name : {"a", "b", "c"}) source_.clips[name] = {.width = 16, .height = 16};
    source_.opening.close();
    Session session(source_, false, 1.0);
    for (const char* name : {"a", "b", "c"}) session.open(name, now_);
    source_.opening.open();
    ASSERT_TRUE(run_until(session, [&] { return session.latents() == "c" && session.frame() != nullptr; }));
}

TEST_F(Sessions, EndsOnTheLastFrameAndPlaysAgainFromTheStart) {
    source_.clips["a"] = {.width = 16, .height = 16, .latent_frames = 2, .fps = 200.0};
    Session session(source_, false, 1.0);
    session.open("a", now_);
    ASSERT_TRUE(run_until(session, [&] { return session.ended(); }));
    EXPECT_EQ(session.frame()->index, 4);
    session.handle(Action::Restart, now_);
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr && session.frame()->index == 0; }));
    EXPECT_FALSE(session.ended());
}

TEST_F(Sessions, LoopsUntilToldOtherwise) {
    source_.clips["a"] = {.width = 16, .height = 16, .latent_frames = 2, .fps = 200.0};
    Session session(source_, true, 1.0);
    session.open("a", now_);
    ASSERT_TRUE(run_until(session, [&] { return session.counters().shown > 12; }));
    session.handle(Action::Loop, now_);
    EXPECT_FALSE(session.looping());
    ASSERT_TRUE(run_until(session, [&] { return session.ended(); }));
}

TEST_F(Sessions, AnErrorOfTheDecoderStandsOnTheScreenAndStopsPlayback) {
    source_.clips["a"] = {.width = 16, .height = 16, .fps = 200.0, .fails_at = 3};
    Session session(source_, false, 1.0);
    session.open("a", now_);
    ASSERT_TRUE(run_until(session, [&] { return !last_; }));
    EXPECT_EQ(session.frame()->index, 2);
    EXPECT_FALSE(session.playing());
    run_in_vain(session);
    ASSERT_TRUE(session.failure());
    EXPECT_EQ(session.failure()->sentence, "latent frame 3 is not finite");
    EXPECT_FALSE(session.failure()->to_open_again);
    session.handle(Action::Restart, now_);
    EXPECT_FALSE(session.failure());
    EXPECT_EQ(source_.opened, 1) << "the decoder begins anew";
    EXPECT_EQ(source_.closed, 0);
}

TEST_F(Sessions, LetALostDeviceGoAndOpenItAgainWhenAsked) {
    source_.clips["a"] = {.width = 16, .height = 16, .fps = 200.0, .fails_at = 3, .fails_with = ErrorCode::DeviceLost};
    Session session(source_, true, 1.0);
    session.open("a", now_);
    for (int round = 1; round <= 3; ++round) {
        ASSERT_TRUE(run_until(session, [&] { return !last_; }));
        EXPECT_EQ(last_.error().code, ErrorCode::DeviceLost);
        EXPECT_EQ(session.frame(), nullptr);
        EXPECT_EQ(session.clip(), nullptr);
        EXPECT_FALSE(session.waiting_for_first_frame(now_));
        ASSERT_TRUE(run_until(session, [&] { return source_.closed == round; }));
        EXPECT_EQ(source_.live_streams, 0);
        now_ += std::chrono::hours(1);
        run_in_vain(session);
        ASSERT_TRUE(session.failure()) << "it stands for as long as nothing is opened";
        EXPECT_EQ(session.failure()->sentence, "latent frame 3 is not finite");
        EXPECT_EQ(session.failure()->to_open_again, "a");
        if (round == 3) source_.clips["a"].fails_at.reset();
        session.handle(Action::Restart, now_);
        ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
        EXPECT_FALSE(session.failure());
    }
    EXPECT_EQ(source_.opened, 4);
    EXPECT_EQ(source_.live_at_open, 0) << "nothing is left of a lost device when the next is opened";
    EXPECT_GE(session.counters().shown, 10U) << "of all clips";
}

TEST_F(Sessions, OpenAgainWhatWasBeingOpenedOnADeviceThatIsLost) {
    source_.clips["a"] = {.width = 16, .height = 16, .fps = 200.0, .fails_at = 3, .fails_with = ErrorCode::DeviceLost};
    source_.clips["b"] = {.width = 16, .height = 16};
    Session session(source_, true, 1.0);
    session.open("a", now_);
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    source_.opening.close();
    session.open("b", now_);
    ASSERT_TRUE(run_until(session, [&] { return session.failure().has_value(); }));
    run_in_vain(session);
    EXPECT_EQ(source_.closed, 0);
    source_.opening.open();
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    EXPECT_EQ(session.latents(), "b");
    EXPECT_FALSE(session.failure());
    EXPECT_EQ(source_.opened, 3);
    EXPECT_EQ(source_.closed, 1);
    EXPECT_EQ(source_.live_at_close, 0);
    expect_that_nobody_waited();
}

TEST_F(Sessions, SayWhyALostDeviceDoesNotOpenAgain) {
    source_.clips["a"] = {.width = 16, .height = 16, .fails_at = 0, .fails_with = ErrorCode::DeviceLost};
    Session session(source_, false, 1.0);
    session.open("a", now_);
    ASSERT_TRUE(run_until(session, [&] { return session.failure().has_value(); }));
    source_.clips.erase("a");
    session.handle(Action::Restart, now_);
    ASSERT_TRUE(run_until(session, [&] { return !last_ && !session.loading(); }));
    EXPECT_EQ(session.failure()->sentence, "a: no such clip");
    source_.clips["b"] = {.width = 16, .height = 16};
    session.open("b", now_);
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    EXPECT_FALSE(session.failure());
}

TEST_F(Sessions, LeaveALostDisplayWithNothingThatKnowsOfIt) {
    for (const char* name : {"a", "b"}) source_.clips[name] = {.width = 16, .height = 16};
    Session session(source_, false, 1.0);
    session.open("a", now_);
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    session.open("b", now_);
    session.leave_display({ErrorCode::DeviceLost, "the display was lost"}, now_);
    EXPECT_EQ(source_.live_streams, 0);
    EXPECT_EQ(source_.closed, 1);
    EXPECT_FALSE(session.loading());
    EXPECT_EQ(session.toasts().back().text, "the display was lost");
    session.enter_display(now_);
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    EXPECT_EQ(session.latents(), "b");
    EXPECT_FALSE(session.failure());
}

TEST_F(Sessions, SpeedGoesUpAndDownInMpvsStepsAndMeetsOneAgain) {
    Session session(source_, false, 1.0);
    for (int i = 0; i < 9; ++i) session.handle(Action::Faster, now_);
    EXPECT_NEAR(session.speed(), 2.36, 0.01);
    for (int i = 0; i < 9; ++i) session.handle(Action::Slower, now_);
    EXPECT_DOUBLE_EQ(session.speed(), 1.0);
    for (int i = 0; i < 100; ++i) session.handle(Action::Slower, now_);
    EXPECT_DOUBLE_EQ(session.speed(), 0.05);
    session.handle(Action::NormalSpeed, now_);
    EXPECT_DOUBLE_EQ(session.speed(), 1.0);
    ASSERT_EQ(session.toasts().size(), 1U);  // the newest note replaces the one before
    EXPECT_EQ(session.toasts()[0].text, "speed 1.00x");
}

TEST_F(Sessions, WishesGoToTheWindow) {
    Session session(source_, false, 1.0);
    EXPECT_TRUE(session.handle(Action::Quit, now_).quit);
    EXPECT_TRUE(session.handle(Action::FullScreen, now_).toggle_full_screen);
    EXPECT_TRUE(session.handle(Action::LeaveFullScreen, now_).leave_full_screen);
    EXPECT_TRUE(session.handle(Action::Screenshot, now_).screenshot);
    EXPECT_FALSE(session.handle(Action::PlayPause, now_).quit);
    EXPECT_FALSE(session.playing());
}

TEST(ClipTime, CountsMinutesSecondsAndHundredths) {
    EXPECT_EQ(clip_time(Nanoseconds{}), "0:00.00");
    EXPECT_EQ(clip_time(std::chrono::milliseconds(62'540)), "1:02.54");
}

}  // namespace
}  // namespace kinetograph::viewer
