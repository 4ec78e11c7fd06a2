// The host of the panels: which are shown and where, the bar, and what all panels cost.
#include "panels_fixture.hpp"

#include <time.h>

#include <cstring>

namespace kinetograph::ui::testing {
namespace {

TEST_F(Panels, AllDrawWithNothingRecorded) {
    profile::Recorder recorder;
    profile::Profile profile(recorder);
    PanelHost host = PanelHost::with_all_panels();
    for (const std::string_view name : host.names()) host.show(name, true);
    for (int i = 0; i < 3; ++i) {
        ImGui::GetIO().DeltaTime = 0.1F;
        ImGui::NewFrame();
        host.draw(profile, milliseconds(1));
        draw_compact_hud(profile);
        ImGui::Render();
    }
}

TEST_F(Panels, TheHostsStyleAndContextStayAsTheyAre) {
    ImGui::StyleColorsLight();
    const ImGuiStyle style = ImGui::GetStyle();
    host_ = PanelHost::with_all_panels();
    for (const std::string_view name : host_.names()) host_.show(name, true);
    host_.arrange(0, 0, kSide, kSide);
    picture(3);
    EXPECT_EQ(std::memcmp(&style, &ImGui::GetStyle(), sizeof style), 0);
    EXPECT_EQ(ImGui::GetCurrentContext(), context_);
    EXPECT_GT(ImGui::GetDrawData()->TotalVtxCount, 1000);
}

TEST_F(Panels, AnApplicationAddsItsOwnRemovesOursAndArrangesThem) {
    class Mine final : public Panel {
      public:
        std::string_view name() const override { return "Mine"; }
        void draw(const PanelContext&) override {
            ++drawn;
            place = ImGui::GetCurrentWindow()->Rect();
        }
        int drawn = 0;
        ImRect place;
    };
    host_ = PanelHost::with_all_panels();
    auto mine = std::make_unique<Mine>();
    Mine& panel = *mine;
    host_.add(std::move(mine));
    EXPECT_EQ(host_.names().back(), "Mine");
    for (const std::string_view name : {"Timeline", "Pacing", "Memory"}) EXPECT_NE(host_.remove(name), nullptr);
    EXPECT_EQ(host_.remove("Timeline"), nullptr);
    host_.arrange(0, 0, 800, 640);  // Passes and Mine side by side
    picture(2);
    EXPECT_EQ(panel.drawn, 2);
    EXPECT_GT(panel.place.Min.x, 390);
    EXPECT_NEAR(panel.place.Max.x, 800, 1);
    host_.show("Mine", false);
    EXPECT_FALSE(host_.is_shown("Mine"));
    picture();
    EXPECT_EQ(panel.drawn, 2);
}

TEST_F(Panels, WindowsOfTheHostWithOurTitlesStayItsOwn) {
    host_ = PanelHost::with_all_panels();
    for (const std::string_view name : host_.names()) host_.show(name, true);
    host_.arrange(0, 0, kSide, kSide);
    std::vector<std::string> titles{"Profiler"};
    for (const std::string_view name : host_.names()) titles.emplace_back(name);
    for (int i = 0; i < 3; ++i) {
        ImGui::GetIO().DeltaTime = 0.1F;
        ImGui::NewFrame();
        for (const std::string& title : titles) {
            ImGui::SetNextWindowPos({10, 20});
            ImGui::Begin(title.c_str());
            ImGui::End();
        }
        host_.draw(profile_, now_);
        ImGui::Render();
    }
    for (const std::string& title : titles) {
        const ImGuiWindow* const theirs = ImGui::FindWindowByName(title.c_str());
        const ImGuiWindow* const ours = ImGui::FindWindowByName(PanelHost::window_name(title).c_str());
        ASSERT_TRUE(theirs != nullptr && ours != nullptr) << title;
        EXPECT_NE(theirs, ours) << title;
        EXPECT_EQ(theirs->Pos.y, 20) << title;
        EXPECT_NE(ours->Pos.y, 20) << title;
        EXPECT_EQ(theirs->BeginCount, 1) << title;
    }
}

TEST_F(Panels, WhatIsFrozenTakesNothingNewOver) {
    const Overheard& panel = open(make_passes_panel());
    host_.freeze(true);
    recorder_.add(profile::Span{"a new pass", "host", now_, now_ + milliseconds(5), 1});
    picture();
    EXPECT_EQ(panel.text.find("a new pass"), std::string::npos);
    host_.freeze(false);
    picture(2);
    expect_all(panel.text, {"a new pass"});
}

TEST_F(Panels, TheBarShowsTheNewestValueOfEveryCounter) {
    recorder_.count({.name = "frames waiting"}, now_, 5);
    recorder_.count({.name = "frames waiting"}, now_, 3);
    recorder_.count({.name = "clock", .device = "NVIDIA H200", .unit = "MHz"}, now_, 1980);
    recorder_.count({.name = "memory in use", .device = "NVIDIA H200", .unit = "MiB"}, now_, 3072);
    now_ += milliseconds(300);
    picture(2);  // windows measure themselves first
    ImGui::NewFrame();
    ImGui::Begin(PanelHost::window_name("Profiler")
                     .c_str());  // the bar's window: what it says is overheard until the bar ends it
    ImGui::LogToClipboard(10);
    host_.draw(profile_, now_);
    ImGui::End();
    ImGui::Render();
    expect_all(ImGui::GetClipboardText(), {"frames waiting 3   NVIDIA H200: clock 1980 MHz   memory in use 3.00 GiB"});
}

TEST_F(Panels, ADragThatBeginsOnAPassSelectsNothing) {
    using Maker = std::unique_ptr<Panel> (*)();
    struct Place {
        Maker panel;
        float x, y;  // of something that a click selects
    };
    for (const auto& [make, x, y] :
         {Place{make_timeline_panel, 720, 100}, Place{make_graph_panel, 40, 88}, Place{make_memory_panel, 40, 300}}) {
        host_ = {};
        const Overheard& panel = open(make());
        const float left = panel.place.Min.x + x, top = panel.place.Min.y + y;
        click(left, top);
        EXPECT_FALSE(selected().empty()) << panel.name();
        host_.selection() = {};
        drag(left, top, 60);
        EXPECT_EQ(selected(), "") << panel.name();
        drag(left + 60, top, -60);  // the graph and the timeline are back
        // A fast hand lets go before the pointer is seen to move.
        point_at(left, top);
        ImGui::GetIO().MouseDown[0] = true;
        picture();
        ImGui::GetIO().MouseDown[0] = false;
        point_at(left + 8, top);
        picture();
        EXPECT_EQ(selected(), "") << panel.name();
        click(left, top);
        EXPECT_FALSE(selected().empty()) << panel.name();
    }
}

TEST_F(Panels, SpansThatWereOverwrittenAreCountedInTheBar) {
    open(make_spikes_panel());
    EXPECT_EQ(profile_.missed_spans(), 0U);
    for (std::uint64_t step = 1; step < 200'000; ++step)
        recorder_.add(profile::Span{"conv_in", "accelerator", milliseconds(step), milliseconds(step + 1), step});
    picture(2);
    EXPECT_GT(profile_.missed_spans(), 0U);
    const std::string words = " spans were overwritten before they were read: the figures leave them out";
    const std::string said = std::to_string(profile_.missed_spans()) + words;
    EXPECT_NE(place_of("Profiler", said.c_str()), kNowhere) << said;
}

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// CPU time of this thread.
std::int64_t cpu_nanoseconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

TEST_F(Panels, TakeUnderHalfAMillisecondOfCpuTimeAPictureOfAThousandPasses) {
    record_a_thousand_passes();
    host_ = PanelHost::with_all_panels();
    for (const std::string_view name : host_.names()) host_.show(name, true);
    ImGui::GetIO().DisplaySize = {1920, 1080};
    host_.arrange(0, 0, 1920, 1080);
    picture(3);
    const ImVec2 spikes = ImGui::FindWindowByName(PanelHost::window_name("Spikes").c_str())->Pos;
    click(spikes.x + 30, spikes.y + 58);  // Keep A: all passes are compared
    point_at(-1, -1);
    constexpr int kPictures = 20;
    constexpr std::int64_t kMost = 500'000 * kPictures;
    // The best of many tries: others on this core disturb its caches.
    std::int64_t best = kMost;
    for (int i = 0; i < 100 && best >= kMost; ++i) {
        const std::int64_t before = cpu_nanoseconds();
        for (int each = 0; each < kPictures; ++each) {
            now_ += milliseconds(16);
            picture();
        }
        best = std::min(best, cpu_nanoseconds() - before);
    }
    EXPECT_LT(best, kMost);
}
#endif

}  // namespace
}  // namespace kinetograph::ui::testing
