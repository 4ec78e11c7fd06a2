// Frames as a video file through libav.
#pragma once

#include <kinetograph/tools/media/frame_sink.hpp>

namespace kinetograph::media {

/// By the suffix of `out`: .mp4, .mov and .mkv are H.264 (libx264, or another encoder of libavcodec), else MPEG-4 part
/// 2, .webm VP9, VP8 or AV1, all yuv420p, BT.709 limited range, tagged as such; .gif 8 bits a pixel; .webp an
/// animation. Errors: Io naming the path, Unsupported if libavcodec has no such encoder, InvalidArgument for odd sizes
/// of yuv420p and for another suffix.
Result<std::unique_ptr<FrameSink>> create_video_sink(std::string_view out, const ClipFormat& format);

}  // namespace kinetograph::media
