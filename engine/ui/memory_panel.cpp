#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/lines.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/plan_choice.hpp>
#include <kinetograph/engine/ui/pointer.hpp>
#include <kinetograph/engine/ui/table.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <array>

namespace kinetograph::ui {
namespace {

using profile::PlanFacts;
using profile::ResourceFacts;

bool is_in(const ResourceFacts& resource, const profile::ArenaFacts& arena) {
    return !resource.imported && !resource.culled && resource.domain == arena.domain &&
           resource.first_pass != profile::kNone;
}

struct ResourceRow : TableRow {
    bool is_imported = false;
    std::uint64_t bytes = 0, offset = 0;
    std::string domain{};
    std::string made_by{}, read_by{};  ///< the first and the last pass of its life
};

constexpr std::array kResourceColumns{
    Column<ResourceRow>{"resource", "its name, with the colour of the lane that makes it"},
    Column<ResourceRow>{"size", "bytes", [](const ResourceRow& row) { return static_cast<double>(row.bytes); },
                        [](const ResourceRow& row) { return human_bytes(row.bytes); }},
    Column<ResourceRow>{
        "at", "where in its arena it begins",
        [](const ResourceRow& row) { return row.is_imported ? -1.0 : static_cast<double>(row.offset); },
        [](const ResourceRow& row) { return row.is_imported ? std::string("-") : human_bytes(row.offset); }},
    Column<ResourceRow>{
        "memory", "whose arena it is in; or imported: it outlives a step", nullptr,
        [](const ResourceRow& row) { return row.is_imported ? row.domain + ", imported" : row.domain; }},
    Column<ResourceRow>{"made by", "the first pass of its life", nullptr,
                        [](const ResourceRow& row) { return row.made_by; }},
    Column<ResourceRow>{"last used by", "after which its bytes are another resource's", nullptr,
                        [](const ResourceRow& row) { return row.read_by; }},
};

class MemoryPanel final : public Panel {
  public:
    std::string_view name() const override { return "Memory"; }

    void draw(const PanelContext& context) override {
        const profile::Spike* const kept = context.selection.spike.get();
        if (kept != nullptr)
            draw_figures(context, kept->memory, kept->counters);
        else
            draw_figures(context, context.profile.memory(), context.profile.counters());
        const auto plan = kept != nullptr ? plan_of(*kept) : choose_plan(context);
        if (plan == nullptr) return;
        draw_filter_beside(context, 0);
        std::uint64_t arenas = 0, imported = 0;
        for (const profile::ArenaFacts& arena : plan->arenas) arenas += arena.bytes;
        for (const ResourceFacts& resource : plan->resources)
            if (resource.imported) imported += resource.bytes;
        draw_line(fmt::format("arenas {}, {} without aliasing; imported, outlives a step: {}", human_bytes(arenas),
                              human_bytes(plan->transient_bytes), human_bytes(imported)));
        const float line = ImGui::GetTextLineHeightWithSpacing(), table = kRows * line;
        const float each = (ImGui::GetContentRegionAvail().y - table) /
                               static_cast<float>(std::max<std::size_t>(plan->arenas.size(), 1)) -
                           line - ImGui::GetStyle().ItemSpacing.y;
        for (const profile::ArenaFacts& arena : plan->arenas)
            draw_arena(context, *plan, arena, std::max(each, kLeastArena * context.scale));
        draw_table(context, *plan);
    }

  private:
    static constexpr float kRows = 8.0F;          // of the table, with its headers
    static constexpr float kLeastArena = 100.0F;  // pixels at scale 1
    static constexpr float kParted = 3.0F;        // pixels of a block's shorter side from which a gap is drawn
    static constexpr float kFaded = 0.25F;        // of a block that the filter leaves out
    static constexpr float kBand = 0.25F;         // of the column of the selected pass

    /// The plan of a step that was kept, under a line that names the step.
    static std::shared_ptr<const PlanFacts> plan_of(const profile::Spike& kept) {
        ImGui::AlignTextToFramePadding();
        draw_line(fmt::format("step {} of plan {}, kept: all as it was then", kept.step.execution, kept.step.plan),
                  theme::kBad);
        return kept.plan;
    }

    /// In as many columns as there is room for: what the application reports (weights, heaps and their budgets), and
    /// the devices' counters (memory in use, a decoder's part of it, its peak and its budget) that the application does
    /// not report itself.
    static void draw_figures(const PanelContext& context, const std::vector<profile::MemoryUse>& uses,
                             const std::vector<profile::CounterSample>& counters) {
        const float column = 280 * context.scale;
        const int columns = std::max(1, static_cast<int>(ImGui::GetContentRegionAvail().x / column));
        if (!ImGui::BeginTable("figures", columns, ImGuiTableFlags_SizingStretchSame)) return;
        for (const profile::MemoryUse& use : uses) {
            ImGui::TableNextColumn();
            draw_use(use);
        }
        for (const profile::CounterSample& counter : counters) {
            const auto is_it = [&](const profile::MemoryUse& use) {
                return use.what == context.text(counter.name) && use.device == context.text(counter.device);
            };
            if (context.text(counter.unit) != "MiB" || std::ranges::any_of(uses, is_it)) continue;
            ImGui::TableNextColumn();
            draw_line(fmt::format("{}: {} {}", context.text(counter.device), context.text(counter.name),
                                  human_value(counter.value, "MiB")));
        }
        ImGui::EndTable();
    }

    static void draw_use(const profile::MemoryUse& use) {
        const std::string text = fmt::format("{} {}: {}", use.device, use.what, human_bytes(use.bytes));
        if (use.budget == 0) return draw_line(text);
        const float part = static_cast<float>(static_cast<double>(use.bytes) / static_cast<double>(use.budget));
        const float room = ImGui::GetContentRegionAvail().x - 2 * ImGui::GetStyle().ItemInnerSpacing.x;
        ImGui::ProgressBar(part, {-1, 0}, elided(fmt::format("{} of {}", text, human_bytes(use.budget)), room).c_str());
        if (!ImGui::IsItemHovered()) return;
        const std::uint64_t left = use.budget - std::min(use.bytes, use.budget);
        set_tooltip(fmt::format("{} of {}: {} in use of {} that may be, {:.1f}%; {} are left", use.what, use.device,
                                human_bytes(use.bytes), human_bytes(use.budget), 100.0F * part, human_bytes(left)));
    }

    /// Passes from left to right, bytes from top to bottom: what lies on one level at different times is aliased.
    void draw_arena(const PanelContext& context, const PlanFacts& plan, const profile::ArenaFacts& arena,
                    float height) {
        draw_muted_line(fmt::format("{}, {}: passes from left to right, bytes from top to bottom", arena.domain,
                                    human_bytes(arena.bytes)));
        const ImVec2 at = ImGui::GetCursorScreenPos();
        const ImVec2 size{std::max(ImGui::GetContentRegionAvail().x, 40.0F), height};
        ImGui::InvisibleButton(arena.domain.c_str(), size);
        pointer_.update();
        ImDrawList& list = *ImGui::GetWindowDrawList();
        list.AddRectFilled(at, {at.x + size.x, at.y + size.y}, theme::kGroundSolid);
        const float pass = size.x / static_cast<float>(std::max<std::size_t>(plan.passes.size(), 1));
        const auto y_of = [&](std::uint64_t bytes) {
            return at.y + size.y * static_cast<float>(static_cast<double>(bytes) / static_cast<double>(arena.bytes));
        };
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        const bool is_hovered = ImGui::IsItemHovered();
        const NameFilter filter(context.selection.filter);
        const std::uint32_t selected = plan.find(context.selection.pass, context.selection.track);
        const std::vector<bool> of_selected = resources_of(plan, selected);
        if (selected != profile::kNone) {  // below the blocks: their names stay readable
            const float x = at.x + pass * static_cast<float>(selected);
            list.AddRectFilled({x, at.y}, {x + std::max(pass, 2.0F), at.y + size.y},
                               theme::faded(theme::kSelected, kBand));
        }
        for (std::size_t i = 0; i < plan.resources.size(); ++i) {
            const ResourceFacts& resource = plan.resources[i];
            if (!is_in(resource, arena)) continue;
            const ImVec2 low{at.x + pass * static_cast<float>(resource.first_pass), y_of(resource.offset)};
            const ImVec2 high{at.x + pass * static_cast<float>(resource.last_pass + 1),
                              y_of(resource.offset + resource.bytes)};
            const bool is_kept = filter.passes(resource.name);
            // A pixel of background on two sides separates it from its neighbours.
            const float gap = std::min(high.x - low.x, high.y - low.y) > kParted ? 1.0F : 0.0F;
            const ImU32 color = theme::resource_color(i);
            list.AddRectFilled(low, {high.x - gap, high.y - gap}, theme::faded(color, is_kept ? 1.0F : kFaded));
            if (is_kept) draw_name(list, resource.name, theme::text_on(color), low, high);
            if (of_selected[i]) list.AddRect(low, high, theme::kSelected, 0.0F, 0, 2.0F);
            if (!is_hovered || mouse.x < low.x || mouse.x >= high.x || mouse.y < low.y || mouse.y >= high.y) continue;
            list.AddRect(low, high, theme::kText);
            const profile::PassFacts& made_by = plan.passes[resource.first_pass];
            if (pointer_.is_clicked()) context.selection.select(made_by.name, made_by.track, plan.id);
            set_tooltip(explain(context, plan, arena, resource));
        }
    }

    static void draw_name(ImDrawList& list, const std::string& name, ImU32 color, ImVec2 low, ImVec2 high) {
        const float line = ImGui::GetTextLineHeight();
        if (high.y - low.y < line || high.x - low.x < 40) return;
        list.AddText({low.x + 4, (low.y + high.y - line) / 2}, color,
                     elided(name, high.x - low.x - 8, Cut::Begin).c_str());
    }

    /// [resource] -> whether that pass takes it from other passes or makes it for them.
    static std::vector<bool> resources_of(const PlanFacts& plan, std::uint32_t pass) {
        std::vector<bool> result(plan.resources.size(), false);
        if (pass == profile::kNone) return result;
        for (const profile::Dependency& each : plan.dependencies)
            if (each.resource != profile::kNone && (each.from == pass || each.to == pass)) result[each.resource] = true;
        return result;
    }

    static std::string explain(const PanelContext& context, const PlanFacts& plan, const profile::ArenaFacts& arena,
                               const ResourceFacts& resource) {
        const std::uint64_t end = resource.offset + resource.bytes;
        std::size_t sharing = 0;
        for (const ResourceFacts& other : plan.resources)
            if (&other != &resource && is_in(other, arena) && other.offset < end &&
                resource.offset < other.offset + other.bytes)
                ++sharing;
        return fmt::format(
            "{}: {}, {:.1f}% of the arena\nfrom {} to {} of its {}\nmade by {}, last used by {}: lives for {} of {} "
            "passes\nat other times {} other resources have these bytes",
            resource.name, human_bytes(resource.bytes),
            100.0 * static_cast<double>(resource.bytes) / static_cast<double>(arena.bytes),
            human_bytes(resource.offset), human_bytes(end), human_bytes(arena.bytes),
            context.text(plan.passes[resource.first_pass].name), context.text(plan.passes[resource.last_pass].name),
            resource.last_pass - resource.first_pass + 1, plan.passes.size(), sharing);
    }

    void draw_table(const PanelContext& context, const PlanFacts& plan) {
        if (table_.wants_rows(context, plan.id)) table_.set_rows(rows_of(context, plan));
        table_.draw(context, std::max(ImGui::GetContentRegionAvail().y, kRows * ImGui::GetTextLineHeightWithSpacing()),
                    {.tip = [](const ResourceRow& row) {
                        return fmt::format("{}: {} of {}", row.name, human_bytes(row.bytes),
                                           row.is_imported ? "memory that outlives a step" : "an arena");
                    }});
    }

    static std::vector<ResourceRow> rows_of(const PanelContext& context, const PlanFacts& plan) {
        std::vector<ResourceRow> rows;
        for (const ResourceFacts& resource : plan.resources) {
            if (resource.culled) continue;
            ResourceRow row;
            row.name = resource.name;
            row.plan = plan.id;
            row.is_imported = resource.imported;
            row.bytes = resource.bytes;
            row.offset = resource.offset;
            row.domain = resource.domain;
            if (resource.first_pass != profile::kNone) {
                const profile::PassFacts &first = plan.passes[resource.first_pass],
                                         &last = plan.passes[resource.last_pass];
                row.pass = first.name;
                row.track = first.track;
                row.made_by = context.text(first.name);
                row.read_by = context.text(last.name);
            }
            rows.push_back(std::move(row));
        }
        return rows;
    }

    ClickOrDrag pointer_;
    Table<ResourceRow> table_{"resources", kResourceColumns};
};

}  // namespace

std::unique_ptr<Panel> make_memory_panel() { return std::make_unique<MemoryPanel>(); }

}  // namespace kinetograph::ui
