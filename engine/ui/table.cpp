#include <kinetograph/engine/ui/table.hpp>

#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <algorithm>
#include <cmath>

namespace kinetograph::ui::table {
namespace {

constexpr float kWideName = 250.0F, kWideText = 130.0F;  // pixels at scale 1 of columns of texts in a wide table
constexpr float kArrow = 0.65F;                          // of the font's size: ImGui's mark of the sorted column

float row_height() { return ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y; }

/// The part of `height` that the header and whole rows fill.
float whole_rows(float height) {
    const float available = height > 0.0F ? height : ImGui::GetContentRegionAvail().y;
    return std::max(2.0F, std::floor(available / row_height())) * row_height();
}

/// So that no row is half hidden under the header.
void scroll_by_whole_rows() {
    const float row = row_height(), at = ImGui::GetScrollY(), whole = std::round(at / row) * row;
    if (at != whole && at < ImGui::GetScrollMaxY()) ImGui::SetScrollY(whole);
}

float arrow_width() { return std::floor(ImGui::GetFontSize() * kArrow + ImGui::GetStyle().FramePadding.x); }

}  // namespace

bool begin(const char* id, std::size_t columns, const TableLook& look, float height) {
    ImGuiTableFlags flags =
        ImGuiTableFlags_Sortable | ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_Resizable;
    flags |= look.is_wide ? ImGuiTableFlags_ScrollX | ImGuiTableFlags_Reorderable | ImGuiTableFlags_Hideable |
                                ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_SizingFixedFit
                          : ImGuiTableFlags_SizingStretchProp;
    if (look.sorting.column == Sorting::kNone) flags |= ImGuiTableFlags_SortTristate;
    if (!ImGui::BeginTable(id, static_cast<int>(columns), flags, {0, whole_rows(height)})) return false;
    scroll_by_whole_rows();
    ImGui::TableSetupScrollFreeze(look.is_wide ? 1 : 0, 1);
    return true;
}

void declare_column(const ColumnHead& head, std::size_t index, const TableLook& look, float scale) {
    ImGuiTableColumnFlags flags = 0;
    const bool is_first_sorted = index == look.sorting.column;
    if (is_first_sorted) flags |= ImGuiTableColumnFlags_DefaultSort;
    if (head.is_number && !(is_first_sorted && look.sorting.ascending))
        flags |= ImGuiTableColumnFlags_PreferSortDescending;
    float size = 0.0F;
    if (look.is_wide) {
        size = head.is_number ? std::max(width_of(head.title) + arrow_width(), width_of("000.0 ms"))
                              : scale * (index == 0 ? kWideName : kWideText);
    } else {
        flags |= ImGuiTableColumnFlags_WidthStretch;
        size = index == 0 ? 2.0F : 1.0F;
    }
    ImGui::TableSetupColumn(head.title, flags, size);
}

void draw_header(const PanelContext& context, const ColumnHead& head, bool is_sorted) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float room = ImGui::GetContentRegionAvail().x, title = width_of(head.title), arrow = arrow_width();
    ImGui::PushID(head.title);
    ImGui::TableHeader("##header");
    ImGui::PopID();
    if (ImGui::IsItemHovered())
        ImGui::SetTooltip("%s%s", head.meaning, head.more != nullptr ? head.more(context).c_str() : "");
    // Over the numbers, or left of the mark of the sorted column.
    const float right = room - (is_sorted ? arrow : 0.0F) - title;
    ImGui::SetCursorScreenPos({at.x + (head.is_number ? std::max(right, 0.0F) : 0.0F), at.y});
    ImGui::TextUnformatted(head.title);
}

bool read_sorting(Sorting& sorting) {
    ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
    if (specs == nullptr || !specs->SpecsDirty) return false;
    specs->SpecsDirty = false;
    if (specs->SpecsCount == 0) {
        sorting.column = Sorting::kNone;
        return true;
    }
    sorting = {static_cast<std::size_t>(specs->Specs[0].ColumnIndex),
               specs->Specs[0].SortDirection == ImGuiSortDirection_Ascending};
    return true;
}

bool begin_row(const PanelContext& context, const TableRow& row, bool is_chosen, const TableLook& look) {
    ImGui::TableNextRow();
    ImGui::TableSetColumnIndex(0);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float line = ImGui::GetTextLineHeight(), chip = look.has_chip ? line * 0.8F : 0.0F;
    const float room = ImGui::GetContentRegionAvail().x - chip;
    const ImU32 color = row.color != 0 ? row.color : ImGui::GetColorU32(ImGuiCol_Text);
    const std::string name = elided(row.name, room, Cut::Begin);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool is_clicked = ImGui::Selectable("##row", is_chosen, ImGuiSelectableFlags_SpanAllColumns);
    if (look.has_chip)
        list.AddRectFilled({at.x, at.y + line * 0.25F}, {at.x + line * 0.5F, at.y + line * 0.75F},
                           theme::track_color(context.text(row.track)), 2.0F);
    list.AddText({at.x + chip, at.y}, color, name.c_str());
    ImGui::LogText("%s", name.c_str());
    return is_clicked;
}

void bring_into_view() {
    const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
    const ImDrawList& list = *ImGui::GetWindowDrawList();
    if (low.y < list.GetClipRectMin().y || high.y > list.GetClipRectMax().y) ImGui::SetScrollHereY(0.5F);
}

void draw_cell(const std::string& text, bool is_number) {
    const float room = ImGui::GetContentRegionAvail().x;
    if (!is_number) return ImGui::TextUnformatted(elided(text, room, Cut::Begin).c_str());
    const float left = room - width_of(text);
    if (left > 0.0F) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + left);
    ImGui::TextUnformatted(text.c_str());
}

bool is_held() { return ImGui::IsMouseDown(ImGuiMouseButton_Left) || ImGui::IsMouseReleased(ImGuiMouseButton_Left); }

}  // namespace kinetograph::ui::table
