// The panel of frame times.
#include "panels_fixture.hpp"

namespace kinetograph::ui::testing {
namespace {

TEST_F(Panels, PacingShowsLowsPartsAndThePassThatWasLate) {
    record(10, milliseconds(90));
    const Overheard& panel = open(make_pacing_panel());
    expect_all(panel.text,
               {"10 frames", "6.7 fps in the last second", "150 ms", "100 ms", "1 late", "up2.conv1 | 30.0 ms | 10"});
}

TEST_F(Panels, PacingSaysWhatTellsOfTheScreenOrThatNothingDoes) {
    const Overheard& panel = open(make_pacing_panel());
    expect_all(panel.text, {"no extension of this driver tells when a frame is on the screen"});
    profile_.set_screen_source("VK_KHR_present_wait");
    recorder_.add_on_screen({9, profile_.pacing().newest.back().shown + milliseconds(12)});
    picture();
    expect_all(panel.text, {"display", "12.0 ms", "to screen", "on the screen: as VK_KHR_present_wait tells"});
}

TEST_F(Panels, PacingExplainsItsLatenciesFromTheBeginOfTheStepAndItsLateFramesFromTheirOwnSteps) {
    record(10, milliseconds(90));
    const Overheard& panel = open(make_pacing_panel());
    const float x = panel.place.Min.x + 30, top = panel.place.Min.y + 60, bottom = panel.place.Max.y;
    EXPECT_TRUE(explains(panel, {x, top}, {x, bottom},
                         "latency: from the begin of the step that made the frame until it was presented"));
    EXPECT_TRUE(explains(panel, {x, top}, {x, bottom},
                         "what exceeded its median most in the steps that made and drew the frame"));
}

TEST_F(Panels, OneLongFrameDoesNotFlattenThePlotOfTheOthersAndIsMarked) {
    for (std::uint64_t step = 10; step < 120; ++step) {
        recorder_.add_frame({.index = step, .shown = now_ += milliseconds(step == 60 ? 4000 : 16)});
        profile_.update(now_);
    }
    const Overheard& panel = open(make_pacing_panel());
    expect_all(panel.text, {"frame times, to 4.00 s; line: median 16.1 ms; red: late; 1 longer, marked"});
    EXPECT_NE(place_of("Pacing", "188 ms"), kNowhere) << "1.25 times the 150 ms of the steps";
    EXPECT_NE(place_of("Pacing", "93.8 ms"), kNowhere);
    EXPECT_NE(place_of("Pacing", "0"), kNowhere);
}

}  // namespace
}  // namespace kinetograph::ui::testing
