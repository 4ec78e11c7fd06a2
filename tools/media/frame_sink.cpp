#include <kinetograph/tools/media/frame_sink.hpp>
#include <kinetograph/tools/media/picture_sequence_sink.hpp>
#include <kinetograph/tools/media/raw_rgb_sink.hpp>
#include <kinetograph/tools/media/safetensors_sink.hpp>
#include <kinetograph/tools/media/video_sink.hpp>

namespace kinetograph::media {

Result<std::unique_ptr<FrameSink>> create_sink(std::string_view out, const ClipFormat& format) {
    const std::optional<OutputKind> kind = output_kind(out);
    if (!kind) {
        return fail(ErrorCode::InvalidArgument, "output {}: {}", out, output_kinds());
    }
    switch (*kind) {
        case OutputKind::Video:
            return create_video_sink(out, format);
        case OutputKind::Pictures:
            return create_picture_sequence_sink(out, format);
        case OutputKind::Safetensors:
            return create_safetensors_sink(out, format);
        case OutputKind::RawRgb:
            break;
    }
    return create_raw_rgb_sink(1, format);
}

}  // namespace kinetograph::media
