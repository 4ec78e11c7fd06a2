// Frames as one float tensor, for comparison by scripts.
#pragma once

#include <kinetograph/tools/media/frame_sink.hpp>

namespace kinetograph::media {

/// Writes `frames` F32 [3, T, H, W]. Channels come before frames, so the whole clip (12 * T * H * W bytes) is held in
/// memory until finish(). Errors: Io naming the path; OutOfMemory stating the bytes.
Result<std::unique_ptr<FrameSink>> create_safetensors_sink(std::string_view out, const ClipFormat& format);

}  // namespace kinetograph::media
