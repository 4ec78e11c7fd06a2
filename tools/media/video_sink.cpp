#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/tools/media/libav.hpp>
#include <kinetograph/tools/media/rgb24.hpp>
#include <kinetograph/tools/media/video_sink.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace kinetograph::media {
namespace {

/// A kind of file: libav's muxer and the encoders for it, best first.
struct Container {
    std::string_view suffix, muxer, codecs;
    std::array<const char*, 4> encoders;
    AVPixelFormat pixels = AV_PIX_FMT_YUV420P;
};

constexpr std::array<Container, 6> kContainers{
    {{".mp4", "mp4", "H.264 or MPEG-4", {"libx264", "h264", "mpeg4"}},
     {".mov", "mov", "H.264 or MPEG-4", {"libx264", "h264", "mpeg4"}},
     {".mkv", "matroska", "H.264 or MPEG-4", {"libx264", "h264", "mpeg4"}},
     {".webm", "webm", "VP9, VP8 or AV1", {"libvpx-vp9", "libvpx", "libsvtav1", "libaom-av1"}},
     {".gif", "gif", "GIF", {"gif"}, AV_PIX_FMT_RGB8},
     {".webp", "webp", "WebP", {"libwebp_anim", "libwebp"}, AV_PIX_FMT_BGRA}}};

const Container* container_of(std::string_view out) {
    const auto* found = std::ranges::find(kContainers, suffix_of(out), &Container::suffix);
    return found == kContainers.end() ? nullptr : found;
}

/// "h264" and "mpeg4" are codecs, each with any encoder; other names are encoders.
const AVCodec* find_encoder(std::string_view name) {
    if (name == "h264") return avcodec_find_encoder(AV_CODEC_ID_H264);
    if (name == "mpeg4") return avcodec_find_encoder(AV_CODEC_ID_MPEG4);
    return avcodec_find_encoder_by_name(std::string(name).c_str());
}

/// Qualities that are visually lossless.
void set_quality(AVCodecContext& encoder) {
    void* options = encoder.priv_data;
    switch (encoder.codec_id) {
        case AV_CODEC_ID_H264:
            av_opt_set(options, "crf", "16", 0);  // libx264 only
            break;
        case AV_CODEC_ID_VP9:
        case AV_CODEC_ID_VP8:
        case AV_CODEC_ID_AV1:
            av_opt_set(options, "crf", "15", 0);
            av_opt_set(options, "deadline", "good", 0);
            av_opt_set(options, "cpu-used", "4", 0);
            av_opt_set(options, "row-mt", "1", 0);
            // VP8 needs a bit rate as a limit; for the others 0 means that the quality alone decides.
            encoder.bit_rate = encoder.codec_id == AV_CODEC_ID_VP8 ? 20'000'000 : 0;
            break;
        case AV_CODEC_ID_WEBP:
            av_opt_set(options, "quality", "95", 0);
            break;
        case AV_CODEC_ID_MPEG4:
            encoder.flags |= AV_CODEC_FLAG_QSCALE;
            encoder.global_quality = 2 * FF_QP2LAMBDA;  // quantiser 2: near-lossless
            break;
        default:
            break;
    }
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
Result<CodecContext> open_encoder(const Container& container, std::string_view out, const ClipFormat& format,
                                  bool global_header) {
    std::string refusals;
    for (const char* name : container.encoders) {
        const AVCodec* codec = name != nullptr ? find_encoder(name) : nullptr;
        if (codec == nullptr) continue;
        CodecContext encoder(avcodec_alloc_context3(codec));
        encoder->width = static_cast<int>(format.width);
        encoder->height = static_cast<int>(format.height);
        encoder->framerate = frame_rate(format.fps);
        encoder->time_base = av_inv_q(encoder->framerate);
        encoder->sample_aspect_ratio = {1, 1};
        encoder->pix_fmt = container.pixels;
        if (container.pixels == AV_PIX_FMT_YUV420P) {
            encoder->color_range = AVCOL_RANGE_MPEG;
            encoder->colorspace = AVCOL_SPC_BT709;
            encoder->color_primaries = AVCOL_PRI_BT709;
            encoder->color_trc = AVCOL_TRC_BT709;
            encoder->chroma_sample_location = AVCHROMA_LOC_LEFT;
        }
        if (global_header) encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
        set_quality(*encoder);
        const int error = avcodec_open2(encoder.get(), codec, nullptr);
        if (error >= 0) return encoder;
        refusals += fmt::format("; {}: {}", codec->name, libav_message(error));
    }
    return fail(ErrorCode::Unsupported, "{}: libavcodec has no {} encoder for {}x{}{}", out, container.codecs,
                format.width, format.height, refusals);
}

class VideoSink final : public FrameSink {
  public:
    static Result<std::unique_ptr<FrameSink>> create(std::string_view out, const ClipFormat& format) {
        const Container* container = container_of(out);
        if (container == nullptr) return fail(ErrorCode::InvalidArgument, "output {}: {}", out, output_kinds());
        if (container->pixels == AV_PIX_FMT_YUV420P && (format.width % 2 != 0 || format.height % 2 != 0)) {
            return fail(ErrorCode::InvalidArgument, "{}: {}x{} is odd, yuv420p needs even sides", out, format.width,
                        format.height);
        }
        KG_TRY(auto file, ReplacingFile::create(out));
        auto sink = std::make_unique<VideoSink>(*container, std::move(file), format);
        KG_CHECK(sink->open());
        return sink;
    }

    VideoSink(const Container& container, ReplacingFile file, const ClipFormat& format)
        : container_(container), file_(std::move(file)), format_(format) {}

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

    std::string written() const override { return file_.target().string(); }

  private:
    Result<void> open() {
        av_log_set_level(AV_LOG_ERROR);
        AVFormatContext* output = nullptr;
        int error = avformat_alloc_output_context2(&output, nullptr, std::string(container_.muxer).c_str(),
                                                   file_.partial_path().c_str());
        if (error < 0) return failed(fmt::format("the {} muxer", container_.muxer), error);
        output_.reset(output);
        if (error = avio_open(&output->pb, file_.partial_path().c_str(), AVIO_FLAG_WRITE); error < 0) {
            return failed("opening", error);
        }
        KG_TRY(encoder_, open_encoder(container_, file_.target().string(), format_,
                                      (output->oformat->flags & AVFMT_GLOBALHEADER) != 0));

        stream_ = avformat_new_stream(output, nullptr);
        stream_->time_base = encoder_->time_base;
        stream_->avg_frame_rate = encoder_->framerate;
        avcodec_parameters_from_context(stream_->codecpar, encoder_.get());
        AVDictionary* options = nullptr;
        // The index comes first, so that the file plays while it downloads; a GIF or WebP is repeated without end.
        av_dict_set(&options, "movflags", "+faststart", 0);
        av_dict_set(&options, "loop", "0", 0);
        error = avformat_write_header(output, &options);
        av_dict_free(&options);
        if (error < 0) return failed("the header", error);

        picture_->format = encoder_->pix_fmt;
        picture_->width = encoder_->width;
        picture_->height = encoder_->height;
        if (error = av_frame_get_buffer(picture_.get(), 0); error < 0) return failed("a frame", error);
        scaler_ = create_scaler(encoder_->width, encoder_->height, encoder_->pix_fmt, SWS_CS_ITU709,
                                container_.pixels != AV_PIX_FMT_YUV420P);
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

    const Container& container_;
    ReplacingFile file_;  // before output_: removed after the muxer has closed it
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

Result<std::unique_ptr<FrameSink>> create_video_sink(std::string_view out, const ClipFormat& format) {
    return VideoSink::create(out, format);
}

}  // namespace kinetograph::media
