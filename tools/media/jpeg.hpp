// JPEG files, through libav.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <cstdint>
#include <filesystem>
#include <span>

namespace kinetograph::media {

/// Errors: Unsupported (libavcodec has no JPEG encoder).
Result<void> check_jpeg();

/// `rgb` [height, width, 3], 8 bits; BT.601, full range, without subsampling of the chroma. Errors: Io naming the path;
/// those of check_jpeg().
Result<void> write_jpeg(const std::filesystem::path& path, std::int64_t width, std::int64_t height,
                        std::span<const std::uint8_t> rgb);

}  // namespace kinetograph::media
