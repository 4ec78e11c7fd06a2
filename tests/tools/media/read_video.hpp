// Reads a video back through libav, independently of the writer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kinetograph::test {

struct Video {
    std::int64_t width = 0, height = 0, frames = 0;
    double fps = 0;
    std::string codec, pixel_format, primaries, transfer, matrix, range;
    std::vector<std::uint8_t> first_rgb;  ///< [height, width, 3] of frame 0, converted as its tags say
};

/// Throws std::runtime_error, naming the path, when the file cannot be decoded to its end.
Video read_video(const std::filesystem::path& path);

}  // namespace kinetograph::test
