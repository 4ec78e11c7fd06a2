// Raw rgb24, picture after picture, from a pipe.
#pragma once

#include <kinetograph/tools/media/frame_reader.hpp>

namespace kinetograph::media {

/// Pictures of `size` from `descriptor`, which stays the caller's. next() fails with Corrupt if the input ends within a
/// picture.
std::unique_ptr<FrameReader> open_raw_rgb(int descriptor, PixelSize size);

}  // namespace kinetograph::media
