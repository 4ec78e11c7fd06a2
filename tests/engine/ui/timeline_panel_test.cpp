// The timeline.
#include "panels_fixture.hpp"

#include <kinetograph/engine/ui/theme.hpp>

namespace kinetograph::ui::testing {
namespace {

TEST_F(Panels, TimelineSelectsASpanByAClickAndExplainsItUnderThePointer) {
    const Overheard& panel = open(make_timeline_panel());
    // 500 ms are shown, of three steps and a part of a fourth: the newest decode ends 30 ms before the end.
    const float end = panel.place.Max.x - 8, width = panel.place.GetWidth() - 96 - 16;
    const float x = end - width * 50.0F / 500.0F;
    const auto found = selected_down(panel, x);
    EXPECT_EQ(found, std::vector<std::string>{"up2.conv1"});
    const auto later = selected_down(panel, end - width * 10.0F / 500.0F);
    EXPECT_EQ(later, std::vector<std::string>{"picture"});
}

TEST_F(Panels, TimelineZoomsByTheWheelPansByADragAndFollowsAgain) {
    const Overheard& panel = open(make_timeline_panel());
    const float x = panel.place.Min.x + 400, y = panel.place.Min.y + 300;
    expect_all(panel.text, {"following", "500 ms"});
    wheel(x, y, 2);
    expect_all(panel.text, {"following", "320 ms"});
    wheel(x, y, 100);
    expect_all(panel.text, {"1.00 us"});
    wheel(x, y, -200);
    expect_all(panel.text, {"10.00 s"});
    drag(x, y, 50);
    expect_all(panel.text, {"follow (F)"});
    point_at(-1, -1);
    type('F');
    expect_all(panel.text, {"following"});
}

TEST_F(Panels, TimelineShowsTheNewestStepWholeAndKeepsToIt) {
    const Overheard& panel = open(make_timeline_panel());
    type('S');
    expect_all(panel.text, {"follow (F)", "110 ms shown"});
    const float left = panel.place.Min.x + 8 + 96, width = panel.place.GetWidth() - 96 - 16;
    record(10);
    EXPECT_EQ(selected_down(panel, left + width * 0.5F, 60), std::vector<std::string>{"up2.conv1"});
    EXPECT_EQ(selected_down(panel, left + width * 0.9F, 60), std::vector<std::string>{"picture"});
}

TEST_F(Panels, TimelineNamesTheStepOfAnotherGraphThatALaneWaitedFor) {
    const profile::PlanId drawing = add_display_plan();
    recorder_.note({.counter = 1, .value = 9, .step = {plan_, 9}, .batch = 0, .signals = true});
    recorder_.note({.counter = 1, .value = 9, .step = {drawing, 2}, .batch = 0});
    recorder_.add(profile::Span{"draw", "display", milliseconds(1340), milliseconds(1345), 1, drawing});
    recorder_.add(profile::Span{"draw", "display", milliseconds(1425), milliseconds(1475), 2, drawing});
    profile_.update(now_);
    const Overheard& panel = open(make_timeline_panel());
    const std::string reason = "waiting for step 9 of plan " + std::to_string(plan_) + ": up2.conv1 (accelerator)";
    bool explained = false;
    for (float y = panel.place.Min.y + 60; y < panel.place.Max.y - 60 && !explained; y += 16)
        explained = explains(panel, {panel.place.GetCenter().x, y}, {panel.place.Max.x - 8, y}, reason.c_str());
    EXPECT_TRUE(explained) << reason;
}

TEST_F(Panels, TheAxisOfTheTimelineMovesWithTheSpansAndShowsWhereItIsNow) {
    const Overheard& panel = open(make_timeline_panel());
    expect_all(panel.text, {"500 ms shown, to 50.0 ms before now"});
    const float x = panel.place.Min.x + 400, y = panel.place.Min.y + 300;
    // The first span began at 150 ms; the newest ended at 1.45 s.
    const float before = place_of("Timeline", "1.1 s");
    drag(x, y, 31);
    EXPECT_NEAR(place_of("Timeline", "1.1 s"), before + 31, 1.1F);
    EXPECT_EQ(place_of("Timeline", "now"), kNowhere) << "it is later now than what is shown";
    const float width = panel.place.GetWidth() - 96 - 16, right = panel.place.Max.x - 8;
    drag(x, y, -31 - 80 - width * 50 / 500);
    EXPECT_NEAR(place_of("Timeline", "now"), right - 80 + 3, 2);
    expect_all(panel.text, {"after now"});
}

TEST_F(Panels, TheTimelineNamesTheErrorOfEveryLane) {
    recorder_.note_clock("graphics", std::chrono::microseconds(16), 0.5);
    const Overheard& panel = open(make_timeline_panel());
    expect_all(panel.text, {"clocks: graphics \u00b116 us, others the host's"});
    EXPECT_NEAR(place_of("Timeline", "\u00b116 us"), place_of("Timeline", "graphics"), 3);
    EXPECT_NEAR(place_of("Timeline", "host's clock"), place_of("Timeline", "accelerator"), 3);
}

TEST_F(Panels, TheTimelineFramesNoIdleTimeWithoutItsName) {
    const Overheard& panel = open(make_timeline_panel());
    const auto framed = [&] {  // corners of frames within the first lane
        std::size_t corners = 0;
        for (const ImDrawVert& vertex : window_of("Timeline").DrawList->VtxBuffer)
            corners += vertex.col == theme::kLine && vertex.pos.y > panel.place.Min.y + 80 &&
                               vertex.pos.y < panel.place.Min.y + 130
                           ? 1
                           : 0;
        return corners;
    };
    EXPECT_GT(framed(), 0U);
    EXPECT_NE(place_of("Timeline", "between steps"), kNowhere);
    wheel(panel.place.Min.x + 400, panel.place.Min.y + 300, -3);  // half as wide: 56 pixels
    EXPECT_EQ(place_of("Timeline", "between steps"), kNowhere);
    EXPECT_EQ(framed(), 0U);
    EXPECT_TRUE(explains(panel, {panel.place.Min.x + 120, panel.place.Min.y + 105},
                         {panel.place.Max.x - 8, panel.place.Min.y + 105},
                         "accelerator idle for 80.0 ms\nbetween steps"));
}

TEST_F(Panels, TimelineMarksAStepAnewThatHasTheNumberOfAnother) {
    const Overheard& panel = open(make_timeline_panel());
    record(10);
    picture();
    // Another run of the same graph counts from anew: step 10 again, in which the upload is first and holds nothing up.
    const auto add = [&](const char* name, const char* track, int from, int to) {
        recorder_.add(profile::Span{name, track, milliseconds(2000 + from), milliseconds(2000 + to), 10, plan_});
    };
    add("upload", "graphics", 0, 4);
    add("conv_in", "accelerator", 2, 30);
    add("up2.conv1", "accelerator", 30, 60);
    add("picture", "graphics", 62, 100);
    now_ = milliseconds(2150);
    profile_.update(now_);
    picture(2);
    const auto x_of = [&](float ms_before_the_end) {
        return panel.place.Max.x - 8 - (panel.place.GetWidth() - 96 - 16) * ms_before_the_end / 500;
    };
    const float top = panel.place.Min.y + 50, bottom = panel.place.Max.y - 4;
    EXPECT_TRUE(explains(panel, {x_of(80), top}, {x_of(80), bottom}, "conv_in is on the critical path of step 10"));
    EXPECT_FALSE(explains(panel, {x_of(98), top}, {x_of(98), bottom}, "upload is on the critical path"));
}

TEST_F(Panels, TimelineLabelsNeitherOverlapNorAreCutAtAnyZoom) {
    record_a_thousand_passes();
    for (std::uint64_t step = 11; step < 20; ++step)
        recorder_.add_frame({.index = 1000 + step, .shown = milliseconds(1000 + 7 * step), .late = step % 2 == 0});
    const Overheard& panel = open(make_timeline_panel());
    host_.selection().select(recorder_.names().intern("up2.conv1"), recorder_.names().intern("accelerator"), plan_);
    wheel(panel.place.Min.x + 600, panel.place.Min.y + 300, -100);
    std::size_t most = 0;
    for (int notch = 0; notch < 45; ++notch) {
        const std::vector<Letter> letters = letters_of("Timeline");
        most = std::max(most, letters.size());
        for (std::size_t i = 0; i < letters.size(); ++i) {
            const ImRect clipped = letters[i].place;
            ASSERT_TRUE(letters[i].is_whole())
                << "at notch " << notch << ", " << clipped.Min.x << ", " << clipped.Min.y;
            for (std::size_t other = i + 1; other < letters.size(); ++other)
                ASSERT_FALSE(letters[other].place.Overlaps(clipped))
                    << "at notch " << notch << ", " << clipped.Min.x << ", " << clipped.Min.y;
        }
        wheel(panel.place.Min.x + 600, panel.place.Min.y + 300, 1);
        if (notch == 20) drag(panel.place.Min.x + 300, panel.place.Min.y + 300, 55);
    }
    EXPECT_GT(most, 150U);
}

TEST_F(Panels, TheTimelineGoesToAPassThatIsSelectedElsewhere) {
    const Overheard& panel = open(make_timeline_panel());
    wheel(panel.place.Min.x + 600, panel.place.Min.y + 300, 14);  // 22 ms, which end with "picture"
    point_at(-1, -1);
    select("picture", "graphics");
    picture(2);
    expect_all(panel.text, {"following"});
    select("conv_in", "accelerator");
    picture(2);
    expect_all(panel.text, {"follow (F)"});
    const float middle = (panel.place.Min.x + 96 + panel.place.Max.x) / 2;
    EXPECT_EQ(selected_down(panel, middle, 60).front(), "conv_in");
}

TEST_F(Panels, LinesOfTheTimelineExplainThemselves) {
    const Overheard& panel = open(make_timeline_panel());
    type('S');
    const float left = panel.place.Min.x + 8 + 96, width = panel.place.GetWidth() - 96 - 16;
    const auto x_of = [&](float ms) { return left + width * (ms + 5) / 110; };  // the step of 100 ms is in the middle
    const float top = panel.place.Min.y + 50, bottom = panel.place.Max.y - 4;
    EXPECT_TRUE(
        explains(panel, {x_of(72.5F), top}, {x_of(72.5F), bottom},
                 "picture on graphics waited for up2.conv1 on accelerator\nand began 5.00 ms after that had ended; "
                 "a hand-over is expected to cost 50 us"));
    EXPECT_TRUE(explains(panel, {x_of(50), top}, {x_of(50), bottom}, "up2.conv1 is on the critical path of step 9"));
    EXPECT_TRUE(explains(panel, {x_of(50), top}, {x_of(50), bottom}, "step 9 of plan 1: 4 passes in 100 ms"));
    select("up2.conv1", "accelerator");
    EXPECT_TRUE(
        explains(panel, {x_of(25), top}, {x_of(25), bottom}, "up2.conv1 needs conv_in.out of conv_in\n3.00 MiB"));
}

TEST_F(Panels, KeysOfAPanelAreTypedLettersThatItTakesOnlyWithTheFocus) {
    const Overheard& panel = open(make_timeline_panel());
    ImGui::GetIO().KeysDown[static_cast<int>('S')] = true;  // this back end's number may mean another key
    picture(2);
    expect_all(panel.text, {"following"});
    ImGui::SetWindowFocus(PanelHost::window_name("Profiler").c_str());
    type('S');
    expect_all(panel.text, {"following"});
    ImGui::SetWindowFocus(PanelHost::window_name("Timeline").c_str());
    type('S');
    expect_all(panel.text, {"follow (F)", "110 ms shown"});
}

TEST_F(Panels, AThousandPassesAreDrawnAtEveryZoom) {
    record_a_thousand_passes();
    const Overheard& panel = open(make_timeline_panel());
    for (const float notches : {-30.0F, 10.0F, 10.0F, 10.0F, 10.0F, 10.0F, 10.0F}) {
        wheel(panel.place.Min.x + 600, panel.place.Min.y + 100, notches);
        EXPECT_LT(ImGui::GetDrawData()->TotalVtxCount, 60'000) << "what lies in one pixel is drawn once";
    }
    open(make_passes_panel());
    EXPECT_LT(ImGui::GetDrawData()->TotalVtxCount, 60'000) << "rows that scroll out of view are not drawn";
}

}  // namespace
}  // namespace kinetograph::ui::testing
