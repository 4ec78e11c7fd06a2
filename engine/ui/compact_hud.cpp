#include <kinetograph/engine/ui/compact_hud.hpp>

#include <kinetograph/engine/ui/canvas.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace kinetograph::ui {
namespace {

constexpr float kWidth = 260.0F, kSparkline = 28.0F;
constexpr std::size_t kFrames = 120;

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

}  // namespace

void draw_compact_hud(const profile::Profile& profile, const CompactHudOptions& options) {
    Canvas canvas(*ImGui::GetForegroundDrawList(), options.fonts, options.scale);
    const profile::Pacing& pacing = profile.pacing();
    const float padding = canvas.px(8), line = canvas.line() + canvas.px(2), width = canvas.px(kWidth);
    canvas.box(options.x, options.y, width, 3 * line + canvas.px(kSparkline) + 2 * padding, theme::kGround,
               canvas.px(theme::kRounding));
    const auto dearest = std::ranges::max_element(profile.passes(), {}, &profile::PassProfile::share);
    const std::string pass = dearest == profile.passes().end()
                                 ? "no pass has run"
                                 : fmt::format("{:.0f}% {}", 100.0 * dearest->share, profile.text(dearest->name));
    float y = options.y + padding;
    const float left = options.x + padding, inside = width - 2 * padding;
    for (const std::string& text : {fmt::format("{:.1f} fps (1 s)   1% low {:.1f}   late {}",
                                                pacing.rate(profile.updated()), pacing.low(0.01), pacing.late),
                                    fmt::format("decode {}   queue {}", human_time(pacing.decode.quantile(0.5)),
                                                human_time(pacing.queued.quantile(0.5))),
                                    pass}) {
        canvas.text_within(left, y, inside, theme::kText, text);
        y += line;
    }
    draw_sparkline(canvas, pacing, left, y, inside, canvas.px(kSparkline));
}

}  // namespace kinetograph::ui
