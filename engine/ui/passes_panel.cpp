#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/panels.hpp>
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
    Nanoseconds p50{}, p95{}, p99{};
};

std::string per_second(double value, double unit) {
    return value > 0.0 ? fmt::format("{:.2f}", value / unit) : "\u2013";
}
std::string percent(double part) { return part > 0.0 ? fmt::format("{:.1f}%", 100.0 * part) : "\u2013"; }

struct Column {
    const char* title;
    const char* meaning;
    double (*key)(const Row&);  ///< null: by name
    std::string (*text)(const Row&);
    bool of_ceiling = false;  ///< compares with the device's measured rates
};

double count(Nanoseconds time) { return static_cast<double>(time.count()); }

constexpr std::array kColumns{
    Column{"pass", "its name, with its lane's colour", nullptr, nullptr},
    Column{"share", "of the time in which anything ran; passes that overlap share it",
           [](const Row& row) { return row.pass->share; }, [](const Row& row) { return percent(row.pass->share); }},
    Column{"last", "the newest call", [](const Row& row) { return count(row.pass->last); },
           [](const Row& row) { return human_time(row.pass->last); }},
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
};

class PassesPanel final : public Panel {
  public:
    std::string_view name() const override { return "Passes"; }

    void draw(const PanelContext& context) override {
        refresh(context);
        filter_.Draw("filter", 200 * context.scale);
        ImGui::SameLine();
        ImGui::TextDisabled("%zu of %zu passes", rows_.size(), context.profile.passes().size());
        const PassProfile* selected = context.profile.find(context.selection.pass, context.selection.track);
        const float below = selected != nullptr ? 150 * context.scale : 0.0F;
        draw_table(context, ImGui::GetContentRegionAvail().y - below);
        if (selected != nullptr) draw_selected(context, *selected);
    }

  private:
    static constexpr float kNameWidth = 230.0F;
    static constexpr Nanoseconds kRefresh = std::chrono::milliseconds(250);  // faster is unreadable

    /// The rows point into the profile's passes, which move when there are more of them.
    void refresh(const PanelContext& context) {
        const auto& passes = context.profile.passes();
        const bool is_due =
            context.now - refreshed_ >= kRefresh || passes.data() != passes_ || refreshed_ == Nanoseconds{};
        if (!is_due && std::string_view(filter_.InputBuf) == filtered_by_ && !resort_) return;
        refreshed_ = context.now;
        passes_ = passes.data();
        filtered_by_ = filter_.InputBuf;
        rows_.clear();
        for (const PassProfile& pass : passes) {
            const std::string_view name = context.text(pass.name);
            if (!filter_.PassFilter(name.data(), name.data() + name.size())) continue;
            rows_.push_back(
                {&pass, context.profile.rates(pass), pass.quantile(0.5), pass.quantile(0.95), pass.quantile(0.99)});
        }
        resort_ = false;
        const Column& column = kColumns[sorted_by_];
        std::ranges::stable_sort(rows_, [&](const Row& a, const Row& b) {
            const Row &less = ascending_ ? a : b, &more = ascending_ ? b : a;
            if (column.key == nullptr) return context.text(less.pass->name) < context.text(more.pass->name);
            return column.key(less) < column.key(more);
        });
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
                                    i == 0 ? kNameWidth * context.scale : 0.0F);
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
        ImGui::TextUnformatted(name.data(), name.data() + name.size());
        for (std::size_t i = 1; i < kColumns.size(); ++i)
            if (ImGui::TableSetColumnIndex(static_cast<int>(i))) ImGui::TextUnformatted(kColumns[i].text(row).c_str());
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
        const std::string_view name = context.text(pass.name);
        ImGui::Text("%.*s", static_cast<int>(name.size()), name.data());
        if (facts != nullptr && !facts->kernel.empty()) {
            ImGui::SameLine();
            ImGui::TextDisabled("%s: %s", facts->kernel.c_str(), facts->reason.c_str());
        }
        std::vector<float> history;
        for (std::size_t i = 0; i < pass.history.size(); ++i)
            history.push_back(static_cast<float>(pass.history[i].count()));
        plot_bars(fmt::format("last {} calls; line: median {}", history.size(), human_time(pass.quantile(0.5))).c_str(),
                  history,
                  {.height = 52 * context.scale,
                   .line = static_cast<float>(pass.quantile(0.5).count()),
                   .tip = [&](std::size_t i) { return human_time(pass.history[i]); }});
        constexpr std::size_t kBins = 64;
        std::vector<float> bins;
        for (const std::uint32_t bin : pass.later.histogram(kBins)) bins.push_back(static_cast<float>(bin));
        const Nanoseconds low = pass.later.min(), range = pass.later.max() - low;
        plot_bars(fmt::format("{} to {}, {} calls", human_time(low), human_time(pass.later.max()), pass.later.count())
                      .c_str(),
                  bins, {.height = 52 * context.scale, .color = theme::kGood, .tip = [&](std::size_t i) {
                             return fmt::format("{} calls of about {}", bins[i],
                                                human_time(low + range * static_cast<std::int64_t>(i) /
                                                                     static_cast<std::int64_t>(kBins)));
                         }});
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
