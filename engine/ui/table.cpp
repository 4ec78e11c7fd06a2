#include <kinetograph/engine/ui/table.hpp>

#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/lines.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <algorithm>
#include <cmath>

namespace kinetograph::ui::table {
namespace {

constexpr float kWideName = 250.0F, kWideText = 130.0F;  // pixels at scale 1 of columns of texts in a wide table
constexpr float kArrow = 0.65F;                          // of the font's size: ImGui's mark of the sorted column

float row_height() { return ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y; }

/// The part of `height` that the header, whole rows and a scroll bar below them fill.
float whole_rows(float height, float bar) {
    const float available = (height > 0.0F ? height : ImGui::GetContentRegionAvail().y) - bar;
    return std::max(2.0F, std::floor(available / row_height())) * row_height() + bar;
}

/// So that no row is half hidden under the header.
void scroll_by_whole_rows() {
    const float row = row_height(), at = ImGui::GetScrollY(), whole = std::round(at / row) * row;
    if (at != whole && at < ImGui::GetScrollMaxY()) ImGui::SetScrollY(whole);
}

float arrow_width() { return std::floor(ImGui::GetFontSize() * kArrow + ImGui::GetStyle().FramePadding.x); }

/// Draws a text in what is visible of `room` pixels at the cursor: columns of a wide table are scrolled in part under
/// its edges.
void draw_visible(const std::string& text, float room, bool is_right, Cut cut) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ImDrawList& list = *ImGui::GetWindowDrawList();
    const float left = std::max(at.x, list.GetClipRectMin().x), right = std::min(at.x + room, list.GetClipRectMax().x);
    const std::string shown = elided(text, right - left, cut);
    ImGui::SetCursorScreenPos({is_right ? std::max(right - width_of(shown), left) : left, at.y});
    ImGui::TextUnformatted(shown.c_str());
}

}  // namespace

bool begin(const char* id, std::size_t columns, const TableLook& look, float height) {
    ImGuiTableFlags flags =
        ImGuiTableFlags_Sortable | ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_Resizable;
    flags |= look.is_wide ? ImGuiTableFlags_ScrollX | ImGuiTableFlags_Reorderable | ImGuiTableFlags_Hideable |
                                ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_SizingFixedFit
                          : ImGuiTableFlags_SizingStretchProp;
    if (look.sorting.column == Sorting::kNone) flags |= ImGuiTableFlags_SortTristate;
    // Whether it scrolls sideways is known from the picture before.
    ImGuiStorage& kept = *ImGui::GetStateStorage();
    const ImGuiID key = ImGui::GetID(id);
    const float bar = kept.GetBool(key) ? ImGui::GetStyle().ScrollbarSize : 0.0F;
    if (!ImGui::BeginTable(id, static_cast<int>(columns), flags, {0, whole_rows(height, bar)})) return false;
    kept.SetBool(key, look.is_wide && ImGui::GetScrollMaxX() > 0.0F);
    scroll_by_whole_rows();
    ImGui::TableSetupScrollFreeze(look.is_wide ? 1 : 0, 1);
    return true;
}

std::size_t columns_with_room(std::span<const ColumnHead> heads, const TableLook& look) {
    if (look.is_wide) return heads.size();
    const float width = ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize;
    const float number = width_of("000.0 ms"), padding = 2 * ImGui::GetStyle().CellPadding.x;
    std::size_t count = heads.size();
    // The first column takes two parts of the width, the others one each.
    while (count > 1 && width / static_cast<float>(count + 1) - padding < number) --count;
    return count;
}

void declare_column(const ColumnHead& head, std::size_t index, const TableLook& look, float scale, bool has_room) {
    ImGuiTableColumnFlags flags = has_room ? 0 : ImGuiTableColumnFlags_Disabled;
    const bool is_first_sorted = index == look.sorting.column;
    if (is_first_sorted) flags |= ImGuiTableColumnFlags_DefaultSort;
    if (head.is_number && !(is_first_sorted && look.sorting.ascending))
        flags |= ImGuiTableColumnFlags_PreferSortDescending;
    float size = 0.0F;
    if (look.is_wide) {
        size = head.is_number ? std::max(width_of(head.title) + arrow_width(), width_of("000.0 ms"))
               : index == 0   ? std::min(scale * kWideName, ImGui::GetContentRegionAvail().x / 2)
                              : scale * kWideText;
    } else {
        flags |= ImGuiTableColumnFlags_WidthStretch;
        size = index == 0 ? 2.0F : 1.0F;
    }
    ImGui::TableSetupColumn(head.title, flags, size);
}

void draw_header(const PanelContext& context, const ColumnHead& head, bool is_sorted) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float room = ImGui::GetContentRegionAvail().x, arrow = arrow_width();
    ImGui::PushID(head.title);
    ImGui::TableHeader("##header");
    ImGui::PopID();
    if (ImGui::IsItemHovered()) set_tooltip(head.meaning + (head.more != nullptr ? head.more(context) : std::string()));
    // Over the numbers, or left of the mark of the sorted column.
    ImGui::SetCursorScreenPos(at);
    draw_visible(head.title, room - (is_sorted ? arrow : 0.0F), head.is_number, Cut::End);
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
    draw_visible(text, ImGui::GetContentRegionAvail().x, is_number, is_number ? Cut::Whole : Cut::Begin);
}

bool is_held() { return ImGui::IsMouseDown(ImGuiMouseButton_Left) || ImGui::IsMouseReleased(ImGuiMouseButton_Left); }

}  // namespace kinetograph::ui::table
