#include <kinetograph/samples/viewer/hud.hpp>

#include <kinetograph/engine/ui/canvas.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace kinetograph::viewer {
namespace {

namespace theme = ui::theme;
using ui::Align;
using ui::Canvas;

void draw_waiting(Canvas& canvas, ImDrawList& list, const Session& session, const HudView& view, Nanoseconds waited) {
    const float middle = static_cast<float>(view.width) / 2, y = static_cast<float>(view.height) / 2;
    const std::string text = waiting_text(session, waited);
    canvas.large(middle, y - canvas.px(46), theme::kText, text, Align::Center);
    canvas.text(middle, y - canvas.px(10), theme::kMuted, session.description(), Align::Center);
    // A short bar runs to and fro, to show that the program is working.
    const float width = canvas.px(280), bar = canvas.px(70), left = middle - width / 2, top = y + canvas.px(24);
    const double phase = std::fmod(std::chrono::duration<double>(waited).count() / 1.6, 1.0);
    const auto along = static_cast<float>(0.5 - 0.5 * std::cos(phase * 2.0 * 3.14159265358979));
    list.AddRectFilled({left, top}, {left + width, top + canvas.px(4)}, theme::kRaised, canvas.px(2));
    const float at = left + along * (width - bar);
    list.AddRectFilled({at, top}, {at + bar, top + canvas.px(4)}, theme::kAccent, canvas.px(2));
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
std::string_view waits_for(const Session& session) {
    if (session.loading()) return session.opening();
    const bool for_latents = session.live() != nullptr && session.live()->live().queued == 0;
    return for_latents ? "waiting for latents" : "waiting for the decoder";
}

void draw_status(Canvas& canvas, ImDrawList& list, const Session& session, const HudView& view) {
    const Frame& frame = *session.frame();
    const float padding = canvas.px(theme::kPadding), height = canvas.line() + canvas.px(16);
    const float left = canvas.px(16), right = static_cast<float>(view.width) - canvas.px(16);
    const float top = static_cast<float>(view.height) - canvas.px(16) - height, text_y = top + canvas.px(8);
    canvas.box(left, top, right - left, height, theme::kGround, canvas.px(theme::kRounding));
    const live::LiveFeed* live = session.live();
    const std::int64_t frames = std::max<std::int64_t>(1, session.clip()->frames);
    const float along = live != nullptr ? 0.0F : static_cast<float>(frame.index + 1) / static_cast<float>(frames);
    list.AddRectFilled({left + padding, top + height - canvas.px(3)}, {right - padding, top + height - canvas.px(1)},
                       theme::kRaised);
    list.AddRectFilled(
        {left + padding, top + height - canvas.px(3)},
        {left + padding + (right - left - 2 * padding) * std::min(along, 1.0F), top + height - canvas.px(1)},
        theme::kAccent);

    float x = left + padding;
    draw_play_state(canvas, list, x, text_y + (canvas.line() - canvas.px(11)) / 2, session.playing());
    x += canvas.px(24);
    const auto item = [&](std::string_view text, ImU32 color, float width) {
        canvas.text(x, text_y, color, text);
        x += std::max(width, canvas.width_of(text) + canvas.px(18));
    };
    item(clip_time(frame.presentation_time), theme::kText, canvas.px(72));
    item(live != nullptr ? fmt::format("frame {}", frame.index + 1)
                         : fmt::format("frame {} of {}", frame.index + 1, frames),
         theme::kMuted, canvas.px(126));
    if (live != nullptr) item(live_text(live->live(), view.lag), theme::kText, canvas.px(260));
    if (session.speed() != 1.0) item(fmt::format("{:.2f}x", session.speed()), theme::kAccent, 0);
    if (session.looping()) item("loop", theme::kMuted, 0);
    if (session.previews()) item("preview", theme::kAccent, 0);
    if (session.starving()) item(waits_for(session), theme::kAccent, 0);

    float end = right - padding;
    if (view.pixel) {
        const auto [r, g, b] = view.pixel->rgb;
        const std::string value = fmt::format("{:>4}, {:>4}   rgb {:>3} {:>3} {:>3}   #{:02x}{:02x}{:02x}",
                                              view.pixel->position.x, view.pixel->position.y, r, g, b, r, g, b);
        canvas.text(end, text_y, theme::kText, value, Align::Right);
        end -= canvas.width_of(value) + canvas.px(24);
        canvas.box(end, text_y + canvas.px(1), canvas.px(14), canvas.line() - canvas.px(2), IM_COL32(r, g, b, 255),
                   canvas.px(3));
    } else {
        canvas.text(end, text_y, theme::kMuted, session.latents().filename().string(), Align::Right);
    }
}

/// Draws messages from the bottom up: the failure, which stays, then toasts, newest first. Long ones are wrapped.
void draw_messages(Canvas& canvas, ImDrawList& list, const Session& session, const HudView& view) {
    const float middle = static_cast<float>(view.width) / 2, wrap = static_cast<float>(view.width) * 0.6F;
    float bottom = static_cast<float>(view.height) - canvas.px(72);
    ImFont* font = view.fonts.text != nullptr ? view.fonts.text : ImGui::GetFont();
    const auto draw = [&](const std::string& text, bool is_error) {
        const ImVec2 size = font->CalcTextSizeA(font->FontSize, wrap, wrap, text.c_str());
        const float padding = canvas.px(12), width = size.x + 2 * padding, height = size.y + 2 * canvas.px(8);
        const float left = std::round(middle - width / 2), top = std::round(bottom - height);
        canvas.box(left, top, width, height, theme::kGround, canvas.px(theme::kRounding));
        if (is_error) canvas.box(left, top, canvas.px(4), height, theme::kBad, canvas.px(2));
        list.AddText(font, font->FontSize, {left + padding, top + canvas.px(8)}, theme::kText, text.c_str(), nullptr,
                     wrap);
        bottom = top - canvas.px(8);
    };
    if (const auto& failure = session.failure())
        draw(failure->sentence + (failure->to_open_again ? "\nhome opens the device again" : ""), true);
    for (auto toast = session.toasts().rbegin(); toast != session.toasts().rend(); ++toast)
        draw(toast->text, toast->is_error);
}

void draw_help(Canvas& canvas, const HudView& view) {
    const float row = canvas.line() + canvas.px(7), padding = canvas.px(20), width = canvas.px(320),
                keys = canvas.px(100);
    const auto rows = static_cast<float>(bindings().size());
    const float height = rows * row + 2 * padding;
    const float left = (static_cast<float>(view.width) - width) / 2,
                top = (static_cast<float>(view.height) - height) / 2;
    canvas.box(left, top, width, height, theme::kGround, canvas.px(theme::kRounding));
    float y = top + padding;
    for (const Binding& binding : bindings()) {
        canvas.text(left + padding + keys - canvas.px(16), y, theme::kAccent, binding.keys, Align::Right);
        canvas.text(left + padding + keys, y, theme::kText, binding.meaning);
        y += row;
    }
}

}  // namespace

std::string waiting_text(const Session& session, Nanoseconds waited) {
    const double seconds = std::chrono::duration<double>(waited).count();
    return fmt::format("{} \u2026 {:.1f} s", session.loading() ? session.opening() : "decoding first frame", seconds);
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

void draw_hud(const Session& session, const HudView& view) {
    ImDrawList& list = *ImGui::GetForegroundDrawList();
    Canvas canvas(list, view.fonts, view.scale);
    if (const auto waited = session.waiting_for_first_frame(view.now))
        draw_waiting(canvas, list, session, view, *waited);
    if (session.frame() != nullptr && session.overlay()) draw_status(canvas, list, session, view);
    if (session.help()) draw_help(canvas, view);
    draw_messages(canvas, list, session, view);
}

}  // namespace kinetograph::viewer
