#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <libavutil/log.h>
}

#include <atomic>
#include <fstream>
#include <functional>
#include <iterator>
#include <kinetograph/engine/present/png.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tools/media/pending_folder.hpp>
#include <kinetograph/tools/media/picture_names.hpp>
#include <kinetograph/tools/media/picture_placement.hpp>
#include <kinetograph/tools/media/picture_sequence_sink.hpp>

#include "read_video.hpp"

namespace kinetograph::test {
namespace {

TEST(PictureNames, PutTheNumberWhereThePatternSaysAndWithThatManyDigits) {
    EXPECT_EQ(media::PictureNames::parse("out/f%05d.png")->path(7), "out/f00007.png");
    EXPECT_EQ(media::PictureNames::parse("out/f%d.png")->path(12), "out/f12.png");
    EXPECT_EQ(media::PictureNames::parse("%02d.png")->path(123), "123.png");
}

TEST(PictureNames, GiveAPlainNameFiveDigitsInFrontOfItsExtension) {
    EXPECT_EQ(media::PictureNames::parse("out/clip.png")->path(3), "out/clip-00003.png");
}

TEST(PictureNames, RefuseEveryOtherUseOfAPercentSignAndANameThatIsAnExtension) {
    for (const char* pattern :
         {"%d%d.png", "%s.png", "100%.png", "a%5d.png", "dir%d/a%d.png", "dir%d/a.png", ".png", "frames/.png", "", "%"})
        EXPECT_FALSE(media::PictureNames::parse(pattern)) << pattern;
}

TEST(PictureNames, KnowTheirOwnFilesByName) {
    const auto names = *media::PictureNames::parse("out/f%02d.png");
    EXPECT_EQ(names.index_of("f07.png"), 7);
    EXPECT_EQ(names.index_of("f123.png"), 123);
    for (const char* other : {"f7.png", "f007.png", "f-1.png", "f.png", "g07.png", "f07.jpg", "f07.png.png", ""})
        EXPECT_FALSE(names.index_of(other)) << other;
}

TEST(PictureSequenceSink, ShowsNoFileUntilTheClipIsComplete) {
    const TemporaryFolder folder;
    const auto pattern = (folder.path() / "%d.png").string();
    auto sink = media::create_picture_sequence_sink(pattern, {.width = 2, .height = 2, .frames = 2});
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

TEST(PictureSequenceSink, GivesAnOnlyPictureItsPlainName) {
    for (const char* name : {"pic.png", "pic.JPG"}) {
        for (const std::int64_t announced : {1, 0}) {  // 0: not known beforehand
            const TemporaryFolder folder;
            auto sink = media::create_picture_sequence_sink((folder.path() / name).string(),
                                                            {.width = 16, .height = 16, .frames = announced});
            ASSERT_TRUE(sink) << sink.error().message;
            ASSERT_TRUE((*sink)->write(std::vector<float>(3 * 16 * 16, 0.0F)));
            ASSERT_TRUE((*sink)->finish());
            EXPECT_EQ((*sink)->written(), (folder.path() / name).string());
            sink->reset();
            EXPECT_EQ(folder.count_entries(), 1U);
            EXPECT_TRUE(std::filesystem::exists(folder.path() / name));
        }
    }
}

TEST(PictureSequenceSink, SaysTheNamesOfSeveralPictures) {
    const TemporaryFolder folder;
    auto sink = media::create_picture_sequence_sink((folder.path() / "many.png").string(),
                                                    {.width = 2, .height = 2, .frames = 5});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE((*sink)->write(std::vector<float>(12, 0.0F)));  // fewer than announced
    ASSERT_TRUE((*sink)->finish());
    EXPECT_EQ((*sink)->written(),
              (folder.path() / "many-00000.png").string() + " to " + (folder.path() / "many-00002.png").string());
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "many-00002.png"));
}

TEST(PictureSequenceSink, WritesJpegWithTheSameColoursAndWithoutAWarning) {
    static std::atomic<int> warnings = 0;
    av_log_set_callback([](void*, int level, const char*, va_list) { warnings += level <= AV_LOG_WARNING ? 1 : 0; });
    const TemporaryFolder folder;
    std::vector<float> red;
    for (int i = 0; i < 256; ++i) red.insert(red.end(), {0.9F, -0.9F, -0.5F});
    auto sink = media::create_picture_sequence_sink((folder.path() / "%d.jpeg").string(),
                                                    {.width = 16, .height = 16, .frames = 1});
    ASSERT_TRUE(sink) << sink.error().message;
    ASSERT_TRUE((*sink)->write(red));
    ASSERT_TRUE((*sink)->finish());
    av_log_set_callback(av_log_default_callback);
    EXPECT_EQ(warnings, 0);
    const Video picture = read_video(folder.path() / "0.jpeg");
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(picture.first_rgb[3 * 136 + c], 127.5 * (red[c] + 1), 3) << c;
}

TEST(PictureSequenceSink, LeavesNothingBehindWhenItIsDestroyedUnfinished) {
    const TemporaryFolder folder;
    {
        auto sink = media::create_picture_sequence_sink((folder.path() / "%d.png").string(),
                                                        {.width = 2, .height = 2, .frames = 2});
        ASSERT_TRUE(sink) << sink.error().message;
        ASSERT_TRUE((*sink)->write(std::vector<float>(12, 0.0F)));
    }
    EXPECT_EQ(folder.count_entries(), 0U);
}

/// The result of finish() for `frames` grey pictures to `pattern`.
Result<void> write_sequence(
    const std::filesystem::path& pattern, std::int64_t frames, const std::function<void()>& before_finish = [] {}) {
    KG_TRY(const auto sink,
           media::create_picture_sequence_sink(pattern.string(), {.width = 2, .height = 2, .frames = frames}));
    for (std::int64_t i = 0; i < frames; ++i) EXPECT_TRUE(sink->write(std::vector<float>(12, 0.0F)));
    before_finish();
    return sink->finish();
}

std::string contents(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PictureSequenceSink, PutsOlderPicturesBackWhenOneOfItsOwnCannotBePutInPlace) {
    const TemporaryFolder folder;
    folder.write("0.png", "an older picture");
    const auto finished = write_sequence(folder.path() / "%d.png", 3, [&] {
        for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
            if (entry.is_directory()) std::filesystem::remove(entry.path() / "2.png");
    });
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().message,
              (folder.path() / "2.png").string() + ": cannot be put in place: No such file or directory");
    EXPECT_EQ(contents(folder.path() / "0.png"), "an older picture");
    EXPECT_EQ(folder.count_entries(), 1U);
}

TEST(PictureSequenceSink, ReplacesOlderPicturesAndKeepsTheirModes) {
    const TemporaryFolder folder;
    const auto older = folder.write("0.png", "an older picture");
    std::filesystem::permissions(older, std::filesystem::perms{0600});
    const auto finished = write_sequence(folder.path() / "%d.png", 2);
    ASSERT_TRUE(finished) << finished.error().message;
    EXPECT_TRUE(present::read_png(older));
    EXPECT_EQ(std::filesystem::status(older).permissions(), std::filesystem::perms{0600});
    EXPECT_EQ(folder.count_entries(), 2U);
}

/// A run that is killed once it has put `placed` of three pictures in place, and has moved the next older one away if
/// that is wanted; the folder's entries afterwards.
std::size_t kill_while_placing(const TemporaryFolder& folder, std::int64_t placed, bool moves_next) {
    const pid_t child = fork();
    if (child == 0) {
        auto pending = media::PendingFolder::create_beside(folder.path() / "0.png");
        for (std::int64_t i = 0; i < 3; ++i)
            std::ofstream(media::PicturePlacement::pending(pending->path(), i)) << "new " << i;
        if (!pending->set_placing(true)) _exit(1);
        media::PicturePlacement placement(pending->path(),
                                          *media::PictureNames::parse((folder.path() / "%d.png").string()), 3);
        if (placed >= 0 && !placement.record()) _exit(1);
        for (std::int64_t i = 0; i < placed; ++i)
            if (!placement.put_in_place(i)) _exit(1);
        if (moves_next)
            std::filesystem::rename(placement.target_of(placed), pending->path() / fmt::format("{}.older", placed));
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    return folder.count_entries();
}

TEST(PictureSequenceSink, TakesBackWhatAKilledRunHadPutInPlaceUnlessThatWasAll) {
    for (const auto& [placed, moves_next] :
         {std::pair(-1, false), {0, false}, {0, true}, {1, false}, {1, true}, {2, false}, {3, false}}) {
        const TemporaryFolder folder;
        for (const std::string name : {"0.png", "1.png"}) folder.write(name, "older " + name);
        EXPECT_GE(kill_while_placing(folder, placed, moves_next), 2U);
        const auto settled = media::settle_abandoned(folder.path() / "another.png");
        ASSERT_TRUE(settled) << settled.error().message;
        const bool is_whole = placed == 3;
        EXPECT_EQ(folder.count_entries(), is_whole ? 3U : 2U) << placed;
        EXPECT_EQ(contents(folder.path() / "0.png"), is_whole ? "new 0" : "older 0.png") << placed;
        EXPECT_EQ(contents(folder.path() / "1.png"), is_whole ? "new 1" : "older 1.png") << placed;
    }
}

TEST(PictureSequenceSink, BeginsWhereARunWasKilledAndLeavesWhatWasPutThereSince) {
    const TemporaryFolder folder;
    kill_while_placing(folder, 2, false);
    std::filesystem::remove(folder.path() / "1.png");
    folder.write("1.png", "the user's");
    const auto finished = write_sequence(folder.path() / "other-%d.png", 1);
    ASSERT_TRUE(finished) << finished.error().message;
    EXPECT_EQ(contents(folder.path() / "1.png"), "the user's");
    EXPECT_EQ(folder.count_entries(), 2U);

    folder.write("0.png", "an older picture");
    kill_while_placing(folder, 2, false);
    std::filesystem::remove(folder.path() / "0.png");
    folder.write("0.png", "the user's");
    const auto refused = write_sequence(folder.path() / "%d.png", 3);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("1 older pictures cannot be put back and lie in "), std::string::npos)
        << refused.error().message;
    EXPECT_EQ(contents(folder.path() / "0.png"), "the user's");
}

TEST(PictureSequenceSink, RefusesANameThatCannotBePutInPlaceBeforeTheFirstFrame) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder.path() / "2.png");
    const auto create = [&](const std::string& name) {
        return media::create_picture_sequence_sink((folder.path() / name).string(),
                                                   {.width = 2, .height = 2, .frames = 3});
    };
    EXPECT_EQ(create("%d.png").error().message,
              (folder.path() / "2.png").string() + ": cannot write: exists and is not a regular file");
    const auto longer = create(std::string(251, 'a') + "%d.png");
    ASSERT_FALSE(longer);
    EXPECT_NE(longer.error().message.find("File name too long"), std::string::npos) << longer.error().message;
    EXPECT_EQ(folder.count_entries(), 1U);
}

TEST(PictureSequenceSink, RefusesToEndWhereOlderPicturesGoOn) {
    const TemporaryFolder folder;
    const auto next = folder.write("2.png", "an older picture");
    const auto finished = write_sequence(folder.path() / "%d.png", 2);
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().message,
              next.string() +
                  " is there: it would go on after this clip, 2 frames long; remove the older pictures or "
                  "choose another name");
    EXPECT_EQ(folder.count_entries(), 1U);
}

}  // namespace
}  // namespace kinetograph::test
