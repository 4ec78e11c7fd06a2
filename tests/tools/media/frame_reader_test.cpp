// Readers of pictures: the pixels that writers have written, in the size that is asked for.
#include <gtest/gtest.h>

#include <cmath>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tools/media/frame_reader.hpp>
#include <kinetograph/tools/media/frame_sink.hpp>
#include <kinetograph/tools/media/raw_rgb_reader.hpp>

#include <unistd.h>

extern "C" {
#include <libavformat/avformat.h>
#include <libavutil/display.h>
}

namespace kinetograph::media {
namespace {

constexpr std::int64_t kWide = 96, kHigh = 64, kCount = 6;

/// Saturated colours that change slowly, in [0, 255].
double wave(std::int64_t t, std::int64_t y, std::int64_t x, int c) {
    return 127.5 + 100 * std::sin(0.03 * static_cast<double>(x + y * (c + 1)) + 2.1 * c + 0.1 * static_cast<double>(t));
}

/// Writes `kCount` of them as `out`.
void write_waves(const std::string& out) {
    const auto sink = create_sink(out, {.width = kWide, .height = kHigh, .frames = kCount, .fps = 24.0 * 1000 / 1001});
    ASSERT_TRUE(sink) << sink.error().message;
    for (std::int64_t t = 0; t < kCount; ++t) {
        std::vector<float> hwc;
        for (std::int64_t y = 0; y < kHigh; ++y)
            for (std::int64_t x = 0; x < kWide; ++x)
                for (int c = 0; c < 3; ++c)
                    hwc.push_back(static_cast<float>(std::lround(wave(t, y, x, c))) / 127.5F - 1.0F);
        ASSERT_TRUE((*sink)->write(hwc));
    }
    ASSERT_TRUE((*sink)->finish());
}

/// The mean difference from the waves, whose pixel (top, left) is the picture's first.
double difference(const std::vector<std::uint8_t>& rgb, std::int64_t t, PixelSize size, std::int64_t top,
                  std::int64_t left) {
    double sum = 0;
    for (std::int64_t y = 0; y < size.height; ++y)
        for (std::int64_t x = 0; x < size.width; ++x)
            for (int c = 0; c < 3; ++c)
                sum += std::abs(rgb[static_cast<std::size_t>((y * size.width + x) * 3 + c)] -
                                wave(t, top + y, left + x, c));
    return sum / static_cast<double>(rgb.size());
}

TEST(FrameReader, GivesThePixelsOfVideosAndPictures) {
    const test::TemporaryFolder folder;
    // Rounding alone is 0.25; another matrix makes 5 and more, another range 8 and more.
    for (const auto& [name, most] : {std::pair("clip.mp4", 2.0), {"clip.mkv", 2.0}, {"f%02d.png", 0.3}}) {
        const std::string path = (folder.path() / name).string();
        ASSERT_NO_FATAL_FAILURE(write_waves(path));
        const auto reader = open_reader(path, std::nullopt);
        ASSERT_TRUE(reader) << reader.error().message;
        const ReaderFacts& facts = (*reader)->facts();
        EXPECT_EQ(facts.size, (PixelSize{kWide, kHigh}));
        const bool is_video = std::string(name).starts_with("clip");
        EXPECT_NEAR(facts.fps, is_video ? 24.0 * 1000 / 1001 : 0, 1e-4) << name;
        std::vector<std::uint8_t> rgb;
        for (std::int64_t t = 0; t < kCount; ++t) {
            ASSERT_EQ((*reader)->next(rgb), true) << name;
            EXPECT_LT(difference(rgb, t, facts.size, 0, 0), most) << name << ", picture " << t;
        }
        EXPECT_EQ((*reader)->next(rgb), false);
    }
}

TEST(FrameReader, CutsAroundTheMiddleAndScalesToCover) {
    const test::TemporaryFolder folder;
    const std::string path = (folder.path() / "f%d.png").string();
    ASSERT_NO_FATAL_FAILURE(write_waves(path));
    std::vector<std::uint8_t> rgb;
    {
        const auto reader = open_reader(path, std::nullopt).value();
        ASSERT_TRUE(reader->set_framing(framing_of(reader->facts().size, std::nullopt, 40).value()));
        ASSERT_EQ(reader->next(rgb), true);
        EXPECT_LT(difference(rgb, 0, {80, 40}, 12, 8), 0.3);
    }
    const auto reader = open_reader(path, std::nullopt).value();
    const Framing framing = framing_of(reader->facts().size, PixelSize{32, 32}, 8).value();
    EXPECT_EQ(framing, (Framing{{48, 32}, {32, 32}}));
    ASSERT_TRUE(reader->set_framing(framing));
    ASSERT_EQ(reader->next(rgb), true);
    double sum = 0;
    for (std::int64_t y = 0; y < 32; ++y)
        for (std::int64_t x = 0; x < 32; ++x)
            for (int c = 0; c < 3; ++c)
                sum += std::abs(rgb[static_cast<std::size_t>(3 * (32 * y + x) + c)] - wave(0, 2 * y, 2 * (x + 8), c));
    EXPECT_LT(sum / (3 * 1024), 4.0) << "a pixel's middle is half a pixel off: 2 to 3";
}

/// Copies a file of one stream, marked to be shown after a clockwise turn.
void copy_turned(const std::string& from, const std::string& to, double degrees) {
    AVFormatContext *input = nullptr, *output = nullptr;
    ASSERT_EQ(avformat_open_input(&input, from.c_str(), nullptr, nullptr), 0);
    ASSERT_GE(avformat_alloc_output_context2(&output, nullptr, "mp4", to.c_str()), 0);
    AVStream* const stream = avformat_new_stream(output, nullptr);
    avcodec_parameters_copy(stream->codecpar, input->streams[0]->codecpar);
    stream->codecpar->codec_tag = 0;
    auto* const matrix = av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(std::int32_t));
    av_display_rotation_set(reinterpret_cast<std::int32_t*>(matrix), degrees);
    ASSERT_GE(avio_open(&output->pb, to.c_str(), AVIO_FLAG_WRITE), 0);
    ASSERT_GE(avformat_write_header(output, nullptr), 0);
    AVPacket* packet = av_packet_alloc();
    while (av_read_frame(input, packet) == 0) {
        av_packet_rescale_ts(packet, input->streams[0]->time_base, stream->time_base);
        ASSERT_EQ(av_interleaved_write_frame(output, packet), 0);
    }
    av_packet_free(&packet);
    ASSERT_EQ(av_write_trailer(output), 0);
    avio_closep(&output->pb);
    avformat_free_context(output);
    avformat_close_input(&input);
}

TEST(FrameReader, TurnsPicturesAsTheirFileAsks) {
    const test::TemporaryFolder folder;
    const std::string path = (folder.path() / "clip.mp4").string(), turned = (folder.path() / "turned.mp4").string();
    ASSERT_NO_FATAL_FAILURE(write_waves(path));
    for (const int quarters : {1, 2, 3}) {
        ASSERT_NO_FATAL_FAILURE(copy_turned(path, turned, 90.0 * quarters));
        const auto reader = open_reader(turned, std::nullopt).value();
        const PixelSize size = reader->facts().size;
        EXPECT_EQ(size, quarters == 2 ? (PixelSize{kWide, kHigh}) : (PixelSize{kHigh, kWide}));
        ASSERT_TRUE(reader->set_framing(framing_of(size, std::nullopt, 40).value()));  // 40 or 80 a side
        std::vector<std::uint8_t> rgb;
        ASSERT_EQ(reader->next(rgb), true);
        const std::int64_t width = size.width / 40 * 40, height = size.height / 40 * 40;
        double sum = 0;
        for (std::int64_t i = 0; i < width * height; ++i) {
            const std::int64_t y = i / width + (size.height - height) / 2, x = i % width + (size.width - width) / 2;
            const std::int64_t row = quarters == 1 ? kHigh - 1 - x : quarters == 2 ? kHigh - 1 - y : x;
            const std::int64_t column = quarters == 1 ? y : quarters == 2 ? kWide - 1 - x : kWide - 1 - y;
            for (int c = 0; c < 3; ++c)
                sum += std::abs(rgb[static_cast<std::size_t>(3 * i + c)] - wave(0, row, column, c));
        }
        EXPECT_LT(sum / static_cast<double>(rgb.size()), 2.0) << quarters << " quarter turns";
    }
}

TEST(Framings, AreNamedWhereTheyCannotBe) {
    EXPECT_EQ(framing_of({1920, 1080}, std::nullopt, 16).value(), (Framing{{1920, 1080}, {1920, 1072}}));
    EXPECT_EQ(framing_of({1920, 1080}, PixelSize{832, 480}, 8).value(), (Framing{{853, 480}, {832, 480}}));
    EXPECT_EQ(framing_of({480, 640}, PixelSize{832, 480}, 8).value(), (Framing{{832, 1109}, {832, 480}}));
    EXPECT_EQ(framing_of({7, 640}, std::nullopt, 8).error().message,
              "pictures of 7x640 pixels: each side has at least 8");
    EXPECT_EQ(framing_of({64, 64}, PixelSize{36, 32}, 8).error().message,
              "pictures of 36x32 pixels: each side is a multiple of 8");
}

TEST(RawRgbReader, ReadsWhatComesInPieces) {
    int ends[2] = {};
    ASSERT_EQ(::pipe(ends), 0);
    const auto reader = open_raw_rgb(ends[0], {2, 2});
    EXPECT_EQ(reader->set_framing({{4, 4}, {2, 2}}).error().code, ErrorCode::Unsupported);
    for (const std::string_view part : {"abc", "defghijkl", "mnopqrs"})
        ASSERT_EQ(::write(ends[1], part.data(), part.size()), static_cast<ssize_t>(part.size()));
    ::close(ends[1]);
    std::vector<std::uint8_t> rgb;
    ASSERT_EQ(reader->next(rgb), true);
    EXPECT_EQ(std::string(rgb.begin(), rgb.end()), "abcdefghijkl");
    EXPECT_EQ(reader->next(rgb).error().message,
              "standard input: it ends 7 bytes into picture 1, which has 12 (2x2 pixels, rgb24)");
    ::close(ends[0]);
}

}  // namespace
}  // namespace kinetograph::media
