// Frames as numbered PNG files.
#pragma once

#include <kinetograph/tools/media/frame_sink.hpp>

namespace kinetograph::media {

/// Writes into a folder beside the pattern's; finish() moves the files to their names. Where one cannot be put in
/// place, all older pictures are put back. Pictures of an older sequence that would go on after this one's last are the
/// user's to remove: a reader of the numbered files could not tell the two apart.
/// Errors: those of PngNames::parse; InvalidArgument naming the first picture that would go on; Io naming the path.
Result<std::unique_ptr<FrameSink>> create_png_sequence_sink(std::string_view pattern, const ClipFormat& format);

}  // namespace kinetograph::media
