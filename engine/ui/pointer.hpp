// What the pointer does: how near it is to thin lines, whose tooltips appear from a few pixels away, and whether it
// clicks or drags.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace kinetograph::ui {

inline constexpr float kReach = 5.0F;  ///< pixels from a line within which the pointer is on it

inline float distance_to_line(ImVec2 point, ImVec2 from, ImVec2 to) {
    const float dx = to.x - from.x, dy = to.y - from.y, length = dx * dx + dy * dy;
    const float along =
        length > 0.0F ? std::clamp(((point.x - from.x) * dx + (point.y - from.y) * dy) / length, 0.0F, 1.0F) : 0.0F;
    return std::hypot(point.x - from.x - along * dx, point.y - from.y - along * dy);
}

/// Tells a click on an item from a drag that begins on it.
class ClickOrDrag {
  public:
    /// Call right after the item, in every picture.
    void update() {
        if (ImGui::IsItemActivated()) was_dragged_ = false;
        const bool ends = ImGui::IsItemDeactivated();
        is_dragged_ = ImGui::IsItemActive() && has_moved();
        was_dragged_ = was_dragged_ || is_dragged_ || (ends && has_moved());
        is_clicked_ = ends && !was_dragged_;
    }
    bool is_dragged() const { return is_dragged_; }
    /// The button was released, and the pointer has not moved since it was pressed.
    bool is_clicked() const { return is_clicked_; }

  private:
    static constexpr float kSlack = 2.0F;  // pixels that a hand may move in a click
    static bool has_moved() {
        const ImGuiIO& io = ImGui::GetIO();
        const ImVec2 from = io.MouseClickedPos[ImGuiMouseButton_Left];
        return std::hypot(io.MousePos.x - from.x, io.MousePos.y - from.y) > kSlack;
    }

    bool was_dragged_ = false, is_dragged_ = false, is_clicked_ = false;
};

/// A cubic curve by its ends and control points, which bound it.
struct Curve {
    ImVec2 a, control_a, control_b, b;

    ImVec2 at(float t) const {
        const float s = 1.0F - t, w0 = s * s * s, w1 = 3 * s * s * t, w2 = 3 * s * t * t, w3 = t * t * t;
        return {w0 * a.x + w1 * control_a.x + w2 * control_b.x + w3 * b.x,
                w0 * a.y + w1 * control_a.y + w2 * control_b.y + w3 * b.y};
    }
    ImVec2 low() const {
        return {std::min({a.x, control_a.x, control_b.x, b.x}), std::min({a.y, control_a.y, control_b.y, b.y})};
    }
    ImVec2 high() const {
        return {std::max({a.x, control_a.x, control_b.x, b.x}), std::max({a.y, control_a.y, control_b.y, b.y})};
    }
    /// Within kReach; exact to a pixel for curves of a few hundred.
    bool is_near(ImVec2 point) const {
        const ImVec2 from = low(), to = high();
        if (point.x < from.x - kReach || point.x > to.x + kReach || point.y < from.y - kReach ||
            point.y > to.y + kReach)
            return false;
        constexpr int kPieces = 24;
        ImVec2 before = a;
        for (int i = 1; i <= kPieces; ++i) {
            const ImVec2 next = at(static_cast<float>(i) / kPieces);
            if (distance_to_line(point, before, next) <= kReach) return true;
            before = next;
        }
        return false;
    }
};

}  // namespace kinetograph::ui
