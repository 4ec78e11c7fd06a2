#include <kinetograph/tools/media/libav.hpp>
#include <kinetograph/tools/media/video_reader.hpp>

extern "C" {
#include <libavutil/display.h>
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cmath>
#include <system_error>

namespace kinetograph::media {
namespace {

using InputContext = std::unique_ptr<AVFormatContext, FreeIndirect<avformat_close_input>>;

ErrorCode code_of(int error) {
    if (error == AVERROR(ENOENT)) return ErrorCode::NotFound;
    if (error == AVERROR_INVALIDDATA) return ErrorCode::Corrupt;
    return error == AVERROR_DECODER_NOT_FOUND ? ErrorCode::Unsupported : ErrorCode::Io;
}

/// Quarter turns, clockwise, that the file asks its player for.
int quarter_turns(const AVStream& stream) {
    const std::uint8_t* matrix = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr);
    if (matrix == nullptr) return 0;
    const double anticlockwise = av_display_rotation_get(reinterpret_cast<const std::int32_t*>(matrix));
    if (!std::isfinite(anticlockwise)) return 0;
    const auto turns = std::lround(-anticlockwise / 90.0);
    return static_cast<int>(((turns % 4) + 4) % 4);
}

/// A matrix of swscale's, SWS_CS_...
int matrix_of(const AVFrame& picture) {
    constexpr int kLargeWidth = 1280, kLargeHeight = 720;
    switch (picture.colorspace) {
        case AVCOL_SPC_BT709:
        case AVCOL_SPC_FCC:
        case AVCOL_SPC_BT470BG:
        case AVCOL_SPC_SMPTE170M:
        case AVCOL_SPC_SMPTE240M:
        case AVCOL_SPC_BT2020_NCL:
        case AVCOL_SPC_BT2020_CL:
            return picture.colorspace;  // swscale's numbers are these
        default:
            return picture.width >= kLargeWidth || picture.height >= kLargeHeight ? SWS_CS_ITU709 : SWS_CS_ITU601;
    }
}

class VideoReader final : public FrameReader {
  public:
    explicit VideoReader(std::string name) : name_(std::move(name)) {}

    Result<void> open() {
        av_log_set_level(AV_LOG_FATAL);  // what is wrong is said here
        AVFormatContext* opened = nullptr;
        AVDictionary* options = nullptr;
        av_dict_set(&options, "protocol_whitelist", "file", 0);  // a playlist fetches nothing
        int error = avformat_open_input(&opened, ("file:" + name_).c_str(), nullptr, &options);
        av_dict_free(&options);
        if (error < 0) return failed("opening", error);
        input_.reset(opened);
        if (error = avformat_find_stream_info(opened, nullptr); error < 0) return failed("its streams", error);
        const AVCodec* codec = nullptr;
        const int index = av_find_best_stream(opened, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
        if (index == AVERROR_STREAM_NOT_FOUND) return fail(ErrorCode::Unsupported, "{}: it holds no pictures", name_);
        if (index < 0) return failed("its pictures", index);
        stream_ = opened->streams[index];
        for (unsigned i = 0; i < opened->nb_streams; ++i)
            if (opened->streams[i] != stream_) opened->streams[i]->discard = AVDISCARD_ALL;
        KG_CHECK(open_decoder(*codec));
        return state_facts();
    }

    const std::string& name() const override { return name_; }
    const ReaderFacts& facts() const override { return facts_; }
    Result<void> set_framing(const Framing& framing) override {
        framing_ = framing;
        scaler_.reset();
        return {};
    }

    Result<bool> next(std::vector<std::uint8_t>& rgb) override {
        KG_TRY(const bool there, decode());
        if (!there) return false;
        KG_CHECK(check_picture());
        KG_CHECK(scale());
        cut(rgb);
        ++next_;
        return true;
    }

  private:
    Result<void> open_decoder(const AVCodec& codec) {
        decoder_.reset(avcodec_alloc_context3(&codec));
        avcodec_parameters_to_context(decoder_.get(), stream_->codecpar);
        decoder_->thread_count = 0;  // as many as there are processors
        if (const int error = avcodec_open2(decoder_.get(), &codec, nullptr); error < 0)
            return failed(fmt::format("the {} decoder", codec.name), error);
        return {};
    }

    Result<void> state_facts() {
        const AVCodecParameters& parameters = *stream_->codecpar;
        if (parameters.width < 1 || parameters.height < 1)
            return fail(ErrorCode::Corrupt, "{}: pictures of {}x{} pixels", name_, parameters.width, parameters.height);
        coded_ = {parameters.width, parameters.height};
        turns_ = quarter_turns(*stream_);
        facts_.size = turned(coded_);
        framing_ = {facts_.size, facts_.size};
        const std::string_view format = input_->iformat->name;
        const bool is_picture = format.ends_with("_pipe") || format == "image2";  // whose rate is libav's own
        facts_.frames = is_picture ? 1 : std::max<std::int64_t>(0, stream_->nb_frames);
        const double fps = av_q2d(av_guess_frame_rate(input_.get(), stream_, nullptr));
        if (!is_picture && fps >= 0.01 && fps <= 1000) facts_.fps = fps;
        return {};
    }

    PixelSize turned(PixelSize size) const { return turns_ % 2 == 0 ? size : PixelSize{size.height, size.width}; }

    /// The next picture, in picture_; false at the end.
    Result<bool> decode() {
        for (;;) {
            int error = avcodec_receive_frame(decoder_.get(), picture_.get());
            if (error == 0) return true;
            if (error == AVERROR_EOF) return false;
            if (error != AVERROR(EAGAIN)) return failed(here(), error);
            error = av_read_frame(input_.get(), packet_.get());
            if (error == AVERROR_EOF) {
                avcodec_send_packet(decoder_.get(), nullptr);  // what it still holds comes now
                continue;
            }
            if (error < 0) return failed(here(), error);
            if (packet_->stream_index == stream_->index) error = avcodec_send_packet(decoder_.get(), packet_.get());
            av_packet_unref(packet_.get());
            if (error < 0) return failed(here(), error);
        }
    }

    Result<void> check_picture() const {
        if ((picture_->flags & AV_FRAME_FLAG_CORRUPT) != 0 || picture_->decode_error_flags != 0)
            return fail(ErrorCode::Corrupt, "{}: {} is damaged", name_, here());
        if (picture_->width == coded_.width && picture_->height == coded_.height) return {};
        return fail(ErrorCode::InvalidArgument, "{}: {} has {}x{} pixels, the file says {}x{}", name_, here(),
                    picture_->width, picture_->height, coded_.width, coded_.height);
    }

    /// picture_ to scaled_, in RGB.
    Result<void> scale() {
        const auto format = static_cast<AVPixelFormat>(picture_->format);
        if (!scaler_ || format != scaled_from_) {
            const PixelSize size = turned(framing_.scaled);
            const int width = static_cast<int>(size.width), height = static_cast<int>(size.height);
            scaler_.reset(sws_getContext(picture_->width, picture_->height, format, width, height, AV_PIX_FMT_RGB24,
                                         SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP,
                                         nullptr, nullptr, nullptr));
            scaled_.reset(av_frame_alloc());
            scaled_->format = AV_PIX_FMT_RGB24;
            scaled_->width = width;
            scaled_->height = height;
            if (!scaler_ || av_frame_get_buffer(scaled_.get(), 0) < 0)
                return failed(fmt::format("{} to {}x{} pixels of RGB", here(), width, height), AVERROR(ENOMEM));
            // RGB is scaled as the YUV of the second matrix and range, and comes back by the first: they are the same.
            const bool is_rgb = (av_pix_fmt_desc_get(format)->flags & AV_PIX_FMT_FLAG_RGB) != 0;
            const bool full_range = is_rgb || picture_->color_range == AVCOL_RANGE_JPEG;
            const int* coefficients = sws_getCoefficients(matrix_of(*picture_));
            sws_setColorspaceDetails(scaler_.get(), coefficients, full_range ? 1 : 0, coefficients, 1, 0, 1 << 16,
                                     1 << 16);
            scaled_from_ = format;
        }
        sws_scale(scaler_.get(), picture_->data, picture_->linesize, 0, picture_->height, scaled_->data,
                  scaled_->linesize);
        return {};
    }

    /// The framing's part of scaled_, turned.
    void cut(std::vector<std::uint8_t>& rgb) const {
        const std::int64_t last_row = scaled_->height - 1, last_column = scaled_->width - 1;
        const auto [width, height] = framing_.cut;
        rgb.resize(static_cast<std::size_t>(3 * width * height));
        std::uint8_t* to = rgb.data();
        for (std::int64_t y = framing_.top(); y < framing_.top() + height; ++y)
            for (std::int64_t x = framing_.left(); x < framing_.left() + width; ++x, to += 3) {
                std::int64_t row = y, column = x;
                if (turns_ == 1) row = last_row - x, column = y;
                if (turns_ == 2) row = last_row - y, column = last_column - x;
                if (turns_ == 3) row = x, column = last_column - y;
                std::copy_n(scaled_->data[0] + row * scaled_->linesize[0] + 3 * column, 3, to);
            }
    }

    std::string here() const { return fmt::format("picture {}", next_); }
    tl::unexpected<Error> failed(std::string_view what, int error) const {
        return fail(code_of(error), "{}: {}: {}", name_, what, libav_message(error));
    }

    const std::string name_;
    InputContext input_;
    CodecContext decoder_;
    AVStream* stream_ = nullptr;  // owned by input_
    PixelSize coded_;             // as the file has them, before turns
    int turns_ = 0;               // quarter turns, clockwise
    ReaderFacts facts_;
    Framing framing_;
    Scaler scaler_;
    AVPixelFormat scaled_from_ = AV_PIX_FMT_NONE;
    Picture picture_{av_frame_alloc()}, scaled_;
    Packet packet_{av_packet_alloc()};
    std::int64_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<FrameReader>> open_video(const std::filesystem::path& file) {
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored))
        return fail(ErrorCode::InvalidArgument,
                    "{}: a folder, wanted a file of pictures; of numbered ones a name like "
                    "{}",
                    file.string(), (file / "%05d.png").string());
    auto reader = std::make_unique<VideoReader>(file.string());
    KG_CHECK(reader->open());
    return reader;
}

}  // namespace kinetograph::media
