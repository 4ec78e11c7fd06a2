// Frames as numbered PNG files.
#pragma once

#include <kinetograph/tools/media/frame_sink.hpp>

namespace kinetograph::media {

/// Writes into a folder beside the pattern's; finish() moves the files to their names. If one cannot be moved, all
/// older pictures are restored. Pictures of an older sequence that would continue this one must be removed by the user:
/// a reader of the numbered files could not tell the two apart. Errors: those of PngNames::parse; InvalidArgument
/// naming the first such picture; Io naming the path.
Result<std::unique_ptr<FrameSink>> create_png_sequence_sink(std::string_view pattern, const ClipFormat& format);

}  // namespace kinetograph::media
