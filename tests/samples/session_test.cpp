#include "fake_clip.hpp"

#include <kinetograph/samples/viewer/hud.hpp>
#include <kinetograph/samples/viewer/session.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace kinetograph::viewer {
namespace {

using testing::FakeSource;
constexpr Nanoseconds kRefresh = std::chrono::microseconds(16'667);

class Sessions : public ::testing::Test {
  protected:
    /// Real time, in steps of a millisecond, until `done` or ten seconds have passed.
    template <class Done>
    bool run_until(Session& session, Done done) {
        for (const Nanoseconds end = host_now() + std::chrono::seconds(10); host_now() < end;) {
            const Nanoseconds before = host_now();
            last_ = session.advance(before, kRefresh);
            longest_ = std::max(longest_, host_now() - before);
            if (done()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return false;
    }
    FakeSource source_;  ///< of clips so small that making their pixels takes no time
    Result<bool> last_;
    Nanoseconds longest_{};
};

TEST_F(Sessions, SaysThatItOpensAndDecodesUntilTheFirstFrameIsThere) {
    source_.clips["a"] = {.width = 16, .height = 16, .step = std::chrono::milliseconds(60)};
    source_.open_time = std::chrono::milliseconds(60);
    Session session(source_, false, 1.0);
    const Nanoseconds began = host_now();
    session.open("a", began);
    ASSERT_TRUE(session.waiting_for_first_frame(began));
    EXPECT_EQ(waiting_text(session, std::chrono::milliseconds(1234)), "opening clip \u2026 1.2 s");
    ASSERT_TRUE(run_until(session, [&] { return session.clip() != nullptr; }));
    EXPECT_EQ(waiting_text(session, std::chrono::milliseconds(1234)), "decoding first frame \u2026 1.2 s");
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    EXPECT_FALSE(session.waiting_for_first_frame(host_now()));
}

TEST_F(Sessions, NeverBlocksOnASlowClip) {
    source_.clips["a"] = {.width = 16, .height = 16, .step = std::chrono::milliseconds(300)};
    source_.open_time = std::chrono::milliseconds(300);
    Session session(source_, false, 1.0);
    session.open("a", host_now());
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    EXPECT_LT(longest_, std::chrono::milliseconds(100));  // opening and decoding take 300 each
}

TEST_F(Sessions, ADroppedFileThatDoesNotOpenLosesNothing) {
    source_.clips["a"] = {.width = 16, .height = 16};
    Session session(source_, true, 1.0);
    session.open("a", host_now());
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    session.open("broken.safetensors", host_now());
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
    session.open("a", host_now());
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr; }));
    source_.open_time = std::chrono::milliseconds(100);
    session.open("b", host_now());
    EXPECT_EQ(session.frame()->width, 16);
    ASSERT_TRUE(run_until(session, [&] { return session.latents() == "b" && session.frame() != nullptr; }));
    EXPECT_EQ(session.frame()->width, 64);
    ASSERT_TRUE(run_until(session, [&] { return source_.live_queues == 1; }));
    EXPECT_GT(session.counters().shown, 1U);  // of both clips
}

TEST_F(Sessions, OpenNothingWhileAnotherClipIsOnItsWayOut) {
    for (const char* name : {"a", "b", "c", "d"}) source_.clips[name] = {.width = 16, .height = 16};
    source_.close_time = std::chrono::milliseconds(150);
    Session session(source_, true, 1.0);
    for (const char* name : {"a", "b", "c", "d"}) {
        session.open(name, host_now());
        ASSERT_TRUE(run_until(session, [&] { return session.latents() == name; }));
    }
    EXPECT_EQ(source_.live_at_open, 1);  // the one that plays
    EXPECT_LT(longest_, std::chrono::milliseconds(100));
}

TEST_F(Sessions, TheLastOfSeveralDroppedFilesWins) {
    for (const char* name : {"a", "b", "c"}) source_.clips[name] = {.width = 16, .height = 16};
    source_.open_time = std::chrono::milliseconds(50);
    Session session(source_, false, 1.0);
    for (const char* name : {"a", "b", "c"}) session.open(name, host_now());
    ASSERT_TRUE(run_until(session, [&] { return session.latents() == "c" && session.frame() != nullptr; }));
}

TEST_F(Sessions, EndsOnTheLastFrameAndPlaysAgainFromTheStart) {
    source_.clips["a"] = {.width = 16, .height = 16, .latent_frames = 2, .fps = 200.0};
    Session session(source_, false, 1.0);
    session.open("a", host_now());
    ASSERT_TRUE(run_until(session, [&] { return session.ended(); }));
    EXPECT_EQ(session.frame()->index, 4);
    session.handle(Action::Restart, host_now());
    ASSERT_TRUE(run_until(session, [&] { return session.frame() != nullptr && session.frame()->index == 0; }));
    EXPECT_FALSE(session.ended());
}

TEST_F(Sessions, LoopsUntilToldOtherwise) {
    source_.clips["a"] = {.width = 16, .height = 16, .latent_frames = 2, .fps = 200.0};
    Session session(source_, true, 1.0);
    session.open("a", host_now());
    ASSERT_TRUE(run_until(session, [&] { return session.counters().shown > 12; }));
    session.handle(Action::Loop, host_now());
    EXPECT_FALSE(session.looping());
    ASSERT_TRUE(run_until(session, [&] { return session.ended(); }));
}

TEST_F(Sessions, AnErrorOfTheDecoderStandsOnTheScreenAndStopsPlayback) {
    source_.clips["a"] = {.width = 16, .height = 16, .fps = 200.0, .fails_at = 3};
    Session session(source_, false, 1.0);
    session.open("a", host_now());
    ASSERT_TRUE(run_until(session, [&] { return !last_; }));
    EXPECT_EQ(session.frame()->index, 2);
    EXPECT_FALSE(session.playing());
    EXPECT_EQ(session.toasts().back().text, "latent frame 3 is not finite");
}

TEST_F(Sessions, SpeedGoesUpAndDownInMpvsStepsAndMeetsOneAgain) {
    Session session(source_, false, 1.0);
    for (int i = 0; i < 9; ++i) session.handle(Action::Faster, host_now());
    EXPECT_NEAR(session.speed(), 2.36, 0.01);
    for (int i = 0; i < 9; ++i) session.handle(Action::Slower, host_now());
    EXPECT_DOUBLE_EQ(session.speed(), 1.0);
    for (int i = 0; i < 100; ++i) session.handle(Action::Slower, host_now());
    EXPECT_DOUBLE_EQ(session.speed(), 0.05);
    session.handle(Action::NormalSpeed, host_now());
    EXPECT_DOUBLE_EQ(session.speed(), 1.0);
    ASSERT_EQ(session.toasts().size(), 1U);  // the newest note replaces the one before
    EXPECT_EQ(session.toasts()[0].text, "speed 1.00x");
}

TEST_F(Sessions, WishesGoToTheWindow) {
    Session session(source_, false, 1.0);
    EXPECT_TRUE(session.handle(Action::Quit, host_now()).quit);
    EXPECT_TRUE(session.handle(Action::FullScreen, host_now()).toggle_full_screen);
    EXPECT_TRUE(session.handle(Action::LeaveFullScreen, host_now()).leave_full_screen);
    EXPECT_TRUE(session.handle(Action::Screenshot, host_now()).screenshot);
    EXPECT_FALSE(session.handle(Action::PlayPause, host_now()).quit);
    EXPECT_FALSE(session.playing());
}

TEST(ClipTime, CountsMinutesSecondsAndHundredths) {
    EXPECT_EQ(clip_time(Nanoseconds{}), "0:00.00");
    EXPECT_EQ(clip_time(std::chrono::milliseconds(62'540)), "1:02.54");
}

}  // namespace
}  // namespace kinetograph::viewer
