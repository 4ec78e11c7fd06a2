// The graph of passes.
#include "panels_fixture.hpp"

#include <kinetograph/engine/ui/theme.hpp>

namespace kinetograph::ui::testing {
namespace {

TEST_F(Panels, GraphShowsCountsAndCulledPassesAndSelectsByAClick) {
    const Overheard& panel = open(make_graph_panel());
    expect_all(panel.text, {"4 barriers, 3 batches, 1 waits, 1 culled", "50 us"});
    // Two lanes and what was culled, side by side.
    const float left = panel.place.Min.x + 40, third = panel.place.GetWidth() / 3;
    EXPECT_EQ(selected_down(panel, left, 70), (std::vector<std::string>{"conv_in", "up2.conv1"}));
    EXPECT_EQ(selected_down(panel, left + third, 70), (std::vector<std::string>{"upload", "picture"}));
    EXPECT_EQ(selected_down(panel, left + 2 * third, 70), std::vector<std::string>{});
}

TEST_F(Panels, TheGraphSaysWhatItsBoxesSayAndItsCurvesCanBeSeen) {
    open(make_graph_panel());
    ImGui::GetIO().DisplaySize = {1600, kSide};
    host_.arrange(0, 0, 1600, kSide);
    picture(3);
    EXPECT_NE(place_of("Graph", "barriers, pass, median"), kNowhere);
    std::size_t curves = 0;
    for (const ImDrawVert& vertex : window_of("Graph").DrawList->VtxBuffer)
        curves += vertex.col == theme::kCurve ? 1 : 0;
    EXPECT_GT(curves, 10U);
    EXPECT_GE(theme::kCurve >> IM_COL32_A_SHIFT, 90U);
}

TEST_F(Panels, TheGraphGoesToAPassThatIsSelectedElsewhere) {
    const Overheard& panel = open(make_graph_panel());
    wheel(panel.place.Min.x + 20, panel.place.Max.y - 20, 12);  // away from all boxes
    select("picture", "graphics");
    picture(2);
    host_.selection() = {};
    click((panel.place.Min.x + panel.place.Max.x) / 2, (panel.place.Min.y + 66 + panel.place.Max.y) / 2);
    EXPECT_EQ(selected(), "picture");
}

TEST_F(Panels, LinesOfTheGraphExplainThemselves) {
    const Overheard& panel = open(make_graph_panel());
    const float x = panel.place.Min.x + panel.place.GetWidth() / 3 - 12;  // between the lanes
    const ImVec2 from{x, panel.place.Min.y + 70}, to{x, panel.place.Min.y + 230};
    EXPECT_TRUE(
        explains(panel, from, to,
                 "graphics waits until accelerator has signalled that up2.conv1 is done;\nthe hand-over is expected "
                 "to cost 50 us a step"));
    EXPECT_TRUE(explains(panel, from, to, "picture needs frames, version 0 of up2.conv1\n1.00 MiB"));
}

}  // namespace
}  // namespace kinetograph::ui::testing
