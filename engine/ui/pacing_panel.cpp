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

namespace kinetograph::ui {
namespace {

using profile::DurationSketch;
using profile::FrameTimes;
using profile::Pacing;

struct Part {
    const char* name;
    const char* meaning;
    DurationSketch Pacing::*sketch;
};

constexpr std::array kParts{
    Part{"interval", "from one frame shown to the next", &Pacing::intervals},
    Part{"decode", "the step that made the frame", &Pacing::decode},
    Part{"queue", "from decoded to taken for the screen", &Pacing::queued},
    Part{"present", "recording, submitting and presenting", &Pacing::present},
    Part{"latency", "from the begin of the step that made the frame until it was presented", &Pacing::latency},
    Part{"display", "from presented to on the screen", &Pacing::display},
    Part{"to screen", "from the begin of the step that made the frame to the screen", &Pacing::to_screen},
};

/// A part of a frame's time, over all frames but the first.
struct PartRow : TableRow {
    const char* meaning = nullptr;
    std::uint64_t frames = 0;
    Nanoseconds mean{}, p50{}, p95{}, p99{}, max{};
};

constexpr std::array kPartColumns{
    Column<PartRow>{"part", "of a frame's time"},
    Column<PartRow>{"mean", "of all frames but the first", [](const PartRow& row) { return sort_key(row.mean); },
                    [](const PartRow& row) { return human_time(row.mean); }},
    Column<PartRow>{"p50", "half of the frames took no longer: the median",
                    [](const PartRow& row) { return sort_key(row.p50); },
                    [](const PartRow& row) { return human_time(row.p50); }},
    Column<PartRow>{"p95", "95 of 100 frames took no longer", [](const PartRow& row) { return sort_key(row.p95); },
                    [](const PartRow& row) { return human_time(row.p95); }},
    Column<PartRow>{"p99", "99 of 100 frames took no longer", [](const PartRow& row) { return sort_key(row.p99); },
                    [](const PartRow& row) { return human_time(row.p99); }},
    Column<PartRow>{"max", "the longest but the first frame's", [](const PartRow& row) { return sort_key(row.max); },
                    [](const PartRow& row) { return human_time(row.max); }},
};

/// A late frame; the name is that of the pass that made it late.
struct LateRow : TableRow {
    std::uint64_t frame = 0;
    Nanoseconds ago{}, over{};
};

constexpr std::array kLateColumns{
    Column<LateRow>{"pass that took too long",
                    "what exceeded its median most in the steps that made and drew the frame"},
    Column<LateRow>{"over its median", "by how much", [](const LateRow& row) { return sort_key(row.over); },
                    [](const LateRow& row) { return human_time(row.over); }},
    Column<LateRow>{"late frame", "its number", [](const LateRow& row) { return static_cast<double>(row.frame); },
                    [](const LateRow& row) { return fmt::format("{}", row.frame); }},
    Column<LateRow>{"shown", "how long ago", [](const LateRow& row) { return sort_key(row.ago); },
                    [](const LateRow& row) { return fmt::format("{} ago", human_time(row.ago)); }},
};

class PacingPanel final : public Panel {
  public:
    std::string_view name() const override { return "Pacing"; }

    void draw(const PanelContext& context) override {
        const Pacing& pacing = context.profile.pacing();
        if (pacing.frames == 0) return draw_muted_line("the application has told of no frame yet");
        const double mean = static_cast<double>(pacing.intervals.mean().count()) * 1e-9;
        draw_line(
            fmt::format("{} frames, the first after {}; {:.1f} fps in the last second, lows: 1% {:.1f}, 0.1% {:.1f}",
                        pacing.frames, human_time(pacing.first_frame), pacing.rate(context.now), pacing.low(0.01),
                        pacing.low(0.001)),
            ImGui::GetColorU32(ImGuiCol_Text),
            fmt::format("99 of 100 frames keep up {:.1f} frames/s, 999 of 1,000 keep up {:.1f};\n"
                        "{:.1f} frames/s is the mean since the first, which was shown {} after the start",
                        pacing.low(0.01), pacing.low(0.001), mean > 0 ? 1.0 / mean : 0.0,
                        human_time(pacing.first_frame)));
        draw_frames(context, pacing);
        draw_parts(context, pacing);
        if (pacing.screen_source.empty())
            draw_muted_line("no extension of this driver tells when a frame is on the screen");
        else
            draw_muted_line(fmt::format("on the screen: as {} tells", pacing.screen_source));
        draw_late(context, pacing);
    }

  private:
    static void draw_frames(const PanelContext& context, const Pacing& pacing) {
        std::vector<float> intervals;
        for (std::size_t i = 1; i < pacing.newest.size(); ++i)
            intervals.push_back(static_cast<float>((pacing.newest[i].shown - pacing.newest[i - 1].shown).count()));
        const Nanoseconds median = pacing.intervals.quantile(0.5);
        const float longest = intervals.empty() ? 0.0F : std::ranges::max(intervals);
        plot_bars(fmt::format("newest {} frame times, to {}; line: median {}; red: late", intervals.size(),
                              human_time(Nanoseconds(static_cast<std::int64_t>(longest))), human_time(median))
                      .c_str(),
                  intervals,
                  {.height = 64 * context.scale,
                   .line = static_cast<float>(median.count()),
                   .tip =
                       [&](std::size_t i) {
                           const FrameTimes& frame = pacing.newest[i + 1];
                           return fmt::format("frame {}{}\n{} after the one before\ndecode {}, queue {}, present {}",
                                              frame.index, frame.late ? ", late" : "", human_level(intervals[i]),
                                              human_time(frame.decode), human_time(frame.queued),
                                              human_time(frame.present));
                       },
                   .color_of = [&](std::size_t i) { return pacing.newest[i + 1].late ? theme::kBad : theme::kGood; },
                   .level = human_level,
                   .clips = true});
    }

    void draw_parts(const PanelContext& context, const Pacing& pacing) {
        if (parts_.wants_rows(context, pacing.frames + pacing.display.count())) {
            std::vector<PartRow> rows;
            for (const Part& part : kParts) {
                const DurationSketch& sketch = pacing.*part.sketch;
                if (sketch.max() == Nanoseconds{}) continue;  // not reported
                PartRow row;
                row.name = part.name;
                row.meaning = part.meaning;
                row.frames = sketch.count();
                row.mean = sketch.mean();
                row.p50 = sketch.quantile(0.5);
                row.p95 = sketch.quantile(0.95);
                row.p99 = sketch.quantile(0.99);
                row.max = sketch.max();
                rows.push_back(std::move(row));
            }
            shown_parts_ = rows.size();
            parts_.set_rows(std::move(rows));
        }
        const float line = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
        parts_.draw(context, static_cast<float>(shown_parts_ + 1) * line + 2, {.tip = explain});
    }

    static std::string explain(const PartRow& row) {
        return fmt::format(
            "{}: {}\nof {} frames half took no longer than {}, 95 of 100 no longer than {},\n99 of 100 no longer than "
            "{}, "
            "and the longest {}",
            row.name, row.meaning, row.frames, human_time(row.p50), human_time(row.p95), human_time(row.p99),
            human_time(row.max));
    }

    void draw_late(const PanelContext& context, const Pacing& pacing) {
        ImGui::AlignTextToFramePadding();
        ImGui::Text("%llu late", static_cast<unsigned long long>(pacing.late));
        if (pacing.late_frames.empty()) return;
        draw_filter_beside(context, 200 * context.scale);
        if (late_.wants_rows(context, pacing.late)) {
            std::vector<LateRow> rows;
            for (const profile::LateFrame& late : pacing.late_frames) {
                const profile::PassProfile* pass = context.profile.find(late.pass, late.track);
                LateRow row{{pass != nullptr ? std::string(context.text(late.pass)) : "no pass", late.pass, late.track,
                             pass != nullptr ? pass->plan : profile::kNoPlan},
                            late.index,
                            context.now - late.shown,
                            late.excess};
                rows.push_back(std::move(row));
            }
            late_.set_rows(std::move(rows));
        }
        late_.draw(context, 0, {.tip = [](const LateRow& row) {
                       return fmt::format("frame {} was shown too late, {} ago;\n{} took {} longer than its median",
                                          row.frame, human_time(row.ago), row.name, human_time(row.over));
                   }});
    }

    Table<PartRow> parts_{
        "parts", kPartColumns, {.sorting = {Sorting::kNone}, .is_filtered = false, .has_chip = false}};
    Table<LateRow> late_{"late", kLateColumns, {.sorting = {2}}};
    std::size_t shown_parts_ = 0;
};

}  // namespace

std::unique_ptr<Panel> make_pacing_panel() { return std::make_unique<PacingPanel>(); }

}  // namespace kinetograph::ui
