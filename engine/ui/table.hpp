// Table: rows of passes, resources, steps or frames that every panel shows in the same way.
#pragma once

#include <kinetograph/engine/ui/filter.hpp>
#include <kinetograph/engine/ui/lines.hpp>
#include <kinetograph/engine/ui/selection_watch.hpp>

#include <imgui.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::ui {

/// What a row is about, and its first column.
struct TableRow {
    std::string name;
    profile::NameId pass = 0, track = 0;  ///< what a click selects; 0: nothing
    profile::PlanId plan = profile::kNoPlan;
    ImU32 color = 0;  ///< of its text; 0: the style's
};

struct ColumnHead {
    const char* title;
    const char* meaning;  ///< tooltip of the header
    bool is_number = false;
    std::string (*more)(const PanelContext&) = nullptr;  ///< appended to the meaning, as it is now
};

/// The first column is the row's name. Columns with a key are numbers, aligned to the right.
template <class Row>
struct Column {
    const char* title;
    const char* meaning;
    double (*key)(const Row&) = nullptr;        ///< value to sort by; null: sorts by its text
    std::string (*text)(const Row&) = nullptr;  ///< of all columns but the first
    std::string (*more)(const PanelContext&) = nullptr;
    ColumnHead head() const { return {title, meaning, key != nullptr, more}; }
};

inline double sort_key(Nanoseconds time) { return static_cast<double>(time.count()); }

/// As the user has clicked the headers.
struct Sorting {
    static constexpr std::size_t kNone = ~std::size_t{0};  ///< rows stay in the order in which they were given
    std::size_t column = 1;
    bool ascending = false;
};

struct TableLook {
    Sorting sorting{};        ///< at first
    bool is_wide = false;     ///< columns are as wide as their texts, and the table scrolls sideways
    bool is_filtered = true;  ///< by the common filter
    bool has_chip = true;     ///< the colour of the track before the name
    Nanoseconds refresh = std::chrono::milliseconds(250);  ///< how often rows are made again; faster is unreadable
};

/// The parts that do not depend on the rows' type.
namespace table {

/// False if nothing of the table is visible: do not call ImGui::EndTable() then.
bool begin(const char* id, std::size_t columns, const TableLook& look, float height);
/// How many columns, from the first, the window has room for.
std::size_t columns_with_room(std::span<const ColumnHead> heads, const TableLook& look);
void declare_column(const ColumnHead& head, std::size_t index, const TableLook& look, float scale, bool has_room);
void draw_header(const PanelContext& context, const ColumnHead& head, bool is_sorted);
/// True if a header was clicked.
bool read_sorting(Sorting& sorting);
/// Draws the name. True if the row was clicked.
bool begin_row(const PanelContext& context, const TableRow& row, bool is_chosen, const TableLook& look);
/// Scrolls until the row that was begun last is fully visible.
void bring_into_view();
/// A text that is too long for what is visible of the cell loses its beginning, because names of a checkpoint differ at
/// their ends; of a number only an ellipsis is left.
void draw_cell(const std::string& text, bool is_number);
/// True while a click is under way: rows must not move under the pointer until it is over.
bool is_held();

}  // namespace table

/// A click on a header sorts, the common filter applies, a click on a row selects its pass, and a pass that is selected
/// elsewhere is scrolled into view.
template <class Row>
class Table {
  public:
    /// Functions of one row; those left empty act on the row's pass.
    struct Hooks {
        std::function<std::string(const Row&)> tip{};  ///< tooltip
        std::function<bool(const Row&)> is_chosen{};
        std::function<void(const Row&)> choose{};
    };

    Table(const char* id, std::span<const Column<Row>> columns, const TableLook& look = {})
        : id_(id), columns_(columns), look_(look), sorting_(look.sorting) {}

    /// Whether to make the rows again: a few times a second, and whenever `version`, which stands for what they show,
    /// has changed; but not during a click.
    bool wants_rows(const PanelContext& context, std::uint64_t version) {
        if (has_rows_ && (table::is_held() || (version == version_ && context.now - made_ < look_.refresh)))
            return false;
        made_ = context.now;
        version_ = version;
        return has_rows_ = true;
    }
    void set_rows(std::vector<Row> rows) {
        rows_ = std::move(rows);
        is_stale_ = true;
    }
    /// Filters and sorts the rows; returns how many pass the filter.
    std::size_t arrange(const PanelContext& context) {
        if (!is_stale_ && context.selection.filter == filtered_by_) return order_.size();
        is_stale_ = false;
        filtered_by_ = context.selection.filter;
        const NameFilter filter(context.selection.filter);
        order_.clear();
        for (std::uint32_t i = 0; i < rows_.size(); ++i)
            if (!look_.is_filtered || filter.passes(rows_[i].name)) order_.push_back(i);
        if (sorting_.column == Sorting::kNone) return order_.size();
        const Column<Row>& column = columns_[sorting_.column];
        std::ranges::stable_sort(order_, [&](std::uint32_t a, std::uint32_t b) {
            const Row &less = rows_[sorting_.ascending ? a : b], &more = rows_[sorting_.ascending ? b : a];
            if (column.key != nullptr) return column.key(less) < column.key(more);
            if (column.text != nullptr) return column.text(less) < column.text(more);
            return less.name < more.name;
        });
        return order_.size();
    }
    /// `height` in pixels; 0: the rest of the window. Only whole rows are drawn, and only the columns that there is
    /// room for, unless the table is wide.
    void draw(const PanelContext& context, float height, const Hooks& hooks = {}) {
        arrange(context);
        std::vector<ColumnHead> heads;
        for (const Column<Row>& column : columns_) heads.push_back(column.head());
        const std::size_t shown = table::columns_with_room(heads, look_);
        if (!table::begin(id_, columns_.size(), look_, height)) return;
        for (std::size_t i = 0; i < columns_.size(); ++i)
            table::declare_column(columns_[i].head(), i, look_, context.scale, i < shown);
        ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
        for (std::size_t i = 0; i < columns_.size(); ++i)
            if (ImGui::TableSetColumnIndex(static_cast<int>(i)))
                table::draw_header(context, columns_[i].head(), i == sorting_.column);
        if (table::read_sorting(sorting_)) is_stale_ = true;
        arrange(context);
        if (watch_.has_changed(context.selection)) seeking_ = kPicturesToSeek;
        const int sought = seeking_ > 0 ? find(context.selection) : -1;
        seeking_ = std::max(seeking_ - 1, 0);
        ImGuiListClipper clipper;
        clipper.Begin(static_cast<int>(order_.size()));
        if (sought >= 0) clipper.ForceDisplayRangeByIndices(sought, sought + 1);
        while (clipper.Step())
            for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) draw_row(context, i, i == sought, hooks);
        ImGui::EndTable();
    }

  private:
    static constexpr int kPicturesToSeek = 3;  // a table does not know its height in the first pictures

    int find(const Selection& selection) const {
        const auto found = std::ranges::find_if(
            order_, [&](std::uint32_t row) { return selection.is(rows_[row].pass, rows_[row].track); });
        return found != order_.end() ? static_cast<int>(found - order_.begin()) : -1;
    }

    void draw_row(const PanelContext& context, int index, bool is_sought, const Hooks& hooks) {
        const Row& row = rows_[order_[static_cast<std::size_t>(index)]];
        const bool is_chosen = hooks.is_chosen ? hooks.is_chosen(row) : context.selection.is(row.pass, row.track);
        ImGui::PushID(static_cast<int>(order_[static_cast<std::size_t>(index)]));
        if (table::begin_row(context, row, is_chosen, look_)) {
            if (hooks.choose)
                hooks.choose(row);
            else if (row.pass != 0)
                context.selection.select(row.pass, row.track, row.plan);
            watch_.note(context.selection);
        }
        if (hooks.tip && ImGui::IsItemHovered()) set_tooltip(hooks.tip(row));
        if (is_sought) table::bring_into_view();
        if (row.color != 0) ImGui::PushStyleColor(ImGuiCol_Text, row.color);
        for (std::size_t i = 1; i < columns_.size(); ++i)
            if (ImGui::TableSetColumnIndex(static_cast<int>(i)))
                table::draw_cell(columns_[i].text(row), columns_[i].key != nullptr);
        if (row.color != 0) ImGui::PopStyleColor();
        ImGui::PopID();
    }

    const char* id_;
    std::span<const Column<Row>> columns_;
    TableLook look_;
    Sorting sorting_;
    std::vector<Row> rows_;
    std::vector<std::uint32_t> order_;  // of rows_, as shown
    std::string filtered_by_;
    bool is_stale_ = true, has_rows_ = false;
    std::uint64_t version_ = 0;
    Nanoseconds made_{};
    SelectionWatch watch_;
    int seeking_ = 0;  // pictures in which the selected row is still brought into view
};

}  // namespace kinetograph::ui
