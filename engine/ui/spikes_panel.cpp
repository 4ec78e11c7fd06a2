#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <optional>

namespace kinetograph::ui {
namespace {

using profile::Capture;
using profile::PassChange;
using profile::SpanRecord;
using profile::Spike;

class SpikesPanel final : public Panel {
  public:
    std::string_view name() const override { return "Spikes"; }

    void draw(const PanelContext& context) override {
        draw_list(context);
        if (context.selection.spike != nullptr) draw_spike(context, *context.selection.spike);
        ImGui::Separator();
        draw_comparison(context);
    }

  private:
    static void draw_list(const PanelContext& context) {
        const auto& spikes = context.profile.spikes();
        if (spikes.empty()) return ImGui::TextDisabled("no step has taken too long");
        auto& chosen = context.selection.spike;
        for (std::size_t i = spikes.size(); i-- > 0;) {
            const Spike& spike = spikes[i];
            const std::string text =
                fmt::format("step {} of plan {}: {}, {:.1f} times the median, {} ago", spike.step.execution,
                            spike.step.plan, human_time(spike.step.length()), ratio(spike.step.length(), spike.median),
                            human_time(context.now - spike.step.end));
            const bool is_chosen =
                chosen && chosen->step.plan == spike.step.plan && chosen->step.execution == spike.step.execution;
            ImGui::PushID(static_cast<int>(i));
            if (ImGui::Selectable(text.c_str(), is_chosen))
                chosen = is_chosen ? nullptr : std::make_shared<const Spike>(spike);
            if (ImGui::IsItemHovered())
                ImGui::SetTooltip("a click shows the step in the timeline, another one lets go of it");
            ImGui::PopID();
        }
    }

    static double ratio(Nanoseconds a, Nanoseconds b) {
        return b > Nanoseconds{} ? static_cast<double>(a.count()) / static_cast<double>(b.count()) : 0.0;
    }

    /// The passes that took the most over their median.
    static void draw_spike(const PanelContext& context, const Spike& spike) {
        struct Excess {
            const SpanRecord* span;
            Nanoseconds median, over;
        };
        std::vector<Excess> passes;
        for (const SpanRecord& span : spike.step.spans) {
            const profile::PassProfile* pass = context.profile.find(span.name, span.track);
            const Nanoseconds median = pass != nullptr ? pass->quantile(0.5) : Nanoseconds{};
            passes.push_back({&span, median, span.length() - median});
        }
        std::ranges::stable_sort(passes, std::greater{}, &Excess::over);
        constexpr std::size_t kRows = 8;
        if (!ImGui::BeginTable("spike", 4, ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp)) return;
        for (const char* title : {"pass", "took", "median", "over"}) ImGui::TableSetupColumn(title);
        ImGui::TableHeadersRow();
        for (std::size_t i = 0; i < std::min(kRows, passes.size()); ++i) {
            const SpanRecord& span = *passes[i].span;
            ImGui::TableNextRow();
            ImGui::TableNextColumn();
            const std::string name(context.text(span.name));
            if (ImGui::Selectable(name.c_str(), context.selection.is(span.name, span.track),
                                  ImGuiSelectableFlags_SpanAllColumns))
                context.selection.select(span.name, span.track, span.plan);
            for (const Nanoseconds time : {span.length(), passes[i].median, passes[i].over}) {
                ImGui::TableNextColumn();
                ImGui::TextUnformatted(human_time(time).c_str());
            }
        }
        ImGui::EndTable();
        if (spike.plan == nullptr) return;
        for (const profile::IdleGap& gap :
             idle_gaps(spike.step, *spike.plan, context.profile.recorder().names(), spike.step.length() / 20)) {
            const std::string_view track = context.text(gap.track);
            ImGui::TextDisabled(
                "%s", fmt::format("{} idle for {}: {}", track, human_time(gap.end - gap.begin), gap.reason).c_str());
        }
    }

    void draw_comparison(const PanelContext& context) {
        if (ImGui::Button("Keep A")) before_ = context.profile.capture("A");
        ImGui::SameLine();
        if (ImGui::Button("Keep B")) after_ = context.profile.capture("B");
        ImGui::SameLine();
        if (!before_) return ImGui::TextDisabled("keep A, change something, then compare");
        ImGui::TextDisabled("A with %s", after_ ? "B" : "now");
        if (!after_ && context.now - compared_ > std::chrono::milliseconds(250)) {
            now_ = context.profile.capture("now");
            compared_ = context.now;
        }
        draw_changes(context, compare(*before_, after_ ? *after_ : now_));
    }

    /// Captures name their passes by text: they may come from elsewhere.
    static const profile::PassProfile* find(const PanelContext& context, const profile::PassSummary& summary) {
        const auto& passes = context.profile.passes();
        const auto found = std::ranges::find_if(passes, [&](const profile::PassProfile& pass) {
            return context.text(pass.name) == summary.name && context.text(pass.track) == summary.track;
        });
        return found != passes.end() ? &*found : nullptr;
    }

    static void draw_changes(const PanelContext& context, const std::vector<PassChange>& changes) {
        constexpr ImGuiTableFlags kFlags =
            ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingStretchProp;
        if (!ImGui::BeginTable("changes", 5, kFlags)) return;
        ImGui::TableSetupScrollFreeze(0, 1);
        for (const char* title : {"pass", "A", "B", "change", "by chance"}) ImGui::TableSetupColumn(title);
        ImGui::TableHeadersRow();
        ImGuiListClipper clipper;
        clipper.Begin(static_cast<int>(changes.size()));
        while (clipper.Step())
            for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
                draw_change(context, changes[static_cast<std::size_t>(i)]);
        ImGui::EndTable();
    }

    static void draw_change(const PanelContext& context, const PassChange& change) {
        const auto mean = [](const profile::PassSummary* side) {
            return side != nullptr ? human_time(side->mean) : std::string("\u2013");
        };
        const bool both = change.before != nullptr && change.after != nullptr;
        const profile::PassSummary& either = change.before != nullptr ? *change.before : *change.after;
        const profile::PassProfile* pass = find(context, either);
        if (change.is_significant())
            ImGui::PushStyleColor(ImGuiCol_Text, ImColor(change.ratio > 1.0 ? theme::kBad : theme::kGood).Value);
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        const bool is_selected = pass != nullptr && context.selection.is(pass->name, pass->track);
        ImGui::PushID(&change);
        if (ImGui::Selectable(either.name.c_str(), is_selected, ImGuiSelectableFlags_SpanAllColumns) && pass != nullptr)
            context.selection.select(pass->name, pass->track, pass->plan);
        ImGui::PopID();
        for (const std::string& text :
             {mean(change.before), mean(change.after),
              both ? fmt::format("{:+.1f}%", 100.0 * (change.ratio - 1.0)) : std::string("\u2013"),
              both ? fmt::format("{:.2g}", change.chance) : std::string("\u2013")}) {
            ImGui::TableNextColumn();
            ImGui::TextUnformatted(text.c_str());
        }
        if (change.is_significant()) ImGui::PopStyleColor();
    }

    std::optional<Capture> before_, after_;
    Capture now_;
    Nanoseconds compared_ = std::chrono::seconds(-10);
};

}  // namespace

std::unique_ptr<Panel> make_spikes_panel() { return std::make_unique<SpikesPanel>(); }

}  // namespace kinetograph::ui
