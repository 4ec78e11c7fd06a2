// Float frames to 8 bits a channel.
#pragma once

#include <kinetograph/compute/nn/frame_conversion.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace kinetograph::media {

/// [-1, 1] to [0, 255], value by value; `rgb` takes the size of `values`.
inline void to_rgb24(std::span<const float> values, std::vector<std::uint8_t>& rgb) {
    rgb.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) rgb[i] = nn::to_unorm8(values[i]);
}

}  // namespace kinetograph::media
