// Every panel in an ImGui context without a window, with scripted mouse and keys; the context is a host application's.
#include "recorded_steps.hpp"

#include <kinetograph/engine/ui/compact_hud.hpp>
#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/filter.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/plot.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <imgui_internal.h>

#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace kinetograph::ui {
namespace {

using std::chrono::milliseconds;
using testing::decoder_and_display;
using testing::record_step;

/// Draws another panel and keeps what it wrote: until its first tooltip, and that.
class Overheard final : public Panel {
  public:
    explicit Overheard(std::unique_ptr<Panel> panel) : panel_(std::move(panel)) {}
    std::string_view name() const override { return panel_->name(); }
    void draw(const PanelContext& context) override {
        ImGui::LogToClipboard(10);
        panel_->draw(context);
        ImGui::LogFinish();
        text = ImGui::GetClipboardText();
        const ImGuiWindow* window = ImGui::GetCurrentWindow();
        place = window->Rect();
    }
    std::string text;
    ImRect place;

  private:
    std::unique_ptr<Panel> panel_;
};

class Panels : public ::testing::Test {
  protected:
    static constexpr float kSide = 800.0F;

    Panels() {
        ImGui::SetCurrentContext(context_);
        ImGuiIO& io = ImGui::GetIO();
        io.IniFilename = nullptr;
        io.DisplaySize = {kSide, kSide};
        unsigned char* pixels = nullptr;
        int width = 0, height = 0;
        io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
        for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = key;
        io.MousePos = {-1, -1};
        for (std::uint64_t step = 1; step <= 9; ++step) record(step);
    }
    ~Panels() override { ImGui::DestroyContext(context_); }

    /// Of a graph of its own, with one pass, "draw", on the lane "display".
    profile::PlanId add_display_plan() {
        const profile::NameId track = recorder_.names().intern("display");
        profile::PlanFacts display;
        display.passes = {{.name = recorder_.names().intern("draw"), .track = track, .batch = 0}};
        display.batches = {{.track = track, .first_pass = 0, .last_pass = 0}};
        display.batches_told = 1;
        return recorder_.plans().add(display);
    }
    void record_a_thousand_passes() {
        for (int pass = 0; pass < 1000; ++pass) {
            const std::string name = "pass " + std::to_string(pass);
            for (int step = 0; step < 5; ++step)
                recorder_.add(profile::Span{name, "accelerator",
                                            milliseconds(1200 + 100 * step) + Nanoseconds(100'000) * pass,
                                            milliseconds(1200 + 100 * step) + Nanoseconds(100'000) * (pass + 1), 1});
        }
    }
    void record(std::uint64_t step, Nanoseconds decode = milliseconds(60)) {
        now_ = milliseconds(150) * (step + 1);
        record_step(recorder_, plan_, step, milliseconds(150) * step, decode);
        recorder_.add_frame(
            {.index = step, .shown = now_, .late = decode > milliseconds(60), .made_by = {plan_, step}});
        profile_.update(now_);
    }

    /// Shows this panel alone, over the whole display.
    Overheard& open(std::unique_ptr<Panel> panel) {
        auto overheard = std::make_unique<Overheard>(std::move(panel));
        Overheard& result = *overheard;
        host_.add(std::move(overheard));
        host_.arrange(0, 0, kSide, kSide);
        picture(3);  // tables measure themselves first
        return result;
    }
    void picture(int times = 1) {
        for (; times > 0; --times) {
            ImGui::GetIO().DeltaTime = 0.3F;
            ImGui::NewFrame();
            host_.draw(profile_, now_);
            ImGui::Render();
            ImGui::GetIO().MouseWheel = 0;
        }
    }
    void point_at(float x, float y) {
        ImGui::GetIO().MousePos = {x, y};
        picture();
    }
    void click(float x, float y) {
        point_at(x, y);
        ImGui::GetIO().MouseDown[0] = true;
        picture();
        ImGui::GetIO().MouseDown[0] = false;
        picture(2);
    }
    void type(char letter) {
        ImGui::GetIO().AddInputCharacter(static_cast<unsigned>(letter));
        picture(2);
    }
    void drag(float x, float y, float by) {
        point_at(x, y);
        ImGui::GetIO().MouseDown[0] = true;
        picture();
        point_at(x + by, y);
        ImGui::GetIO().MouseDown[0] = false;
        picture();
    }
    void wheel(float x, float y, float notches) {
        point_at(x, y);
        ImGui::GetIO().MouseWheel = notches;
        picture(2);
    }
    std::string selected() { return std::string(profile_.text(host_.selection().pass)); }
    /// The passes that clicks at x select, from the top of the panel to its bottom, each once.
    std::vector<std::string> selected_down(const Overheard& panel, float x, float from = 30) {
        std::vector<std::string> found;
        for (float y = panel.place.Min.y + from; y < panel.place.Max.y - 4; y += 5) {
            host_.selection() = {};
            click(x, y);
            if (!selected().empty() && (found.empty() || found.back() != selected())) found.push_back(selected());
        }
        return found;
    }
    void choose_spike(const Overheard& panel) {
        for (float y = panel.place.Min.y + 86; y < panel.place.Min.y + 120 && !host_.selection().spike; y += 4)
            click(panel.place.Min.x + 40, y);
        ASSERT_NE(host_.selection().spike, nullptr);
        point_at(-1, -1);  // a tooltip would end what is overheard
    }
    /// Clicks the header of that title in a table that is shown.
    void sort_by(const std::string& title) {
        auto& tables = GImGui->Tables;
        for (int i = 0; i < tables.GetMapSize(); ++i) {
            ImGuiTable* table = tables.TryGetMapData(i);
            if (table == nullptr || table->LastFrameActive != GImGui->FrameCount) continue;
            for (int column = 0; column < table->ColumnsCount; ++column) {
                if (ImGui::TableGetColumnName(table, column) != title) continue;
                click(table->Columns[column].WorkMinX + 4, table->OuterRect.Min.y + 8);
                return point_at(-1, -1);
            }
        }
        FAIL() << "no table has a column " << title;
    }
    /// As the panel's text says them, one below the other.
    static bool are_in_order(const std::string& text, std::initializer_list<const char*> names) {
        std::size_t from = 0;
        for (const char* name : names)
            if ((from = text.find("|" + std::string(name) + " |", from)) == std::string::npos) return false;
        return true;
    }
    /// Some place on the line from (x0, y0) to (x1, y1) explains itself in these words.
    bool explains(const Overheard& panel, ImVec2 from, ImVec2 to, const char* words) {
        constexpr int kPlaces = 160;
        for (int i = 0; i <= kPlaces; ++i) {
            const float along = static_cast<float>(i) / kPlaces;
            point_at(from.x + (to.x - from.x) * along, from.y + (to.y - from.y) * along);
            if (panel.text.find(words) != std::string::npos) return has_tooltip();
        }
        return false;
    }
    void select(const char* pass, const char* track) {
        host_.selection().select(recorder_.names().intern(pass), recorder_.names().intern(track), plan_);
    }
    static const ImGuiWindow& window_of(const char* panel) {
        return *ImGui::FindWindowByName(PanelHost::window_name(panel).c_str());
    }
    struct Letter {
        ImRect place, clip;
        ImWchar letter = 0;
    };
    /// As a window was drawn last: every glyph that can be seen in part.
    static std::vector<Letter> letters_of(const char* panel) { return letters_of(*window_of(panel).DrawList); }
    static std::vector<Letter> letters_of(const ImDrawList& list) {
        std::map<std::pair<float, float>, ImWchar> corners;  // of glyphs in the font's texture
        for (const ImFontGlyph& glyph : ImGui::GetIO().Fonts->Fonts[0]->Glyphs)
            corners.emplace(std::pair(glyph.U0, glyph.V0), static_cast<ImWchar>(glyph.Codepoint));
        std::vector<Letter> letters;
        for (const ImDrawCmd& command : list.CmdBuffer)
            for (unsigned i = 0; i + 6 <= command.ElemCount; i += 3) {
                const ImDrawIdx* index = &list.IdxBuffer[static_cast<int>(command.IdxOffset + i)];
                const ImDrawVert &low = list.VtxBuffer[index[0]], &high = list.VtxBuffer[index[2]];
                const auto corner = corners.find({low.uv.x, low.uv.y});
                if (index[2] != index[0] + 2 || corner == corners.end()) continue;
                Letter letter{{low.pos, high.pos}, ImRect(command.ClipRect), corner->second};
                letter.place.Expand(-0.4F);  // a full stop is a pixel wide
                if (letter.place.GetWidth() > 0 && letter.clip.Overlaps(letter.place)) letters.push_back(letter);
                i += 3;
            }
        return letters;
    }
    struct Text {
        std::string text;
        ImRect place;
    };
    /// The same letters put together: a text is drawn from left to right, with one space at most between two words.
    static std::vector<Text> texts_of(const char* panel) { return texts_of(*window_of(panel).DrawList); }
    static std::vector<Text> texts_of(const ImDrawList& list) {
        constexpr float kAdvance = 7.0F;  // of the font's letters
        std::vector<Text> texts;
        for (const Letter& each : letters_of(list)) {
            const float gap = texts.empty() ? -1.0F : each.place.Min.x - texts.back().place.Max.x;
            const bool goes_on = gap > 0 && gap < 2 * kAdvance && each.place.Min.y < texts.back().place.Max.y + 3 &&
                                 each.place.Max.y > texts.back().place.Min.y - 3;
            if (!goes_on) texts.push_back({"", each.place});
            if (goes_on && gap > kAdvance + 1) texts.back().text += ' ';
            std::array<char, 5> letter{};
            ImTextCharToUtf8(letter.data(), each.letter);
            texts.back().text += letter.data();
            texts.back().place.Add(each.place);
        }
        return texts;
    }
    static constexpr float kNowhere = -1000.0F;
    /// The left end of a text's first letter, or kNowhere.
    static float place_of(const char* panel, const char* text) {
        for (const Text& each : texts_of(panel))
            if (each.text == text) return each.place.Min.x;
        return kNowhere;
    }
    static bool has_tooltip() {
        const ImGuiWindow* tip = ImGui::FindWindowByName("##Tooltip_00");
        return tip != nullptr && tip->Active;
    }

    ImGuiContext* context_ = ImGui::CreateContext();
    profile::Recorder recorder_;
    profile::PlanId plan_ = recorder_.plans().add(decoder_and_display(recorder_.names()));
    profile::Profile profile_{recorder_};
    PanelHost host_;
    Nanoseconds now_{};
};

void expect_all(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
}

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
            ASSERT_TRUE(letters[i].clip.Contains(clipped))
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

TEST_F(Panels, ATextThatIsTooLongLosesAnEndToAnEllipsis) {
    picture();
    ImGui::NewFrame();  // the font is ImGui's own, of 7 pixels a letter, without the sign
    EXPECT_EQ(elided("residual.2", 70), "residual.2");
    EXPECT_EQ(elided("residual.2", 69), "residu...");
    EXPECT_EQ(elided("residual.2", 69, Cut::Begin), "...dual.2");
    EXPECT_EQ(elided("residual.2", 27), "") << "not even a letter fits";
    EXPECT_EQ(elided("\u00e9\u00e9\u00e9\u00e9\u00e9", 34), "\u00e9...") << "whole characters";
    EXPECT_EQ(elided("", 0), "");
    ImGui::EndFrame();
}

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

TEST_F(Panels, GraphShowsCountsAndCulledPassesAndSelectsByAClick) {
    const Overheard& panel = open(make_graph_panel());
    expect_all(panel.text, {"4 barriers, 3 batches, 1 waits, 1 culled", "50 us"});
    // Two lanes and what was culled, side by side.
    const float left = panel.place.Min.x + 40, third = panel.place.GetWidth() / 3;
    EXPECT_EQ(selected_down(panel, left, 70), (std::vector<std::string>{"conv_in", "up2.conv1"}));
    EXPECT_EQ(selected_down(panel, left + third, 70), (std::vector<std::string>{"upload", "picture"}));
    EXPECT_EQ(selected_down(panel, left + 2 * third, 70), std::vector<std::string>{});
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

TEST_F(Panels, SpansThatWereOverwrittenAreCountedInTheBar) {
    open(make_spikes_panel());
    const ImGuiWindow* bar = ImGui::FindWindowByName(PanelHost::window_name("Profiler").c_str());
    ASSERT_NE(bar, nullptr);
    const float before = bar->ContentSize.y;
    EXPECT_EQ(profile_.missed_spans(), 0U);
    for (std::uint64_t step = 1; step < 200'000; ++step)
        recorder_.add(profile::Span{"conv_in", "accelerator", milliseconds(step), milliseconds(step + 1), step});
    picture(2);
    EXPECT_GT(profile_.missed_spans(), 0U);
    EXPECT_GT(bar->ContentSize.y, before);
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
    const Overheard& graph = open(make_graph_panel());
    for (float x = 480; x < 640 && graph.text.find("| order |") == std::string::npos; x += 8)
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
    EXPECT_TRUE(is_whole(table->OuterRect.GetHeight())) << table->OuterRect.GetHeight();
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

TEST_F(Panels, TheGraphGoesToAPassThatIsSelectedElsewhere) {
    const Overheard& panel = open(make_graph_panel());
    wheel(panel.place.Min.x + 20, panel.place.Max.y - 20, 12);  // away from all boxes
    select("picture", "graphics");
    picture(2);
    host_.selection() = {};
    click((panel.place.Min.x + panel.place.Max.x) / 2, (panel.place.Min.y + 66 + panel.place.Max.y) / 2);
    EXPECT_EQ(selected(), "picture");
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

TEST_F(Panels, TheCompactHudNeedsOneCall) {
    profile::Recorder recorder;
    profile::Profile profile(recorder);
    const profile::PlanId plan = recorder.plans().add(decoder_and_display(recorder.names()));
    const auto hud = [&](Nanoseconds now) {
        ImGui::GetIO().DeltaTime = 0.1F;
        ImGui::NewFrame();
        draw_compact_hud(profile, now);
        ImGui::Render();
        std::vector<std::string> texts;
        for (const Text& text : texts_of(*ImGui::GetForegroundDrawList())) texts.push_back(text.text);
        return texts;
    };
    EXPECT_EQ(hud(milliseconds(1)).back(), "no pass has run");
    for (std::uint64_t step = 1; step <= 9; ++step) {
        record_step(recorder, plan, step, milliseconds(150) * step);
        recorder.add_frame({.index = step, .shown = milliseconds(150) * (step + 1), .made_by = {plan, step}});
    }
    const std::vector<std::string> texts = hud(milliseconds(1500));
    EXPECT_NE(std::ranges::find(texts, "decode 100 ms"), texts.end()) << ::testing::PrintToString(texts);
    EXPECT_NE(std::ranges::find(texts, "queue 50.0 ms"), texts.end()) << ::testing::PrintToString(texts);
    EXPECT_NE(std::ranges::find(texts, "63% of busy time: up2.conv1"), texts.end()) << ::testing::PrintToString(texts);
}

TEST_F(Panels, TheCompactHudLeavesOutWhatTheApplicationDoesNotTell) {
    profile::Recorder recorder;
    profile::Profile profile(recorder);
    for (std::uint64_t frame = 1; frame <= 9; ++frame)
        recorder.add_frame({.index = frame, .shown = milliseconds(16) * frame, .present = milliseconds(3)});
    ImGui::GetIO().DeltaTime = 0.1F;
    ImGui::NewFrame();
    draw_compact_hud(profile, milliseconds(200));
    ImGui::Render();
    std::string all;
    for (const Text& text : texts_of(*ImGui::GetForegroundDrawList())) all += text.text + "\n";
    EXPECT_NE(all.find("present 3.00 ms"), std::string::npos) << all;
    for (const char* untold : {"queue", "decode", "0 ns"}) EXPECT_EQ(all.find(untold), std::string::npos) << all;
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
}  // namespace kinetograph::ui
