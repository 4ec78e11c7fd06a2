// Panels in an ImGui context without a window, with a scripted mouse and keys; the context is a host application's.
#pragma once

#include "drawn_text.hpp"
#include "recorded_steps.hpp"

#include <kinetograph/engine/ui/compact_hud.hpp>
#include <kinetograph/engine/ui/panels.hpp>

#include <imgui_internal.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace kinetograph::ui::testing {

using std::chrono::milliseconds;

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
    static std::vector<Letter> letters_of(const char* panel) { return testing::letters_of(*window_of(panel).DrawList); }
    static std::vector<Text> texts_of(const char* panel) { return testing::texts_of(*window_of(panel).DrawList); }
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

inline void expect_all(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
}

}  // namespace kinetograph::ui::testing
