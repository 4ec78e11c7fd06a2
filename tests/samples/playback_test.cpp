#include <kinetograph/samples/viewer/playback.hpp>

#include <gtest/gtest.h>

namespace kinetograph::viewer {
namespace {

constexpr Nanoseconds kRefresh = std::chrono::microseconds(16'667);

/// A decoder that has frames [0, ready) done.
class Playing : public ::testing::Test {
  protected:
    Playback make(double fps = 24.0, std::size_t kept = 1000) { return Playback({.fps = fps, .kept = kept}); }
    Result<std::optional<Frame>> pull() {
        if (broken_) return fail(ErrorCode::InvalidArgument, "broken");
        if (next_ >= ready_) return std::nullopt;
        return Frame{.index = next_++, .presentation_time = {}, .decoded_at = {}, .pixels = {}};
    }
    /// Advances in refreshes for `time`; the indices shown.
    std::vector<std::int64_t> play(Playback& playback, Nanoseconds time) {
        std::vector<std::int64_t> shown;
        for (const Nanoseconds end = now_ + time; now_ < end; now_ += kRefresh) {
            const auto moved = playback.advance(now_, kRefresh, [this] { return pull(); });
            EXPECT_TRUE(moved);
            if (*moved) shown.push_back(playback.current()->index);
        }
        return shown;
    }
    static void expect_sequence(const std::vector<std::int64_t>& shown, std::int64_t first) {
        for (std::size_t i = 0; i < shown.size(); ++i) EXPECT_EQ(shown[i], first + static_cast<std::int64_t>(i));
    }

    Nanoseconds now_ = std::chrono::seconds(1000);
    std::int64_t next_ = 0, ready_ = 1'000'000;
    bool broken_ = false;
};

TEST_F(Playing, KeepsTheClipsRateOnAFasterDisplay) {
    Playback playback = make(24.0);
    const auto shown = play(playback, std::chrono::seconds(10));
    EXPECT_NEAR(static_cast<double>(shown.size()), 240.0, 2.0);
    expect_sequence(shown, 0);
    EXPECT_EQ(playback.counters().late, 0U);
    EXPECT_EQ(playback.counters().dropped, 0U);
}

TEST_F(Playing, ShowsTheFirstFrameTheMomentItIsDecoded) {
    ready_ = 0;
    Playback playback = make();
    EXPECT_TRUE(play(playback, std::chrono::seconds(1)).empty());
    EXPECT_TRUE(playback.starving());
    EXPECT_EQ(playback.current(), nullptr);
    ready_ = 1;
    EXPECT_EQ(play(playback, kRefresh), std::vector<std::int64_t>{0});
    EXPECT_EQ(playback.counters().late, 0U);
}

TEST_F(Playing, ALateFrameIsShownLateOnceAndCountedAndTheOthersKeepTheirDistance) {
    ready_ = 5;
    Playback playback = make();
    expect_sequence(play(playback, std::chrono::seconds(1)), 0);
    EXPECT_TRUE(playback.starving());
    ready_ = 1000;  // a second of frames is due, none of them is skipped
    const auto shown = play(playback, std::chrono::seconds(1));
    expect_sequence(shown, 5);
    EXPECT_NEAR(static_cast<double>(shown.size()), 24.0, 2.0);
    EXPECT_EQ(playback.counters().late, 1U);
    EXPECT_EQ(playback.counters().dropped, 0U);
}

TEST_F(Playing, ADecoderSlowerThanTheClipShowsEveryFrameAndCountsThemLate) {
    Playback playback = make();
    ready_ = 1;
    std::vector<std::int64_t> shown;
    for (int i = 0; i < 20; ++i) {
        for (const std::int64_t index : play(playback, std::chrono::milliseconds(100))) shown.push_back(index);
        ++ready_;
    }
    EXPECT_GE(shown.size(), 19U);
    expect_sequence(shown, 0);
    EXPECT_GE(playback.counters().late, 17U);
    EXPECT_EQ(playback.counters().dropped, 0U);
}

TEST_F(Playing, AHitchOfTheWindowDropsNothing) {
    Playback playback = make();
    const auto before = play(playback, std::chrono::seconds(1));
    now_ += std::chrono::milliseconds(500);
    const auto after = play(playback, std::chrono::seconds(1));
    expect_sequence(after, before.back() + 1);
    EXPECT_EQ(playback.counters().dropped, 0U);
    EXPECT_EQ(playback.counters().late, 1U);
}

TEST_F(Playing, FasterThanTheDisplayFramesArePassedOverAndCounted) {
    Playback playback = make(24.0);
    playback.set_speed(4.0);  // 96 frames a second on 60 hertz
    const auto shown = play(playback, std::chrono::seconds(5));
    EXPECT_NEAR(static_cast<double>(shown.size()), 300.0, 4.0);
    EXPECT_NEAR(static_cast<double>(shown.back()), 5 * 96.0, 6.0);
    EXPECT_EQ(playback.counters().dropped + playback.counters().shown, static_cast<std::uint64_t>(shown.back()) + 1);
}

TEST_F(Playing, SpeedScalesTheRate) {
    Playback playback = make(24.0);
    playback.set_speed(0.5);
    EXPECT_NEAR(static_cast<double>(play(playback, std::chrono::seconds(4)).size()), 48.0, 2.0);
}

TEST_F(Playing, PausedNothingMovesAndTheFrameOnShowHasItsFullTimeAfterwards) {
    Playback playback = make();
    play(playback, std::chrono::milliseconds(500));
    playback.set_playing(false);
    EXPECT_TRUE(play(playback, std::chrono::seconds(3)).empty());
    playback.set_playing(true);
    const auto shown = play(playback, std::chrono::seconds(1));
    EXPECT_NEAR(static_cast<double>(shown.size()), 23.0, 2.0);
    EXPECT_EQ(playback.counters().late, 0U);
}

TEST_F(Playing, StepsForwardAndBackThroughTheRing) {
    Playback playback = make();
    play(playback, std::chrono::seconds(1));
    const std::int64_t at = playback.current()->index;
    EXPECT_TRUE(playback.step_back());
    EXPECT_TRUE(playback.step_back());
    EXPECT_EQ(playback.current()->index, at - 2);
    EXPECT_FALSE(playback.playing());
    playback.step_forward();
    EXPECT_EQ(play(playback, kRefresh), std::vector<std::int64_t>{at - 1});
    for (int i = 0; i < 3; ++i) {
        playback.step_forward();
        play(playback, kRefresh);
    }
    EXPECT_EQ(playback.current()->index, at + 2);  // beyond the ring: newly decoded
    playback.set_playing(true);
    expect_sequence(play(playback, std::chrono::milliseconds(300)), at + 3);
}

TEST_F(Playing, AStepWaitsForTheDecoder) {
    ready_ = 1;
    Playback playback = make();
    play(playback, kRefresh);
    playback.step_forward();
    EXPECT_TRUE(play(playback, std::chrono::milliseconds(200)).empty());
    EXPECT_TRUE(playback.starving());
    ready_ = 5;
    EXPECT_EQ(play(playback, std::chrono::milliseconds(200)), std::vector<std::int64_t>{1});  // one step, one frame
}

TEST_F(Playing, HoldsAsManyFramesAsItMayAndForgetsTheOldest) {
    Playback playback = make(24.0, 10);
    play(playback, std::chrono::seconds(3));
    int steps = 0;
    while (playback.step_back()) ++steps;
    EXPECT_EQ(steps, 9);
}

TEST_F(Playing, AnErrorOfTheDecoderComesThrough) {
    Playback playback = make();
    play(playback, std::chrono::milliseconds(100));
    broken_ = true;
    now_ += std::chrono::seconds(1);
    EXPECT_FALSE(playback.advance(now_, kRefresh, [this] { return pull(); }));
    EXPECT_NE(playback.current(), nullptr);
}

}  // namespace
}  // namespace kinetograph::viewer
