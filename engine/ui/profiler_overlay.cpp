#include <kinetograph/engine/ui/profiler_overlay.hpp>

#include <kinetograph/engine/profile/statistics.hpp>
#include <kinetograph/engine/ui/canvas.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>

namespace kinetograph::ui {
namespace {

/// The position of the next block, and the room that is left.
struct Cursor {
    float left = 0, y = 0, width = 0, bottom = 0;
    float right() const { return left + width; }
    bool has_room(float height) const { return y + height <= bottom; }
    /// How many rows of that height there is room for, at most `wanted`.
    std::size_t rows(float height, std::size_t wanted) const {
        return std::min(wanted, static_cast<std::size_t>(std::max(0.0F, (bottom - y) / height)));
    }
};

constexpr float kWidth = 540.0F;
constexpr float kLaneHeight = 15.0F;

double milliseconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

/// Neighbouring passes of one lane differ a little, so that their borders show.
float shade_of(std::string_view pass) {
    return 0.72F + 0.07F * static_cast<float>(std::hash<std::string_view>{}(pass) % 5);
}

struct Figure {
    std::string_view label;
    std::string value;
    ImU32 color;
};

float height_of_figures(const Canvas& canvas) { return canvas.line() + canvas.large_line() + canvas.px(9); }

/// How many figures, each in a column of its own, the width has room for.
std::size_t columns_of(const Canvas& canvas, std::span<const Figure> figures, float width) {
    for (std::size_t count = figures.size(); count > 0; --count) {
        const float column = width / static_cast<float>(count);
        if (std::ranges::all_of(figures.first(count), [&](const Figure& figure) {
                return std::max(canvas.width_of(figure.label), canvas.large_width_of(figure.value)) <=
                       column - (count > 1 ? canvas.px(10) : 0);
            }))
            return count;
    }
    return 0;
}

void draw_title(Canvas& canvas, Cursor& cursor, const OverlayFigures& figures) {
    float hint = figures.hint.empty() ? 0.0F : canvas.width_of(figures.hint) + canvas.px(12);
    if (hint > cursor.width / 2) hint = 0;
    canvas.text_within(cursor.left, cursor.y, cursor.width - hint, theme::kMuted, figures.title);
    if (hint > 0) canvas.text(cursor.right(), cursor.y, theme::kMuted, figures.hint, Align::Right);
    cursor.y += canvas.line() + canvas.px(10);
}

/// False if there is no room for any.
bool draw_figures(Canvas& canvas, Cursor& cursor, const OverlayFigures& figures) {
    const bool is_timed = figures.real_time_factor > 0.0, keeps_up = figures.real_time_factor >= 1.0;
    const std::array all{
        Figure{"fps", fmt::format("{:.1f}", figures.fps), theme::kText},
        Figure{"real time", is_timed ? fmt::format("{:.2f}x", figures.real_time_factor) : "\u2013",
               is_timed ? (keeps_up ? theme::kGood : theme::kAccent) : theme::kMuted},
        Figure{"queue", fmt::format("{}/{}", figures.queue_depth, figures.queue_capacity), theme::kText},
        Figure{"step", human_time(figures.step), theme::kText}};
    const std::size_t columns = columns_of(canvas, all, cursor.width);
    const float title = canvas.line() + canvas.px(10), height = height_of_figures(canvas);
    if (columns == 0 || !cursor.has_room(height - canvas.px(9))) return false;
    if (cursor.has_room(title + height)) draw_title(canvas, cursor, figures);
    const float column = cursor.width / static_cast<float>(columns);
    for (std::size_t i = 0; i < columns; ++i) {
        const float x = cursor.left + static_cast<float>(i) * column;
        canvas.text(x, cursor.y, theme::kMuted, all[i].label);
        canvas.large(x, cursor.y + canvas.line() + canvas.px(1), all[i].color, all[i].value);
    }
    cursor.y += height;
    return true;
}

void draw_details(Canvas& canvas, Cursor& cursor, const OverlayFigures& figures) {
    if (!cursor.has_room(canvas.line())) return;
    const std::array all{
        Figure{"age", human_time(figures.frame_age), theme::kText},
        Figure{"late", fmt::format("{}", figures.late), figures.late > 0 ? theme::kAccent : theme::kText},
        Figure{"dropped", fmt::format("{}", figures.dropped), figures.dropped > 0 ? theme::kBad : theme::kText}};
    float x = cursor.left;
    for (const Figure& detail : all) {
        const float value = x + canvas.width_of(detail.label) + canvas.px(6);
        const float end = value + canvas.width_of(detail.value);
        if (end > cursor.right()) break;
        canvas.text(x, cursor.y, theme::kMuted, detail.label);
        canvas.text(value, cursor.y, detail.color, detail.value);
        x += std::max(cursor.width / 4, end + canvas.px(14) - x);
    }
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
    const float loads = std::max({canvas.px(46), canvas.width_of("100%") + canvas.px(8), canvas.width_of("busy")});
    const float labels = std::min(canvas.px(122), (cursor.width - loads) / 2);
    const float row = std::max(canvas.px(kLaneHeight), canvas.line()), gap = canvas.px(5);
    const float left = cursor.left + labels, width = cursor.width - labels - loads;
    const auto tracks = ordered_tracks(profile);
    const float head = cursor.y, below_head = canvas.line() + canvas.px(5);
    if (width < canvas.width_of("now") || !cursor.has_room(below_head + row)) return;
    cursor.y += below_head;
    const std::size_t lanes = cursor.rows(row + gap, tracks.size());
    const auto x_of = [&](Nanoseconds time) {
        const double part =
            static_cast<double>((time - window.begin).count()) / static_cast<double>(window.length().count());
        return left + width * static_cast<float>(std::clamp(part, 0.0, 1.0));
    };

    std::string pointed_at;  // the pass under the pointer, and how long it took
    canvas.text_within(cursor.left, head, labels, theme::kMuted,
                       lanes == tracks.size() ? "lanes" : fmt::format("{} of {} lanes", lanes, tracks.size()));
    canvas.text(left + width, head, theme::kMuted, "now", Align::Right);
    canvas.text(cursor.right(), head, theme::kMuted, "busy", Align::Right);
    for (const profile::Profile::Track* track : std::span(tracks).first(lanes)) {
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
    const float room = width - canvas.width_of("now") - canvas.px(12);
    if (pointed_at.empty())
        canvas.text_within(left, head, room, theme::kMuted, fmt::format("-{:.0f} ms", milliseconds(window.length())));
    else
        canvas.text_within(left, head, room, theme::kText, pointed_at, Cut::Begin);
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

struct TimeColumn {
    std::string_view title;
    Nanoseconds (*value)(const profile::PassProfile&);
};
constexpr std::array kTimes{
    TimeColumn{"last", [](const profile::PassProfile& pass) { return pass.last; }},
    TimeColumn{"average", [](const profile::PassProfile& pass) { return pass.mean(); }},
    TimeColumn{"max", [](const profile::PassProfile& pass) { return pass.max(); }},
};

void draw_table(Canvas& canvas, Cursor& cursor, const profile::Profile& profile, std::size_t most) {
    const auto passes = passes_by_share(profile);
    const float bars = canvas.px(42), mark = canvas.px(14);
    const float number = std::max(canvas.px(66), canvas.width_of("average ") + canvas.px(6));
    const float share = std::max(canvas.px(104), bars + canvas.width_of("100.0%") + canvas.px(18));
    const float least_name = mark + canvas.width_of("nothing has run yet");
    if (cursor.width < least_name + share) return;
    const std::size_t times =
        std::min(kTimes.size(), static_cast<std::size_t>((cursor.width - least_name - share) / number));
    const float share_right = cursor.right(), times_right = share_right - share;
    const float name_width = times_right - number * static_cast<float>(times) - cursor.left - mark;
    const auto right_of = [&](std::size_t time) { return times_right - number * static_cast<float>(times - 1 - time); };
    const float row = canvas.line() + canvas.px(4), head = canvas.line() + canvas.px(7);
    if (!cursor.has_room(head + 2 * row)) return;

    canvas.text(cursor.left, cursor.y, theme::kMuted, "pass");
    for (std::size_t time = 0; time < times; ++time)
        canvas.text(right_of(time), cursor.y, theme::kMuted, kTimes[time].title, Align::Right);
    canvas.text(share_right, cursor.y, theme::kMuted, "share", Align::Right);
    canvas.box(cursor.left, cursor.y + canvas.line() + canvas.px(3), cursor.width, 1.0F, theme::kLine);
    cursor.y += head;
    if (passes.empty()) {
        canvas.text(cursor.left, cursor.y, theme::kMuted, "nothing has run yet");
        cursor.y += row;
        return;
    }
    std::size_t rows = cursor.rows(row, std::min(most + 1, passes.size()));
    if (rows < passes.size()) --rows;              // the last one sums up the others
    const double largest = passes.front()->share;  // its bar is full
    double rest = 0.0;
    for (std::size_t i = rows; i < passes.size(); ++i) rest += passes[i]->share;
    for (const profile::PassProfile* pass : std::span(passes).first(rows)) {
        const ImU32 color = theme::track_color(profile.text(pass->track));
        const float bar_left = times_right + canvas.px(12), bar_top = cursor.y + canvas.px(6);
        canvas.box(bar_left, bar_top, bars, canvas.px(5), theme::kRaised, canvas.px(2));
        const double part = largest > 0.0 ? pass->share / largest : 0.0;
        canvas.box(bar_left, bar_top, std::max(1.0F, bars * static_cast<float>(part)), canvas.px(5), color,
                   canvas.px(2));
        canvas.box(cursor.left, cursor.y + canvas.px(4), canvas.px(7), canvas.px(7), color, canvas.px(2));
        canvas.text_within(cursor.left + mark, cursor.y, name_width, theme::kText, profile.text(pass->name),
                           Cut::Begin);
        for (std::size_t time = 0; time < times; ++time)
            canvas.text(right_of(time), cursor.y, theme::kText, human_time(kTimes[time].value(*pass)), Align::Right);
        canvas.text(share_right, cursor.y, theme::kText, fmt::format("{:.1f}%", 100.0 * pass->share), Align::Right);
        cursor.y += row;
    }
    if (passes.size() == rows) return;
    canvas.text(cursor.left + mark, cursor.y, theme::kMuted, fmt::format("{} more passes", passes.size() - rows));
    canvas.text(share_right, cursor.y, theme::kMuted, fmt::format("{:.1f}%", 100.0 * rest), Align::Right);
    cursor.y += row;
}

}  // namespace

void draw_profiler_overlay(const profile::Profile& profile, const OverlayFigures& figures, Nanoseconds now,
                           const Fonts& fonts, const OverlayOptions& options) {
    ImDrawList& list = *ImGui::GetForegroundDrawList();
    Canvas canvas(list, fonts, options.scale);
    const float padding = canvas.px(theme::kPadding);
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const float width = std::min(canvas.px(kWidth), options.width > 0.0F ? options.width : display.x - options.x);
    const float height = options.height > 0.0F ? options.height : display.y - options.y;
    Cursor cursor{options.x + padding, options.y + padding, width - 2 * padding, options.y + height - padding};

    // The background is drawn first, but its height is known last: two channels.
    ImDrawListSplitter layers;
    layers.Split(&list, 2);
    layers.SetCurrentChannel(&list, 1);
    if (draw_figures(canvas, cursor, figures)) {
        draw_details(canvas, cursor, figures);
        draw_timeline(canvas, cursor, profile, {now - options.timeline, now});
        draw_table(canvas, cursor, profile, options.table_rows);
        layers.SetCurrentChannel(&list, 0);
        canvas.box(options.x, options.y, width, std::min(cursor.y + padding - options.y, height), theme::kGround,
                   canvas.px(theme::kRounding));
    }
    layers.Merge(&list);
}

}  // namespace kinetograph::ui
