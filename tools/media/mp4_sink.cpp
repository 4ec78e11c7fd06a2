#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/tools/media/mp4_sink.hpp>
#include <kinetograph/tools/media/rgb24.hpp>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include <array>
#include <cmath>
#include <string>

namespace kinetograph::media {
namespace {

template <auto Free>
struct FreeIndirect {
    template <class T>
    void operator()(T* object) const {
        Free(&object);
    }
};
struct FreeFormat {
    void operator()(AVFormatContext* format) const {
        avio_closep(&format->pb);
        avformat_free_context(format);
    }
};
struct FreeScaler {
    void operator()(SwsContext* scaler) const { sws_freeContext(scaler); }
};
using FormatContext = std::unique_ptr<AVFormatContext, FreeFormat>;
using CodecContext = std::unique_ptr<AVCodecContext, FreeIndirect<avcodec_free_context>>;
using Picture = std::unique_ptr<AVFrame, FreeIndirect<av_frame_free>>;
using Packet = std::unique_ptr<AVPacket, FreeIndirect<av_packet_free>>;
using Scaler = std::unique_ptr<SwsContext, FreeScaler>;

std::string libav_message(int error) {
    std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
    av_strerror(error, text.data(), text.size());
    return text.data();
}

/// Rates within 0.0005 of N * 1000/1001 are taken as exactly that (NTSC): 23.976, 29.97 and 59.94 are rounded.
AVRational frame_rate(double fps) {
    constexpr double kNtsc = 1000.0 / 1001.0, kTolerance = 0.0005;
    const auto whole = std::lround(fps / kNtsc);
    if (whole > 0 && whole <= 60 && std::abs(static_cast<double>(whole) * kNtsc - fps) < kTolerance)
        return {static_cast<int>(1000 * whole), 1001};
    return av_d2q(fps, 60'000);
}

/// The best encoder that opens, set up for frames of `format`.
Result<CodecContext> open_encoder(std::string_view out, const ClipFormat& format, bool global_header) {
    std::string refusals;
    for (const AVCodec* codec : {avcodec_find_encoder_by_name("libx264"), avcodec_find_encoder(AV_CODEC_ID_H264),
                                 avcodec_find_encoder(AV_CODEC_ID_MPEG4)}) {
        if (codec == nullptr) continue;
        CodecContext encoder(avcodec_alloc_context3(codec));
        encoder->width = static_cast<int>(format.width);
        encoder->height = static_cast<int>(format.height);
        encoder->framerate = frame_rate(format.fps);
        encoder->time_base = av_inv_q(encoder->framerate);
        encoder->sample_aspect_ratio = {1, 1};
        encoder->pix_fmt = AV_PIX_FMT_YUV420P;
        encoder->color_range = AVCOL_RANGE_MPEG;
        encoder->colorspace = AVCOL_SPC_BT709;
        encoder->color_primaries = AVCOL_PRI_BT709;
        encoder->color_trc = AVCOL_TRC_BT709;
        encoder->chroma_sample_location = AVCHROMA_LOC_LEFT;
        if (global_header) encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
        if (codec->id == AV_CODEC_ID_H264) {
            av_opt_set(encoder->priv_data, "crf", "16", 0);  // visually lossless; libx264 only
        } else {
            encoder->flags |= AV_CODEC_FLAG_QSCALE;
            encoder->global_quality = 2 * FF_QP2LAMBDA;  // quantiser 2: near-lossless in MPEG-4 part 2
        }
        const int error = avcodec_open2(encoder.get(), codec, nullptr);
        if (error >= 0) return encoder;
        refusals += fmt::format("; {}: {}", codec->name, libav_message(error));
    }
    return fail(ErrorCode::Unsupported, "{}: libavcodec has no H.264 or MPEG-4 encoder for {}x{}{}", out, format.width,
                format.height, refusals);
}

/// Full-range RGB to limited-range BT.709, both set explicitly: swscale would assume BT.601.
Scaler create_scaler(const ClipFormat& format) {
    const int width = static_cast<int>(format.width), height = static_cast<int>(format.height);
    Scaler scaler(sws_getContext(width, height, AV_PIX_FMT_RGB24, width, height, AV_PIX_FMT_YUV420P,
                                 SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP, nullptr, nullptr, nullptr));
    const int* bt709 = sws_getCoefficients(SWS_CS_ITU709);
    if (scaler) sws_setColorspaceDetails(scaler.get(), bt709, 1, bt709, 0, 0, 1 << 16, 1 << 16);
    return scaler;
}

class Mp4Sink final : public FrameSink {
  public:
    static Result<std::unique_ptr<FrameSink>> create(std::string_view out, const ClipFormat& format) {
        if (format.width % 2 != 0 || format.height % 2 != 0) {
            return fail(ErrorCode::InvalidArgument, "{}: {}x{} is odd, yuv420p needs even sides", out, format.width,
                        format.height);
        }
        KG_TRY(auto file, ReplacingFile::create(out));
        auto sink = std::make_unique<Mp4Sink>(std::move(file), format);
        KG_CHECK(sink->open());
        return sink;
    }

    Mp4Sink(ReplacingFile file, const ClipFormat& format) : file_(std::move(file)), format_(format) {}

    Result<void> write(std::span<const float> hwc) override {
        to_rgb24(hwc, rgb_);
        if (const int error = av_frame_make_writable(picture_.get()); error < 0) return failed("a frame", error);
        const std::uint8_t* source = rgb_.data();
        const int stride = static_cast<int>(3 * format_.width);
        sws_scale(scaler_.get(), &source, &stride, 0, static_cast<int>(format_.height), picture_->data,
                  picture_->linesize);
        picture_->pts = next_++;
        return encode(picture_.get());
    }

    Result<void> finish() override {
        KG_CHECK(encode(nullptr));
        if (const int error = av_write_trailer(output_.get()); error < 0) return failed("the trailer", error);
        if (const int error = avio_closep(&output_->pb); error < 0) return failed("closing", error);
        return file_.commit();
    }

  private:
    Result<void> open() {
        av_log_set_level(AV_LOG_ERROR);
        AVFormatContext* output = nullptr;
        int error = avformat_alloc_output_context2(&output, nullptr, "mp4", file_.partial_path().c_str());
        if (error < 0) return failed("the mp4 muxer", error);
        output_.reset(output);
        if (error = avio_open(&output->pb, file_.partial_path().c_str(), AVIO_FLAG_WRITE); error < 0) {
            return failed("opening", error);
        }
        KG_TRY(encoder_,
               open_encoder(file_.target().string(), format_, (output->oformat->flags & AVFMT_GLOBALHEADER) != 0));

        stream_ = avformat_new_stream(output, nullptr);
        stream_->time_base = encoder_->time_base;
        stream_->avg_frame_rate = encoder_->framerate;
        avcodec_parameters_from_context(stream_->codecpar, encoder_.get());
        AVDictionary* options = nullptr;
        av_dict_set(&options, "movflags", "+faststart",
                    0);  // the index comes first, so that the file plays while it downloads
        error = avformat_write_header(output, &options);
        av_dict_free(&options);
        if (error < 0) return failed("the header", error);

        picture_->format = encoder_->pix_fmt;
        picture_->width = encoder_->width;
        picture_->height = encoder_->height;
        if (error = av_frame_get_buffer(picture_.get(), 0); error < 0) return failed("a frame", error);
        scaler_ = create_scaler(format_);
        if (!scaler_) return failed("the colour conversion", AVERROR(ENOMEM));
        return {};
    }

    /// Passes one picture to the encoder, or none to drain it, and writes the packets that are ready.
    Result<void> encode(const AVFrame* picture) {
        if (const int error = avcodec_send_frame(encoder_.get(), picture); error < 0) return failed("encoding", error);
        for (;;) {
            const int error = avcodec_receive_packet(encoder_.get(), packet_.get());
            if (error == AVERROR(EAGAIN) || error == AVERROR_EOF) return {};
            if (error < 0) return failed("encoding", error);
            packet_->duration = 1;
            packet_->stream_index = stream_->index;
            av_packet_rescale_ts(packet_.get(), encoder_->time_base, stream_->time_base);
            if (const int written = av_interleaved_write_frame(output_.get(), packet_.get()); written < 0) {
                return failed("writing", written);
            }
        }
    }

    tl::unexpected<Error> failed(std::string_view what, int error) const {
        return fail(ErrorCode::Io, "{}: {}: {}", file_.target().string(), what, libav_message(error));
    }

    ReplacingFile file_;  // declared first: removed after the muxer has closed it
    ClipFormat format_;
    FormatContext output_;
    CodecContext encoder_;
    AVStream* stream_ = nullptr;  // owned by output_
    Scaler scaler_;
    Picture picture_{av_frame_alloc()};
    Packet packet_{av_packet_alloc()};
    std::int64_t next_ = 0;
    std::vector<std::uint8_t> rgb_;  // [height, width, 3]
};

}  // namespace

Result<std::unique_ptr<FrameSink>> create_mp4_sink(std::string_view out, const ClipFormat& format) {
    return Mp4Sink::create(out, format);
}

}  // namespace kinetograph::media
