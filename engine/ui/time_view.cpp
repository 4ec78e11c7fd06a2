#include <kinetograph/engine/ui/time_view.hpp>

#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace kinetograph::ui {
namespace {

constexpr Nanoseconds kShortest = std::chrono::microseconds(1), kLongest = std::chrono::seconds(10);
constexpr float kFound = 24.0F;  // pixels at least of what is brought into view

/// The smallest number not below `nanoseconds` that is 1, 2 or 5 times a power of ten.
Nanoseconds round_up(double nanoseconds) {
    double step = std::pow(10.0, std::floor(std::log10(std::max(nanoseconds, 1.0))));
    for (const double factor : {2.0, 2.5, 2.0})
        if (step < nanoseconds) step *= factor;
    return Nanoseconds(std::llround(step));
}

/// Seconds, with as many digits as lines at distance `apart` need.
std::string axis_text(Nanoseconds time, Nanoseconds apart) {
    int digits = 0;
    for (std::int64_t unit = 1'000'000'000; unit > apart.count() && digits < 9; unit /= 10) ++digits;
    return fmt::format("{:.{}f} s", static_cast<double>(time.count()) * 1e-9, digits);
}

}  // namespace

void TimeView::place(float left, float width) {
    left_ = left;
    width_ = width;
    measure();
}

void TimeView::set_length(double nanoseconds) {
    length_ = Nanoseconds(std::llround(
        std::clamp(nanoseconds, static_cast<double>(kShortest.count()), static_cast<double>(kLongest.count()))));
    measure();
}

Nanoseconds TimeView::time_at(float x) const {
    return begin() +
           Nanoseconds(std::llround(static_cast<double>(x - left_) / width_ * static_cast<double>(length_.count())));
}

void TimeView::set_newest(Nanoseconds newest) {
    if (follows_) end_ = newest;
}

void TimeView::show(Nanoseconds from, Nanoseconds to) {
    set_length(1.1 * static_cast<double>((to - from).count()));
    end_ = to + (to - from) / 20;
    follows_ = false;
}

void TimeView::bring_into_view(Nanoseconds from, Nanoseconds to) {
    const double widest = static_cast<double>((to - from).count()) * width_ / kFound;
    set_length(std::min(static_cast<double>(length_.count()), widest));
    end_ = (from + to) / 2 + length_ / 2;
    follows_ = false;
}

void TimeView::pan(float pixels) {
    end_ -= Nanoseconds(std::llround(static_cast<double>(pixels) / width_ * static_cast<double>(length_.count())));
    follows_ = follows_ && pixels == 0.0F;
}

void TimeView::zoom(float notches, float x) {
    const double after = 1.0 - std::clamp((x - left_) / width_, 0.0F, 1.0F);
    const auto pointed = static_cast<double>(end_.count()) - after * static_cast<double>(length_.count());
    set_length(static_cast<double>(length_.count()) * std::pow(0.8, static_cast<double>(notches)));
    if (!follows_) end_ = Nanoseconds(std::llround(pointed + after * static_cast<double>(length_.count())));
}

void TimeView::draw_axis(ImDrawList& list, float top, float bottom, Nanoseconds origin, Nanoseconds now) const {
    const double each_pixel = static_cast<double>(length_.count()) / width_;
    Nanoseconds apart = round_up(100 * each_pixel);
    const float widest =
        std::max(width_of(axis_text(begin() - origin, apart)), width_of(axis_text(end_ - origin, apart)));
    apart = std::max(apart, round_up((widest + 16) * each_pixel));
    const float now_x = now >= begin() && now <= end_ ? x_of(now) : 2 * right();
    const float now_width = width_of("now"),
                now_at = now_x + 3 + now_width <= right() ? now_x + 3 : now_x - 3 - now_width;
    const Nanoseconds since = begin() - origin;
    auto line = since / apart * apart + (since.count() > 0 ? apart : Nanoseconds{});
    for (; line < end_ - origin; line += apart) {
        const float x = x_of(origin + line);
        list.AddLine({x, top}, {x, bottom}, theme::kRaised);
        const std::string text = axis_text(line, apart);
        const float from = x + 3, to = from + width_of(text);
        if (to > right() || (from < now_at + now_width + 4 && to > now_at - 4)) continue;
        list.AddText({from, top}, theme::kMuted, text.c_str());
    }
    if (now_x > right()) return;
    list.AddLine({now_x, top}, {now_x, bottom}, theme::kAccent);
    list.AddText({now_at, top}, theme::kAccent, "now");
}

}  // namespace kinetograph::ui
