// The values of pictures.
#pragma once

#include <cstdint>

namespace kinetograph::nn {

/// A value in [-1, 1] to 8 bits: round((v + 1) * 127.5), halves up, limited to 0..255; NaN becomes 0.
std::uint8_t to_unorm8(float value);

}  // namespace kinetograph::nn
