// The panels in the window and the ImGui context of samples/embed_overlay, under Xvfb with a scripted mouse; and that
// sample itself.
#include "scripted_mouse.hpp"
#include "virtual_display.hpp"

#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/samples/embed_overlay/host.hpp>
#include <kinetograph/tests/engine/ui/recorded_steps.hpp>
#include <kinetograph/tests/source_tree.hpp>
#include <kinetograph/tests/tools/kinetograph/latent_files.hpp>
#include <kinetograph/tests/tools/kinetograph/program.hpp>

#include <imgui_internal.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>

namespace kinetograph::test {
namespace {

using std::chrono::milliseconds;

class OverlayInAnEngine : public ::testing::Test {
  protected:
    void SetUp() override {
        display_ = present::testing::VirtualDisplay::start();
        if (!display_) GTEST_SKIP() << "Xvfb is not installed (Debian package xvfb)";
        host_ = std::make_unique<Host>(kWidth, kHeight);
        if (!host_->problem().empty()) GTEST_SKIP() << host_->problem();
        mouse_ = ScriptedMouse::over("an engine");
        ASSERT_NE(mouse_, nullptr);
        for (std::uint64_t step = 1; step <= 9; ++step) record(step, milliseconds(60));
        record(10, milliseconds(300));  // a spike, and a late frame
        for (std::uint64_t step = 11; step <= 14; ++step) record(step, milliseconds(60));
        panels_ = ui::PanelHost::with_all_panels();
    }
    void TearDown() override {
        mouse_.reset();
        host_.reset();
    }

    void record(std::uint64_t step, Nanoseconds decode) {
        now_ = milliseconds(400) * (step + 1);
        ui::testing::record_step(recorder_, plan_, step, milliseconds(400) * step, decode);
        recorder_.add_frame(
            {.index = step, .shown = now_, .late = decode > Nanoseconds(milliseconds(60)), .made_by = {plan_, step}});
        profile_.update(now_);
    }
    /// This panel alone, over the whole window.
    ImRect open(const char* panel) {
        for (const std::string_view name : panels_.names()) panels_.show(name, name == panel);
        panels_.arrange(0, 0, kWidth, kHeight);
        picture(3);  // tables measure themselves first
        EXPECT_GT(mouse_->colors(0, 60, kWidth, kHeight - 60), 8U) << panel << " is on the screen";
        return ImGui::FindWindowByName(ui::PanelHost::window_name(panel).c_str())->Rect();
    }
    void picture(int times = 1) {
        for (; times > 0; --times) {
            ASSERT_TRUE(host_->begin_picture());
            panels_.draw(profile_, now_);
            host_->end_picture();
        }
    }
    /// The server hands events on when it likes, soon.
    void until(const std::function<bool()>& done) {
        for (int pictures = 0; pictures < 1000 && !done(); ++pictures) picture();
        ASSERT_TRUE(done());
    }
    void point_at(float x, float y) {
        const int column = static_cast<int>(x), row = static_cast<int>(y);
        mouse_->move(column, row);
        until([&] {
            const ImVec2 at = ImGui::GetIO().MousePos;
            return static_cast<int>(at.x) == column && static_cast<int>(at.y) == row;
        });
        picture();
    }
    void hold(bool down) {
        down ? mouse_->press() : mouse_->release();
        until([&] { return ImGui::GetIO().MouseDown[0] == down; });
        picture();
    }
    void click(float x, float y) {
        point_at(x, y);
        hold(true);
        hold(false);
    }
    std::string selected() { return std::string(profile_.text(panels_.selection().pass)); }
    /// Clicks down a column of the panel until that pass is selected.
    void select(const ImRect& place, float x, const std::string& pass, float from = 60) {
        panels_.selection() = {};
        for (float y = place.Min.y + from; y < place.Max.y - 4 && selected() != pass; y += 6) click(x, y);
        EXPECT_EQ(selected(), pass);
    }
    static bool has_tooltip() {
        const ImGuiWindow* tip = ImGui::FindWindowByName("##Tooltip_00");
        return tip != nullptr && tip->Active;
    }
    /// Something under the pointer explains itself.
    void find_explanation(const ImRect& place, float x, float from = 60) {
        for (float y = place.Min.y + from; y < place.Max.y && !has_tooltip(); y += 8) point_at(x, y);
        EXPECT_TRUE(has_tooltip());
    }

    static constexpr int kWidth = 900, kHeight = 600;
    static constexpr float kFirstLane = 78;  // of the timeline, below its upper edge
    std::unique_ptr<present::testing::VirtualDisplay> display_;
    std::unique_ptr<Host> host_;
    std::unique_ptr<ScriptedMouse> mouse_;
    profile::Recorder recorder_;
    profile::PlanId plan_ = recorder_.plans().add(ui::testing::decoder_and_display(recorder_.names()));
    profile::Profile profile_{recorder_};
    ui::PanelHost panels_;
    Nanoseconds now_{};
};

TEST_F(OverlayInAnEngine, PassesAreSelectedExplainedAndFiltered) {
    const ImRect place = open("Passes");
    select(place, place.Min.x + 60, "up2.conv1");
    find_explanation(place, place.Min.x + 60);
    click(place.Min.x + 60, place.Min.y + 32);  // the filter box
    const ImGuiID before = ImGui::GetActiveID();
    EXPECT_NE(before, 0U) << "the box has the keys";
    for (const char letter : std::string("nothing")) {
        mouse_->type(letter);
        picture(2);
    }
    panels_.selection() = {};
    for (float y = place.Min.y + 80; y < place.Min.y + 160; y += 8) click(place.Min.x + 60, y);
    EXPECT_EQ(selected(), "") << "no pass is left";
}

TEST_F(OverlayInAnEngine, TheTimelineIsClickedZoomedAndDragged) {
    const ImRect place = open("Timeline");
    // 500 ms are shown, which end with the newest picture of 25 ms; the decode before it takes 60 and ends 30 ms ago.
    const float end = place.Max.x - 8, width = place.GetWidth() - 112;
    const float x = end - width * 60.0F / 500.0F;
    select(place, x, "up2.conv1");
    find_explanation(place, x);
    select(place, end - width * 12.0F / 500.0F, "picture");
    point_at(x, place.Min.y + 200);
    for (int notch = 0; notch < 8; ++notch) {  // away from the hand: 84 ms are left
        mouse_->wheel(true);
        picture(3);
    }
    click(x, place.Min.y + kFirstLane);
    EXPECT_EQ(selected(), "") << "the decode has moved to the left";
    point_at(place.Min.x + 200, place.Min.y + 300);
    hold(true);
    point_at(place.Min.x + 820, place.Min.y + 300);  // 66 ms back
    hold(false);
    select(place, x, "up2.conv1");
}

TEST_F(OverlayInAnEngine, ALateFramesPassIsSelectedInPacing) {
    const ImRect place = open("Pacing");
    select(place, place.Min.x + 100, "up2.conv1", 100);
    find_explanation(place, place.Min.x + 300, 30);
}

TEST_F(OverlayInAnEngine, AResourceOfTheArenaSelectsThePassThatMakesIt) {
    const ImRect place = open("Memory");
    select(place, place.Min.x + 100, "conv_in", 90);
    find_explanation(place, place.Min.x + 100, 90);
}

TEST_F(OverlayInAnEngine, TheGraphIsClickedAndZoomedAndSaysWhyAPassIsCulled) {
    const ImRect place = open("Graph");
    const float left = place.Min.x + 40, third = place.GetWidth() / 3;  // two lanes and what was culled
    select(place, left, "conv_in");
    select(place, left, "up2.conv1");
    select(place, left + third, "picture");
    find_explanation(place, left + 2 * third, 70);
    point_at(left, place.Min.y + 92);  // in the first box
    for (int notch = 0; notch < 6; ++notch) {
        mouse_->wheel(true);
        picture(3);
    }
    select(place, left + third, "conv_in");  // a box has three times the size now
}

TEST_F(OverlayInAnEngine, AKeptStepIsShownInTheTimelineAndItsPassesAreSelected) {
    const ImRect place = open("Spikes");
    for (float y = place.Min.y + 86; y < place.Min.y + 110 && panels_.selection().spike == nullptr; y += 6)
        click(place.Min.x + 60, y);
    ASSERT_NE(panels_.selection().spike, nullptr);
    EXPECT_EQ(panels_.selection().spike->step.execution, 10U);
    const auto spike = panels_.selection().spike;
    for (float y = place.Min.y + 118; y < place.Max.y - 4 && selected() != "up2.conv1"; y += 6)
        click(place.Min.x + 60, y);
    EXPECT_EQ(selected(), "up2.conv1");
    panels_.selection().select(0, 0, profile::kNoPlan);
    panels_.selection().spike = spike;
    const ImRect timeline = open("Timeline");
    click((timeline.Min.x + timeline.Max.x) / 2, timeline.Min.y + kFirstLane);
    EXPECT_EQ(selected(), "up2.conv1") << "300 ms of it fill the picture, four seconds ago";
}

TEST(EmbedOverlaySample, ShowsItsPicturesAndCountsThePasses) {
    const auto display = present::testing::VirtualDisplay::start();
    if (!display) GTEST_SKIP() << "Xvfb is not installed (Debian package xvfb)";
    const TemporaryFolder folder;
    const auto result =
        run_program(SAMPLE_EMBED_OVERLAY, {write_latents(folder, "clip.safetensors"), "synthetic:wan2.1,dim=2", "6"});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    int frames = 0, passes = 0;
    double present = 0, latency = 0;
    ASSERT_EQ(std::sscanf(result.out.c_str(), "%d frames, %d passes, present %lf ms, latency %lf ms", &frames, &passes,
                          &present, &latency),
              4)
        << result.out;
    EXPECT_EQ(frames, 6);
    EXPECT_GT(passes, 20) << "the decoder's, the copies' and the application's own";
    EXPECT_GT(present, 0);
    EXPECT_GE(latency, present);
}

/// With the profiler and all that an application tells it, a hundred.
TEST(EmbedSamples, TakeLessThanSixtyLinesOfTheApplicationsEach) {
    for (const auto& [sample, most] :
         {std::pair("embed/main.cpp", 60), std::pair("embed_c/main.c", 60), std::pair("embed_cuda/main.cpp", 60),
          std::pair("embed_overlay/main.cpp", 100), std::pair("embed_vulkan/main.cpp", 60)}) {
        std::ifstream file(source_tree() / "samples" / sample);
        ASSERT_TRUE(file) << sample;
        int lines = 0;
        for (std::string line; std::getline(file, line);) ++lines;
        EXPECT_LT(lines, most) << sample;
    }
}

}  // namespace
}  // namespace kinetograph::test
