#include <kinetograph/tools/media/frame_sink.hpp>
#include <kinetograph/tools/media/mp4_sink.hpp>
#include <kinetograph/tools/media/png_sequence_sink.hpp>
#include <kinetograph/tools/media/raw_rgb_sink.hpp>
#include <kinetograph/tools/media/safetensors_sink.hpp>

namespace kinetograph::media {

Result<std::unique_ptr<FrameSink>> create_sink(std::string_view out, const ClipFormat& format) {
    const std::optional<OutputKind> kind = output_kind(out);
    if (!kind) {
        return fail(ErrorCode::InvalidArgument,
                    "output {}: must be a name that ends in .mp4, .png or .safetensors, or -", out);
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
