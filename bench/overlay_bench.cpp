// What the profiler's panels cost the thread that draws them, without a GPU: ImGui's lists are made and thrown away.
#include <kinetograph/engine/ui/compact_hud.hpp>
#include <kinetograph/engine/ui/panels.hpp>

#include <imgui.h>

#include <benchmark/benchmark.h>
#include <fmt/core.h>

namespace kinetograph::ui {
namespace {

/// A context of 1920x1080 pixels, and a profile of so many passes, ten steps a second.
class Stage {
  public:
    explicit Stage(std::int64_t passes) : passes_(passes) {
        ImGui::SetCurrentContext(context_);
        ImGuiIO& io = ImGui::GetIO();
        io.IniFilename = nullptr;
        io.DisplaySize = {1920, 1080};
        io.DeltaTime = 1.0F / 60.0F;
        unsigned char* pixels = nullptr;
        int width = 0, height = 0;
        io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
        const profile::NameId track = recorder_.names().intern("accelerator");
        for (std::int64_t i = 0; i < passes; ++i)
            spans_.push_back({.name = recorder_.names().intern(fmt::format("decoder.pass.{}", i)), .track = track});
        for (int step = 0; step < 12; ++step) record();
    }
    ~Stage() { ImGui::DestroyContext(context_); }
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    void record() {
        const Nanoseconds length = std::chrono::milliseconds(95) / passes_;
        for (std::int64_t i = 0; i < passes_; ++i) {
            profile::SpanRecord& span = spans_[static_cast<std::size_t>(i)];
            span.begin = now_ + length * i;
            span.end = span.begin + length;
            recorder_.add(span);
        }
        now_ += std::chrono::milliseconds(100);
    }
    template <class Draw>
    void picture(const Draw& draw) {
        if (++pictures_ % 6 == 0) record();
        ImGui::NewFrame();
        draw(profile_, now_);
        ImGui::Render();
    }

  private:
    ImGuiContext* context_ = ImGui::CreateContext();
    std::int64_t passes_;
    std::int64_t pictures_ = 0;
    profile::Recorder recorder_;
    profile::Profile profile_{recorder_};
    std::vector<profile::SpanRecord> spans_;
    Nanoseconds now_{};
};

/// Passes, timeline, pacing and memory, sixty pictures a second.
void draw_panels(benchmark::State& state) {
    Stage stage(state.range(0));
    PanelHost host = PanelHost::with_all_panels();
    host.arrange(0, 0, 1920, 1080);
    for (auto _ : state) stage.picture([&](profile::Profile& profile, Nanoseconds now) { host.draw(profile, now); });
}
BENCHMARK(draw_panels)->Arg(100)->Arg(1000);

void draw_compact(benchmark::State& state) {
    Stage stage(state.range(0));
    for (auto _ : state)
        stage.picture([](profile::Profile& profile, Nanoseconds now) {
            profile.update(now);
            draw_compact_hud(profile);
        });
}
BENCHMARK(draw_compact)->Arg(1000);

}  // namespace
}  // namespace kinetograph::ui

BENCHMARK_MAIN();
