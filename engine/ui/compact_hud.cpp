#include <kinetograph/engine/ui/compact_hud.hpp>

#include <kinetograph/engine/ui/canvas.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kinetograph::ui {
namespace {

constexpr float kSparkline = 28.0F;
constexpr std::size_t kFrames = 120;
constexpr int kParts = 2;

void draw_sparkline(Canvas& canvas, const profile::Pacing& pacing, float left, float top, float width, float height) {
    const auto& frames = pacing.newest;
    const std::size_t first = frames.size() > kFrames ? frames.size() - kFrames : 1;
    Nanoseconds longest{1};
    for (std::size_t i = first; i < frames.size(); ++i)
        longest = std::max(longest, frames[i].shown - frames[i - 1].shown);
    const float bar = width / static_cast<float>(kFrames);
    for (std::size_t i = first; i < frames.size(); ++i) {
        const Nanoseconds interval = frames[i].shown - frames[i - 1].shown;
        const float tall = height * static_cast<float>(interval.count()) / static_cast<float>(longest.count());
        canvas.box(left + bar * static_cast<float>(i - first), top + height - tall, std::max(bar - 1.0F, 1.0F), tall,
                   frames[i].late ? theme::kBad : theme::kAccent);
    }
}

/// Medians of the first kParts known parts of a frame's time: decode and one more, as there is room.
std::string parts_text(const profile::Pacing& pacing) {
    std::string text;
    int parts = 0;
    for (const auto& [name, sketch] : {std::pair("decode", &pacing.decode), std::pair("queue", &pacing.queued),
                                       std::pair("latency", &pacing.latency), std::pair("present", &pacing.present)}) {
        if (sketch->max() == Nanoseconds{} || parts == kParts) continue;
        text += fmt::format("{}{} {}", parts++ > 0 ? "   " : "", name, human_time(sketch->quantile(0.5)));
    }
    return parts > 0 ? text : "no step is named";
}

/// The pass with the largest share; a name that is too long loses its beginning.
std::string dearest_text(const Canvas& canvas, const profile::Profile& profile, float width) {
    const auto dearest = std::ranges::max_element(profile.passes(), {}, &profile::PassProfile::share);
    if (dearest == profile.passes().end()) return "no pass has run";
    const std::string share = fmt::format("{:.0f}% of busy time: ", 100.0 * dearest->share);
    return share + canvas.elided(profile.text(dearest->name), width - canvas.width_of(share), Cut::Begin);
}

}  // namespace

void draw_compact_hud(profile::Profile& profile, Nanoseconds now, const CompactHudOptions& options) {
    profile.update(now);
    draw_compact_hud(profile, options);
}

void draw_compact_hud(const profile::Profile& profile, const CompactHudOptions& options) {
    Canvas canvas(*ImGui::GetForegroundDrawList(), options.fonts, options.scale);
    const profile::Pacing& pacing = profile.pacing();
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const float padding = canvas.px(8), line = canvas.line() + canvas.px(2), sparkline = canvas.px(kSparkline);
    const float width =
        std::min(canvas.px(kCompactHudWidth), options.width > 0.0F ? options.width : display.x - options.x);
    const float height = (options.height > 0.0F ? options.height : display.y - options.y) - 2 * padding;
    const float left = options.x + padding, inside = width - 2 * padding;
    const std::array all{fmt::format("{:.1f} fps (1 s)   1% low {:.1f}   late {}", pacing.rate(profile.updated()),
                                     pacing.low(0.01), pacing.late),
                         parts_text(pacing), dearest_text(canvas, profile, inside)};
    const auto lines = std::min(all.size(), static_cast<std::size_t>(std::max(0.0F, height / line)));
    if (lines == 0 || inside < line) return;
    const float below = static_cast<float>(lines) * line;
    const bool has_sparkline = below + sparkline <= height;
    canvas.box(options.x, options.y, width, below + (has_sparkline ? sparkline : 0) + 2 * padding, theme::kGround,
               canvas.px(theme::kRounding));
    for (std::size_t i = 0; i < lines; ++i)
        canvas.text_within(left, options.y + padding + static_cast<float>(i) * line, inside, theme::kText, all[i]);
    if (has_sparkline) draw_sparkline(canvas, pacing, left, options.y + padding + below, inside, sparkline);
}

}  // namespace kinetograph::ui
