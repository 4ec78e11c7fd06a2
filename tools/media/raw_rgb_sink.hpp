// Frames as rgb24 bytes into a file descriptor: what `decode -o -` feeds to the next program.
#pragma once

#include <kinetograph/tools/media/frame_sink.hpp>

namespace kinetograph::media {

/// `descriptor` stays the caller's. Errors of write(): Io, also when the reader has gone away.
Result<std::unique_ptr<FrameSink>> create_raw_rgb_sink(int descriptor, const ClipFormat& format);

}  // namespace kinetograph::media
