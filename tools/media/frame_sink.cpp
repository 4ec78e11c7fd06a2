#include <kinetograph/tools/media/frame_sink.hpp>
#include <kinetograph/tools/media/mp4_sink.hpp>
#include <kinetograph/tools/media/png_sequence_sink.hpp>
#include <kinetograph/tools/media/raw_rgb_sink.hpp>
#include <kinetograph/tools/media/safetensors_sink.hpp>

namespace kinetograph::media {

std::optional<OutputKind> output_kind(std::string_view out) {
    if (out == "-") return OutputKind::RawRgb;
    if (out.ends_with(".mp4")) return OutputKind::Mp4;
    if (out.ends_with(".png")) return OutputKind::PngSequence;
    if (out.ends_with(".safetensors")) return OutputKind::Safetensors;
    return std::nullopt;
}

Result<std::unique_ptr<FrameSink>> create_sink(std::string_view out, const ClipFormat& format) {
    const std::optional<OutputKind> kind = output_kind(out);
    if (!kind) {
        return fail(ErrorCode::InvalidArgument, "output {}: the name must end in .mp4, .png or .safetensors, or be -",
                    out);
    }
    switch (*kind) {
        case OutputKind::Mp4:
            return create_mp4_sink(out, format);
        case OutputKind::PngSequence:
            return create_png_sequence_sink(out, format);
        case OutputKind::Safetensors:
            return create_safetensors_sink(out, format);
        case OutputKind::RawRgb:
            break;
    }
    return create_raw_rgb_sink(1, format);
}

}  // namespace kinetograph::media
