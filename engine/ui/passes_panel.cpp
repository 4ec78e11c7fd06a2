#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/lines.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/plan_choice.hpp>
#include <kinetograph/engine/ui/plot.hpp>
#include <kinetograph/engine/ui/table.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace kinetograph::ui {
namespace {

using profile::PassProfile;
using profile::PassRates;

/// One pass as the table shows it; computed a few times a second.
struct Row : TableRow {
    PassRates rates;
    double share = 0.0;
    std::uint64_t calls = 0;
    Nanoseconds first{}, last{}, mean{}, p50{}, p95{}, p99{}, max{};
    std::string kernel{};  ///< what runs it; empty: its plan does not say
};

std::string per_second(double value, double unit) { return value > 0.0 ? fmt::format("{:.2f}", value / unit) : "-"; }
std::string percent(double part) { return part > 0.0 ? fmt::format("{:.1f}%", 100.0 * part) : "-"; }

/// The ceilings that the rates are compared with.
std::string ceilings(const PanelContext& context) {
    std::string text;
    for (const auto& [track, ceiling] : context.profile.recorder().ceilings())
        text += fmt::format("\n{}: {:.3g} TFLOP/s, {:.3g} GB/s\n({})", context.text(track),
                            ceiling.operations_per_second / 1e12, ceiling.bytes_per_second / 1e9, ceiling.source);
    return text.empty() ? "\nnobody has measured the device" : text;
}

constexpr std::array kColumns{
    Column<Row>{"pass", "its name, with its lane's colour"},
    Column<Row>{"share", "of the time in which anything ran; passes that overlap share it",
                [](const Row& row) { return row.share; }, [](const Row& row) { return percent(row.share); }},
    Column<Row>{"last", "the newest call", [](const Row& row) { return sort_key(row.last); },
                [](const Row& row) { return human_time(row.last); }},
    Column<Row>{"p50", "half of the calls but the first took no longer: the median",
                [](const Row& row) { return sort_key(row.p50); }, [](const Row& row) { return human_time(row.p50); }},
    Column<Row>{"p99", "99 of 100 calls but the first took no longer", [](const Row& row) { return sort_key(row.p99); },
                [](const Row& row) { return human_time(row.p99); }},
    Column<Row>{"max", "the longest call but the first", [](const Row& row) { return sort_key(row.max); },
                [](const Row& row) { return human_time(row.max); }},
    Column<Row>{"TFLOP/s", "floating-point operations of a call, over the median",
                [](const Row& row) { return row.rates.operations_per_second; },
                [](const Row& row) { return per_second(row.rates.operations_per_second, 1e12); }},
    Column<Row>{"GB/s", "least bytes moved by a call, over the median",
                [](const Row& row) { return row.rates.bytes_per_second; },
                [](const Row& row) { return per_second(row.rates.bytes_per_second, 1e9); }},
    Column<Row>{"roofline", "of what the device allows a pass with so many operations a byte",
                [](const Row& row) { return row.rates.of_roofline; },
                [](const Row& row) { return percent(row.rates.of_roofline); }, ceilings},
    Column<Row>{"of FLOP/s", "operations a second, of the most that the device was measured to do",
                [](const Row& row) { return row.rates.of_peak_operations; },
                [](const Row& row) { return percent(row.rates.of_peak_operations); }, ceilings},
    Column<Row>{"of GB/s", "bytes a second, of the most that the device was measured to move",
                [](const Row& row) { return row.rates.of_peak_bandwidth; },
                [](const Row& row) { return percent(row.rates.of_peak_bandwidth); }, ceilings},
    Column<Row>{"mean", "of all calls but the first", [](const Row& row) { return sort_key(row.mean); },
                [](const Row& row) { return human_time(row.mean); }},
    Column<Row>{"p95", "95 of 100 calls but the first took no longer", [](const Row& row) { return sort_key(row.p95); },
                [](const Row& row) { return human_time(row.p95); }},
    Column<Row>{"first", "the first call, which may load and compile",
                [](const Row& row) { return sort_key(row.first); },
                [](const Row& row) { return human_time(row.first); }},
    Column<Row>{"calls", "since the start", [](const Row& row) { return static_cast<double>(row.calls); },
                [](const Row& row) { return fmt::format("{}", row.calls); }},
    Column<Row>{"kernel", "what runs it; the reason is under the pointer and, of the selected pass, below", nullptr,
                [](const Row& row) { return row.kernel; }},
};

class PassesPanel final : public Panel {
  public:
    std::string_view name() const override { return "Passes"; }

    void draw(const PanelContext& context) override {
        refresh(context);
        draw_filter(context, 200 * context.scale);
        const std::string count =
            fmt::format("{} of {} passes", table_.arrange(context), context.profile.passes().size());
        go_on_beside(width_of(count));
        draw_muted_line(count);
        draw_steps(context);
        const PassProfile* selected = context.profile.find(context.selection.pass, context.selection.track);
        const float line = ImGui::GetTextLineHeightWithSpacing(), available = ImGui::GetContentRegionAvail().y;
        const float below = 5 * line + (kPlot + 8) * context.scale;
        const bool has_below = selected != nullptr && available >= below + kLeastRows * line;
        table_.draw(context, has_below ? available - below : 0.0F,
                    {.tip = [&](const Row& row) { return tip_of(context, row); }});
        if (has_below) draw_selected(context, *selected);
    }

  private:
    static constexpr float kPlot = 56.0F;
    static constexpr float kLeastRows = 3.0F;  // of the table, above what is shown of the selected pass

    void refresh(const PanelContext& context) {
        if (!table_.wants_rows(context, context.profile.passes().size())) return;
        std::vector<Row> rows;
        rows.reserve(context.profile.passes().size());
        for (const PassProfile& pass : context.profile.passes()) {
            Row row;
            static_cast<TableRow&>(row) = {std::string(context.text(pass.name)), pass.name, pass.track, pass.plan};
            row.rates = context.profile.rates(pass);
            row.share = pass.share;
            row.calls = pass.calls;
            row.first = pass.first;
            row.last = pass.last;
            row.mean = pass.mean();
            row.p50 = pass.quantile(0.5);
            row.p95 = pass.quantile(0.95);
            row.p99 = pass.quantile(0.99);
            row.max = pass.max();
            if (const auto facts = context.profile.facts(pass)) row.kernel = facts->kernel;
            rows.push_back(std::move(row));
        }
        table_.set_rows(std::move(rows));
    }

    /// Times of the first step, which may load kernels, and of the later ones: of the selected pass's plan, or of the
    /// one with the most passes.
    static void draw_steps(const PanelContext& context) {
        const profile::PlanSteps* chosen = choose_steps(context);
        if (chosen == nullptr) return;
        std::string text = fmt::format("steps of plan {}: the first {}", chosen->plan, human_time(chosen->first));
        if (const auto& later = chosen->later; later.count() > 0)
            text += fmt::format("; {} later ones: median {}, p95 {}, p99 {}, max {}", later.count(),
                                human_time(later.quantile(0.5)), human_time(later.quantile(0.95)),
                                human_time(later.quantile(0.99)), human_time(later.max()));
        draw_line(text, ImGui::GetColorU32(ImGuiCol_Text),
                  "a step is one execution of the graph; 95 and 99 of 100 later steps took no longer than p95 and p99");
    }

    static std::string tip_of(const PanelContext& context, const Row& row) {
        std::string text = fmt::format(
            "{} on {}\n{} calls; of all but the first, half took no longer than {},\n95 of 100 no longer than {}, 99 "
            "of "
            "100 no longer than {}",
            row.name, context.text(row.track), row.calls, human_time(row.p50), human_time(row.p95),
            human_time(row.p99));
        const PassProfile* pass = context.profile.find(row.pass, row.track);
        const auto facts = pass != nullptr ? context.profile.facts(*pass) : nullptr;
        if (facts != nullptr && !facts->kernel.empty()) text += fmt::format("\n{}: {}", facts->kernel, facts->reason);
        if (facts != nullptr && facts->operations > 0)
            text += fmt::format("\n{:.3f} GFLOP, {} at least", facts->operations * 1e-9, human_bytes(facts->bytes));
        return text;
    }

    static void draw_selected(const PanelContext& context, const PassProfile& pass) {
        const auto facts = context.profile.facts(pass);
        ImGui::Spacing();
        draw_line(fmt::format("{} on {}", context.text(pass.name), context.text(pass.track)),
                  theme::track_color(context.text(pass.track)));
        const std::string kernel = facts == nullptr || facts->kernel.empty()
                                       ? std::string("its plan does not say what runs it")
                                       : fmt::format("{}: {}", facts->kernel, facts->reason);
        draw_line(kernel);
        const float half = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) / 2;
        draw_history(pass, half, kPlot * context.scale);
        ImGui::SameLine();
        draw_histogram(pass, half, kPlot * context.scale);
    }

    static void draw_history(const PassProfile& pass, float width, float height) {
        std::vector<float> history;
        Nanoseconds longest{};
        for (std::size_t i = 0; i < pass.history.size(); ++i) {
            history.push_back(static_cast<float>(pass.history[i].count()));
            longest = std::max(longest, pass.history[i]);
        }
        const Nanoseconds median = pass.quantile(0.5);
        plot_bars(fmt::format("newest {} calls, to {}; line: median {}", history.size(), human_time(longest),
                              human_time(median))
                      .c_str(),
                  history,
                  {.width = width,
                   .height = height,
                   .line = static_cast<float>(median.count()),
                   .least = "oldest",
                   .most = "newest",
                   .tip =
                       [&](std::size_t i) {
                           const double times = median > Nanoseconds{} ? static_cast<double>(pass.history[i].count()) /
                                                                             static_cast<double>(median.count())
                                                                       : 1.0;
                           const std::size_t ago = pass.history.size() - 1 - i;
                           return fmt::format(
                               "{} took {},\n{:.2f} times the median of {}",
                               ago == 0 ? "the newest call" : fmt::format("the call {} before the newest", ago),
                               human_time(pass.history[i]), times, human_time(median));
                       },
                   .level = human_level,
                   .clips = true});
    }

    /// Of all calls but the first.
    static void draw_histogram(const PassProfile& pass, float width, float height) {
        constexpr std::size_t kBins = 64;
        std::vector<float> bins;
        for (const std::uint32_t bin : pass.later.histogram(kBins)) bins.push_back(static_cast<float>(bin));
        const Nanoseconds low = pass.later.min(), range = pass.later.max() - low;
        const auto edge = [&](std::size_t bin) {
            return human_time(low + range * static_cast<std::int64_t>(bin) / static_cast<std::int64_t>(kBins));
        };
        plot_bars(
            fmt::format("histogram of {} calls, without the first of {}", pass.later.count(), human_time(pass.first))
                .c_str(),
            bins,
            {.width = width,
             .height = height,
             .color = theme::kGood,
             .least = human_time(low),
             .most = human_time(pass.later.max()),
             .tip =
                 [&](std::size_t i) {
                     return fmt::format("{} of {} calls took from {} to {}", bins[i], pass.later.count(), edge(i),
                                        edge(i + 1));
                 },
             .level =
                 [](float calls) {
                     return calls == std::floor(calls) ? fmt::format("{:.0f}", calls) : std::string();
                 }});
    }

    Table<Row> table_{"passes", kColumns, {.is_wide = true}};
};

}  // namespace

std::unique_ptr<Panel> make_passes_panel() { return std::make_unique<PassesPanel>(); }

}  // namespace kinetograph::ui
