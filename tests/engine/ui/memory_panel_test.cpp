// The panel of arenas and resources.
#include "panels_fixture.hpp"

#include <kinetograph/engine/ui/theme.hpp>

namespace kinetograph::ui::testing {
namespace {

TEST_F(Panels, MemoryShowsArenasImportsAndTheApplicationsFigures) {
    profile_.set_memory({{.device = "GPU 0", .what = "weights", .bytes = 512U << 20U, .budget = 0},
                         {.device = "GPU 0", .what = "heap", .bytes = 3U << 20U, .budget = 8U << 20U}});
    recorder_.count({.name = "peak of the decoder", .device = "GPU 0", .unit = "MiB"}, now_, 700);
    profile_.update(now_ + milliseconds(300));
    const Overheard& panel = open(make_memory_panel());
    expect_all(panel.text, {"GPU 0 weights: 512 MiB", "3.00 MiB of 8.00 MiB", "arenas 4.00 MiB, 6.00 MiB without",
                            "imported, outlives a step: 2.00 MiB", "GPU 0: peak of the decoder 700 MiB"});
    recorder_.count({.name = "heap", .device = "GPU 0", .unit = "MiB"}, now_, 3);
    recorder_.count({.name = "heap", .device = "GPU 1", .unit = "MiB"}, now_, 5);
    profile_.update(now_ + milliseconds(600));
    picture();
    EXPECT_EQ(panel.text.find("GPU 0: heap"), std::string::npos) << "its bar is there: " << panel.text;
    expect_all(panel.text, {"GPU 1: heap 5.00 MiB"});
    bool explained = false;
    for (float y = panel.place.Min.y + 40; y < panel.place.Max.y && !explained; y += 20) {
        point_at(panel.place.Min.x + 30, y);
        explained = has_tooltip();
    }
    EXPECT_TRUE(explained) << "a resource under the pointer";
}

TEST_F(Panels, TheBandOfTheSelectedPassIsBelowTheBlocksOfTheArena) {
    open(make_memory_panel());
    select("up2.conv1", "accelerator");
    picture(2);
    const auto& vertices = window_of("Memory").DrawList->VtxBuffer;
    const auto first = [&](ImU32 color) {
        return std::ranges::find(vertices, color, &ImDrawVert::col) - vertices.begin();
    };
    ASSERT_LT(first(theme::resource_color(0)), vertices.size());
    EXPECT_LT(first(theme::faded(theme::kSelected, 0.25F)), first(theme::resource_color(0)));
}

}  // namespace
}  // namespace kinetograph::ui::testing
