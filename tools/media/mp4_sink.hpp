// Frames as an MP4 file through libav.
#pragma once

#include <kinetograph/tools/media/frame_sink.hpp>

namespace kinetograph::media {

/// H.264 (libx264, or another encoder of libavcodec), else MPEG-4 part 2; yuv420p, BT.709 limited range, tagged as
/// such. Errors: Io naming the path, Unsupported if libavcodec has neither encoder, InvalidArgument for odd sizes.
Result<std::unique_ptr<FrameSink>> create_mp4_sink(std::string_view out, const ClipFormat& format);

}  // namespace kinetograph::media
