#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/lines.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/table.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace kinetograph::ui {
namespace {

using profile::PassProfile;

/// The spans of a clip's track: its waits, and its steps, by whether they were in time.
struct ClipRow : TableRow {
    std::uint64_t steps = 0, late = 0;
    Nanoseconds step{}, longest_step{}, queue{}, longest_queue{};
};

constexpr std::array kClipColumns{
    Column<ClipRow>{"clip", "its number at the runner that clips share"},
    Column<ClipRow>{"steps", "that are done", [](const ClipRow& row) { return static_cast<double>(row.steps); },
                    [](const ClipRow& row) { return fmt::format("{}", row.steps); }},
    Column<ClipRow>{"late", "steps that were done after they were due",
                    [](const ClipRow& row) { return static_cast<double>(row.late); },
                    [](const ClipRow& row) { return fmt::format("{}", row.late); }},
    Column<ClipRow>{"step", "the device's time: the median of its steps, or of those that were late if all were",
                    [](const ClipRow& row) { return sort_key(row.step); },
                    [](const ClipRow& row) { return human_time(row.step); }},
    Column<ClipRow>{"queue", "the median of the waits for the steps of other clips",
                    [](const ClipRow& row) { return sort_key(row.queue); },
                    [](const ClipRow& row) { return human_time(row.queue); }},
    Column<ClipRow>{"longest wait", "for the steps of other clips",
                    [](const ClipRow& row) { return sort_key(row.longest_queue); },
                    [](const ClipRow& row) { return human_time(row.longest_queue); }},
};

class ClipsPanel final : public Panel {
  public:
    std::string_view name() const override { return "Clips"; }

    void draw(const PanelContext& context) override {
        std::vector<ClipRow> rows = rows_of(context);
        if (rows.empty()) return draw_muted_line("no clips share a runner");
        std::uint64_t steps = 0, late = 0;
        for (const ClipRow& row : rows) steps += row.steps, late += row.late;
        draw_line(fmt::format("{} clips share a runner: {} of {} steps were late", rows.size(), late, steps),
                  late > 0 ? theme::kBad : theme::kText);
        if (table_.wants_rows(context, steps)) table_.set_rows(std::move(rows));
        table_.draw(context, 0, {.tip = [](const ClipRow& row) {
                        return fmt::format(
                            "{}: {} of {} steps were late; its longest step took {},\nand its longest "
                            "wait for the steps of other clips {}",
                            row.name, row.late, row.steps, human_time(row.longest_step), human_time(row.longest_queue));
                    }});
    }

  private:
    static std::vector<ClipRow> rows_of(const PanelContext& context) {
        std::vector<ClipRow> rows;
        for (const PassProfile& pass : context.profile.passes()) {
            const std::string_view track = context.text(pass.track);
            if (!track.starts_with("clip ")) continue;
            auto row = std::ranges::find(rows, track, &ClipRow::name);
            if (row == rows.end()) {
                row = rows.insert(row, ClipRow{});
                row->name = track;
                row->track = pass.track;
            }
            add(context.text(pass.name), pass, *row);
        }
        return rows;
    }

    static void add(std::string_view what, const PassProfile& pass, ClipRow& row) {
        if (what == "queue") {
            row.queue = pass.quantile(0.5);
            row.longest_queue = pass.max();
            return;
        }
        const bool is_late = what == "late step";
        row.steps += pass.calls;
        row.late += is_late ? pass.calls : 0;
        if (!is_late || row.step == Nanoseconds{}) row.step = pass.quantile(0.5);
        row.longest_step = std::max(row.longest_step, pass.max());
        row.pass = pass.name;
    }

    Table<ClipRow> table_{"clips", kClipColumns, {.sorting = {2}}};
};

}  // namespace

std::unique_ptr<Panel> make_clips_panel() { return std::make_unique<ClipsPanel>(); }

}  // namespace kinetograph::ui
