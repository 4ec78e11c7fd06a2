// OutputKind: the kind of output that a name selects.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kinetograph::media {

enum class OutputKind : std::uint8_t {
    Mp4,          ///< `clip.mp4`: H.264, or MPEG-4 part 2 where libavcodec has no H.264 encoder
    PngSequence,  ///< `frames/%05d.png`: one file a frame, numbered from 0; `clip.png` means `clip-%05d.png`
    Safetensors,  ///< `clip.safetensors`: `frames` F32 [3, T, H, W]
    RawRgb,       ///< `-`: 8-bit rgb24 on standard output, frame after frame
};
/// None for a name that matches none of them, and for one that is only an extension.
std::optional<OutputKind> output_kind(std::string_view out);

}  // namespace kinetograph::media
