// The compact form.
#include "panels_fixture.hpp"

namespace kinetograph::ui::testing {
namespace {

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
        for (const Text& text : testing::texts_of(*ImGui::GetForegroundDrawList())) texts.push_back(text.text);
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
    for (const Text& text : testing::texts_of(*ImGui::GetForegroundDrawList())) all += text.text + "\n";
    EXPECT_NE(all.find("present 3.00 ms"), std::string::npos) << all;
    for (const char* untold : {"queue", "decode", "0 ns"}) EXPECT_EQ(all.find(untold), std::string::npos) << all;
}

}  // namespace
}  // namespace kinetograph::ui::testing
