// What the profiler's panels cost the thread that draws them; no GPU: ImGui's draw lists are built and discarded.
#include <kinetograph/engine/ui/compact_hud.hpp>
#include <kinetograph/engine/ui/panels.hpp>

#include <imgui_internal.h>

#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <map>

namespace kinetograph::ui {
namespace {

/// A plan of `passes` passes. Every 16th pass runs on the display's lane and waits for the 15 before it. A pass depends
/// on the one before it and on the one 16 passes earlier, whose place in the arena its own result takes.
profile::PlanFacts plan_of(std::int64_t passes, profile::NameTable& names) {
    constexpr std::uint32_t kEach = 16;
    const profile::NameId accelerator = names.intern("accelerator"), graphics = names.intern("graphics");
    profile::PlanFacts plan;
    plan.arenas = {{"accelerator", kEach << 20U}};
    for (std::uint32_t i = 0; i < passes; ++i) {
        const bool is_shown = i % kEach == kEach - 1;
        const std::uint32_t batch = i / kEach * 2 + (is_shown ? 1 : 0);
        plan.passes.push_back({.name = names.intern(fmt::format("decoder.pass.{}", i)),
                               .track = is_shown ? graphics : accelerator,
                               .batch = batch,
                               .operations = 1e9,
                               .bytes = 1U << 20U,
                               .barriers = 1,
                               .kernel = "direct-cpu",
                               .reason = "first of the open"});
        if (batch == plan.batches.size()) plan.batches.push_back({.track = plan.passes.back().track, .first_pass = i});
        plan.batches[batch].last_pass = i;
        if (is_shown) plan.batches[batch].waits = {{.batch = batch - 1, .hand_over = std::chrono::microseconds(50)}};
        plan.resources.push_back({.name = fmt::format("decoder.pass.{}.out", i),
                                  .domain = "accelerator",
                                  .bytes = 1U << 20U,
                                  .offset = std::uint64_t{i % kEach} << 20U,
                                  .first_pass = i,
                                  .last_pass = std::min(i + kEach - 1, static_cast<std::uint32_t>(passes) - 1)});
        if (i > 0) plan.dependencies.push_back({i - 1, i, i - 1});
        if (i >= kEach) plan.dependencies.push_back({i - kEach, i, i - kEach});
    }
    plan.transient_bytes = static_cast<std::uint64_t>(passes) << 20U;
    plan.batches_told = static_cast<std::uint32_t>(plan.batches.size());
    return plan;
}

/// An ImGui context of 1920x1080 pixels and a profile of one plan with `passes` passes and its batches' timeline
/// points, executed in ten steps a second, every eighth of which takes three times as long.
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
        profile::PlanFacts plan = plan_of(passes, recorder_.names());
        for (const profile::PassFacts& pass : plan.passes) spans_.push_back({.name = pass.name, .track = pass.track});
        for (const profile::BatchFacts& batch : plan.batches)
            batches_.push_back({std::uint64_t{batch.track}, !batch.waits.empty()});
        plan_ = recorder_.plans().add(std::move(plan));
        for (int step = 0; step < 18; ++step) {
            record();
            profile_.update(now_);
        }
    }
    ~Stage() { ImGui::DestroyContext(context_); }
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    void record() {
        ++execution_;
        record_points();
        const Nanoseconds length = Nanoseconds(std::chrono::milliseconds(execution_ % 8 == 0 ? 95 : 32)) / passes_;
        for (std::int64_t i = 0; i < passes_; ++i) {
            profile::SpanRecord& span = spans_[static_cast<std::size_t>(i)];
            span.begin = now_ + length * i;
            span.end = span.begin + length;
            span.plan = plan_;
            span.execution = execution_;
            recorder_.add(span);
        }
        now_ += std::chrono::milliseconds(100);
        recorder_.add_frame(
            {.index = execution_, .shown = now_, .late = execution_ % 8 == 0, .made_by = {plan_, execution_}});
    }
    /// Records the timeline points that each batch waits for and signals, as lanes do; a step's first batch waits for
    /// the step before.
    void record_points() {
        profile::PointRecord before{
            .counter = batches_.back().counter, .value = values_[batches_.back().counter], .step = {}};
        for (std::uint32_t i = 0; i < batches_.size(); ++i) {
            const auto& [counter, waits] = batches_[i];
            if (before.value > 0 && (waits || i == 0)) {
                before.step = {plan_, execution_};
                before.batch = i;
                recorder_.note(before);
            }
            before = {.counter = counter,
                      .value = ++values_[counter],
                      .step = {plan_, execution_},
                      .batch = i,
                      .signals = true};
            recorder_.note(before);
            before.signals = false;
        }
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
    struct Batch {
        std::uint64_t counter = 0;  ///< of its lane's timeline
        bool waits = false;         ///< for the batch before it
    };
    std::vector<profile::SpanRecord> spans_;
    std::vector<Batch> batches_;
    std::map<std::uint64_t, std::uint64_t> values_;  ///< [counter] -> newest value
    profile::PlanId plan_ = profile::kNoPlan;
    std::uint64_t execution_ = 0;
    Nanoseconds now_{};
};

void click(Stage& stage, PanelHost& host, ImVec2 at) {
    const auto draw = [&](profile::Profile& profile, Nanoseconds now) { host.draw(profile, now); };
    ImGui::GetIO().MousePos = at;
    stage.picture(draw);
    for (const bool down : {true, false}) {
        ImGui::GetIO().MouseDown[0] = down;
        stage.picture(draw);
    }
    ImGui::GetIO().MousePos = {-1, -1};
}

/// Opens all panels over the whole picture, selects a pass, opens the graph's list, and keeps the passes until now as
/// capture A, with which those since are compared.
void open_all(Stage& stage, PanelHost& host) {
    for (const std::string_view name : host.names()) host.show(name, true);
    host.arrange(0, 0, 1920, 1080);
    stage.picture([&](profile::Profile& profile, Nanoseconds now) {
        host.draw(profile, now);
        const profile::PassProfile& pass = profile.passes()[profile.passes().size() / 2];
        host.selection().select(pass.name, pass.track, pass.plan);
    });
    const auto place_of = [](std::string_view panel) {
        return ImGui::FindWindowByName(PanelHost::window_name(panel).c_str())->Rect();
    };
    const ImRect graph = place_of("Graph"), spikes = place_of("Spikes");
    click(stage, host, {spikes.Min.x + 30, spikes.Min.y + 58});                                     // Keep A
    click(stage, host, {graph.Min.x + 8 + 0.6F * (graph.GetWidth() - 16) + 53, graph.Min.y + 36});  // list
}

void draw_panels(benchmark::State& state) {
    Stage stage(state.range(0));
    PanelHost host = PanelHost::with_all_panels();
    open_all(stage, host);
    for (auto _ : state) stage.picture([&](profile::Profile& profile, Nanoseconds now) { host.draw(profile, now); });
}
BENCHMARK(draw_panels)->Arg(100)->Arg(1000);

/// The same with a kept step in the timeline and its passes in a table.
void draw_a_kept_step(benchmark::State& state) {
    Stage stage(state.range(0));
    PanelHost host = PanelHost::with_all_panels();
    open_all(stage, host);
    stage.picture([&](profile::Profile& profile, Nanoseconds now) {
        host.selection().spike = std::make_shared<const profile::Spike>(profile.spikes().front());
        host.draw(profile, now);
    });
    for (auto _ : state) stage.picture([&](profile::Profile& profile, Nanoseconds now) { host.draw(profile, now); });
}
BENCHMARK(draw_a_kept_step)->Arg(1000);

void draw_compact(benchmark::State& state) {
    Stage stage(state.range(0));
    for (auto _ : state)
        stage.picture([](profile::Profile& profile, Nanoseconds now) { draw_compact_hud(profile, now); });
}
BENCHMARK(draw_compact)->Arg(1000);

}  // namespace
}  // namespace kinetograph::ui

BENCHMARK_MAIN();
