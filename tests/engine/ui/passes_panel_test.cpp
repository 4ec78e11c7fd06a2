// The panel of passes.
#include "panels_fixture.hpp"

namespace kinetograph::ui::testing {
namespace {

TEST_F(Panels, PassesShowsTimesRatesAndKernels) {
    recorder_.note_ceiling("accelerator", {.operations_per_second = 4e12, .bytes_per_second = 30e9});
    profile_.update(now_ + milliseconds(300));
    const Overheard& panel = open(make_passes_panel());
    expect_all(panel.text, {"4 of 4 passes", "conv_in", "up2.conv1", "upload", "picture"});
    expect_all(panel.text, {"steps of plan 1: the first 100 ms; 8 later ones: median 100 ms"});
    expect_all(panel.text, {"60.0 ms", "25.0 ms", "1.00", "15.00", "50.0%"});  // 60 GFLOP and 0.9 GB in 60 ms
    host_.selection() = {recorder_.names().intern("up2.conv1"), recorder_.names().intern("accelerator"), plan_};
    picture();
    expect_all(panel.text, {"direct-cpu: first of the open; next onednn-cpu", "up2.conv1 on accelerator",
                            "newest 9 calls, to 60.0 ms", "histogram of 8 calls"});
}

TEST_F(Panels, PassesSortsByAHeaderFiltersByTextAndSelectsByAClick) {
    const Overheard& panel = open(make_passes_panel());
    const float x = panel.place.Min.x + 30;
    const std::vector<std::string> by_share{"up2.conv1", "picture", "conv_in", "upload"};
    EXPECT_EQ(selected_down(panel, x, 88), by_share) << "below the headers";
    host_.selection() = {};
    click(x, panel.place.Min.y + 75);  // the header "pass"
    point_at(-1, -1);                  // a tooltip would end what is overheard
    host_.selection() = {};
    EXPECT_LT(panel.text.find("conv_in"), panel.text.find("picture"));
    EXPECT_LT(panel.text.find("picture"), panel.text.find("up2.conv1"));

    click(x, panel.place.Min.y + 36);  // the filter box
    for (const char letter : std::string("conv")) type(letter);
    point_at(-1, -1);
    expect_all(panel.text, {"2 of 4 passes", "conv_in", "up2.conv1"});
    EXPECT_EQ(panel.text.find("upload"), std::string::npos);
}

TEST_F(Panels, PassesKeepsItsRowsUnderThePointerUntilTheButtonIsUp) {
    const Overheard& panel = open(make_passes_panel());
    point_at(panel.place.Min.x + 30, panel.place.Min.y + 92);  // the row of the largest share
    ImGui::GetIO().MouseDown[0] = true;
    picture();
    for (std::uint64_t step = 10; step < 30; ++step) record(step, milliseconds(1));  // "picture" takes most from now on
    picture(2);
    ImGui::GetIO().MouseDown[0] = false;
    picture(2);
    EXPECT_EQ(selected(), "up2.conv1");
}

}  // namespace
}  // namespace kinetograph::ui::testing
