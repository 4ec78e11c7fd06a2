// Pixels of a decoder's float frames in the layouts of cameras, encoders and half-float textures, made on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kinetograph::stream {

enum class HostPixels : std::uint8_t {
    Rgba16Float,  ///< [height, width, 4] half in [0, 1], alpha 1
    Nv12,         ///< Y [height, width] uint8, then UV [height / 2, width / 2, 2] uint8
    P010,         ///< the same with 10 bits, at the top of uint16
};

std::uint64_t row_bytes(HostPixels layout, std::uint32_t width);
std::uint64_t frame_bytes(HostPixels layout, std::uint32_t width, std::uint32_t height);

/// `rgb` is [height, width, 3] in [-1, 1] and is clamped to that, NaN becoming -1; both sides are even. `out` has
/// frame_bytes() and is aligned to 2 bytes. Y and UV: ITU-R BT.709 of the encoded values, limited range; a UV is that
/// of the mean of its 2x2 pixels.
void convert(std::span<const float> rgb, std::uint32_t width, std::uint32_t height, HostPixels layout,
             std::span<std::byte> out);

}  // namespace kinetograph::stream
