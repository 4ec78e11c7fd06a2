// What panels are drawn with: texts that fit, plots, colours.
#include "panels_fixture.hpp"

#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/plot.hpp>
#include <kinetograph/engine/ui/theme.hpp>

namespace kinetograph::ui::testing {
namespace {

TEST_F(Panels, ATextThatIsTooLongLosesAnEndToAnEllipsis) {
    picture();
    ImGui::NewFrame();  // the font is ImGui's own, of 7 pixels a letter, without the sign
    EXPECT_EQ(elided("residual.2", 70), "residual.2");
    EXPECT_EQ(elided("residual.2", 69), "residu...");
    EXPECT_EQ(elided("residual.2", 69, Cut::Begin), "...dual.2");
    EXPECT_EQ(elided("residual.2", 27), "") << "not even a letter fits";
    EXPECT_EQ(elided("\u00e9\u00e9\u00e9\u00e9\u00e9", 34), "\u00e9...") << "whole characters";
    EXPECT_EQ(elided("", 0), "");
    EXPECT_EQ(elided("60.0 ms", 48, Cut::Whole), "...") << "\"6...\" would be another number";
    EXPECT_EQ(elided("60.0 ms", 20, Cut::Whole), "");
    ImGui::EndFrame();
}

TEST_F(Panels, ATextGoesOnInAnotherLineAsLongAsThereIsRoom) {
    picture();
    ImGui::NewFrame();
    const auto lines = [](const char* text, float width, float height) {
        return wrapped(text, width, height, *ImGui::GetFont(), ImGui::GetFontSize());
    };
    EXPECT_EQ(lines("one two\nthree", 200, 100), "one two\nthree");
    EXPECT_EQ(lines("one two three", 50, 100), "one two\nthree");
    EXPECT_EQ(lines("one two three", 50, 25), "one ...") << "another line of 13 pixels has no room";
    EXPECT_EQ(lines("one two\nthree", 90, 25), "one two...");
    EXPECT_EQ(lines("abcdefghij", 35, 100), "abcde\nfghij") << "a word without a blank is broken";
    EXPECT_EQ(lines("\u00e9\u00e9\u00e9", 1, 100), "\u00e9\n\u00e9\n\u00e9") << "whole characters";
    EXPECT_EQ(lines("one", 200, 12), "");
    EXPECT_EQ(lines("", 200, 100), "");
    ImGui::EndFrame();
}

TEST(Plots, AreCutAboveNearlyAllValuesOnlyWhereTheyClip) {
    std::vector<float> values(200, 10.0F);
    EXPECT_EQ(plot_top(values, {.clips = true}), 10.0F);
    values[7] = 1000.0F;
    values[8] = 12.0F;
    EXPECT_EQ(plot_top(values, {}), 1000.0F);
    EXPECT_EQ(plot_top(values, {.clips = true}), 12.5F);
    EXPECT_EQ(plot_top(values, {.line = 40.0F, .clips = true}), 40.0F);
    for (std::size_t i = 0; i < 100; ++i) values[i] = 1000.0F;  // no outliers: half of them
    EXPECT_EQ(plot_top(values, {.clips = true}), 1000.0F);
    EXPECT_GT(plot_top({}, {}), 0.0F);
}

TEST_F(Panels, TextOnEveryColourStandsOut) {
    constexpr double kReadable = 4.5;  // WCAG 2, level AA
    EXPECT_NEAR(theme::contrast(IM_COL32(0, 0, 0, 255), IM_COL32(255, 255, 255, 255)), 21.0, 1e-9);
    EXPECT_NEAR(theme::contrast(IM_COL32(119, 119, 119, 255), IM_COL32(255, 255, 255, 255)), 4.48, 0.01);
    for (std::size_t resource = 0; resource < 39; ++resource) {
        const ImU32 color = theme::resource_color(resource);
        EXPECT_GE(theme::contrast(color, theme::text_on(color)), kReadable) << resource;
        EXPECT_NE(color, theme::resource_color(resource + 1));
    }
    for (const char* track : {"graphics", "async_compute", "transfer", "accelerator", "host", "present", "another"})
        EXPECT_GE(theme::contrast(theme::track_color(track), theme::kGroundSolid), kReadable) << track;
    EXPECT_EQ(theme::text_on(IM_COL32(20, 20, 80, 255)), theme::kText);
    EXPECT_EQ(theme::track_color("accelerator #2"), theme::track_color("accelerator"));
    EXPECT_EQ(theme::track_rank("accelerator #2"), theme::track_rank("accelerator"));
}

}  // namespace
}  // namespace kinetograph::ui::testing
