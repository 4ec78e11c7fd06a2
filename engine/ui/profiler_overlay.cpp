#include <kinetograph/engine/ui/profiler_overlay.hpp>

#include <kinetograph/engine/profile/statistics.hpp>
#include <kinetograph/engine/ui/canvas.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace kinetograph::ui {
namespace {

/// The position of the next block.
struct Cursor {
    float left = 0, y = 0, width = 0;
    float right() const { return left + width; }
};

constexpr float kWidth = 540.0F;
constexpr float kLaneHeight = 15.0F;

double milliseconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

/// Neighbouring passes of one lane differ a little, so that their borders show.
float shade_of(std::string_view pass) {
    return 0.72F + 0.07F * static_cast<float>(std::hash<std::string_view>{}(pass) % 5);
}

void draw_figure(Canvas& canvas, float x, float y, std::string_view label, std::string_view value, ImU32 color) {
    canvas.text(x, y, theme::kMuted, label);
    canvas.large(x, y + canvas.line() + canvas.px(1), color, value);
}

void draw_figures(Canvas& canvas, Cursor& cursor, const OverlayFigures& figures) {
    const float hint = figures.hint.empty() ? 0.0F : canvas.width_of(figures.hint) + canvas.px(12);
    canvas.text_within(cursor.left, cursor.y, cursor.width - hint, theme::kMuted, figures.title);
    canvas.text(cursor.right(), cursor.y, theme::kMuted, figures.hint, Align::Right);
    cursor.y += canvas.line() + canvas.px(10);

    const bool keeps_up = figures.real_time_factor >= 1.0;
    const float column = cursor.width / 4;
    draw_figure(canvas, cursor.left, cursor.y, "fps", fmt::format("{:.1f}", figures.fps), theme::kText);
    draw_figure(canvas, cursor.left + column, cursor.y, "real time",
                figures.real_time_factor > 0.0 ? fmt::format("{:.2f}x", figures.real_time_factor) : "\u2013",
                figures.real_time_factor > 0.0 ? (keeps_up ? theme::kGood : theme::kAccent) : theme::kMuted);
    draw_figure(canvas, cursor.left + 2 * column, cursor.y, "queue",
                fmt::format("{}/{}", figures.queue_depth, figures.queue_capacity), theme::kText);
    draw_figure(canvas, cursor.left + 3 * column, cursor.y, "step", human_time(figures.step), theme::kText);
    cursor.y += canvas.line() + canvas.large_line() + canvas.px(9);

    float x = cursor.left;
    const auto detail = [&](std::string_view label, std::string_view value, ImU32 color) {
        canvas.text(x, cursor.y, theme::kMuted, label);
        canvas.text(x + canvas.width_of(label) + canvas.px(6), cursor.y, color, value);
        x += column;
    };
    detail("age", human_time(figures.frame_age), theme::kText);
    detail("late", fmt::format("{}", figures.late), figures.late > 0 ? theme::kAccent : theme::kText);
    detail("dropped", fmt::format("{}", figures.dropped), figures.dropped > 0 ? theme::kBad : theme::kText);
    cursor.y += canvas.line() + canvas.px(12);
}

/// The profile's tracks, as they are always ordered.
std::vector<const profile::Profile::Track*> ordered_tracks(const profile::Profile& profile) {
    std::vector<const profile::Profile::Track*> tracks;
    for (const profile::Profile::Track& track : profile.tracks()) tracks.push_back(&track);
    std::ranges::stable_sort(tracks, {},
                             [&](const auto* track) { return theme::track_rank(profile.text(track->name)); });
    return tracks;
}

void draw_timeline(Canvas& canvas, Cursor& cursor, const profile::Profile& profile, const profile::Window& window) {
    const float labels = canvas.px(122), loads = canvas.px(46), row = canvas.px(kLaneHeight), gap = canvas.px(5);
    const float left = cursor.left + labels, width = cursor.width - labels - loads;
    const auto x_of = [&](Nanoseconds time) {
        const double part =
            static_cast<double>((time - window.begin).count()) / static_cast<double>(window.length().count());
        return left + width * static_cast<float>(std::clamp(part, 0.0, 1.0));
    };

    std::string pointed_at;  // the pass under the pointer, and how long it took
    const float head = cursor.y;
    canvas.text(cursor.left, cursor.y, theme::kMuted, "lanes");
    canvas.text(left + width, cursor.y, theme::kMuted, "now", Align::Right);
    canvas.text(cursor.right(), cursor.y, theme::kMuted, "busy", Align::Right);
    cursor.y += canvas.line() + canvas.px(5);
    for (const profile::Profile::Track* track : ordered_tracks(profile)) {
        const std::string_view name = profile.text(track->name);
        const ImU32 color = theme::track_color(name);
        const float text_y = cursor.y + (row - canvas.line()) / 2;
        canvas.box(cursor.left, cursor.y + canvas.px(4), canvas.px(7), canvas.px(7), color, canvas.px(2));
        canvas.text_within(cursor.left + canvas.px(14), text_y, labels - canvas.px(20), theme::kText, name);
        canvas.text(cursor.right(), text_y, theme::kText, fmt::format("{:.0f}%", 100.0 * track->busy), Align::Right);
        canvas.box(left, cursor.y, width, row, theme::kRaised, canvas.px(2));
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        for (const profile::SpanRecord& span : track->spans) {
            if (span.end < window.begin || span.begin > window.end) continue;
            const std::string_view pass = profile.text(span.name);
            const float begin = x_of(span.begin), end = std::max(x_of(span.end), begin + 1.0F);
            canvas.box(begin, cursor.y, end - begin, row, theme::faded(color, shade_of(pass)));
            if (mouse.x >= begin && mouse.x < end && mouse.y >= cursor.y && mouse.y < cursor.y + row)
                pointed_at = fmt::format("{}   {}", pass, human_time(span.end - span.begin));
        }
        cursor.y += row + gap;
    }
    if (pointed_at.empty())
        canvas.text(left, head, theme::kMuted, fmt::format("-{:.0f} ms", milliseconds(window.length())));
    else
        canvas.text_within(left, head, width - canvas.px(40), theme::kText, pointed_at, Cut::Begin);
    cursor.y += canvas.px(7);
}

/// The passes that ran in the profile's window, largest share first.
std::vector<const profile::PassProfile*> passes_by_share(const profile::Profile& profile) {
    std::vector<const profile::PassProfile*> passes;
    for (const profile::PassProfile& pass : profile.passes())
        if (pass.share > 0.0) passes.push_back(&pass);
    std::ranges::stable_sort(passes, std::greater(), &profile::PassProfile::share);
    return passes;
}

void draw_table(Canvas& canvas, Cursor& cursor, const profile::Profile& profile, std::size_t most) {
    const auto passes = passes_by_share(profile);
    const float number = canvas.px(66), share = canvas.px(104), bars = canvas.px(42);
    const float share_right = cursor.right(), max_right = share_right - share, average_right = max_right - number,
                last_right = average_right - number, name_width = last_right - number - cursor.left - canvas.px(8);
    const float row = canvas.line() + canvas.px(4);
    canvas.text(cursor.left, cursor.y, theme::kMuted, "pass");
    canvas.text(last_right, cursor.y, theme::kMuted, "last", Align::Right);
    canvas.text(average_right, cursor.y, theme::kMuted, "average", Align::Right);
    canvas.text(max_right, cursor.y, theme::kMuted, "max", Align::Right);
    canvas.text(share_right, cursor.y, theme::kMuted, "share", Align::Right);
    cursor.y += canvas.line() + canvas.px(3);
    canvas.box(cursor.left, cursor.y, cursor.width, 1.0F, theme::kLine);
    cursor.y += canvas.px(4);

    const std::size_t rows = std::min(most, passes.size());
    const double largest = passes.empty() ? 0.0 : passes.front()->share;  // its bar is full
    double rest = 0.0;
    for (std::size_t i = 0; i < passes.size(); ++i) {
        const profile::PassProfile& pass = *passes[i];
        if (i >= rows) {
            rest += pass.share;
            continue;
        }
        const ImU32 color = theme::track_color(profile.text(pass.track));
        const float bar_left = share_right - share + canvas.px(12), bar_top = cursor.y + canvas.px(6);
        canvas.box(bar_left, bar_top, bars, canvas.px(5), theme::kRaised, canvas.px(2));
        const double part = largest > 0.0 ? pass.share / largest : 0.0;
        canvas.box(bar_left, bar_top, std::max(1.0F, bars * static_cast<float>(part)), canvas.px(5), color,
                   canvas.px(2));
        canvas.box(cursor.left, cursor.y + canvas.px(4), canvas.px(7), canvas.px(7), color, canvas.px(2));
        canvas.text_within(cursor.left + canvas.px(14), cursor.y, name_width, theme::kText, profile.text(pass.name),
                           Cut::Begin);
        canvas.text(last_right, cursor.y, theme::kText, human_time(pass.last), Align::Right);
        canvas.text(average_right, cursor.y, theme::kText, human_time(pass.mean()), Align::Right);
        canvas.text(max_right, cursor.y, theme::kText, human_time(pass.max()), Align::Right);
        canvas.text(share_right, cursor.y, theme::kText, fmt::format("{:.1f}%", 100.0 * pass.share), Align::Right);
        cursor.y += row;
    }
    if (passes.size() > rows) {
        canvas.text(cursor.left + canvas.px(14), cursor.y, theme::kMuted,
                    fmt::format("{} more passes", passes.size() - rows));
        canvas.text(share_right, cursor.y, theme::kMuted, fmt::format("{:.1f}%", 100.0 * rest), Align::Right);
        cursor.y += row;
    }
    if (passes.empty()) {
        canvas.text(cursor.left, cursor.y, theme::kMuted, "nothing has run yet");
        cursor.y += row;
    }
}

}  // namespace

void draw_profiler_overlay(const profile::Profile& profile, const OverlayFigures& figures, Nanoseconds now,
                           const Fonts& fonts, const OverlayOptions& options) {
    ImDrawList& list = *ImGui::GetForegroundDrawList();
    Canvas canvas(list, fonts, options.scale);
    const float padding = canvas.px(theme::kPadding);
    Cursor cursor{options.x + padding, options.y + padding, canvas.px(kWidth) - 2 * padding};

    // The background is drawn first, but its height is known last: two channels.
    ImDrawListSplitter layers;
    layers.Split(&list, 2);
    layers.SetCurrentChannel(&list, 1);
    draw_figures(canvas, cursor, figures);
    draw_timeline(canvas, cursor, profile, {now - options.timeline, now});
    draw_table(canvas, cursor, profile, options.table_rows);
    layers.SetCurrentChannel(&list, 0);
    canvas.box(options.x, options.y, canvas.px(kWidth), cursor.y + padding - options.y, theme::kGround,
               canvas.px(theme::kRounding));
    layers.Merge(&list);
}

}  // namespace kinetograph::ui
