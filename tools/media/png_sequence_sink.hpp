// Frames as numbered PNG files.
#pragma once

#include <kinetograph/tools/media/frame_sink.hpp>

#include <filesystem>

namespace kinetograph::media {

/// The file of frame `index` (from 0) for a pattern with one `%d` or `%05d` in its file name; a plain name gets
/// `-%05d` in front of its extension. Errors: InvalidArgument for any other use of %.
Result<std::filesystem::path> png_frame_path(std::string_view pattern, std::int64_t index);

/// Writes into a folder beside the pattern's; finish() moves the files to their names.
/// Errors: those of png_frame_path; Io naming the path.
Result<std::unique_ptr<FrameSink>> create_png_sequence_sink(std::string_view pattern, const ClipFormat& format);

}  // namespace kinetograph::media
