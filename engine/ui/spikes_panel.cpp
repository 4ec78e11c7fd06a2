#include <kinetograph/engine/ui/counters_text.hpp>
#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/lines.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/plot.hpp>
#include <kinetograph/engine/ui/table.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

namespace kinetograph::ui {
namespace {

using profile::Capture;
using profile::PassChange;
using profile::SpanRecord;
using profile::Spike;

double ratio(Nanoseconds a, Nanoseconds b) { return b > Nanoseconds{} ? sort_key(a) / sort_key(b) : 0.0; }

/// A step that was kept.
struct StepRow : TableRow {
    std::uint64_t execution = 0;
    Nanoseconds took{}, median{}, ago{};
};

constexpr std::array kStepColumns{
    Column<StepRow>{"kept step", "one execution of a graph that took too long"},
    Column<StepRow>{"plan", "the graph that it executed",
                    [](const StepRow& row) { return static_cast<double>(row.plan); },
                    [](const StepRow& row) { return fmt::format("{}", row.plan); }},
    Column<StepRow>{"took", "from its first pass's begin to its last one's end",
                    [](const StepRow& row) { return sort_key(row.took); },
                    [](const StepRow& row) { return human_time(row.took); }},
    Column<StepRow>{"median", "of the steps of its plan until then",
                    [](const StepRow& row) { return sort_key(row.median); },
                    [](const StepRow& row) { return human_time(row.median); }},
    Column<StepRow>{"over", "how much longer than the median",
                    [](const StepRow& row) { return sort_key(row.took - row.median); },
                    [](const StepRow& row) { return human_time(row.took - row.median); }},
    Column<StepRow>{"times", "so many times the median", [](const StepRow& row) { return ratio(row.took, row.median); },
                    [](const StepRow& row) { return fmt::format("{:.2f}", ratio(row.took, row.median)); }},
    Column<StepRow>{"ago", "how long ago it ended", [](const StepRow& row) { return sort_key(row.ago); },
                    [](const StepRow& row) { return human_time(row.ago); }},
};

/// A pass of the step that was chosen.
struct PassRow : TableRow {
    Nanoseconds took{}, median{};
};

constexpr std::array kPassColumns{
    Column<PassRow>{"pass of the chosen step", "its name, with its lane's colour"},
    Column<PassRow>{"took", "in that step", [](const PassRow& row) { return sort_key(row.took); },
                    [](const PassRow& row) { return human_time(row.took); }},
    Column<PassRow>{"median", "of all its calls but the first", [](const PassRow& row) { return sort_key(row.median); },
                    [](const PassRow& row) { return human_time(row.median); }},
    Column<PassRow>{"over", "how much longer than the median",
                    [](const PassRow& row) { return sort_key(row.took - row.median); },
                    [](const PassRow& row) { return human_time(row.took - row.median); }},
};

/// A pass in two captures.
struct ChangeRow : TableRow {
    struct Side {
        std::uint64_t calls = 0;  ///< but the first
        Nanoseconds mean{};
        double deviation = 0.0;  ///< of one call, nanoseconds
    };
    std::optional<Side> before{}, after{};
    double ratio = 1.0, chance = 1.0;
    bool is_on_both_sides() const { return before && after; }
};

std::string mean_text(const std::optional<ChangeRow::Side>& side) { return side ? human_time(side->mean) : "-"; }
double mean_of(const std::optional<ChangeRow::Side>& side) { return side ? sort_key(side->mean) : 0.0; }
/// Of the means, nanoseconds; 0 for a pass that ran on one side only.
double difference(const ChangeRow& row) {
    return row.is_on_both_sides() ? mean_of(row.after) - mean_of(row.before) : 0.0;
}
std::string chance_text(double chance) {
    return chance < 1e-4 ? "< 0.0001" : fmt::format("{:.{}f}", chance, chance < 0.01 ? 4 : 2);
}

constexpr std::array kChangeColumns{
    Column<ChangeRow>{"pass", "its name, with its lane's colour"},
    Column<ChangeRow>{"A", "the mean of the calls until A was kept",
                      [](const ChangeRow& row) { return mean_of(row.before); },
                      [](const ChangeRow& row) { return mean_text(row.before); }},
    Column<ChangeRow>{"since", "the mean of the calls from then on, until B was kept or until now",
                      [](const ChangeRow& row) { return mean_of(row.after); },
                      [](const ChangeRow& row) { return mean_text(row.after); }},
    Column<ChangeRow>{"difference", "of the means: what the pass costs more, or less, in each call",
                      [](const ChangeRow& row) { return std::abs(difference(row)); },
                      [](const ChangeRow& row) {
                          if (!row.is_on_both_sides()) return std::string("-");
                          const double more = difference(row);
                          return fmt::format("{}{}", more < 0 ? "-" : "+",
                                             human_time(Nanoseconds(std::llround(std::abs(more)))));
                      }},
    Column<ChangeRow>{"change", "of the mean, of A's", [](const ChangeRow& row) { return std::abs(row.ratio - 1.0); },
                      [](const ChangeRow& row) {
                          return row.is_on_both_sides() ? fmt::format("{:+.1f}%", 100.0 * (row.ratio - 1.0)) : "-";
                      }},
    Column<ChangeRow>{"by chance", "how likely a difference of that size is if nothing has changed: Welch's test",
                      [](const ChangeRow& row) { return row.chance; },
                      [](const ChangeRow& row) { return row.is_on_both_sides() ? chance_text(row.chance) : "-"; }},
};

class SpikesPanel final : public Panel {
  public:
    std::string_view name() const override { return "Spikes"; }

    void draw(const PanelContext& context) override {
        draw_threshold(context);
        draw_captures(context);
        draw_steps(context);
        if (context.selection.spike != nullptr) draw_chosen(context, *context.selection.spike);
        if (!before_) return;
        ImGui::Separator();
        draw_changes(context);
    }

  private:
    static constexpr float kLeastFactor = 1.01F, kMostFactor = 20.0F;
    static constexpr float kBeside = 640.0F;  // pixels of a panel that has room for two columns
    static constexpr float kPlot = 32.0F;

    /// The threshold applies from now on.
    static void draw_threshold(const PanelContext& context) {
        profile::SpikeThreshold threshold = context.profile.spike_threshold();
        auto factor = static_cast<float>(threshold.median);
        const float available = ImGui::GetContentRegionAvail().x;
        ImGui::SetNextItemWidth(std::min(200 * context.scale, available));
        if (ImGui::SliderFloat("##threshold", &factor, kLeastFactor, kMostFactor, "%.2f",
                               ImGuiSliderFlags_Logarithmic)) {
            threshold.median = factor;
            context.profile.set_spike_threshold(threshold);
        }
        if (ImGui::IsItemHovered()) set_tooltip("a step so much longer than its plan's steps until then is kept whole");
        std::string kept = "times the median and more are kept";
        if (threshold.fixed > Nanoseconds{}) kept += fmt::format(", and all over {}", human_time(threshold.fixed));
        go_on_beside(std::min(width_of(kept), available / 2));
        draw_line(kept);
        draw_filter_beside(context, 200 * context.scale);
    }

    /// Height of a table with that many rows.
    static float height_of(std::size_t rows) {
        const float row = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
        return static_cast<float>(rows + 1) * row + 2;
    }

    void draw_steps(const PanelContext& context) {
        const auto& spikes = context.profile.spikes();
        if (spikes.empty()) return draw_muted_line("no step has taken too long");
        const profile::Step& newest = spikes.back().step;
        if (steps_.wants_rows(context, newest.execution ^ (std::uint64_t{newest.plan} << 32U) ^ spikes.size() << 48U)) {
            std::vector<StepRow> rows;
            for (const Spike& spike : spikes) {
                StepRow row{{fmt::format("step {}", spike.step.execution), 0, 0, spike.step.plan},
                            spike.step.execution,
                            spike.step.length(),
                            spike.median,
                            context.now - spike.step.end};
                rows.push_back(std::move(row));
            }
            steps_.set_rows(std::move(rows));
        }
        constexpr std::size_t kRows = 4;
        steps_.draw(context, height_of(std::min(kRows, spikes.size())),
                    {.tip =
                         [](const StepRow& row) {
                             return fmt::format(
                                 "{} took {}, {:.2f} times the median of {};\na click shows it in the "
                                 "timeline, another one lets go of it",
                                 row.name, human_time(row.took), ratio(row.took, row.median), human_time(row.median));
                         },
                     .is_chosen = [&](const StepRow& row) { return is_chosen(context, row); },
                     .choose = [&](const StepRow& row) { choose(context, row); }});
    }

    static bool is_chosen(const PanelContext& context, const StepRow& row) {
        const auto& chosen = context.selection.spike;
        return chosen && chosen->step.plan == row.plan && chosen->step.execution == row.execution;
    }
    static void choose(const PanelContext& context, const StepRow& row) {
        auto& chosen = context.selection.spike;
        const auto& spikes = context.profile.spikes();
        const auto spike = std::ranges::find_if(spikes, [&](const Spike& each) {
            return each.step.plan == row.plan && each.step.execution == row.execution;
        });
        chosen = is_chosen(context, row) || spike == spikes.end() ? nullptr : std::make_shared<const Spike>(*spike);
    }

    /// The step's passes, beside them the circumstances, and below where its lanes were idle.
    void draw_chosen(const PanelContext& context, const Spike& spike) {
        ImGui::Separator();
        const bool beside = ImGui::GetContentRegionAvail().x >= kBeside * context.scale;
        if (!beside || !ImGui::BeginTable("chosen", 2, ImGuiTableFlags_SizingStretchSame)) {
            draw_passes(context, spike);
            draw_moment(context, spike);
        } else {
            ImGui::TableNextColumn();
            draw_passes(context, spike);
            ImGui::TableNextColumn();
            draw_moment(context, spike);
            ImGui::EndTable();
        }
        for (const profile::IdleGap& gap : gaps_)
            draw_muted_line(fmt::format("{} idle for {}: {}", context.text(gap.track), human_time(gap.end - gap.begin),
                                        gap.reason));
    }

    static void draw_titled(const char* title, const std::string& text) {
        if (text.empty()) return;
        ImGui::TextUnformatted(title);
        ImGui::SameLine();
        draw_muted_line(text);
    }

    /// The counters, the memory and the pacing when it was kept, and the frame that it made or drew.
    static void draw_moment(const PanelContext& context, const Spike& spike) {
        draw_titled("counters", counters_text(context, spike.counters));
        draw_titled("memory", memory_text(spike));
        const profile::PacingFigures& pacing = spike.pacing;
        if (pacing.frames > 0) {
            draw_titled("pacing",
                        fmt::format("{:.1f} fps, lows: 1% {:.1f}, 0.1% {:.1f}; {} of {} frames late", pacing.rate,
                                    pacing.low_1_percent, pacing.low_01_percent, pacing.late, pacing.frames));
            draw_titled("medians",
                        fmt::format("interval {}, decode {}, queue {}, present {}, latency {}",
                                    human_time(pacing.interval), human_time(pacing.decode), human_time(pacing.queued),
                                    human_time(pacing.present), human_time(pacing.latency)));
        }
        draw_titled("frames", frames_text(context, spike));
        draw_frames(context, pacing);
    }

    static std::string memory_text(const Spike& spike) {
        std::string text;
        if (spike.plan != nullptr)
            for (const profile::ArenaFacts& arena : spike.plan->arenas)
                text +=
                    fmt::format("{}arena of {} {}", text.empty() ? "" : "   ", arena.domain, human_bytes(arena.bytes));
        for (const profile::MemoryUse& use : spike.memory)
            text += fmt::format("{}{} {} {}{}", text.empty() ? "" : "   ", use.device, use.what, human_bytes(use.bytes),
                                use.budget > 0 ? fmt::format(" of {}", human_bytes(use.budget)) : "");
        return text;
    }

    /// A step is kept before its frames are shown, so these are looked up among the newest frames.
    static std::string frames_text(const PanelContext& context, const Spike& spike) {
        std::string text;
        for (const profile::FrameTimes& frame : context.profile.pacing().newest) {
            const bool was_made = frame.made_by == spike.step.key();
            if (!was_made && frame.drawn_by != spike.step.key()) continue;
            text += fmt::format("{}frame {} {} by it{}: decode {}, queue {}, present {}, latency {}",
                                text.empty() ? "" : "\n", frame.index, was_made ? "made" : "drawn",
                                frame.late ? ", late" : "", human_time(frame.decode), human_time(frame.queued),
                                human_time(frame.present), human_time(frame.latency));
        }
        return text;
    }

    /// The frame times until the step was kept.
    static void draw_frames(const PanelContext& context, const profile::PacingFigures& pacing) {
        if (pacing.newest.size() < 2) return;
        std::vector<float> intervals;
        for (std::size_t i = 1; i < pacing.newest.size(); ++i)
            intervals.push_back(static_cast<float>((pacing.newest[i].shown - pacing.newest[i - 1].shown).count()));
        plot_bars(fmt::format("{} frame times until then; red: late", intervals.size()).c_str(), intervals,
                  {.height = kPlot * context.scale,
                   .line = static_cast<float>(pacing.interval.count()),
                   .tip =
                       [&](std::size_t i) {
                           return fmt::format("frame {}{}\n{} after the one before", pacing.newest[i + 1].index,
                                              pacing.newest[i + 1].late ? ", late" : "", human_level(intervals[i]));
                       },
                   .color_of = [&](std::size_t i) { return pacing.newest[i + 1].late ? theme::kBad : theme::kGood; },
                   .level = human_level,
                   .clips = true});
    }

    void draw_passes(const PanelContext& context, const Spike& spike) {
        if (passes_.wants_rows(context, spike.step.execution ^ (std::uint64_t{spike.step.plan} << 32U))) {
            std::vector<PassRow> rows;
            for (const SpanRecord& span : spike.step.spans) {
                const profile::PassProfile* pass = context.profile.find(span.name, span.track);
                PassRow row;
                static_cast<TableRow&>(row) = {std::string(context.text(span.name)), span.name, span.track, span.plan};
                row.took = span.length();
                row.median = pass != nullptr ? pass->quantile(0.5) : Nanoseconds{};
                rows.push_back(std::move(row));
            }
            passes_.set_rows(std::move(rows));
            gaps_.clear();
            if (spike.plan != nullptr)
                gaps_ = idle_gaps(spike.step, *spike.plan, context.profile.recorder().names(), spike.step.length() / 20,
                                  spike.around);
        }
        constexpr std::size_t kRows = 7;
        passes_.draw(context, height_of(std::min(kRows, spike.step.spans.size())), {.tip = [&](const PassRow& row) {
                         return fmt::format(
                             "{} on {} took {} in the chosen step;\nhalf of its calls take no longer than {}", row.name,
                             context.text(row.track), human_time(row.took), human_time(row.median));
                     }});
    }

    /// A is what ran until it was kept; B, or now, is what ran since.
    void draw_captures(const PanelContext& context) {
        if (ImGui::Button("Keep A")) {
            before_ = context.profile.capture("A");
            after_.reset();
            ++captures_;
        }
        go_on_beside(width_of("Keep B") + 2 * ImGui::GetStyle().FramePadding.x);
        if (ImGui::Button("Keep B") && before_) {
            after_ = since(*before_, context.profile.capture("B"));
            ++captures_;
        }
        constexpr const char* kHint = "keep A, change something, then compare with what runs since";
        constexpr const char* kCertainty = "by chance in less than 1 of 100 cases";
        const float least = ImGui::GetContentRegionAvail().x / 2;
        go_on_beside(std::min(width_of(kHint), least));
        if (!before_) return draw_muted_line(kHint);
        draw_line(fmt::format("A with {}, means:", after_ ? "B" : "now"));
        for (const auto& [color, word] : {std::pair(theme::kBad, "slower"), std::pair(theme::kGood, "faster")}) {
            go_on_beside(width_of(word));
            draw_line(word, color);
        }
        go_on_beside(std::min(width_of(kCertainty), least));
        draw_muted_line(kCertainty);
    }

    /// Finds the profile's pass for each row: captures name passes by text, because they may come from elsewhere.
    static void identify(const PanelContext& context, std::vector<ChangeRow>& rows,
                         const std::vector<std::string_view>& tracks) {
        std::unordered_multimap<std::string_view, const profile::PassProfile*> passes;
        for (const profile::PassProfile& pass : context.profile.passes())
            passes.emplace(context.text(pass.name), &pass);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto [first, last] = passes.equal_range(rows[i].name);
            for (auto each = first; each != last; ++each) {
                if (context.text(each->second->track) != tracks[i]) continue;
                rows[i].pass = each->second->name;
                rows[i].track = each->second->track;
                rows[i].plan = each->second->plan;
            }
        }
    }

    void draw_changes(const PanelContext& context) {
        if (changes_.wants_rows(context, captures_)) {
            if (!after_) now_ = since(*before_, context.profile.capture("now"));
            std::vector<ChangeRow> rows;
            std::vector<std::string_view> tracks;
            for (const PassChange& change : compare(*before_, after_ ? *after_ : now_)) {
                const profile::PassSummary& either = change.before != nullptr ? *change.before : *change.after;
                tracks.push_back(either.track);
                ChangeRow row;
                row.name = either.name;
                if (change.is_significant()) row.color = change.ratio > 1.0 ? theme::kBad : theme::kGood;
                row.before = side_of(change.before);
                row.after = side_of(change.after);
                row.ratio = change.ratio;
                row.chance = change.chance;
                rows.push_back(std::move(row));
            }
            identify(context, rows, tracks);
            changes_.set_rows(std::move(rows));
        }
        constexpr std::size_t kLeastRows = 4;
        changes_.draw(context, std::max(ImGui::GetContentRegionAvail().y, height_of(kLeastRows)), {.tip = explain});
    }

    static std::optional<ChangeRow::Side> side_of(const profile::PassSummary* side) {
        if (side == nullptr) return std::nullopt;
        return ChangeRow::Side{side->calls - 1, side->mean, side->deviation};
    }

    static std::string explain(const ChangeRow& row) {
        std::string text = row.name;
        for (const auto& [title, side] : {std::pair("until A", &row.before), std::pair("since", &row.after)})
            if (*side)
                text +=
                    fmt::format("\n{}: {} calls but the first, {} \u00b1{} each", title, (*side)->calls,
                                human_time((*side)->mean), human_time(Nanoseconds(std::llround((*side)->deviation))));
        return text;
    }

    Table<StepRow> steps_{"spikes", kStepColumns, {.sorting = {4}, .is_filtered = false, .has_chip = false}};
    Table<PassRow> passes_{"spike", kPassColumns, {.sorting = {3}}};
    Table<ChangeRow> changes_{"changes", kChangeColumns, {.sorting = {3}, .refresh = std::chrono::seconds(1)}};
    std::vector<profile::IdleGap> gaps_;  // of the chosen step
    std::uint64_t captures_ = 0;          // kept by the user so far
    std::optional<Capture> before_, after_;
    Capture now_;
};

}  // namespace

std::unique_ptr<Panel> make_spikes_panel() { return std::make_unique<SpikesPanel>(); }

}  // namespace kinetograph::ui
