#include <kinetograph/engine/ui/cells.hpp>
#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/plan_choice.hpp>
#include <kinetograph/engine/ui/plot.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <array>

namespace kinetograph::ui {
namespace {

using profile::PassProfile;
using profile::PassRates;

/// One pass as the table shows it; computed a few times a second.
struct Row {
    const PassProfile* pass = nullptr;
    PassRates rates;
    double share = 0.0;
    Nanoseconds last{}, p50{}, p95{}, p99{};
    std::string kernel{};  ///< what runs it; empty: its plan does not say
};

std::string per_second(double value, double unit) { return value > 0.0 ? fmt::format("{:.2f}", value / unit) : "-"; }
std::string percent(double part) { return part > 0.0 ? fmt::format("{:.1f}%", 100.0 * part) : "-"; }

struct Column {
    const char* title;
    const char* meaning;
    double (*key)(const Row&);  ///< null: by name, or by kernel
    std::string (*text)(const Row&);
    bool of_ceiling = false;  ///< compares with the device's measured rates
};

double count(Nanoseconds time) { return static_cast<double>(time.count()); }

constexpr std::array kColumns{
    Column{"pass", "its name, with its lane's colour", nullptr, nullptr},
    Column{"share", "of the time in which anything ran; passes that overlap share it",
           [](const Row& row) { return row.share; }, [](const Row& row) { return percent(row.share); }},
    Column{"last", "the newest call", [](const Row& row) { return count(row.last); },
           [](const Row& row) { return human_time(row.last); }},
    Column{"p50", "the median of all calls but the first", [](const Row& row) { return count(row.p50); },
           [](const Row& row) { return human_time(row.p50); }},
    Column{"p99", "99 of 100 calls are no longer", [](const Row& row) { return count(row.p99); },
           [](const Row& row) { return human_time(row.p99); }},
    Column{"max", "the longest call but the first", [](const Row& row) { return count(row.pass->max()); },
           [](const Row& row) { return human_time(row.pass->max()); }},
    Column{"TFLOP/s", "floating-point operations of a call, over the median",
           [](const Row& row) { return row.rates.operations_per_second; },
           [](const Row& row) { return per_second(row.rates.operations_per_second, 1e12); }},
    Column{"GB/s", "least bytes moved by a call, over the median",
           [](const Row& row) { return row.rates.bytes_per_second; },
           [](const Row& row) { return per_second(row.rates.bytes_per_second, 1e9); }},
    Column{"roofline", "the least time that the device's ceilings allow this pass, over the median",
           [](const Row& row) { return row.rates.of_roofline; },
           [](const Row& row) { return percent(row.rates.of_roofline); }, true},
    Column{"ceiling", "of the device's measured rate, of operations or of bytes, whichever is nearer",
           [](const Row& row) { return row.rates.of_ceiling; },
           [](const Row& row) { return percent(row.rates.of_ceiling); }, true},
    Column{"mean", "of all calls but the first", [](const Row& row) { return count(row.pass->mean()); },
           [](const Row& row) { return human_time(row.pass->mean()); }},
    Column{"p95", "95 of 100 calls are no longer", [](const Row& row) { return count(row.p95); },
           [](const Row& row) { return human_time(row.p95); }},
    Column{"first", "the first call, which may load and compile", [](const Row& row) { return count(row.pass->first); },
           [](const Row& row) { return human_time(row.pass->first); }},
    Column{"calls", "since the start", [](const Row& row) { return static_cast<double>(row.pass->calls); },
           [](const Row& row) { return fmt::format("{}", row.pass->calls); }},
    Column{"kernel", "what runs it; the reason is under the pointer and, of the selected pass, below", nullptr,
           [](const Row& row) { return row.kernel; }},
};

class PassesPanel final : public Panel {
  public:
    std::string_view name() const override { return "Passes"; }

    void draw(const PanelContext& context) override {
        refresh(context);
        filter_.Draw("filter", 200 * context.scale);
        ImGui::SameLine();
        ImGui::TextDisabled("%zu of %zu passes", rows_.size(), context.profile.passes().size());
        draw_steps(context);
        const PassProfile* selected = context.profile.find(context.selection.pass, context.selection.track);
        const float below =
            selected != nullptr ? 5 * ImGui::GetTextLineHeightWithSpacing() + (kPlot + 8) * context.scale : 0.0F;
        draw_table(context, ImGui::GetContentRegionAvail().y - below);
        if (selected != nullptr) draw_selected(context, *selected);
    }

  private:
    static constexpr float kNameWidth = 250.0F, kKernelWidth = 130.0F, kPlot = 56.0F;
    static constexpr Nanoseconds kRefresh = std::chrono::milliseconds(250);  // faster is unreadable

    /// The rows point into the profile's passes, which move when there are more of them.
    void refresh(const PanelContext& context) {
        const auto& passes = context.profile.passes();
        const bool is_due =
            context.now - refreshed_ >= kRefresh || passes.data() != passes_ || refreshed_ == Nanoseconds{};
        const bool is_clicked =
            ImGui::IsMouseDown(ImGuiMouseButton_Left) || ImGui::IsMouseReleased(ImGuiMouseButton_Left);
        if (is_clicked && passes.data() == passes_) return;  // rows stay under the pointer until a click is over
        if (!is_due && std::string_view(filter_.InputBuf) == filtered_by_ && !resort_) return;
        refreshed_ = context.now;
        passes_ = passes.data();
        filtered_by_ = filter_.InputBuf;
        rows_.clear();
        for (const PassProfile& pass : passes) {
            const std::string_view name = context.text(pass.name);
            if (!filter_.PassFilter(name.data(), name.data() + name.size())) continue;
            const profile::PassFacts* facts = context.profile.facts(pass);
            rows_.push_back({&pass, context.profile.rates(pass), pass.share, pass.last, pass.quantile(0.5),
                             pass.quantile(0.95), pass.quantile(0.99),
                             facts != nullptr ? facts->kernel : std::string()});
        }
        resort_ = false;
        const Column& column = kColumns[sorted_by_];
        std::ranges::stable_sort(rows_, [&](const Row& a, const Row& b) {
            const Row &less = ascending_ ? a : b, &more = ascending_ ? b : a;
            if (column.key != nullptr) return column.key(less) < column.key(more);
            if (column.text != nullptr) return column.text(less) < column.text(more);
            return context.text(less.pass->name) < context.text(more.pass->name);
        });
    }

    /// The first step, which may load kernels, and the later ones: of the selected pass's plan, or of the largest.
    static void draw_steps(const PanelContext& context) {
        const profile::PlanSteps* chosen = choose_steps(context);
        if (chosen == nullptr) return;
        std::string text = fmt::format("steps of plan {}: the first {}", chosen->plan, human_time(chosen->first));
        if (const auto& later = chosen->later; later.count() > 0)
            text += fmt::format("; {} later ones: median {}, p95 {}, p99 {}, max {}", later.count(),
                                human_time(later.quantile(0.5)), human_time(later.quantile(0.95)),
                                human_time(later.quantile(0.99)), human_time(later.max()));
        ImGui::TextUnformatted(elided(text, ImGui::GetContentRegionAvail().x).c_str());
    }

    void draw_table(const PanelContext& context, float height) {
        constexpr ImGuiTableFlags kFlags =
            ImGuiTableFlags_Sortable | ImGuiTableFlags_ScrollX | ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
            ImGuiTableFlags_Reorderable | ImGuiTableFlags_Hideable | ImGuiTableFlags_Resizable |
            ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_SizingFixedFit;
        if (!ImGui::BeginTable("passes", static_cast<int>(kColumns.size()), kFlags, {0, height})) return;
        ImGui::TableSetupScrollFreeze(1, 1);
        for (std::size_t i = 0; i < kColumns.size(); ++i)
            ImGui::TableSetupColumn(kColumns[i].title,
                                    (i == 1 ? ImGuiTableColumnFlags_DefaultSort : 0) |
                                        (i > 0 ? ImGuiTableColumnFlags_PreferSortDescending : 0),
                                    context.scale * (i == 0                       ? kNameWidth
                                                     : kColumns[i].key == nullptr ? kKernelWidth
                                                                                  : 0.0F));
        draw_headers(context);
        ImGuiListClipper clipper;
        clipper.Begin(static_cast<int>(rows_.size()));
        while (clipper.Step())
            for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
                draw_row(context, rows_[static_cast<std::size_t>(i)]);
        ImGui::EndTable();
    }

    /// What the rates are compared with.
    static std::string ceilings(const PanelContext& context) {
        std::string text;
        for (const auto& [track, ceiling] : context.profile.recorder().ceilings())
            text += fmt::format("\n{}: {:.3g} TFLOP/s, {:.3g} GB/s\n({})", context.text(track),
                                ceiling.operations_per_second / 1e12, ceiling.bytes_per_second / 1e9, ceiling.source);
        return text.empty() ? "\nnobody has measured the device" : text;
    }

    void draw_headers(const PanelContext& context) {
        ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
        for (std::size_t i = 0; i < kColumns.size(); ++i) {
            if (!ImGui::TableSetColumnIndex(static_cast<int>(i))) continue;
            ImGui::TableHeader(kColumns[i].title);
            if (ImGui::IsItemHovered())
                ImGui::SetTooltip("%s%s", kColumns[i].meaning, kColumns[i].of_ceiling ? ceilings(context).c_str() : "");
        }
        ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
        if (specs == nullptr || !specs->SpecsDirty || specs->SpecsCount == 0) return;
        specs->SpecsDirty = false;
        sorted_by_ = static_cast<std::size_t>(specs->Specs[0].ColumnIndex);
        ascending_ = specs->Specs[0].SortDirection == ImGuiSortDirection_Ascending;
        resort_ = true;
    }

    void draw_row(const PanelContext& context, const Row& row) {
        const PassProfile& pass = *row.pass;
        const std::string_view name = context.text(pass.name), track = context.text(pass.track);
        ImGui::TableNextRow();
        ImGui::TableSetColumnIndex(0);
        ImGui::PushID(&pass);
        const ImVec2 at = ImGui::GetCursorScreenPos();
        const float line = ImGui::GetTextLineHeight();
        if (ImGui::Selectable("##row", context.selection.is(pass.name, pass.track),
                              ImGuiSelectableFlags_SpanAllColumns))
            context.selection.select(pass.name, pass.track, pass.plan);
        if (ImGui::IsItemHovered()) draw_tip(context, pass);
        ImGui::PopID();
        ImGui::GetWindowDrawList()->AddRectFilled(
            {at.x, at.y + line * 0.25F}, {at.x + line * 0.5F, at.y + line * 0.75F}, theme::track_color(track), 2.0F);
        ImGui::SameLine(line * 0.8F);
        ImGui::TextUnformatted(elided(name, ImGui::GetContentRegionAvail().x, Cut::Begin).c_str());
        for (std::size_t i = 1; i < kColumns.size(); ++i) {
            if (!ImGui::TableSetColumnIndex(static_cast<int>(i))) continue;
            const std::string text = kColumns[i].text(row);
            kColumns[i].key != nullptr ? draw_number(text) : ImGui::TextUnformatted(text.c_str());
        }
    }

    static void draw_tip(const PanelContext& context, const PassProfile& pass) {
        const profile::PassFacts* facts = context.profile.facts(pass);
        std::string text = fmt::format("{} on {}", context.text(pass.name), context.text(pass.track));
        if (facts != nullptr && !facts->kernel.empty()) text += fmt::format("\n{}: {}", facts->kernel, facts->reason);
        if (facts != nullptr && facts->operations > 0)
            text += fmt::format("\n{:.3f} GFLOP, {} at least", facts->operations * 1e-9, human_bytes(facts->bytes));
        ImGui::SetTooltip("%s", text.c_str());
    }

    static void draw_selected(const PanelContext& context, const PassProfile& pass) {
        const profile::PassFacts* facts = context.profile.facts(pass);
        const float width = ImGui::GetContentRegionAvail().x;
        ImGui::Spacing();
        ImGui::TextColored(
            ImColor(theme::track_color(context.text(pass.track))), "%s",
            elided(fmt::format("{} on {}", context.text(pass.name), context.text(pass.track)), width).c_str());
        const std::string kernel = facts == nullptr || facts->kernel.empty()
                                       ? std::string("its plan does not say what runs it")
                                       : fmt::format("{}: {}", facts->kernel, facts->reason);
        ImGui::TextUnformatted(elided(kernel, width).c_str());
        if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", kernel.c_str());
        const float half = (width - ImGui::GetStyle().ItemSpacing.x) / 2;
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
                   .tip = [&](std::size_t i) { return human_time(pass.history[i]); }});
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
             .tip = [&](std::size_t i) { return fmt::format("{} calls of {} to {}", bins[i], edge(i), edge(i + 1)); }});
    }

    ImGuiTextFilter filter_;
    std::string filtered_by_;
    std::vector<Row> rows_;
    const PassProfile* passes_ = nullptr;
    std::size_t sorted_by_ = 1;
    bool ascending_ = false, resort_ = false;
    Nanoseconds refreshed_{};
};

}  // namespace

std::unique_ptr<Panel> make_passes_panel() { return std::make_unique<PassesPanel>(); }

}  // namespace kinetograph::ui
