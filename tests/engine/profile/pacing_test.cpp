#include <kinetograph/engine/profile/profile.hpp>

#include <gtest/gtest.h>

namespace kinetograph::profile {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A decoder's plan of two passes and a display's of one.
class FramesOfSteps : public ::testing::Test {
  protected:
    static PlanFacts facts(NameTable& names, const char* track, std::initializer_list<const char*> passes) {
        PlanFacts plan;
        for (const char* pass : passes)
            plan.passes.push_back({.name = names.intern(pass), .track = names.intern(track)});
        return plan;
    }
    void decode(std::uint64_t step, int begin, int first, int second) {
        add("conv_in", "accelerator", {decoder_, step}, begin, first);
        add("conv_out", "accelerator", {decoder_, step}, begin + first, second);
    }
    void add(const char* name, const char* track, StepKey step, int begin, int length) {
        recorder_.add(Span{name, track, milliseconds(begin), milliseconds(begin + length), step.execution, step.plan});
    }
    /// Ten decoder steps of 10 + 20 ms every 40 ms, and ten pictures of 2 ms.
    void warm_up() {
        for (std::uint64_t step = 1; step <= 10; ++step) {
            decode(step, static_cast<int>(40 * step), 10, 20);
            add("picture", "graphics", {display_, step}, static_cast<int>(40 * step), 2);
        }
        profile_.update(milliseconds(440));
    }
    const Pacing& pacing() const { return profile_.pacing(); }

    Recorder recorder_;
    PlanId decoder_ = recorder_.plans().add(facts(recorder_.names(), "accelerator", {"conv_in", "conv_out"}));
    PlanId display_ = recorder_.plans().add(facts(recorder_.names(), "graphics", {"picture"}));
    Profile profile_{recorder_};
};

TEST_F(FramesOfSteps, ALateFrameNamesThePassOfItsOwnStepAndNotOfTheNewest) {
    warm_up();
    decode(11, 440, 10, 90);   // conv_out made its frames late
    decode(12, 540, 200, 20);  // and conv_in those of the step after it, which is the newest
    recorder_.add_frame({.index = 44, .shown = milliseconds(800), .late = true, .made_by = {decoder_, 11}});
    profile_.update(milliseconds(800));
    ASSERT_EQ(pacing().late_frames.size(), 1U);
    const LateFrame& late = pacing().late_frames.front();
    EXPECT_EQ(profile_.text(late.pass), "conv_out");
    EXPECT_EQ(late.step, (StepKey{decoder_, 11}));
    EXPECT_NEAR(static_cast<double>(late.excess.count()), 70e6, 1e6);
}

TEST_F(FramesOfSteps, ThePartsOfAFramesTimeAreThoseOfItsOwnStep) {
    warm_up();
    decode(11, 440, 10, 90);
    decode(12, 540, 1, 1);
    for (const std::uint64_t index : {0, 1})  // the first one counts in no distribution
        recorder_.add_frame(
            {.index = index, .shown = milliseconds(600), .present = milliseconds(8), .made_by = {decoder_, 11}});
    profile_.update(milliseconds(600));
    const FrameTimes& frame = pacing().newest.back();
    EXPECT_EQ(frame.decode, milliseconds(100));
    EXPECT_EQ(frame.queued, milliseconds(52)) << "from 540, when it was decoded, to 592, when it was taken";
    EXPECT_EQ(frame.present, milliseconds(8));
    EXPECT_EQ(frame.latency, milliseconds(160)) << "which they add up to";
    EXPECT_EQ(pacing().latency.max(), milliseconds(160));
}

TEST_F(FramesOfSteps, AFrameWhoseStepsAreNotCollectedYetIsJudgedOnceTheyAre) {
    warm_up();
    recorder_.add_frame({.index = 1, .shown = milliseconds(500)});
    recorder_.add_frame(
        {.index = 44, .shown = milliseconds(600), .late = true, .made_by = {decoder_, 11}, .drawn_by = {display_, 11}});
    recorder_.add_on_screen({44, milliseconds(610)});
    profile_.update(milliseconds(610));
    EXPECT_EQ(pacing().late, 1U);
    EXPECT_TRUE(pacing().late_frames.empty());
    decode(11, 440, 10, 22);
    profile_.update(milliseconds(620));
    EXPECT_TRUE(pacing().late_frames.empty()) << "what drew it is not known yet";
    add("picture", "graphics", {display_, 11}, 560, 32);
    profile_.update(milliseconds(630));
    ASSERT_EQ(pacing().late_frames.size(), 1U);
    EXPECT_EQ(profile_.text(pacing().late_frames.front().pass), "picture") << "30 ms over its median, conv_out 2";
    EXPECT_EQ(pacing().newest.back().decode, milliseconds(32));
    ASSERT_EQ(pacing().to_screen.count(), 1U);
    EXPECT_EQ(pacing().to_screen.max(), milliseconds(170)) << "from 440, when its step began";
}

TEST_F(FramesOfSteps, OneWhoseStepNeverComesIsGivenUpAndBlamesNoPass) {
    warm_up();
    recorder_.add_frame({.index = 0, .shown = milliseconds(500), .late = true, .made_by = {decoder_, 11}});
    for (std::uint64_t step = 12; step <= 40; ++step) decode(step, static_cast<int>(40 * step), 10, 20);
    profile_.update(milliseconds(2000));
    ASSERT_EQ(pacing().late_frames.size(), 1U);
    EXPECT_EQ(pacing().late_frames.front().pass, 0U);
    for (std::uint64_t i = 1; i <= 2 * Pacing::kMostFrames; ++i)
        recorder_.add_frame({.index = i, .shown = milliseconds(2000 + i), .late = true, .made_by = {display_ + 9, 1}});
    profile_.update(milliseconds(4000));
    EXPECT_EQ(pacing().late_frames.back().index, Pacing::kMostFrames) << "no more than so many wait";
    profile_.finish(milliseconds(4000));
    EXPECT_EQ(pacing().late_frames.back().index, 2 * Pacing::kMostFrames) << "and none at the end";
}

TEST_F(FramesOfSteps, TheRateIsThatOfTheLastSecondAndNotSinceTheStart) {
    const auto show = [&](Nanoseconds at) {
        recorder_.add_frame({.index = 0, .shown = at});
        profile_.update(at);
    };
    EXPECT_EQ(pacing().rate(seconds(1)), 0.0);
    for (int i = 0; i < 240; ++i) show(milliseconds(40 * i));  // 25 a second
    EXPECT_NEAR(pacing().rate(milliseconds(9560)), 25.0, 0.1);
    for (int i = 1; i <= 100; ++i) show(milliseconds(9560 + 10 * i));
    EXPECT_NEAR(pacing().rate(milliseconds(10'560)), 100.0, 0.5);
    EXPECT_NEAR(pacing().rate(milliseconds(10'575)), 100.0, 0.5) << "the next one is hardly due";
    EXPECT_LT(pacing().rate(milliseconds(14'560)), 1.0) << "nothing comes any more";
    show(seconds(30));
    show(seconds(33));
    EXPECT_NEAR(pacing().rate(seconds(33)), 1.0 / 3.0, 1e-6) << "the newest two, of a slow decoder";
}

TEST_F(FramesOfSteps, AKeptStepKeepsCountersMemoryAndPacingAsTheyWereThen) {
    const Counter waiting{.name = "frames waiting"}, clock{.name = "clock", .device = "a GPU", .unit = "MHz"};
    recorder_.count(clock, milliseconds(10), 1980.0);
    recorder_.count(waiting, milliseconds(20), 4.0);
    profile_.set_memory({{"a GPU", "weights", 7, 0}});
    warm_up();
    for (std::uint64_t i = 0; i < 5; ++i)
        recorder_.add_frame({.index = i, .shown = milliseconds(400 + 10 * i), .late = i == 3});
    recorder_.count(waiting, milliseconds(500), 1.0);
    decode(11, 440, 10, 90);
    recorder_.count(waiting, milliseconds(545), 0.0);  // after the step
    profile_.update(milliseconds(560));
    decode(12, 560, 10, 900);
    profile_.update(milliseconds(1500));
    profile_.set_memory({{"a GPU", "weights", 900, 0}});
    ASSERT_EQ(profile_.spikes().size(), 2U);
    const Spike& spike = profile_.spikes()[0];
    EXPECT_EQ(spike.step.execution, 11U);
    std::map<std::string, double> counters;
    for (const CounterSample& each : spike.counters) counters[std::string(profile_.text(each.name))] = each.value;
    EXPECT_EQ(counters, (std::map<std::string, double>{{"clock", 1980.0}, {"frames waiting", 1.0}}));
    ASSERT_EQ(spike.memory.size(), 1U);
    EXPECT_EQ(spike.memory[0].bytes, 7U);
    EXPECT_NE(spike.plan, nullptr);
    const PacingFigures& pacing = profile_.spikes()[1].pacing;
    EXPECT_EQ(pacing.frames, 5U);
    EXPECT_EQ(pacing.late, 1U);
    EXPECT_NEAR(pacing.rate, 100.0, 0.1);
    EXPECT_EQ(pacing.newest.size(), 5U);
}

}  // namespace
}  // namespace kinetograph::profile
