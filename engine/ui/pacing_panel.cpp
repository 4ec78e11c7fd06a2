#include <kinetograph/engine/ui/cells.hpp>
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
    Part{"latency", "from latents to the presentation engine", &Pacing::latency},
    Part{"display", "from its recording to the screen", &Pacing::display},
    Part{"to screen", "from latents to the screen", &Pacing::to_screen},
};

class PacingPanel final : public Panel {
  public:
    std::string_view name() const override { return "Pacing"; }

    void draw(const PanelContext& context) override {
        const Pacing& pacing = context.profile.pacing();
        if (pacing.frames == 0) return ImGui::TextDisabled("the application has told of no frame yet");
        const double mean = static_cast<double>(pacing.intervals.mean().count()) * 1e-9;
        ImGui::TextUnformatted(fmt::format("{} frames, the first after {}; {:.1f} fps, lows: 1% {:.1f}, 0.1% {:.1f}",
                                           pacing.frames, human_time(pacing.first_frame), mean > 0 ? 1.0 / mean : 0.0,
                                           pacing.low(0.01), pacing.low(0.001))
                                   .c_str());
        draw_frames(context, pacing);
        draw_parts(pacing);
        if (pacing.screen_source.empty())
            ImGui::TextDisabled("no extension of this driver tells when a frame is on the screen");
        else
            ImGui::TextDisabled("on the screen: as %s tells", pacing.screen_source.c_str());
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
                                              frame.index, frame.late ? ", late" : "",
                                              human_time(Nanoseconds(static_cast<std::int64_t>(intervals[i]))),
                                              human_time(frame.decode), human_time(frame.queued),
                                              human_time(frame.present));
                       },
                   .color_of = [&](std::size_t i) { return pacing.newest[i + 1].late ? theme::kBad : theme::kGood; }});
    }

    static void draw_parts(const Pacing& pacing) {
        if (!ImGui::BeginTable("parts", 6, ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp)) return;
        draw_titles({"part", "mean", "p50", "p95", "p99", "max"});
        for (const Part& part : kParts) {
            const DurationSketch& sketch = pacing.*part.sketch;
            if (sketch.max() == Nanoseconds{}) continue;  // nothing tells it
            ImGui::TableNextRow();
            ImGui::TableNextColumn();
            ImGui::TextUnformatted(part.name);
            if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", part.meaning);
            for (const Nanoseconds time :
                 {sketch.mean(), sketch.quantile(0.5), sketch.quantile(0.95), sketch.quantile(0.99), sketch.max()})
                next_number(human_time(time));
        }
        ImGui::EndTable();
    }

    static void draw_late(const PanelContext& context, const Pacing& pacing) {
        ImGui::Text("%llu late", static_cast<unsigned long long>(pacing.late));
        for (std::size_t i = pacing.late_frames.size(); i-- > 0;) {
            const profile::LateFrame& late = pacing.late_frames[i];
            const std::string_view pass = late.pass != 0 ? context.text(late.pass) : "no pass";
            const std::string text = fmt::format("frame {}, {} ago: {} took {} more than its median", late.index,
                                                 human_time(context.now - late.shown), pass, human_time(late.excess));
            ImGui::PushID(static_cast<int>(i));
            if (ImGui::Selectable(text.c_str(), context.selection.is(late.pass, late.track)) && late.pass != 0)
                context.selection.select(late.pass, late.track, context.profile.find(late.pass, late.track)->plan);
            ImGui::PopID();
        }
    }
};

}  // namespace

std::unique_ptr<Panel> make_pacing_panel() { return std::make_unique<PacingPanel>(); }

}  // namespace kinetograph::ui
