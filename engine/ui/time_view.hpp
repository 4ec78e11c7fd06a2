// TimeView: which part of the time axis a picture shows, where in it, and how wheel, drag and steps move it.
#pragma once

#include <kinetograph/engine/base/clock.hpp>

#include <imgui.h>

namespace kinetograph::ui {

class TimeView {
  public:
    /// Where the picture is, in pixels; call it in every picture.
    void place(float left, float width);
    float left() const { return left_; }
    float width() const { return width_; }
    float right() const { return left_ + width_; }

    Nanoseconds begin() const { return end_ - length_; }
    Nanoseconds end() const { return end_; }
    Nanoseconds length() const { return length_; }
    /// At most one width outside the picture.
    float x_of(Nanoseconds time) const {
        const double along = static_cast<double>((time - begin()).count()) * pixels_per_nanosecond_;
        return left_ + static_cast<float>(along < -width_ ? -width_ : along > 2 * width_ ? 2 * width_ : along);
    }
    Nanoseconds time_at(float x) const;

    /// Whether the newest spans stay in the picture.
    bool follows() const { return follows_; }
    void follow(bool follows) { follows_ = follows; }
    /// The end of the newest span: that of the picture while it follows.
    void set_newest(Nanoseconds newest);

    /// Shows all from `from` to `to`, and a twentieth more at both ends, and follows no longer.
    void show(Nanoseconds from, Nanoseconds to);
    /// Moves the time from `from` to `to` to the middle, wide enough to be seen, and follows no longer.
    void bring_into_view(Nanoseconds from, Nanoseconds to);
    /// Follows no longer if that moves anything.
    void pan(float pixels);
    /// The time at `x` stays where it is, unless the picture follows.
    void zoom(float notches, float x);

    /// Lines from `top` to `bottom` at round times since `origin`, which move with the spans; and a line at `now`.
    void draw_axis(ImDrawList& list, float top, float bottom, Nanoseconds origin, Nanoseconds now) const;

  private:
    void set_length(double nanoseconds);
    void measure() { pixels_per_nanosecond_ = width_ / static_cast<double>(length_.count()); }

    float left_ = 0.0F;
    float width_ = 1.0F;
    Nanoseconds length_ = std::chrono::milliseconds(500), end_{};
    double pixels_per_nanosecond_ = 0.0;
    bool follows_ = true;
};

}  // namespace kinetograph::ui
