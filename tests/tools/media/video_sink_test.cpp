#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tools/media/video_sink.hpp>

#include <iterator>

#include "read_video.hpp"

namespace kinetograph::test {
namespace {

constexpr std::int64_t kWidth = 64, kHeight = 32;

/// Four flat quarters of strong colours, which a wrong matrix or range would change visibly.
std::vector<float> colour_quarters() {
    constexpr float kColours[4][3] = {{1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}, {0.5F, 0, -0.5F}};
    std::vector<float> hwc;
    for (std::int64_t y = 0; y < kHeight; ++y) {
        for (std::int64_t x = 0; x < kWidth; ++x) {
            const auto& colour = kColours[2 * (y >= kHeight / 2) + (x >= kWidth / 2)];
            hwc.insert(hwc.end(), colour, colour + 3);
        }
    }
    return hwc;
}

TEST(VideoSink, ColoursSurviveTheWayThroughTheFileAndItsTags) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "colours.mp4";
    auto sink = media::create_video_sink(path.string(), {.width = kWidth, .height = kHeight, .frames = 3, .fps = 24});
    ASSERT_TRUE(sink) << sink.error().message;
    const auto frame = colour_quarters();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE((*sink)->write(frame));
    ASSERT_TRUE((*sink)->finish());

    const Video video = read_video(path);
    EXPECT_EQ(video.frames, 3);
    EXPECT_EQ(video.pixel_format, "yuv420p");
    EXPECT_EQ(video.matrix, "bt709");
    EXPECT_EQ(video.primaries, "bt709");
    EXPECT_EQ(video.transfer, "bt709");
    EXPECT_EQ(video.range, "tv");
    // Centres of the quarters, away from the chroma edges. 6 of 255: 8-bit limited range twice, and the encoder.
    for (const std::int64_t y : {kHeight / 4, 3 * kHeight / 4}) {
        for (const std::int64_t x : {kWidth / 4, 3 * kWidth / 4}) {
            for (std::int64_t c = 0; c < 3; ++c) {
                const auto at = static_cast<std::size_t>(3 * (y * kWidth + x) + c);
                EXPECT_NEAR(video.first_rgb[at], 127.5 * (frame[at] + 1), 6) << "x " << x << ", y " << y << ", c " << c;
            }
        }
    }
}

TEST(VideoSink, KeepsEveryRateAndThoseOfNtscExactlyHoweverTheyAreWritten) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "film.mp4";
    for (const auto& [fps, expected] : {std::pair(24000.0 / 1001, 24000.0 / 1001),
                                        {23.976, 24000.0 / 1001},
                                        {23.976023976, 24000.0 / 1001},
                                        {29.97, 30000.0 / 1001},
                                        {12.5, 12.5},
                                        {0.01, 0.01},
                                        {24.0, 24.0},
                                        {1000.0, 1000.0}}) {
        auto sink =
            media::create_video_sink(path.string(), {.width = kWidth, .height = kHeight, .frames = 2, .fps = fps});
        ASSERT_TRUE(sink) << sink.error().message;
        for (int i = 0; i < 2; ++i) ASSERT_TRUE((*sink)->write(colour_quarters()));
        ASSERT_TRUE((*sink)->finish());
        EXPECT_NEAR(read_video(path).fps, expected, 1e-9);
    }
}

TEST(VideoSink, WritesEveryContainerWhateverTheCaseOfItsSuffix) {
    const TemporaryFolder folder;
    for (const auto& [suffix, codec] : {std::pair(".mov", "h264"),
                                        {".mkv", "h264"},
                                        {".webm", "vp9"},
                                        {".gif", "gif"},
                                        {".WebM", "vp9"},
                                        {".MP4", "h264"}}) {
        const auto path = folder.path() / (std::string("colours") + suffix);
        auto sink = media::create_sink(path.string(), {.width = kWidth, .height = kHeight, .frames = 3, .fps = 10});
        if (!sink && sink.error().code == ErrorCode::Unsupported) continue;  // this libav lacks the encoder
        ASSERT_TRUE(sink) << sink.error().message;
        const auto frame = colour_quarters();
        for (int i = 0; i < 3; ++i) ASSERT_TRUE((*sink)->write(frame));
        ASSERT_TRUE((*sink)->finish());
        EXPECT_EQ((*sink)->written(), path.string());
        const Video video = read_video(path);
        EXPECT_EQ(video.frames, 3) << suffix;
        EXPECT_EQ(video.codec, codec) << suffix;
        EXPECT_NEAR(video.fps, 10, 1e-9) << suffix;
        const auto at = static_cast<std::size_t>(3 * (kHeight / 4 * kWidth + kWidth / 4));
        for (std::size_t c = 0; c < 3; ++c)  // a GIF of fixed colours has 4 levels of blue
            EXPECT_NEAR(video.first_rgb[at + c], 127.5 * (frame[at + c] + 1), suffix == std::string(".gif") ? 48 : 8)
                << suffix << ", c " << c;
    }
}

TEST(VideoSink, WritesAnAnimationInWebp) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "colours.webp";
    auto sink = media::create_sink(path.string(), {.width = kWidth, .height = kHeight, .frames = 3, .fps = 10});
    if (!sink && sink.error().code == ErrorCode::Unsupported) GTEST_SKIP() << sink.error().message;
    ASSERT_TRUE(sink) << sink.error().message;
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE((*sink)->write(std::vector<float>(3 * kWidth * kHeight, 0.4F * static_cast<float>(i))));
    ASSERT_TRUE((*sink)->finish());
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(bytes.substr(0, 4) + bytes.substr(8, 4), "RIFFWEBP");
    EXPECT_NE(bytes.find("ANIM"), std::string::npos);
}

TEST(VideoSink, LeavesNothingBehindWhenItIsDestroyedUnfinished) {
    const TemporaryFolder folder;
    {
        auto sink = media::create_video_sink((folder.path() / "half.mp4").string(),
                                             {.width = kWidth, .height = kHeight, .frames = 9, .fps = 24});
        ASSERT_TRUE(sink) << sink.error().message;
        ASSERT_TRUE((*sink)->write(colour_quarters()));
        EXPECT_EQ(folder.count_entries(), 1U) << "it should be writing beside its target";
        EXPECT_FALSE(std::filesystem::exists(folder.path() / "half.mp4"));
    }
    EXPECT_EQ(folder.count_entries(), 0U);
}

TEST(VideoSink, RefusesOddSidesNamingThem) {
    const TemporaryFolder folder;
    const auto sink =
        media::create_video_sink((folder.path() / "odd.mp4").string(), {.width = 31, .height = 32, .frames = 1});
    ASSERT_FALSE(sink);
    EXPECT_NE(sink.error().message.find("31x32"), std::string::npos) << sink.error().message;
    EXPECT_EQ(folder.count_entries(), 0U);
}

}  // namespace
}  // namespace kinetograph::test
