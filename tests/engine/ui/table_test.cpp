// What the tables of all panels have in common, and the filter of their names.
#include "panels_fixture.hpp"

#include <kinetograph/engine/ui/filter.hpp>

namespace kinetograph::ui::testing {
namespace {

TEST_F(Panels, EveryTableSortsByItsHeaders) {
    record(10, milliseconds(300));
    record(11, milliseconds(90));
    {
        const Overheard& memory = open(make_memory_panel());
        EXPECT_TRUE(are_in_order(memory.text, {"conv_in.out", "conv1.kept", "frames"})) << memory.text;  // by size
        sort_by("resource");
        EXPECT_TRUE(are_in_order(memory.text, {"conv1.kept", "conv_in.out", "frames"})) << memory.text;
    }
    host_ = {};
    {
        const Overheard& pacing = open(make_pacing_panel());
        EXPECT_LT(pacing.text.find("30.0 ms | 11"), pacing.text.find("240 ms | 10")) << "the newest is first";
        sort_by("over its median");
        EXPECT_GT(pacing.text.find("30.0 ms | 11"), pacing.text.find("240 ms | 10")) << pacing.text;
        EXPECT_TRUE(are_in_order(pacing.text, {"interval", "decode"})) << pacing.text;
        sort_by("part");
        EXPECT_TRUE(are_in_order(pacing.text, {"decode", "interval"})) << pacing.text;
    }
    host_ = {};
    {
        const Overheard& spikes = open(make_spikes_panel());
        choose_spike(spikes);
        EXPECT_TRUE(are_in_order(spikes.text, {"up2.conv1", "conv_in"})) << spikes.text;  // by what is over the median
        sort_by("pass of the chosen step");
        EXPECT_TRUE(are_in_order(spikes.text, {"conv_in", "picture", "up2.conv1", "upload"})) << spikes.text;
        sort_by("kept step");
        click(spikes.place.Min.x + 30, spikes.place.Min.y + 58);  // Keep A
        host_.selection().spike = nullptr;
        for (std::uint64_t step = 12; step < 40; ++step) record(step, milliseconds(50));
        picture(3);
        EXPECT_TRUE(are_in_order(spikes.text, {"up2.conv1", "conv_in"})) << spikes.text;  // by the difference
        sort_by("pass");
        EXPECT_TRUE(are_in_order(spikes.text, {"conv_in", "picture", "up2.conv1", "upload"})) << spikes.text;
    }
    host_ = {};
    ImGui::GetIO().DisplaySize.x = 1600;  // the list has room for all its columns
    const Overheard& graph = open(make_graph_panel());
    host_.arrange(0, 0, 1600, kSide);
    picture(3);
    for (float x = 940; x < 1100 && graph.text.find("| order |") == std::string::npos; x += 8)
        click(x, graph.place.Min.y + 36);  // the box "list"
    EXPECT_TRUE(are_in_order(graph.text, {"conv_in", "up2.conv1", "upload", "picture"})) << graph.text;
    sort_by("barriers");
    EXPECT_TRUE(are_in_order(graph.text, {"up2.conv1", "conv_in", "picture", "upload"})) << graph.text;
}

TEST(NameFilters, KeepNamesWithAnyWordAndWithoutTheUnwantedOnes) {
    EXPECT_TRUE(NameFilter("").passes("anything"));
    EXPECT_TRUE(NameFilter(" , -").passes("anything"));
    const NameFilter filter("Conv, norm,-head");
    EXPECT_TRUE(filter.passes("up2.CONV1"));
    EXPECT_TRUE(filter.passes("up2.norm1"));
    EXPECT_FALSE(filter.passes("up2.upsample"));
    EXPECT_FALSE(filter.passes("head.conv"));
    EXPECT_TRUE(NameFilter("-head").passes("up2.upsample"));
}

TEST_F(Panels, OneFilterHoldsInAllPanels) {
    record(10, milliseconds(300));
    host_.selection().filter = "conv,-in";
    const auto expect_kept = [](const Overheard& panel, const char* kept, const char* left_out) {
        EXPECT_NE(panel.text.find("|" + std::string(kept) + " |"), std::string::npos) << panel.text;
        EXPECT_EQ(panel.text.find("|" + std::string(left_out) + " |"), std::string::npos) << panel.text;
    };
    expect_kept(open(make_passes_panel()), "up2.conv1", "conv_in");
    host_.remove("Passes");
    expect_kept(open(make_memory_panel()), "conv1.kept", "frames");
    host_.remove("Memory");
    expect_kept(open(make_pacing_panel()), "decode", "up2.conv");
    host_.selection().filter = "picture";
    picture();
    expect_kept(open(make_pacing_panel()), "decode", "up2.conv1");
    host_.remove("Pacing");
    const Overheard& spikes = open(make_spikes_panel());
    choose_spike(spikes);
    expect_kept(spikes, "picture", "up2.conv1");
    click(spikes.place.Min.x + 600, spikes.place.Min.y + 36);  // the box
    EXPECT_TRUE(ImGui::GetIO().WantTextInput);
    type('s');
    EXPECT_NE(host_.selection().filter.find('s'), std::string::npos) << host_.selection().filter;
}

TEST_F(Panels, TextsThatAreTooLongInATableLoseTheirBeginning) {
    const std::string stem = "decoder.upsamples.of.a.very.long.name.that.does.not.fit.into.any.column.";
    profile::PlanFacts plan;
    for (const char* end : {"residual.2", "residual.6"}) {
        plan.passes.push_back({.name = recorder_.names().intern(stem + end),
                               .track = recorder_.names().intern("accelerator"),
                               .batch = 0});
        const auto pass = static_cast<std::uint32_t>(plan.passes.size() - 1);
        plan.resources.push_back(
            {.name = end, .domain = "accelerator", .bytes = 1U << 20U, .first_pass = pass, .last_pass = pass});
    }
    plan.batches = {{.track = recorder_.names().intern("accelerator"), .first_pass = 0, .last_pass = 1}};
    plan.arenas = {{"accelerator", 1U << 20U}};
    plan.batches_told = 1;
    host_.selection().plan = recorder_.plans().add(plan);
    const Overheard& panel = open(make_memory_panel());
    expect_all(panel.text, {"| ...n.residual.2 |", "| ...n.residual.6 |"});
}

TEST_F(Panels, NoRowOfATableIsHiddenInPartUnderItsHeader) {
    record_a_thousand_passes();
    const Overheard& panel = open(make_passes_panel());
    ImGuiTable* table = nullptr;
    for (int i = 0; i < GImGui->Tables.GetMapSize(); ++i)
        if (ImGuiTable* each = GImGui->Tables.TryGetMapData(i)) table = each;
    ASSERT_NE(table, nullptr);
    const float row = ImGui::GetFontSize() + 2 * ImGui::GetStyle().CellPadding.y;
    const auto is_whole = [&](float pixels) { return std::abs(pixels / row - std::round(pixels / row)) < 0.01F; };
    const float height = table->InnerWindow->InnerRect.GetHeight();
    EXPECT_TRUE(is_whole(height)) << height;
    for (const float notches : {-1.0F, -2.0F, -7.0F, 3.0F}) {
        wheel(panel.place.Min.x + 60, panel.place.Min.y + 300, notches);
        picture(2);
        EXPECT_GT(table->InnerWindow->Scroll.y, 0);
        EXPECT_TRUE(is_whole(table->InnerWindow->Scroll.y)) << table->InnerWindow->Scroll.y;
    }
    for (const char* pass : {"pass 500", "pass 17", "pass 901"}) {
        select(pass, "accelerator");
        picture(5);
        EXPECT_TRUE(is_whole(table->InnerWindow->Scroll.y)) << table->InnerWindow->Scroll.y;
    }
}

TEST_F(Panels, TablesScrollToAPassThatIsSelectedElsewhere) {
    record_a_thousand_passes();
    host_.add(make_passes_panel());
    host_.arrange(0, 0, kSide, kSide);
    picture(3);
    ImGuiTable* table = nullptr;
    for (int i = 0; i < GImGui->Tables.GetMapSize(); ++i)
        if (ImGuiTable* each = GImGui->Tables.TryGetMapData(i)) table = each;
    ASSERT_NE(table, nullptr);
    sort_by("pass");
    const float row = ImGui::GetFontSize() + 2 * ImGui::GetStyle().CellPadding.y;
    EXPECT_EQ(table->InnerWindow->Scroll.y, 0);
    const auto select_pass = [&](const char* name) {
        host_.selection().select(recorder_.names().intern(name), recorder_.names().intern("accelerator"), 0);
        picture(3);
        return table->InnerWindow->Scroll.y;
    };
    EXPECT_EQ(select_pass("pass 10"), 0) << "it can be seen";
    const float down = select_pass("pass 990");
    EXPECT_NEAR(down + table->InnerClipRect.GetHeight() / 2, 993 * row, 14 * row)
        << "by name, \"pass 990\" is near the end";
    EXPECT_LT(select_pass("pass 11"), 20 * row);
    host_.show("Passes", false);
    EXPECT_LT(select_pass("pass 990"), 20 * row) << "it is not drawn";
    host_.show("Passes", true);
    picture(4);
    EXPECT_EQ(table->InnerWindow->Scroll.y, down) << "selected while it was closed";
}

TEST_F(Panels, BlocksSamplesAndPercentilesExplainThemselves) {
    {
        const Overheard& panel = open(make_memory_panel());
        EXPECT_TRUE(explains(panel, {panel.place.Min.x + 30, panel.place.Min.y + 60},
                             {panel.place.Min.x + 30, panel.place.Max.y},
                             "conv_in.out: 3.00 MiB, 75.0% of the arena\nfrom 0 B to 3.00 MiB of its 4.00 MiB\nmade by "
                             "conv_in, last used by up2.conv1: lives for 2 of 4 passes"));
    }
    host_ = {};
    {
        const Overheard& panel = open(make_pacing_panel());
        EXPECT_TRUE(explains(panel, {panel.place.Min.x + 30, panel.place.Min.y + 60},
                             {panel.place.Min.x + 30, panel.place.Max.y},
                             "interval: from one frame shown to the next\nof 8 frames half took no longer than 150 ms, "
                             "95 of 100 no longer than 150 ms"));
    }
    host_ = {};
    const Overheard& panel = open(make_passes_panel());
    select("up2.conv1", "accelerator");
    picture(2);
    EXPECT_TRUE(explains(panel, {panel.place.Min.x + 30, panel.place.Min.y + 80},
                         {panel.place.Min.x + 30, panel.place.Max.y},
                         "half took no longer than 60.0 ms,\n95 of 100 no longer than 60.0 ms"));
    EXPECT_TRUE(explains(panel, {panel.place.Min.x + 20, panel.place.Max.y - 160},
                         {panel.place.Min.x + 20, panel.place.Max.y},
                         "the call 8 before the newest took 60.0 ms,\n1.00 times the median of 60.0 ms"));
}

}  // namespace
}  // namespace kinetograph::ui::testing
