// The panel of kept steps and of captures.
#include "panels_fixture.hpp"

namespace kinetograph::ui::testing {
namespace {

TEST_F(Panels, SpikesKeepsAStepThatTookTooLongAndComparesCaptures) {
    record(10, milliseconds(300));
    for (std::uint64_t step = 11; step < 40; ++step) record(step);
    const Overheard& panel = open(make_spikes_panel());
    expect_all(panel.text, {"step 10", "340 ms", "100 ms", "3.40"});
    choose_spike(panel);
    expect_all(panel.text,
               {"took", "over", "300 ms", "240 ms", "graphics idle", "waiting for up2.conv1 (accelerator)"});
    click(panel.place.Min.x + 30, panel.place.Min.y + 58);  // Keep A
    for (std::uint64_t step = 40; step < 200; ++step) record(step, milliseconds(50));
    now_ += milliseconds(300);
    picture(3);
    expect_all(panel.text, {"A with now", "by chance", "up2.conv1", "50.0 ms", "-24.6%"});
}

/// It did not become faster by what it took.
TEST_F(Panels, APassThatHasNotRunSinceACaptureHasNoDifference) {
    record_a_thousand_passes();
    profile_.update(now_);
    const Overheard& panel = open(make_spikes_panel());
    click(panel.place.Min.x + 30, panel.place.Min.y + 58);  // Keep A
    for (std::uint64_t step = 12; step < 200; ++step) record(step, milliseconds(50));
    picture(3);
    EXPECT_TRUE(are_in_order(panel.text, {"up2.conv1", "pass 0"})) << panel.text;
    EXPECT_EQ(panel.text.find("-100 us"), std::string::npos) << panel.text;
}

TEST_F(Panels, AKeptStepShowsTheCountersTheMemoryAndThePacingOfItsTime) {
    recorder_.count({.name = "clock", .device = "GPU 0", .unit = "MHz"}, now_, 990);
    recorder_.count({.name = "heap", .device = "GPU 0", .unit = "MiB"}, now_, 7);
    profile_.set_memory({{.device = "GPU 0", .what = "heap", .bytes = 7U << 20U, .budget = 8U << 20U}});
    record(10, milliseconds(300));
    recorder_.count({.name = "clock", .device = "GPU 0", .unit = "MHz"}, now_ + milliseconds(1), 1980);
    profile_.set_memory({{.device = "GPU 0", .what = "heap", .bytes = 2U << 20U, .budget = 8U << 20U}});
    for (std::uint64_t step = 11; step < 40; ++step) record(step);
    {
        const Overheard& panel = open(make_spikes_panel());
        EXPECT_EQ(panel.text.find("clock"), std::string::npos) << panel.text;
        choose_spike(panel);
        ImGui::GetIO().DisplaySize = {1600, kSide};
        host_.arrange(0, 0, 1600, kSide);
        picture(3);
        expect_all(panel.text, {"counters GPU 0: ", "clock 990 MHz", "heap 7.00 MiB",
                                "memory arena of accelerator 4.00 MiB   GPU 0 heap 7.00 MiB of 8.00 MiB",
                                "pacing 6.7 fps, lows: 1% 6.7, 0.1% 6.7; 0 of 9 frames late",
                                "medians interval 150 ms, decode 100 ms, queue 50.0 ms",
                                "frames frame 10 made by it, late: decode 340 ms", "8 frame times until then"});
        EXPECT_EQ(panel.text.find("1980"), std::string::npos) << panel.text;
    }
    const auto kept = host_.selection().spike;
    host_ = {};
    host_.selection().spike = kept;
    const Overheard& memory = open(make_memory_panel());
    expect_all(memory.text, {"step 10 of plan 1, kept", "GPU 0 heap: 7.00 MiB of 8.00 MiB", "conv_in.out"});
    host_.selection().spike = nullptr;
    picture();
    expect_all(memory.text, {"GPU 0 heap: 2.00 MiB of 8.00 MiB", "plan 1: 4 passes"});
}

TEST_F(Panels, AKeptStepNamesTheStepOfAnotherGraphThatALaneWaitedFor) {
    const profile::PlanId drawing = add_display_plan();
    for (std::uint64_t picture = 1; picture < 9; ++picture)
        recorder_.add(profile::Span{"draw", "display", milliseconds(100) * picture,
                                    milliseconds(100) * picture + milliseconds(5), picture, drawing});
    recorder_.note({.counter = 1, .value = 9, .step = {plan_, 9}, .batch = 0, .signals = true});
    recorder_.note({.counter = 1, .value = 9, .step = {drawing, 9}, .batch = 0});
    recorder_.add(profile::Span{"draw", "display", milliseconds(1425), milliseconds(1475), 9, drawing});
    profile_.update(now_);
    const Overheard& panel = open(make_spikes_panel());
    choose_spike(panel);
    expect_all(panel.text, {"display idle for 620 ms: waiting for step 9 of plan 1: up2.conv1 (accelerator)"});
}

TEST_F(Panels, SpikesKeepsWhatExceedsTheThresholdThatTheUserSets) {
    const Overheard& panel = open(make_spikes_panel());
    expect_all(panel.text, {"no step has taken too long"});
    click(panel.place.Min.x + 12, panel.place.Min.y + 36);  // the slider's least value
    EXPECT_LT(profile_.spike_threshold().median, 1.1);
    record(10, milliseconds(72));
    point_at(-1, -1);
    expect_all(panel.text, {"step 10", "1.12"});
}

}  // namespace
}  // namespace kinetograph::ui::testing
