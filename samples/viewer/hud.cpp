#include <kinetograph/samples/viewer/hud.hpp>

#include <kinetograph/engine/ui/canvas.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

namespace kinetograph::viewer {
namespace {

namespace theme = ui::theme;
using ui::Align;
using ui::Canvas;

constexpr float kMargin = 16.0F, kGap = 8.0F;  // pixels at scale 1, as all distances: from the edges, and between boxes

void draw_waiting(Canvas& canvas, ImDrawList& list, const Player& player, const HudView& view, Nanoseconds waited,
                  float& floor) {
    const float middle = static_cast<float>(view.width) / 2,
                room = static_cast<float>(view.width) - canvas.px(2 * kMargin);
    const float title = canvas.large_line(), line = canvas.line(), bar_height = canvas.px(4);
    const float height = title + canvas.px(12) + line + canvas.px(19) + bar_height;
    float y = std::max((static_cast<float>(view.height) - height) / 2, canvas.px(kGap));
    if (y + height > floor) y = std::max(floor - height, 0.0F);
    floor = y - canvas.px(kGap);
    const std::string text = waiting_text(player, waited);
    if (canvas.large_width_of(text) <= room)
        canvas.large(middle, y, theme::kText, text, Align::Center);
    else
        canvas.text(middle, y, theme::kText, canvas.elided(text, room, ui::Cut::Begin), Align::Center);
    y += title + canvas.px(12);
    canvas.text(middle, y, theme::kMuted, canvas.elided(player.description(), room), Align::Center);
    y += line + canvas.px(19);
    // A short bar runs to and fro, to show that the program is working.
    const float width = std::min(canvas.px(280), room), bar = width / 4, left = middle - width / 2;
    const double phase = std::fmod(std::chrono::duration<double>(waited).count() / 1.6, 1.0);
    const auto along = static_cast<float>(0.5 - 0.5 * std::cos(phase * 2.0 * 3.14159265358979));
    list.AddRectFilled({left, y}, {left + width, y + bar_height}, theme::kRaised, canvas.px(2));
    const float at = left + along * (width - bar);
    list.AddRectFilled({at, y}, {at + bar, y + bar_height}, theme::kAccent, canvas.px(2));
}

/// A triangle while it plays, two bars while it does not.
void draw_play_state(Canvas& canvas, ImDrawList& list, float x, float y, bool playing) {
    const float size = canvas.px(11);
    if (playing) {
        list.AddTriangleFilled({x, y}, {x, y + size}, {x + size, y + size / 2}, theme::kText);
        return;
    }
    canvas.box(x, y, canvas.px(4), size, theme::kText);
    canvas.box(x + canvas.px(7), y, canvas.px(4), size, theme::kText);
}

/// What a starving playback waits for.
std::string_view waits_for(const Player& player) {
    if (player.loading()) return player.opening();
    const bool for_latents = player.live() != nullptr && player.live()->live().queued == 0;
    return for_latents ? "waiting for latents" : "waiting for the decoder";
}

constexpr float kItemGap = 18.0F;  // after an item of the status bar
constexpr float kSwatch = 24.0F;   // of the pixel's colour, with the gap after it

/// A part of the status bar.
struct StatusItem {
    std::string text;
    std::string brief;  ///< in its place where there is no room for all
    ImU32 color = theme::kText;
    float width = 0.0F;  ///< pixels at scale 1 that it takes at least: what follows then stays where it is
    int importance = 0;  ///< the least important ones are left out where there is no room
};

std::vector<StatusItem> status_items(const Player& player, const HudView& view) {
    std::vector<StatusItem> items;
    const auto add = [&](int importance, std::string text, std::string brief, ImU32 color, float width = 0.0F) {
        items.push_back({std::move(text), std::move(brief), color, width, importance});
    };
    if (player.frame() == nullptr) {
        const std::string text = waiting_text(player, *player.waiting_for_first_frame(view.now));
        add(5, text, text, theme::kText);
        return items;
    }
    const Frame& frame = *player.frame();
    const std::int64_t frames = player.clip()->frames;
    const live::LiveFeed* live = player.live();
    const std::string time = clip_time(frame.presentation_time), number = fmt::format("{}", frame.index + 1);
    add(4, time, time, theme::kText, 72);
    add(3, frames == 0 ? "frame " + number : fmt::format("frame {} of {}", number, frames), number, theme::kMuted, 126);
    if (!frame.note.empty()) add(4, frame.note, frame.note.substr(0, frame.note.find(" (")), theme::kText);
    if (live != nullptr) {
        const std::string text = live_text(live->live(), view.lag);
        add(2, text, live->live().has_ended ? "ended" : text.substr(text.find("lag")), theme::kText, 260);
    }
    if (player.speed() != 1.0) {
        const std::string speed = fmt::format("{:.2f}x", player.speed());
        add(2, speed, speed, theme::kAccent);
    }
    if (player.looping()) add(0, "loop", "loop", theme::kMuted);
    if (player.previews()) add(1, "preview", "preview", theme::kAccent);
    if (player.starving()) add(5, std::string(waits_for(player)), std::string(waits_for(player)), theme::kAccent);
    return items;
}

/// The items that have room, in their order, and the width of all.
float choose_items(const Canvas& canvas, std::vector<StatusItem>& items, float room) {
    const float gap = canvas.px(kItemGap);
    const auto width_of_all = [&] {
        float width = 0.0F;
        for (StatusItem& item : items) width += std::max(canvas.px(item.width), canvas.width_of(item.text) + gap);
        return width;
    };
    if (width_of_all() <= room) return width_of_all();
    for (StatusItem& item : items) item.width = 0.0F;
    if (width_of_all() <= room) return width_of_all();
    for (StatusItem& item : items) item.text = item.brief;
    while (items.size() > 1 && width_of_all() > room)
        items.erase(std::ranges::min_element(items, {}, &StatusItem::importance));
    items.front().text = canvas.elided(items.front().text, room - gap);
    return width_of_all();
}

/// The pixel under the pointer, or else the file's name, from `right` to the left; returns the width that it takes.
float draw_subject(Canvas& canvas, const Player& player, const HudView& view, float right, float y, float room) {
    if (!view.pixel) {
        if (room < canvas.px(48)) return 0.0F;
        const std::string name = canvas.elided(player.latents().filename().string(), room);
        canvas.text(right, y, theme::kMuted, name, Align::Right);
        return canvas.width_of(name);
    }
    const auto [r, g, b] = view.pixel->rgb;
    const std::string color = fmt::format("#{:02x}{:02x}{:02x}", r, g, b);
    const float swatch = canvas.px(kSwatch);
    std::string value = fmt::format("{:>4}, {:>4}   rgb {:>3} {:>3} {:>3}   {}", view.pixel->position.x,
                                    view.pixel->position.y, r, g, b, color);
    if (canvas.width_of(value) + swatch > room) value = color;
    const float width = canvas.width_of(value) + swatch;
    if (width > room) return 0.0F;
    canvas.text(right, y, theme::kText, value, Align::Right);
    canvas.box(right - width, y + canvas.px(1), canvas.px(14), canvas.line() - canvas.px(2), IM_COL32(r, g, b, 255),
               canvas.px(3));
    return width;
}

void draw_progress(Canvas& canvas, const Player& player, float left, float right, float y) {
    const std::int64_t frames = player.clip()->frames;
    const float along = frames == 0 ? 0.0F : static_cast<float>(player.frame()->index + 1) / static_cast<float>(frames);
    canvas.box(left, y, right - left, canvas.px(2), theme::kRaised);
    canvas.box(left, y, (right - left) * std::min(along, 1.0F), canvas.px(2), theme::kAccent);
}

void draw_status(Canvas& canvas, ImDrawList& list, const Player& player, const HudView& view, float& floor) {
    const float padding = canvas.px(theme::kPadding), height = canvas.line() + canvas.px(16);
    const float left = canvas.px(kMargin), right = static_cast<float>(view.width) - canvas.px(kMargin);
    const float top = floor - canvas.px(kMargin) - height, y = top + canvas.px(8), icon = canvas.px(24);
    floor = top - canvas.px(kGap);
    canvas.box(left, top, right - left, height, theme::kGround, canvas.px(theme::kRounding));
    const float from = left + padding, to = right - padding;
    float x = from;
    if (player.frame() != nullptr) {
        draw_progress(canvas, player, from, to, top + height - canvas.px(3));
        draw_play_state(canvas, list, x, y + (canvas.line() - canvas.px(11)) / 2, player.playing());
        x += icon;
    }
    std::vector<StatusItem> items = status_items(player, view);
    // The colour of the pixel under the pointer has room before all but the most important item.
    const float pixel = view.pixel ? canvas.width_of("#000000") + canvas.px(kSwatch) : 0.0F;
    const float first = canvas.width_of(std::ranges::max_element(items, {}, &StatusItem::importance)->brief);
    const float reserved = first + canvas.px(kItemGap) + pixel <= to - x ? pixel : 0.0F;
    const float taken = choose_items(canvas, items, to - x - reserved);
    draw_subject(canvas, player, view, to, y, to - x - taken);
    for (const StatusItem& item : items) {
        canvas.text(x, y, item.color, item.text);
        x += std::max(canvas.px(item.width), canvas.width_of(item.text) + canvas.px(kItemGap));
    }
}

/// Draws messages from the bottom up: the failure, which stays, then toasts, newest first. Long ones are wrapped.
void draw_messages(Canvas& canvas, ImDrawList& list, const Player& player, const HudView& view, float& floor) {
    const auto width = static_cast<float>(view.width);
    const float padding = canvas.px(12), margin = canvas.px(8);
    const float wrap = std::max(width * 0.6F, std::min(canvas.px(360), width - 2 * (padding + margin)));
    ImFont* font = view.fonts.text != nullptr ? view.fonts.text : ImGui::GetFont();
    const auto draw = [&](const std::string& message, bool is_error) {
        const std::string text = ui::wrapped(message, wrap, floor - 3 * margin, *font, font->FontSize);
        if (text.empty()) return;
        const ImVec2 size = font->CalcTextSizeA(font->FontSize, FLT_MAX, 0.0F, text.c_str());
        const float box = size.x + 2 * padding, height = size.y + 2 * margin;
        const float left = std::round((width - box) / 2), top = std::round(floor - height);
        canvas.box(left, top, box, height, theme::kGroundSolid, canvas.px(theme::kRounding));
        if (is_error) canvas.box(left, top, canvas.px(4), height, theme::kBad, canvas.px(2));
        list.AddText(font, font->FontSize, {left + padding, top + margin}, theme::kText, text.c_str());
        floor = top - canvas.px(kGap);
    };
    if (const auto& failure = player.failure())
        draw(failure->sentence + (failure->to_open_again ? "\nhome opens the device again" : ""), true);
    for (auto toast = player.toasts().rbegin(); toast != player.toasts().rend(); ++toast)
        draw(toast->text, toast->is_error);
}

/// In the middle of what is left above `floor`.
void draw_help(Canvas& canvas, const HudView& view, float& floor) {
    float keys = 0.0F, meanings = 0.0F;
    for (const Binding& binding : bindings()) {
        keys = std::max(keys, std::ceil(canvas.width_of(binding.keys)));
        meanings = std::max(meanings, std::ceil(canvas.width_of(binding.meaning)));
    }
    const float gap = canvas.px(16), top_margin = canvas.px(kGap);
    const float room = static_cast<float>(view.width) - canvas.px(2 * kMargin), height = floor - top_margin;
    const auto all = static_cast<float>(bindings().size());
    const float padding = std::clamp((height - all * canvas.line()) / 4, canvas.px(8), canvas.px(20));
    const float row = std::clamp((height - 2 * padding) / all, canvas.line() + 1, canvas.line() + canvas.px(7));
    const auto rows =
        std::min(bindings().size(), static_cast<std::size_t>(std::max(0.0F, (height - 2 * padding) / row + 0.01F)));
    const float width = std::min(keys + gap + meanings + 2 * padding, room);
    if (rows == 0 || width < keys + gap + 2 * padding) return;
    const float used = static_cast<float>(rows) * row + 2 * padding;
    const float left = (static_cast<float>(view.width) - width) / 2, top = top_margin + (height - used) / 2;
    canvas.box(left, top, width, used, theme::kGroundSolid, canvas.px(theme::kRounding));
    float y = top + padding;
    for (std::size_t i = 0; i < rows; ++i, y += row) {
        if (i + 1 == rows && rows < bindings().size()) {
            canvas.text(left + padding + keys + gap, y, theme::kMuted, "\u2026");
            break;
        }
        canvas.text(left + padding + keys, y, theme::kAccent, bindings()[i].keys, Align::Right);
        canvas.text_within(left + padding + keys + gap, y, width - keys - gap - 2 * padding, theme::kText,
                           bindings()[i].meaning);
    }
    floor = 0.0F;
}

}  // namespace

std::string waiting_text(const Player& player, Nanoseconds waited) {
    const double seconds = std::chrono::duration<double>(waited).count();
    return fmt::format("{} \u2026 {:.1f} s", player.loading() ? player.opening() : "decoding first frame", seconds);
}

std::string live_text(const live::LiveStats& stats, Nanoseconds lag) {
    if (stats.has_ended) return fmt::format("ended by its generator after {} latent frames", stats.received);
    return fmt::format("generator {:.1f} fps \u00b7 lag {:.2f} s", stats.generator_fps,
                       std::chrono::duration<double>(lag).count());
}

std::string clip_time(Nanoseconds time) {
    const std::int64_t hundredths = time.count() / 10'000'000;
    return fmt::format("{}:{:02}.{:02}", hundredths / 6000, hundredths / 100 % 60, hundredths % 100);
}

float draw_hud(const Player& player, const HudView& view) {
    // Messages and the help lie over the profiler's panels; the rest is below their windows and tooltips.
    ImDrawList &above = *ImGui::GetForegroundDrawList(), &below = *ImGui::GetBackgroundDrawList();
    Canvas over(above, view.fonts, view.scale), under(below, view.fonts, view.scale);
    auto floor = static_cast<float>(view.height);
    const auto waited = player.waiting_for_first_frame(view.now);
    const bool waits_in_bar = waited && player.panels();
    if (waits_in_bar || (player.frame() != nullptr && player.overlay())) draw_status(under, below, player, view, floor);
    float messages = floor;
    draw_messages(over, above, player, view, messages);
    if (player.help()) {
        draw_help(over, view, messages);
        return 0.0F;
    }
    if (player.panels()) return floor;
    if (waited) draw_waiting(under, below, player, view, *waited, messages);
    return messages;
}

}  // namespace kinetograph::viewer
