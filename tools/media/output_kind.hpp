// OutputKind: the kind of output that a name selects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kinetograph::media {

enum class OutputKind : std::uint8_t {
    Video,        ///< `clip.mp4`, .mov, .mkv, .webm, .gif, .webp: one file, encoded by libavcodec
    Pictures,     ///< `frames/%05d.png`, .jpg: a file a frame, numbered from 0; `clip.png` means `clip-%05d.png`, and
                  ///< itself for a clip of one frame
    Safetensors,  ///< `clip.safetensors`: `frames` F32 [3, T, H, W]
    RawRgb,       ///< `-`: 8-bit rgb24 on standard output, frame after frame
};
/// In either case of the suffix. None for a name that matches none of them, and for one that is only an extension.
std::optional<OutputKind> output_kind(std::string_view out);
/// The extension in lower case: ".mp4".
std::string suffix_of(std::string_view out);
/// "must be a name that ends in .mp4, ..., or -"
std::string output_kinds();

}  // namespace kinetograph::media
