#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/tools/media/jpeg.hpp>
#include <kinetograph/tools/media/libav.hpp>

#include <fstream>

namespace kinetograph::media {
namespace {

constexpr AVPixelFormat kFormat = AV_PIX_FMT_YUVJ444P;

Result<CodecContext> open_encoder(std::int64_t width, std::int64_t height) {
    const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG);
    if (codec == nullptr) return fail(ErrorCode::Unsupported, "libavcodec has no JPEG encoder");
    CodecContext encoder(avcodec_alloc_context3(codec));
    encoder->width = static_cast<int>(width);
    encoder->height = static_cast<int>(height);
    encoder->time_base = {1, 25};
    encoder->pix_fmt = kFormat;
    encoder->color_range = AVCOL_RANGE_JPEG;
    encoder->flags |= AV_CODEC_FLAG_QSCALE;
    encoder->global_quality = 2 * FF_QP2LAMBDA;  // quantiser 2: near-lossless
    if (const int error = avcodec_open2(encoder.get(), codec, nullptr); error < 0)
        return fail(ErrorCode::Unsupported, "libavcodec's JPEG encoder: {}", libav_message(error));
    return encoder;
}

}  // namespace

Result<void> check_jpeg() {
    constexpr std::int64_t kSide = 16;
    KG_CHECK(open_encoder(kSide, kSide));
    return {};
}

Result<void> write_jpeg(const std::filesystem::path& path, std::int64_t width, std::int64_t height,
                        std::span<const std::uint8_t> rgb) {
    KG_TRY_IN(path.string(), const auto encoder, open_encoder(width, height));
    const Picture picture(av_frame_alloc());
    const Packet packet(av_packet_alloc());
    picture->format = kFormat;
    picture->width = encoder->width;
    picture->height = encoder->height;
    picture->quality = encoder->global_quality;
    // To swscale the same layout without a range: it warns of the other at each picture.
    const Scaler scaler = create_scaler(encoder->width, encoder->height, AV_PIX_FMT_YUV444P, SWS_CS_ITU601, true);
    int error = scaler ? av_frame_get_buffer(picture.get(), 0) : AVERROR(ENOMEM);
    if (error >= 0) {
        const std::uint8_t* source = rgb.data();
        const int stride = 3 * encoder->width;
        sws_scale(scaler.get(), &source, &stride, 0, encoder->height, picture->data, picture->linesize);
        error = avcodec_send_frame(encoder.get(), picture.get());
    }
    if (error >= 0) error = avcodec_receive_packet(encoder.get(), packet.get());
    if (error < 0) return fail(ErrorCode::Io, "{}: encoding: {}", path.string(), libav_message(error));
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(packet->data), packet->size);
    file.close();
    if (!file) return fail(ErrorCode::Io, "{}: cannot be written", path.string());
    return {};
}

}  // namespace kinetograph::media
