#include <gtest/gtest.h>

#include <kinetograph/engine/present/png.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tools/media/png_sequence_sink.hpp>

namespace kinetograph::test {
namespace {

TEST(PngFramePath, PutsTheNumberWhereThePatternSaysAndWithThatManyDigits) {
    EXPECT_EQ(media::png_frame_path("out/f%05d.png", 7), "out/f00007.png");
    EXPECT_EQ(media::png_frame_path("out/f%d.png", 12), "out/f12.png");
    EXPECT_EQ(media::png_frame_path("%02d.png", 123), "123.png");
}

TEST(PngFramePath, GivesAPlainNameFiveDigitsInFrontOfItsExtension) {
    EXPECT_EQ(media::png_frame_path("out/clip.png", 3), "out/clip-00003.png");
}

TEST(PngFramePath, RefusesEveryOtherUseOfAPercentSign) {
    for (const char* pattern : {"%d%d.png", "%s.png", "100%.png", "a%5d.png", "dir%d/a%d.png", "dir%d/a.png"}) {
        EXPECT_FALSE(media::png_frame_path(pattern, 0)) << pattern;
    }
}

TEST(PngSequenceSink, ShowsNoFileUntilTheClipIsComplete) {
    const TemporaryFolder folder;
    const auto pattern = (folder.path() / "%d.png").string();
    auto sink = media::create_png_sequence_sink(pattern, {.width = 2, .height = 2, .frames = 2});
    ASSERT_TRUE(sink) << sink.error().message;
    const std::vector<float> grey(12, 0.0F);
    ASSERT_TRUE((*sink)->write(grey));
    ASSERT_TRUE((*sink)->write(grey));
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "0.png"));
    ASSERT_TRUE((*sink)->finish());
    sink->reset();
    EXPECT_EQ(folder.count_entries(), 2U);
    EXPECT_EQ(present::read_png(folder.path() / "1.png")->rgba[0], 128);
}

TEST(PngSequenceSink, LeavesNothingBehindWhenItIsDestroyedUnfinished) {
    const TemporaryFolder folder;
    {
        auto sink = media::create_png_sequence_sink((folder.path() / "%d.png").string(),
                                                    {.width = 2, .height = 2, .frames = 2});
        ASSERT_TRUE(sink) << sink.error().message;
        ASSERT_TRUE((*sink)->write(std::vector<float>(12, 0.0F)));
    }
    EXPECT_EQ(folder.count_entries(), 0U);
}

TEST(PngSequenceSink, TakesBackTheFilesItMovedWhenOneCannotBePutInPlace) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder.path() / "1.png" / "occupied");  // a folder stands where frame 1 goes
    {
        auto sink = media::create_png_sequence_sink((folder.path() / "%d.png").string(),
                                                    {.width = 2, .height = 2, .frames = 2});
        ASSERT_TRUE(sink) << sink.error().message;
        for (int i = 0; i < 2; ++i) ASSERT_TRUE((*sink)->write(std::vector<float>(12, 0.0F)));
        const auto finished = (*sink)->finish();
        ASSERT_FALSE(finished);
        EXPECT_NE(finished.error().message.find("1.png"), std::string::npos) << finished.error().message;
    }
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "0.png"));
    EXPECT_EQ(folder.count_entries(), 1U);
}

}  // namespace
}  // namespace kinetograph::test
