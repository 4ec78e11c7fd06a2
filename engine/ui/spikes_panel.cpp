#include <kinetograph/engine/ui/cells.hpp>
#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

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
        draw_threshold(context);
        draw_captures(context);
        draw_list(context);
        if (context.selection.spike != nullptr) draw_spike(context, *context.selection.spike);
        if (!before_) return;
        ImGui::Separator();
        draw_changes(context, compare(*before_, after_ ? *after_ : now_), after_ ? "B" : "now");
    }

  private:
    static constexpr float kLeastFactor = 1.01F, kMostFactor = 20.0F;

    /// From now on.
    static void draw_threshold(const PanelContext& context) {
        profile::SpikeThreshold threshold = context.profile.spike_threshold();
        auto factor = static_cast<float>(threshold.median);
        ImGui::SetNextItemWidth(200 * context.scale);
        if (ImGui::SliderFloat("times the median and more are kept", &factor, kLeastFactor, kMostFactor, "%.2f",
                               ImGuiSliderFlags_Logarithmic)) {
            threshold.median = factor;
            context.profile.set_spike_threshold(threshold);
        }
        if (ImGui::IsItemHovered())
            ImGui::SetTooltip("a step so much longer than its plan's steps until then is kept whole");
        if (threshold.fixed == Nanoseconds{}) return;
        ImGui::SameLine();
        ImGui::TextDisabled("and all over %s", human_time(threshold.fixed).c_str());
    }

    /// What took the most over its median comes first.
    static void draw_list(const PanelContext& context) {
        const auto& spikes = context.profile.spikes();
        if (spikes.empty()) return ImGui::TextDisabled("no step has taken too long");
        constexpr std::size_t kRows = 4;
        const float height =
            static_cast<float>(std::min(kRows, spikes.size()) + 1) * (ImGui::GetTextLineHeight() + 4) + 2;
        constexpr ImGuiTableFlags kFlags =
            ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingStretchProp;
        if (!ImGui::BeginTable("spikes", 6, kFlags, {0, height})) return;
        ImGui::TableSetupScrollFreeze(0, 1);
        draw_titles({"kept step", "plan", "took", "median", "times", "ago"});
        std::vector<const Spike*> rows(spikes.size());
        std::ranges::transform(spikes, rows.begin(), [](const Spike& spike) { return &spike; });
        std::ranges::stable_sort(rows, std::greater{},
                                 [](const Spike* spike) { return spike->step.length() - spike->median; });
        for (const Spike* spike : rows) draw_row(context, *spike);
        ImGui::EndTable();
    }

    static void draw_row(const PanelContext& context, const Spike& spike) {
        auto& chosen = context.selection.spike;
        const bool is_chosen =
            chosen && chosen->step.plan == spike.step.plan && chosen->step.execution == spike.step.execution;
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        if (ImGui::Selectable(fmt::format("step {}##{}", spike.step.execution, spike.step.plan).c_str(), is_chosen,
                              ImGuiSelectableFlags_SpanAllColumns))
            chosen = is_chosen ? nullptr : std::make_shared<const Spike>(spike);
        if (ImGui::IsItemHovered())
            ImGui::SetTooltip("a click shows the step in the timeline, another one lets go of it");
        next_number(fmt::format("{}", spike.step.plan));
        next_number(human_time(spike.step.length()));
        next_number(human_time(spike.median));
        next_number(fmt::format("{:.2f}", ratio(spike.step.length(), spike.median)));
        next_number(human_time(context.now - spike.step.end));
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
        constexpr std::size_t kRows = 5;
        ImGui::Separator();
        if (!ImGui::BeginTable("spike", 4, ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp)) return;
        draw_titles({"pass of the chosen step", "took", "median", "over"});
        for (std::size_t i = 0; i < std::min(kRows, passes.size()); ++i) {
            const SpanRecord& span = *passes[i].span;
            ImGui::TableNextRow();
            ImGui::TableNextColumn();
            const std::string name(context.text(span.name));
            if (ImGui::Selectable(name.c_str(), context.selection.is(span.name, span.track),
                                  ImGuiSelectableFlags_SpanAllColumns))
                context.selection.select(span.name, span.track, span.plan);
            for (const Nanoseconds time : {span.length(), passes[i].median, passes[i].over})
                next_number(human_time(time));
        }
        ImGui::EndTable();
        if (spike.plan == nullptr) return;
        for (const profile::IdleGap& gap :
             idle_gaps(spike.step, *spike.plan, context.profile.recorder().names(), spike.step.length() / 20)) {
            const std::string_view track = context.text(gap.track);
            ImGui::TextDisabled(
                "%s", elided(fmt::format("{} idle for {}: {}", track, human_time(gap.end - gap.begin), gap.reason),
                             ImGui::GetContentRegionAvail().x)
                          .c_str());
        }
    }

    /// A is what ran until it was kept; B, or now, is what ran since.
    void draw_captures(const PanelContext& context) {
        if (ImGui::Button("Keep A")) {
            before_ = context.profile.capture("A");
            after_.reset();
        }
        ImGui::SameLine();
        if (ImGui::Button("Keep B") && before_) after_ = since(*before_, context.profile.capture("B"));
        ImGui::SameLine();
        if (!before_) return ImGui::TextDisabled("keep A, change something, then compare with what runs since");
        ImGui::TextUnformatted(fmt::format("A with {}, means:", after_ ? "B" : "now").c_str());
        for (const auto& [color, word] : {std::pair(theme::kBad, "slower"), std::pair(theme::kGood, "faster")}) {
            ImGui::SameLine();
            ImGui::TextColored(ImColor(color), "%s", word);
        }
        ImGui::SameLine();
        ImGui::TextDisabled("by chance in less than 1 of 100 cases");
        if (!after_ && context.now - compared_ > std::chrono::milliseconds(250)) {
            now_ = since(*before_, context.profile.capture("now"));
            compared_ = context.now;
        }
    }

    /// Captures name their passes by text: they may come from elsewhere.
    static const profile::PassProfile* find(const PanelContext& context, const profile::PassSummary& summary) {
        const auto& passes = context.profile.passes();
        const auto found = std::ranges::find_if(passes, [&](const profile::PassProfile& pass) {
            return context.text(pass.name) == summary.name && context.text(pass.track) == summary.track;
        });
        return found != passes.end() ? &*found : nullptr;
    }

    static void draw_changes(const PanelContext& context, const std::vector<PassChange>& changes, const char* after) {
        constexpr ImGuiTableFlags kFlags =
            ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingStretchProp;
        if (!ImGui::BeginTable("changes", 5, kFlags)) return;
        ImGui::TableSetupScrollFreeze(0, 1);
        draw_titles({"pass", "A", after, "change", "by chance"});
        ImGuiListClipper clipper;
        clipper.Begin(static_cast<int>(changes.size()));
        while (clipper.Step())
            for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
                draw_change(context, changes[static_cast<std::size_t>(i)]);
        ImGui::EndTable();
    }

    static void draw_change(const PanelContext& context, const PassChange& change) {
        const auto mean = [](const profile::PassSummary* side) {
            return side != nullptr ? human_time(side->mean) : std::string("-");
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
        if (ImGui::IsItemHovered()) explain(change);
        ImGui::PopID();
        next_number(mean(change.before));
        next_number(mean(change.after));
        next_number(both ? fmt::format("{:+.1f}%", 100.0 * (change.ratio - 1.0)) : "-");
        next_number(both ? chance_text(change.chance) : "-");
        if (change.is_significant()) ImGui::PopStyleColor();
    }

    static std::string chance_text(double chance) {
        return chance < 1e-4 ? "< 0.0001" : fmt::format("{:.{}f}", chance, chance < 0.01 ? 4 : 2);
    }

    static void explain(const PassChange& change) {
        std::string text;
        for (const auto& [title, side] : {std::pair("A", change.before), std::pair("since", change.after)})
            if (side != nullptr)
                text += fmt::format("{}{}: {} calls but the first, {} \u00b1{} each", text.empty() ? "" : "\n", title,
                                    side->calls - 1, human_time(side->mean),
                                    human_time(Nanoseconds(std::llround(side->deviation))));
        ImGui::SetTooltip("%s", text.c_str());
    }

    std::optional<Capture> before_, after_;
    Capture now_;
    Nanoseconds compared_ = std::chrono::seconds(-10);
};

}  // namespace

std::unique_ptr<Panel> make_spikes_panel() { return std::make_unique<SpikesPanel>(); }

}  // namespace kinetograph::ui
