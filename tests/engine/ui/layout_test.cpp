// Every panel, the overlay and the compact form at every scale and size of the display: no text lies over another, is
// cut off or leaves its window.
#include "panels_fixture.hpp"

#include <kinetograph/engine/ui/fonts.hpp>
#include <kinetograph/engine/ui/layer.hpp>
#include <kinetograph/engine/ui/profiler_overlay.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <functional>
#include <set>

namespace kinetograph::ui::testing {
namespace {

struct Size {
    std::uint32_t width, height;
};
constexpr std::array kScales{1.0F, 1.5F, 2.0F, 3.0F};
constexpr std::array kSizes{Size{400, 640},  Size{640, 360},   Size{800, 600},   Size{1024, 768},  Size{1280, 720},
                            Size{1366, 768}, Size{1920, 1080}, Size{1080, 1920}, Size{2560, 1440}, Size{3840, 2160}};

/// With the library's own fonts and style, and with what a decoder of a hundred passes on five lanes leaves behind.
class Layout : public Panels {
  protected:
    Layout() {
        plan_ = recorder_.plans().add(decoder());
        for (std::uint64_t step = 10; step < 24; ++step) record_all(step, milliseconds(step == 20 ? 700 : 60));
        recorder_.note_clock("graphics", std::chrono::microseconds(16), 0.5);
        recorder_.note_clock("accelerator", std::chrono::microseconds(3), 0.1);
        profile_.set_memory({{"decoder", "weights", 272U << 10U, 0},
                             {"decoder", "staging and frames", 45U << 20U, 0},
                             {"AMD Radeon Graphics (RADV RENOIR)", "device-local heap", 3U << 20U, 8U << 20U}});
        recorder_.count({.name = "frames waiting"}, now_, 8);
        recorder_.count({.name = "memory of the decoder", .device = "AMD EPYC", .unit = "MiB"}, now_, 69);
        recorder_.count({.name = "clock", .device = "NVIDIA H200", .unit = "MHz"}, now_, 1980);
        profile_.set_screen_source("VK_KHR_present_wait");
        now_ += milliseconds(300);
        profile_.update(now_);
    }

    static std::string name_of(int pass) { return fmt::format("decoder.upsamples.{}.residual.{}", pass / 8, pass % 8); }
    profile::PlanFacts decoder() {
        profile::NameTable& names = recorder_.names();
        profile::PlanFacts plan;
        for (int pass = 0; pass < kPasses; ++pass) {
            const auto index = static_cast<std::uint32_t>(pass);
            plan.passes.push_back(
                {.name = names.intern(name_of(pass)),
                 .track = names.intern(kTracks[pass < 90 ? 0 : 1 + pass % 2]),
                 .batch = pass < 90 ? 0U : 1U,
                 .operations = 3e9,
                 .bytes = 4'000'000,
                 .barriers = index % 3,
                 .kernel = "direct-cpu",
                 .reason = "first of the open; next onednn-cpu, which declines: the filter's taps are more than "
                           "one in time, and its channels are no multiple of 16"});
            plan.resources.push_back({.name = name_of(pass) + ".out",
                                      .domain = "accelerator",
                                      .bytes = 1U << 20U,
                                      .offset = std::uint64_t{index % 4} << 20U,
                                      .first_pass = index,
                                      .last_pass = std::min(index + 3, std::uint32_t{kPasses - 1})});
            if (pass > 0) plan.dependencies.push_back({index - 1, index, index - 1});
        }
        plan.arenas = {{"accelerator", 4U << 20U}, {"graphics", 1U << 20U}};
        plan.batches = {{.track = plan.passes.front().track, .first_pass = 0, .last_pass = 89},
                        {.track = plan.passes.back().track,
                         .waits = {{.batch = 0, .hand_over = std::chrono::microseconds(50)}},
                         .first_pass = 90,
                         .last_pass = kPasses - 1}};
        plan.culled = {{"an output that nobody asked for", "nothing reads it"}};
        plan.batches_told = 2;
        return plan;
    }
    void record_all(std::uint64_t step, Nanoseconds took) {
        const Nanoseconds begin = milliseconds(150) * step;
        for (int pass = 0; pass < kPasses; ++pass)
            recorder_.add(profile::Span{name_of(pass), kTracks[pass < 90 ? 0 : 1 + pass % 2],
                                        begin + took * pass / kPasses, begin + took * (pass + 1) / kPasses, step,
                                        plan_});
        recorder_.add(profile::Span{"acquire", "present", begin, begin + milliseconds(1), step});
        recorder_.add(profile::Span{"open a checkpoint", "host", begin, begin + milliseconds(2), step});
        now_ = milliseconds(150) * (step + 1);
        recorder_.add_frame({.index = step, .shown = now_, .late = took > milliseconds(60), .made_by = {plan_, step}});
        profile_.update(now_);
    }

    void record_clips() {
        for (const char* clip : {"clip 1", "clip 12"})
            for (int step = 0; step < 5; ++step)
                recorder_.add(profile::Span{.name = step < 2   ? "late step"
                                                    : step < 4 ? "step"
                                                               : "queue",
                                            .track = clip,
                                            .begin = milliseconds(150) * (10 + step),
                                            .end = milliseconds(150) * (10 + step) + milliseconds(60)});
        profile_.update(now_);
    }

    void use_scale(float scale) {
        scale_ = scale;
        theme::apply(ImGui::GetStyle(), scale);
        ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
        atlas.Clear();
        fonts_ = add_fonts(atlas, scale);
        atlas.Build();
    }
    void use_size(Size size) {
        ImGui::GetIO().DisplaySize = {static_cast<float>(size.width), static_cast<float>(size.height)};
    }
    void draw(const std::function<void()>& interface, int times = 1) {
        for (; times > 0; --times) {
            ImGui::GetIO().DeltaTime = 0.3F;
            ImGui::NewFrame();
            interface();
            ImGui::Render();
        }
    }
    void draw_panels(int times) {
        draw([&] { host_.draw(profile_, now_, scale_); }, times);
    }
    /// These panels, over the whole display, as the viewer arranges them.
    void show(const std::set<std::string_view>& names) {
        for (const std::string_view name : host_.names()) host_.show(name, names.contains(name));
        const ImVec2 display = ImGui::GetIO().DisplaySize;
        host_.arrange(8 * scale_, 8 * scale_, display.x - 16 * scale_, display.y - 63 * scale_);
        draw_panels(4);  // windows and tables measure themselves first
    }
    /// Clicks what a panel calls so.
    void press(const char* panel, const char* label) {
        for (const Text& text : texts_of(panel))
            if (text.text == label) {
                const ImVec2 at = text.place.GetCenter();
                for (const bool down : {false, true, false}) {
                    ImGui::GetIO().MousePos = at;
                    ImGui::GetIO().MouseDown[0] = down;
                    draw_panels(1);
                }
                ImGui::GetIO().MousePos = {-1, -1};
                return draw_panels(4);
            }
        FAIL() << panel << " shows no " << label;
    }
    void expect_readable(const std::string& what) {
        const auto faults = layout_faults();
        const ImVec2 display = ImGui::GetIO().DisplaySize;
        EXPECT_EQ(faults.size(), 0U) << what << " at scale " << scale_ << " on " << display.x << "x" << display.y
                                     << ":\n"
                                     << fmt::format("{}", fmt::join(faults, "\n")).substr(0, 1500);
    }
    /// For every size, and every scale that the viewer uses for it.
    void at_every_scale_and_size(const std::function<void()>& check) {
        std::set<std::pair<float, std::size_t>> cases;
        for (std::size_t i = 0; i < kSizes.size(); ++i)
            for (const float scale : kScales) cases.emplace(fitting_scale(scale, kSizes[i].width, kSizes[i].height), i);
        for (const auto& [scale, size] : cases) {
            if (scale != scale_) use_scale(scale);
            use_size(kSizes[size]);
            check();
            if (HasFailure()) return;
        }
    }

    static constexpr int kPasses = 100;
    static constexpr std::array kTracks{"accelerator", "transfer", "graphics"};
    float scale_ = 0.0F;
    Fonts fonts_;
};

TEST_F(Layout, EveryPanelAloneCanBeReadAtEveryScaleAndSize) {
    record_clips();
    at_every_scale_and_size([&] {
        host_ = PanelHost::with_all_panels();
        for (const std::string_view name : host_.names()) {
            show({name});
            expect_readable(std::string(name));
        }
    });
}

TEST_F(Layout, PanelsBesideEachOtherCanBeReadAtEveryScaleAndSize) {
    at_every_scale_and_size([&] {
        host_ = PanelHost::with_all_panels();
        show({"Passes", "Timeline", "Pacing", "Memory"});
        expect_readable("four panels");
        show({"Passes", "Timeline", "Pacing", "Memory", "Graph", "Spikes", "Clips"});
        expect_readable("all panels");
        show({"Spikes", "Graph"});
        expect_readable("two panels");
    });
}

TEST_F(Layout, WhatIsSelectedKeptAndComparedCanBeReadAtEveryScaleAndSize) {
    at_every_scale_and_size([&] {
        host_ = PanelHost::with_all_panels();
        select(name_of(1).c_str(), "accelerator");
        show({"Spikes"});
        press("Spikes", "Keep A");
        expect_readable("a capture");
        ASSERT_FALSE(profile_.spikes().empty());
        host_.selection().spike = std::make_shared<const profile::Spike>(profile_.spikes().back());
        for (const char* name : {"Spikes", "Timeline", "Memory", "Passes"}) {
            show({name});
            expect_readable(fmt::format("{} with a kept step", name));
        }
        show({"Graph"});
        press("Graph", "list");
        expect_readable("Graph with its list");
    });
}

TEST_F(Layout, TooltipsOfASmallDisplayAreWhollyInIt) {
    record_clips();
    use_scale(1.0F);
    use_size({640, 360});
    host_ = PanelHost::with_all_panels();
    std::size_t tips = 0;
    for (const std::string_view name : host_.names()) {
        show({name});
        for (float y = 4; y < 360; y += 12)
            for (float x = 4; x < 640; x += 24) {
                ImGui::GetIO().MousePos = {x, y};
                draw_panels(2);  // a tooltip measures itself first
                if (!has_tooltip()) continue;
                ++tips;
                const ImGuiWindow* tip = ImGui::FindWindowByName("##Tooltip_00");
                for (const Text& text : testing::texts_of(*tip->DrawList))
                    for (const Letter& letter : text.letters)
                        ASSERT_TRUE(letter.is_whole()) << text.text << ", over " << name << " at " << x << ", " << y;
            }
    }
    EXPECT_GT(tips, 300U);
}

TEST_F(Layout, NothingRecordedCanBeReadToo) {
    profile::Recorder recorder;
    profile::Profile profile(recorder);
    use_scale(1.0F);
    use_size({640, 360});
    host_ = PanelHost::with_all_panels();
    for (const std::string_view name : host_.names()) host_.show(name, true);
    host_.arrange(0, 0, 640, 360);
    draw([&] { host_.draw(profile, milliseconds(1)); }, 4);
    expect_readable("nothing");
}

/// The overlay and the compact form also have room in a corner of a small window of a host application.
TEST_F(Layout, TheOverlayAndTheCompactFormLeaveOutWhatHasNoRoom) {
    const OverlayFigures figures{
        .title = "Wan 2.1 \u00b7 bf16 \u00b7 NVIDIA H200 NVL, of a checkpoint with a long name",
        .hint = "P panels   H compact   ? help",
        .fps = 123.4,
        .real_time_factor = 12.25,
        .queue_depth = 112,
        .queue_capacity = 116,
        .step = milliseconds(133),
        .frame_age = milliseconds(41),
        .late = 312,
        .dropped = 1012};
    for (const float scale : kScales) {
        use_scale(scale);
        for (const Size size : {Size{80, 60}, Size{200, 150}, Size{320, 200}, Size{480, 270}, Size{640, 360},
                                Size{960, 540}, Size{1280, 720}, Size{1920, 1080}, Size{3840, 2160}}) {
            use_size(size);
            const ImVec2 display = ImGui::GetIO().DisplaySize;
            const bool has_room = display.x >= 120 * scale && display.y >= 100 * scale;
            draw([&] { draw_profiler_overlay(profile_, figures, now_, fonts_, {.scale = scale}); });
            if (has_room || ImGui::GetDrawData()->TotalVtxCount > 0) expect_readable("the overlay");
            draw([&] { draw_compact_hud(profile_, {.scale = scale, .fonts = fonts_}); });
            if (has_room || ImGui::GetDrawData()->TotalVtxCount > 0) expect_readable("the compact form");
        }
    }
    std::string shown;
    for (const Text& text : testing::texts_of(*ImGui::GetForegroundDrawList())) shown += text.text + "\n";
    EXPECT_NE(shown.find("busy time"), std::string::npos) << "with room all is there: " << shown;
}

TEST(FittingScales, LeaveRoomForTheInterface) {
    EXPECT_EQ(fitting_scale(1.0F, 640, 360), 1.0F);
    EXPECT_EQ(fitting_scale(2.0F, 640, 360), 1.0F);
    EXPECT_EQ(fitting_scale(2.0F, 1280, 720), 2.0F);
    EXPECT_EQ(fitting_scale(3.0F, 1280, 720), 2.0F);
    EXPECT_EQ(fitting_scale(3.0F, 1366, 768), 2.0F);
    EXPECT_EQ(fitting_scale(3.0F, 1680, 945), 2.5F);
    EXPECT_EQ(fitting_scale(2.0F, 300, 200), 1.0F) << "smaller letters could not be read";
    EXPECT_EQ(fitting_scale(0.75F, 300, 200), 0.75F) << "as the display says";
}

}  // namespace
}  // namespace kinetograph::ui::testing
