#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/plan_choice.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>

namespace kinetograph::ui {
namespace {

using profile::PlanFacts;
using profile::ResourceFacts;

/// A colour of its own for every resource; neighbours differ.
ImU32 color_of(std::size_t resource) {
    return ImColor::HSV(static_cast<float>(resource % 13) / 13.0F, 0.45F,
                        0.75F - 0.1F * static_cast<float>(resource % 3));
}

bool is_in(const ResourceFacts& resource, const profile::ArenaFacts& arena) {
    return !resource.imported && !resource.culled && resource.domain == arena.domain &&
           resource.first_pass != profile::kNone;
}

class MemoryPanel final : public Panel {
  public:
    std::string_view name() const override { return "Memory"; }

    void draw(const PanelContext& context) override {
        draw_figures(context);
        const auto plan = choose_plan(context);
        if (plan == nullptr) return;
        std::uint64_t arenas = 0;
        for (const profile::ArenaFacts& arena : plan->arenas) arenas += arena.bytes;
        ImGui::TextUnformatted(
            fmt::format("arenas {}, {} without aliasing", human_bytes(arenas), human_bytes(plan->transient_bytes))
                .c_str());
        const float line = ImGui::GetTextLineHeightWithSpacing();
        const float each = (ImGui::GetContentRegionAvail().y - 3 * line) /
                               static_cast<float>(std::max<std::size_t>(plan->arenas.size(), 1)) -
                           line;
        for (const profile::ArenaFacts& arena : plan->arenas)
            draw_arena(context, *plan, arena, std::max(each, 120 * context.scale));
        draw_persistent(*plan);
    }

  private:
    /// In as many columns as there is room for: what the application tells (weights, heaps and their budgets), and what
    /// is counted of devices (memory in use, a decoder's part of it, its peak and its budget).
    static void draw_figures(const PanelContext& context) {
        const float column = 280 * context.scale;
        const int columns = std::max(1, static_cast<int>(ImGui::GetContentRegionAvail().x / column));
        if (!ImGui::BeginTable("figures", columns, ImGuiTableFlags_SizingStretchSame)) return;
        for (const profile::MemoryUse& use : context.profile.memory()) {
            ImGui::TableNextColumn();
            draw_use(use);
        }
        for (const profile::CounterSample& counter : context.profile.counters()) {
            if (context.text(counter.unit) != "MiB") continue;
            ImGui::TableNextColumn();
            draw_text(fmt::format("{}: {} {}", context.text(counter.device), context.text(counter.name),
                                  human_value(counter.value, "MiB")));
        }
        ImGui::EndTable();
    }

    static void draw_use(const profile::MemoryUse& use) {
        const std::string text = fmt::format("{} {}: {}", use.device, use.what, human_bytes(use.bytes));
        if (use.budget == 0) return draw_text(text);
        const float part = static_cast<float>(static_cast<double>(use.bytes) / static_cast<double>(use.budget));
        ImGui::ProgressBar(part, {-1, 0}, fmt::format("{} of {}", text, human_bytes(use.budget)).c_str());
    }

    static void draw_text(const std::string& text) {
        ImGui::TextUnformatted(elided(text, ImGui::GetContentRegionAvail().x).c_str());
        if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", text.c_str());
    }

    /// Passes from left to right, bytes from top to bottom: what lies on one level at different times is aliased.
    static void draw_arena(const PanelContext& context, const PlanFacts& plan, const profile::ArenaFacts& arena,
                           float height) {
        ImGui::TextDisabled("%s, %s: passes from left to right, bytes from top to bottom", arena.domain.c_str(),
                            human_bytes(arena.bytes).c_str());
        const ImVec2 at = ImGui::GetCursorScreenPos();
        const ImVec2 size{std::max(ImGui::GetContentRegionAvail().x, 40.0F), height};
        ImGui::InvisibleButton(arena.domain.c_str(), size);
        ImDrawList& list = *ImGui::GetWindowDrawList();
        list.AddRectFilled(at, {at.x + size.x, at.y + size.y}, theme::kRaised);
        const float pass = size.x / static_cast<float>(std::max<std::size_t>(plan.passes.size(), 1));
        const auto y_of = [&](std::uint64_t bytes) {
            return at.y + size.y * static_cast<float>(static_cast<double>(bytes) / static_cast<double>(arena.bytes));
        };
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        const std::uint32_t selected = plan.find(context.selection.pass, context.selection.track);
        const std::vector<bool> of_selected = resources_of(plan, selected);
        for (std::size_t i = 0; i < plan.resources.size(); ++i) {
            const ResourceFacts& resource = plan.resources[i];
            if (!is_in(resource, arena)) continue;
            const ImVec2 low{at.x + pass * static_cast<float>(resource.first_pass), y_of(resource.offset)};
            const ImVec2 high{at.x + pass * static_cast<float>(resource.last_pass + 1),
                              y_of(resource.offset + resource.bytes)};
            list.AddRectFilled(low, high, color_of(i));
            list.AddRect(low, high, theme::kGroundSolid);
            draw_name(list, resource.name, low, high);
            if (of_selected[i]) list.AddRect(low, high, theme::kSelected, 0.0F, 0, 2.0F);
            if (!ImGui::IsItemHovered() || mouse.x < low.x || mouse.x >= high.x || mouse.y < low.y || mouse.y >= high.y)
                continue;
            list.AddRect(low, high, theme::kText);
            const profile::PassFacts& made_by = plan.passes[resource.first_pass];
            if (ImGui::IsMouseClicked(ImGuiMouseButton_Left))
                context.selection.select(made_by.name, made_by.track, plan.id);
            ImGui::SetTooltip(
                "%s",
                fmt::format("{}\n{} at {}\nfrom {} to {}", resource.name, human_bytes(resource.bytes), resource.offset,
                            context.text(made_by.name), context.text(plan.passes[resource.last_pass].name))
                    .c_str());
        }
        if (selected == profile::kNone) return;
        const float x = at.x + pass * static_cast<float>(selected);
        list.AddRect({x, at.y}, {x + std::max(pass, 2.0F), at.y + size.y}, theme::kSelected);
    }

    static void draw_name(ImDrawList& list, const std::string& name, ImVec2 low, ImVec2 high) {
        const float line = ImGui::GetTextLineHeight();
        if (high.y - low.y < line || high.x - low.x < 40) return;
        list.AddText({low.x + 4, (low.y + high.y - line) / 2}, theme::kGroundSolid,
                     elided(name, high.x - low.x - 8, Cut::Begin).c_str());
    }

    /// What that pass takes from others, or makes for them: [resource].
    static std::vector<bool> resources_of(const PlanFacts& plan, std::uint32_t pass) {
        std::vector<bool> result(plan.resources.size(), false);
        if (pass == profile::kNone) return result;
        for (const profile::Dependency& each : plan.dependencies)
            if (each.resource != profile::kNone && (each.from == pass || each.to == pass)) result[each.resource] = true;
        return result;
    }

    static void draw_persistent(const PlanFacts& plan) {
        std::uint64_t bytes = 0;
        for (const ResourceFacts& resource : plan.resources)
            if (resource.imported) bytes += resource.bytes;
        ImGui::TextUnformatted(fmt::format("imported, outlives a step: {}", human_bytes(bytes)).c_str());
        if (!ImGui::TreeNode("imported resources")) return;
        for (const ResourceFacts& resource : plan.resources)
            if (resource.imported)
                ImGui::BulletText("%s, %s, %s", resource.name.c_str(), human_bytes(resource.bytes).c_str(),
                                  resource.domain.c_str());
        ImGui::TreePop();
    }
};

}  // namespace

std::unique_ptr<Panel> make_memory_panel() { return std::make_unique<MemoryPanel>(); }

}  // namespace kinetograph::ui
