// What the viewer writes over the picture, in an ImGui context without a window: at every scale and size no text lies
// over another or is cut off, and the profiler has the room that is left.
#include "drawn_text.hpp"
#include "fake_clip.hpp"

#include <kinetograph/engine/ui/compact_hud.hpp>
#include <kinetograph/engine/ui/profiler_overlay.hpp>
#include <kinetograph/engine/ui/theme.hpp>
#include <kinetograph/samples/viewer/hud.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <thread>

namespace kinetograph::viewer {
namespace {

using std::chrono::milliseconds;
using testing::FakeSource;

class Hud : public ::testing::Test {
  protected:
    Hud() {
        ImGui::SetCurrentContext(context_);
        ImGui::GetIO().IniFilename = nullptr;
        source_.clips["a clip of latents with a rather long name.safetensors"] = {.width = 64, .height = 64};
        recorder_.add(profile::Span{"decoder.upsamples.12.residual.6", "accelerator", Nanoseconds{}, kNow, 1});
        for (const char* lane : {"transfer", "graphics", "present", "host"})
            recorder_.add(profile::Span{"a pass", lane, kNow / 2, kNow, 1});
        profile_.update(kNow);
    }
    ~Hud() override { ImGui::DestroyContext(context_); }

    void open() { player_.open(source_.clips.begin()->first, kNow); }
    void play() {
        open();
        while (player_.frame() == nullptr) {
            ASSERT_TRUE(player_.advance(kNow, milliseconds(16)));
            std::this_thread::sleep_for(milliseconds(1));
        }
    }
    void use_scale(float scale) {
        scale_ = scale;
        ui::theme::apply(ImGui::GetStyle(), scale);
        ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
        atlas.Clear();
        fonts_ = ui::add_fonts(atlas, scale);
        atlas.Build();
    }
    /// With the profiler in the room that is left, as the viewer draws it.
    void draw(float width, float height, const std::optional<PixelValue>& pixel = {}) {
        ImGui::GetIO().DisplaySize = {width, height};
        ImGui::GetIO().DeltaTime = 0.1F;
        ImGui::NewFrame();
        room_ = draw_hud(player_, {.width = static_cast<std::uint32_t>(width),
                                   .height = static_cast<std::uint32_t>(height),
                                   .scale = scale_,
                                   .fonts = fonts_,
                                   .now = kNow,
                                   .lag = {},
                                   .pixel = pixel});
        const float margin = 16 * scale_;
        if (room_ > margin)
            ui::draw_profiler_overlay(
                profile_, {.title = player_.description(), .fps = 23.9}, kNow, fonts_,
                {.x = margin, .y = margin, .width = width - 2 * margin, .height = room_ - margin, .scale = scale_});
        ImGui::Render();
    }
    void expect_readable_at_every_scale_and_size(const char* what, const std::optional<PixelValue>& pixel = {}) {
        constexpr std::pair<float, float> kSizes[]{{480, 270},   {640, 360},   {800, 600},  {1280, 720},
                                                   {1080, 1920}, {1920, 1080}, {3840, 2160}};
        for (const float scale : {1.0F, 1.5F, 2.0F, 3.0F}) {
            use_scale(scale);
            for (const auto& [width, height] : kSizes) {
                draw(width, height, pixel);
                const auto faults = ui::testing::layout_faults();
                EXPECT_EQ(faults.size(), 0U)
                    << what << " at scale " << scale << " on " << width << "x" << height << ":\n"
                    << fmt::format("{}", fmt::join(faults, "\n"));
            }
        }
    }
    std::string said() {
        std::string all;
        const ImDrawData& data = *ImGui::GetDrawData();
        for (int i = 0; i < data.CmdListsCount; ++i)
            for (const auto& text : ui::testing::texts_of(*data.CmdLists[i])) all += text.text + "\n";
        return all;
    }
    void expect_said(std::initializer_list<const char*> texts) {
        const std::string all = said();
        for (const char* text : texts) EXPECT_NE(all.find(text), std::string::npos) << text << " in:\n" << all;
    }

    static constexpr Nanoseconds kNow = std::chrono::seconds(2);
    ImGuiContext* context_ = ImGui::CreateContext();
    FakeSource source_;
    Player player_{source_, false, 1.0};
    profile::Recorder recorder_;
    profile::Profile profile_{recorder_};
    ui::Fonts fonts_;
    float scale_ = 1.0F, room_ = 0.0F;
};

TEST_F(Hud, CanBeReadWhileTheFirstFrameIsWaitedFor) {
    source_.clips.begin()->second.step = std::chrono::hours(1);
    open();
    while (player_.clip() == nullptr) ASSERT_TRUE(player_.advance(kNow, milliseconds(16)));
    expect_readable_at_every_scale_and_size("waiting");
    use_scale(1.0F);
    draw(1280, 720);
    expect_said({"decoding first frame", "fake decoder", "fps"});
    player_.set_panels(true);
    expect_readable_at_every_scale_and_size("waiting under panels");
    draw(1280, 720);
    expect_said({"decoding first frame"});
}

TEST_F(Hud, TheStatusBarCanBeReadAndKeepsWhatMatters) {
    const PixelValue pixel{{1234, 1034}, {200, 150, 90}};
    play();
    player_.handle(Action::Loop, kNow);
    player_.handle(Action::Slower, kNow);
    const Nanoseconds later = kNow + std::chrono::seconds(60);
    static_cast<void>(player_.advance(later, milliseconds(16)));  // what was said of it is over
    expect_readable_at_every_scale_and_size("playing");
    expect_readable_at_every_scale_and_size("playing, with a pixel", pixel);
    use_scale(1.0F);
    draw(1280, 720, pixel);
    expect_said({"0:00.", "of 13", "loop", "0.9", "1234, 1034", "#c8965a"});
    draw(320, 200, pixel);
    expect_said({"0:00.", "#c8965a"});
    use_scale(3.0F);
    draw(640, 360, pixel);
    expect_said({"0:00."});
    EXPECT_EQ(said().find("loop"), std::string::npos);
}

TEST_F(Hud, MessagesCanBeReadHoweverLongTheyAre) {
    play();
    std::string sentence = "a/very/long/path/without/any/blank/that/could/be/broken/into/lines/file.safetensors: ";
    for (int i = 0; i < 40; ++i) sentence += "the tensor has another shape than the layer takes; ";
    player_.toast(sentence, true, kNow);
    expect_readable_at_every_scale_and_size("a long message");
    for (int i = 0; i < 30; ++i) player_.toast("saved picture.png", false, kNow);
    expect_readable_at_every_scale_and_size("many messages");
}

TEST_F(Hud, TheHelpCanBeReadAndTheProfilerLeavesItThePicture) {
    play();
    player_.toast("saved picture.png", false, kNow);
    player_.handle(Action::Help, kNow);
    expect_readable_at_every_scale_and_size("help");
    use_scale(1.0F);
    draw(640, 360);
    expect_said({"play or pause", "profiler: overview, panels, compact", "quit", "saved picture.png"});
    EXPECT_EQ(said().find("fps"), std::string::npos);
    EXPECT_EQ(room_, 0.0F);
    static_cast<void>(player_.advance(kNow + std::chrono::seconds(60), milliseconds(16)));  // the message is over
    use_scale(3.0F);
    draw(640, 360);
    expect_said({"play or pause", "\u2026"});
}

}  // namespace
}  // namespace kinetograph::viewer
