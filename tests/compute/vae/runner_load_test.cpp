// Whether a further clip fits a runner, and the order in which clips in the background are held back.
#include <kinetograph/compute/vae/runner_load.hpp>
#include <kinetograph/compute/vae/step_queue.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace kinetograph::vae {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr ClipTerms kVisible{.size = {.height = 60, .width = 104}, .fps = 25, .frames = 4};
constexpr ClipTerms kBackground{.size = kVisible.size, .fps = 25, .frames = 4, .background = true};
constexpr Nanoseconds kShown = milliseconds(160);
constexpr ClipBytes kRoom{.needed = 100 << 20, .free = 300 << 20};

class RunnerLoads : public ::testing::Test {
  protected:
    RunnerLoad::Number join(const ClipTerms& terms) { return load_.join(terms, log_); }
    /// A step of the clip that begins and ends on the device at these times.
    void step(RunnerLoad::Number clip, Nanoseconds begin, Nanoseconds end, bool is_late = false,
              bool is_first = false) {
        load_.ask(clip, begin);
        load_.enqueued(clip, begin, milliseconds(1), false);
        load_.done(clip, {begin, end, is_late ? end - milliseconds(1) : end, is_first ? 1 : 4, is_first});
    }
    HeldBack stage(Nanoseconds now) { return load_.figures(background_, now).held_back; }

    RunnerLoad load_;
    std::vector<std::string> said_;
    Log log_{[this](LogLevel, std::string_view message) { said_.emplace_back(message); }};
    RunnerLoad::Number background_ = 0;
};

TEST_F(RunnerLoads, AdmitVisibleClipsUpToASecondASecondAndSayBothFigures) {
    const auto first = join(kVisible);
    EXPECT_EQ(
        load_.admission(kVisible, kRoom, "GPU").sentence(),
        "a visible clip of 104x60 latents at 25 frames/s fits on GPU: it takes 100 MiB of its memory, of which 300 "
        "are free, and an unknown part of its time, because none of its steps has been measured yet");
    step(first, {}, milliseconds(500), false, true);
    EXPECT_FALSE(load_.admission(kVisible, kRoom, "GPU").needed_seconds) << "a clip's first step makes one frame";
    step(first, seconds(1), seconds(1) + milliseconds(64));  // 0.4 of the device
    const Admission second = load_.admission(kVisible, kRoom, "GPU");
    EXPECT_NEAR(*second.needed_seconds, 0.4, 1e-9);
    EXPECT_NEAR(second.taken_seconds, 0.4, 1e-9);
    EXPECT_TRUE(load_.join_if_fits(kVisible, kRoom, "GPU", log_));
    const auto third = load_.join_if_fits(kVisible, kRoom, "GPU", log_);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ErrorCode::OutOfMemory);
    EXPECT_EQ(third.error().message,
              "a visible clip of 104x60 latents at 25 frames/s does not fit on GPU: it takes 100 MiB of its memory, of "
              "which 300 are free, and 0.400 seconds of it a second (as measured), of which 2 visible clips leave "
              "0.200: close visible clips, ask for fewer frames a second, or open it in the background");
    ClipTerms slower = kVisible;
    slower.fps = 12;
    EXPECT_TRUE(load_.admission(slower, kRoom, "GPU").fits());
    EXPECT_TRUE(load_.join_if_fits(kBackground, kRoom, "GPU", log_)) << "it takes what is left";
    EXPECT_TRUE(load_.admission(slower, kRoom, "GPU").fits()) << "and nothing of what visible ones need";
    load_.leave(first);
    EXPECT_TRUE(load_.admission(kVisible, kRoom, "GPU").fits());
}

TEST_F(RunnerLoads, RefuseWhatMemoryLacksAndEstimateOtherSizesByTheirPixels) {
    step(join(kVisible), {}, milliseconds(64));
    const ClipTerms twice{.size = {.height = 60, .width = 208}, .fps = 25, .frames = 4};
    const Admission answer = load_.admission(twice, {.needed = (100 << 20) + 1, .free = (100 << 20) - 1}, "GPU");
    EXPECT_EQ(answer.check().error().message,
              "a visible clip of 208x60 latents at 25 frames/s does not fit on GPU: it takes 101 MiB of its memory, of "
              "which 99 are free, and 0.800 seconds of it a second (estimated from 104x60 latents), of which 1 visible "
              "clips leave 0.600: close or park other clips, and close visible clips, ask for fewer frames a second, "
              "or open it in the background");
}

/// The stages come in their order, a second after each other while visible clips are late, and go in the same way.
TEST_F(RunnerLoads, SkipTheBackgroundFirstThenLowerItsRateAndTakeThatBack) {
    const auto visible = join(kVisible);
    background_ = join(kBackground);
    step(visible, seconds(1), seconds(1) + milliseconds(64));
    step(background_, seconds(1), seconds(1) + milliseconds(64), true);
    EXPECT_EQ(stage(seconds(2)), HeldBack::No) << "0.8 of the device; nor is lateness in the background overload";
    step(visible, seconds(2), seconds(2) + milliseconds(64), true, true);
    EXPECT_EQ(stage(seconds(2) + milliseconds(100)), HeldBack::No) << "nor that of a first step";
    Nanoseconds now = seconds(3);
    const auto late = [&] {
        step(visible, now, now + milliseconds(64), true);
        now += milliseconds(600);
    };
    late(), late();
    EXPECT_EQ(stage(now - milliseconds(150)), HeldBack::Skipped) << "for a second";
    EXPECT_EQ(stage(now), HeldBack::Half);
    late(), late();
    EXPECT_EQ(stage(now), HeldBack::Quarter);
    late(), late();
    EXPECT_EQ(stage(now), HeldBack::Eighth);
    late(), late(), late();
    EXPECT_EQ(stage(now), HeldBack::Eighth) << "no clip stops for ever";
    EXPECT_EQ(load_.figures(visible, now).held_back, HeldBack::No);
    EXPECT_EQ(load_.figures(visible, now).misses, 10U);
    const Nanoseconds calm = now - milliseconds(600) + milliseconds(64) + seconds(2);
    EXPECT_EQ(stage(calm - milliseconds(1)), HeldBack::Eighth);
    EXPECT_EQ(stage(calm), HeldBack::Quarter);
    EXPECT_EQ(stage(calm + seconds(2)), HeldBack::Half);
    EXPECT_EQ(stage(calm + seconds(4)), HeldBack::Skipped);
    EXPECT_EQ(stage(calm + seconds(6)), HeldBack::No);
    EXPECT_EQ(said_,
              (std::vector<std::string>{
                  "overload: 2 clips that share a device want 0.40 seconds of it a second, and a visible one was "
                  "late; 1 in the background are skipped while visible ones wait",
                  "visible clips are still late: those in the background run at 1/2 of their rates at most",
                  "visible clips are still late: those in the background run at 1/4 of their rates at most",
                  "visible clips are still late: those in the background run at 1/8 of their rates at most",
                  "the overload is over: no clip in the background is held back any more"}));
}

TEST_F(RunnerLoads, SkipButDoNotSlowTheBackgroundWhereClipsOnlyWantTooMuch) {
    const auto visible = join(kVisible);
    background_ = join(kBackground);
    Nanoseconds now = seconds(1);
    for (int i = 0; i < 40; ++i, now += milliseconds(160)) {  // 0.6 of the device each
        step(visible, now, now + milliseconds(96));
        step(background_, now, now + milliseconds(96));
    }
    EXPECT_NEAR(load_.figures(now).demand, 1.2, 1e-9);
    EXPECT_EQ(stage(now), HeldBack::Skipped);
    ASSERT_EQ(said_.size(), 1U);
    EXPECT_EQ(said_[0].substr(0, 74), "overload: 2 clips that share a device want 1.20 seconds of it a second; 1 ");
    const Nanoseconds begin = now;
    for (; now < begin + seconds(4); now += milliseconds(160)) step(background_, now, now + milliseconds(96));
    EXPECT_EQ(stage(now), HeldBack::No) << "the visible clip asks for no steps";
}

TEST_F(RunnerLoads, SayWhenAStepThatIsHeldBackMayAskForItsTurn) {
    const auto visible = join(kVisible);
    background_ = join(kBackground);
    const auto turn = [&](Nanoseconds asked, Nanoseconds now) { return load_.turn(background_, asked, now); };
    using Turn = RunnerLoad::Turn;
    EXPECT_EQ(turn(seconds(1), seconds(1)), Turn{});
    load_.enqueued(background_, seconds(1), {}, false);
    step(visible, seconds(2), seconds(2), true);
    const Nanoseconds asked = seconds(2);
    EXPECT_EQ(turn(asked, asked), (Turn{.from = seconds(1), .is_skipped = true}));
    EXPECT_EQ(load_.turn(visible, asked, asked), Turn{});
    Nanoseconds now = asked;
    for (int i = 0; i < 20; ++i, now += milliseconds(300)) step(visible, now, now, true);
    ASSERT_EQ(stage(now), HeldBack::Eighth);
    EXPECT_EQ(turn(now, now), (Turn{.from = seconds(1) + 8 * kShown, .is_skipped = true}));
    EXPECT_EQ(turn(now - 8 * kShown, now), (Turn{.from = seconds(1) + 8 * kShown, .is_skipped = false}))
        << "it takes its place in the order";
    load_.enqueued(background_, now, seconds(1), true);
    const ClipFigures figures = load_.figures(background_, now);
    EXPECT_EQ(figures.number, 2U);
    EXPECT_EQ(figures.steps, 2U);
    EXPECT_EQ(figures.steps_held_back, 1U);
    EXPECT_EQ(figures.longest, seconds(1));
}

/// In a lane where a visible clip's step takes 10 ms of the 40 that its frames show, and one in the background 60: the
/// rule leaves few late steps, where the queue's order alone lets every one in the background delay visible ones.
TEST_F(RunnerLoads, LeaveVisibleClipsFewLateStepsBesideALongOneInTheBackground) {
    struct Clip {
        ClipTerms terms;
        Nanoseconds step;
        DueTimes dues{};
        RunnerLoad::Number number = 0;
        Nanoseconds asked{};
        int steps = 0, misses = 0;
    };
    const auto run = [&](bool by_rule) {
        std::vector<Clip> clips;
        for (int i = 0; i < 3; ++i)
            clips.push_back({{.size = kVisible.size, .fps = 100, .frames = 4}, milliseconds(10)});
        clips.push_back(
            {{.size = {.height = 120, .width = 312}, .fps = 100, .frames = 4, .background = true}, milliseconds(60)});
        clips.back().dues = DueTimes(1, true);
        for (Clip& clip : clips) clip.number = join(clip.terms);
        Nanoseconds now{}, served = Nanoseconds::max();
        while (now < seconds(60)) {
            Clip* next = nullptr;
            std::pair<bool, Nanoseconds> first;
            for (Clip& clip : clips) {
                if (clip.asked > now) continue;
                const RunnerLoad::Turn turn = load_.turn(clip.number, clip.asked, now);
                const std::pair place{by_rule && turn.is_skipped,
                                      clip.dues.next(clip.asked, clip.terms.shown(), served).order};
                if ((by_rule && turn.from > now) || (next != nullptr && place >= first)) continue;
                next = &clip, first = place;
            }
            if (next == nullptr) {
                now += milliseconds(1);
                continue;
            }
            const DueTimes::Due due = next->dues.next(next->asked, next->terms.shown(), served);
            next->dues.take(due);
            if (!first.first) served = due.order;
            step(next->number, now, now + next->step, now + next->step > due.wanted);
            now += next->step;
            next->misses += now > due.wanted ? 1 : 0;
            ++next->steps;
            next->asked = next->terms.background ? now : std::max(now, next->asked + next->terms.shown());
        }
        const int visible_misses = clips[0].misses + clips[1].misses + clips[2].misses;
        for (Clip& clip : clips) load_.leave(clip.number);
        return std::pair{visible_misses, clips.back().steps};
    };
    const auto [misses, background] = run(false);
    const auto [misses_by_rule, background_by_rule] = run(true);
    EXPECT_GT(misses, 500);
    EXPECT_LT(3 * misses_by_rule, 2 * misses);
    EXPECT_GT(background_by_rule, 60 * 25 / 9) << "an eighth of its rate";
    EXPECT_LE(background_by_rule, background);
}

}  // namespace
}  // namespace kinetograph::vae
