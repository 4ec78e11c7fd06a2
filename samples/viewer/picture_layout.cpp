#include <kinetograph/samples/viewer/picture_layout.hpp>

#include <algorithm>
#include <cmath>

namespace kinetograph::viewer {

Rectangle fit_picture(std::uint32_t picture_width, std::uint32_t picture_height, std::uint32_t target_width,
                      std::uint32_t target_height) {
    const double scale = std::min(static_cast<double>(target_width) / picture_width,
                                  static_cast<double>(target_height) / picture_height);
    const auto side = [&](std::uint32_t length, std::uint32_t limit) {
        return std::clamp<std::uint32_t>(static_cast<std::uint32_t>(std::lround(length * scale)), 1, limit);
    };
    Rectangle place;
    place.width = side(picture_width, target_width);
    place.height = side(picture_height, target_height);
    place.x = static_cast<std::int32_t>((target_width - place.width) / 2);
    place.y = static_cast<std::int32_t>((target_height - place.height) / 2);
    return place;
}

std::optional<PixelPosition> pixel_at(const Rectangle& place, std::uint32_t picture_width, std::uint32_t picture_height,
                                      double x, double y) {
    const double across = (std::floor(x) + 0.5 - place.x) / place.width;
    const double down = (std::floor(y) + 0.5 - place.y) / place.height;
    if (across < 0.0 || across >= 1.0 || down < 0.0 || down >= 1.0) return std::nullopt;
    return PixelPosition{static_cast<std::uint32_t>(across * picture_width),
                         static_cast<std::uint32_t>(down * picture_height)};
}

}  // namespace kinetograph::viewer
