#include "read_video.hpp"

#include <memory>
#include <stdexcept>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

namespace kinetograph::test {
namespace {

std::string text(const char* name) { return name == nullptr ? "unknown" : name; }

std::vector<std::uint8_t> to_rgb(const AVFrame& frame) {
    SwsContext* scaler = sws_getContext(frame.width, frame.height, static_cast<AVPixelFormat>(frame.format),
                                        frame.width, frame.height, AV_PIX_FMT_RGB24,
                                        SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, nullptr, nullptr, nullptr);
    sws_setColorspaceDetails(scaler, sws_getCoefficients(frame.colorspace), frame.color_range == AVCOL_RANGE_JPEG,
                             sws_getCoefficients(SWS_CS_ITU709), 1, 0, 1 << 16, 1 << 16);
    std::vector<std::uint8_t> rgb(static_cast<std::size_t>(3 * frame.width * frame.height));
    std::uint8_t* data = rgb.data();
    const int stride = 3 * frame.width;
    sws_scale(scaler, frame.data, frame.linesize, 0, frame.height, &data, &stride);
    sws_freeContext(scaler);
    return rgb;
}

void take_frames(AVCodecContext* decoder, AVFrame* frame, Video& video) {
    while (avcodec_receive_frame(decoder, frame) == 0) {
        if (video.frames++ == 0) video.first_rgb = to_rgb(*frame);
    }
}

}  // namespace

Video read_video(const std::filesystem::path& path) {
    const auto check = [&path](bool good, const char* what) {
        if (!good) throw std::runtime_error(path.string() + ": " + what);
    };
    AVFormatContext* opened = nullptr;
    check(avformat_open_input(&opened, path.c_str(), nullptr, nullptr) == 0, "cannot be opened");
    const std::unique_ptr<AVFormatContext, void (*)(AVFormatContext*)> input(
        opened, [](AVFormatContext* context) { avformat_close_input(&context); });
    check(avformat_find_stream_info(opened, nullptr) >= 0 && opened->nb_streams == 1, "has not exactly one stream");
    const AVStream* stream = opened->streams[0];
    const AVCodecParameters& parameters = *stream->codecpar;
    const AVCodec* codec = avcodec_find_decoder(parameters.codec_id);
    check(codec != nullptr, "has a codec that libavcodec cannot decode");

    Video video;
    video.width = parameters.width;
    video.height = parameters.height;
    video.fps = av_q2d(stream->avg_frame_rate);
    video.codec = avcodec_get_name(parameters.codec_id);
    video.pixel_format = text(av_get_pix_fmt_name(static_cast<AVPixelFormat>(parameters.format)));
    video.primaries = text(av_color_primaries_name(parameters.color_primaries));
    video.transfer = text(av_color_transfer_name(parameters.color_trc));
    video.matrix = text(av_color_space_name(parameters.color_space));
    video.range = text(av_color_range_name(parameters.color_range));

    const std::unique_ptr<AVCodecContext, void (*)(AVCodecContext*)> decoder(
        avcodec_alloc_context3(codec), [](AVCodecContext* context) { avcodec_free_context(&context); });
    avcodec_parameters_to_context(decoder.get(), &parameters);
    check(avcodec_open2(decoder.get(), codec, nullptr) == 0, "cannot be decoded");
    const std::unique_ptr<AVPacket, void (*)(AVPacket*)> packet(av_packet_alloc(),
                                                                [](AVPacket* p) { av_packet_free(&p); });
    const std::unique_ptr<AVFrame, void (*)(AVFrame*)> frame(av_frame_alloc(), [](AVFrame* f) { av_frame_free(&f); });
    while (av_read_frame(opened, packet.get()) == 0) {
        check(avcodec_send_packet(decoder.get(), packet.get()) == 0, "holds a packet that does not decode");
        av_packet_unref(packet.get());
        take_frames(decoder.get(), frame.get(), video);
    }
    avcodec_send_packet(decoder.get(), nullptr);
    take_frames(decoder.get(), frame.get(), video);
    return video;
}

}  // namespace kinetograph::test
