// Where a picture lies in a target, and which of its pixels is shown at a given point.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace kinetograph::viewer {

/// In pixels of the target.
struct Rectangle {
    std::int32_t x = 0, y = 0;
    std::uint32_t width = 0, height = 0;
};

struct PixelPosition {
    std::uint32_t x = 0, y = 0;
};

/// One pixel of a picture.
struct PixelValue {
    PixelPosition position;
    std::array<std::uint8_t, 3> rgb{};
};

/// The largest rectangle of the picture's shape inside the target, centred, on whole pixels. All sides >= 1.
Rectangle fit_picture(std::uint32_t picture_width, std::uint32_t picture_height, std::uint32_t target_width,
                      std::uint32_t target_height);

/// The picture's pixel that is shown at (x, y) of the target; nothing outside the picture.
std::optional<PixelPosition> pixel_at(const Rectangle& place, std::uint32_t picture_width, std::uint32_t picture_height,
                                      double x, double y);

}  // namespace kinetograph::viewer
