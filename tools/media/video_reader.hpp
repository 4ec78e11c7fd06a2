// Pictures of one file, by libav.
#pragma once

#include <kinetograph/tools/media/frame_reader.hpp>

namespace kinetograph::media {

/// The first stream of pictures of any file that libav reads: a video, an animation or a picture. Pixels are taken as
/// square, a fourth channel is dropped, and quarter turns that the file asks for are made. What a file says of its
/// colours decides how they become RGB; where it says nothing, BT.709 from 1280x720 on and BT.601 below. Errors: those
/// of open_reader().
Result<std::unique_ptr<FrameReader>> open_video(const std::filesystem::path& file);

}  // namespace kinetograph::media
