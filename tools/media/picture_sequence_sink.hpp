// Frames as numbered PNG or JPEG files.
#pragma once

#include <kinetograph/tools/media/frame_sink.hpp>

namespace kinetograph::media {

/// Writes into a folder beside the pattern's; the only picture of a plain name is given that name. finish() moves the
/// files to their names. If one cannot be moved, all older pictures are restored. Pictures of an older sequence that
/// would continue this one must be removed by the user: a reader of the numbered files could not tell the two apart.
/// Errors: those of PictureNames::parse; InvalidArgument naming the first such picture; Io naming the path; Unsupported
/// (libavcodec has no JPEG encoder).
Result<std::unique_ptr<FrameSink>> create_picture_sequence_sink(std::string_view pattern, const ClipFormat& format);

}  // namespace kinetograph::media
