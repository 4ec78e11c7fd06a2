// How near the pointer is to what a panel has drawn: thin lines explain themselves from a few pixels away.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace kinetograph::ui {

inline constexpr float kReach = 5.0F;  ///< pixels from a line within which it is pointed at

inline float distance_to_line(ImVec2 point, ImVec2 from, ImVec2 to) {
    const float dx = to.x - from.x, dy = to.y - from.y, length = dx * dx + dy * dy;
    const float along =
        length > 0.0F ? std::clamp(((point.x - from.x) * dx + (point.y - from.y) * dy) / length, 0.0F, 1.0F) : 0.0F;
    return std::hypot(point.x - from.x - along * dx, point.y - from.y - along * dy);
}

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
