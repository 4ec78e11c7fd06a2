// Frames as rgb24 bytes to a file descriptor, for `decode -o -`.
#pragma once

#include <kinetograph/tools/media/frame_sink.hpp>

namespace kinetograph::media {

/// `descriptor` is not closed. Errors of write(): Io, also if the reader has closed the pipe.
Result<std::unique_ptr<FrameSink>> create_raw_rgb_sink(int descriptor, const ClipFormat& format);

}  // namespace kinetograph::media
