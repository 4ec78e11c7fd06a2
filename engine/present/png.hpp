// PNG files: the format of every picture that the library writes.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace kinetograph::present {

/// Pixels in the caller's memory: [height, width, 4] RGBA, 8 bits each, sRGB-encoded, rows densely packed.
struct PictureView {
    std::uint32_t width = 0, height = 0;  ///< pixels
    std::span<const std::uint8_t> rgba;
};

/// The same with its own memory.
struct Picture {
    std::uint32_t width = 0, height = 0;
    std::vector<std::uint8_t> rgba;
    PictureView view() const { return {width, height, rgba}; }
};

/// Writes `picture` beside `path` and renames it into place once complete; an older file stays untouched on failure.
/// Alpha is written only if a pixel is not opaque.
/// Errors: InvalidArgument (an empty picture, or a size that does not fit the pixels), Io naming the path.
Result<void> write_png(const std::filesystem::path& path, const PictureView& picture);

/// Reads an 8-bit RGB or RGBA file. Errors: NotFound, Corrupt, naming the path.
Result<Picture> read_png(const std::filesystem::path& path);

}  // namespace kinetograph::present
