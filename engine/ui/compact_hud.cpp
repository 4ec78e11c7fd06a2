#include <kinetograph/engine/ui/compact_hud.hpp>

#include <kinetograph/engine/ui/canvas.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace kinetograph::ui {
namespace {

constexpr float kWidth = 260.0F, kSparkline = 28.0F;
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

}  // namespace

void draw_compact_hud(profile::Profile& profile, Nanoseconds now, const CompactHudOptions& options) {
    profile.update(now);
    draw_compact_hud(profile, options);
}

void draw_compact_hud(const profile::Profile& profile, const CompactHudOptions& options) {
    Canvas canvas(*ImGui::GetForegroundDrawList(), options.fonts, options.scale);
    const profile::Pacing& pacing = profile.pacing();
    const float padding = canvas.px(8), line = canvas.line() + canvas.px(2), width = canvas.px(kWidth);
    canvas.box(options.x, options.y, width, 3 * line + canvas.px(kSparkline) + 2 * padding, theme::kGround,
               canvas.px(theme::kRounding));
    const auto dearest = std::ranges::max_element(profile.passes(), {}, &profile::PassProfile::share);
    float y = options.y + padding;
    const float left = options.x + padding, inside = width - 2 * padding;
    for (const std::string& text : {fmt::format("{:.1f} fps (1 s)   1% low {:.1f}   late {}",
                                                pacing.rate(profile.updated()), pacing.low(0.01), pacing.late),
                                    parts_text(pacing)}) {
        canvas.text_within(left, y, inside, theme::kText, text);
        y += line;
    }
    if (dearest == profile.passes().end()) {
        canvas.text(left, y, theme::kText, "no pass has run");
    } else {
        const std::string share = fmt::format("{:.0f}% of busy time: ", 100.0 * dearest->share);
        const float name = canvas.width_of(share);
        canvas.text(left, y, theme::kText, share);
        canvas.text_within(left + name, y, inside - name, theme::kText, profile.text(dearest->name), Cut::Begin);
    }
    y += line;
    draw_sparkline(canvas, pacing, left, y, inside, canvas.px(kSparkline));
}

}  // namespace kinetograph::ui
