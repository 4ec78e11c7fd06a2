#include <kinetograph/engine/present/png.hpp>

#include <gtest/gtest.h>

#include <fstream>

namespace kinetograph::present {
namespace {

class Png : public testing::Test {
  protected:
    void SetUp() override {
        folder_ =
            std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
    }
    std::filesystem::path folder_;
};

Picture gradient(std::uint32_t width, std::uint32_t height, std::uint8_t alpha) {
    Picture picture{width, height, {}};
    for (std::uint32_t i = 0; i < width * height; ++i)
        for (const std::uint32_t value : {i * 7, i * 3 + 1, 255 - i, std::uint32_t{alpha}})
            picture.rgba.push_back(static_cast<std::uint8_t>(value));
    return picture;
}

TEST_F(Png, ReadsBackExactlyWhatItWrote) {
    for (const std::uint8_t alpha : {std::uint8_t{255}, std::uint8_t{128}}) {
        const Picture written = gradient(13, 7, alpha);
        ASSERT_TRUE(write_png(folder_ / "a.png", written.view()));
        const auto read = read_png(folder_ / "a.png");
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->width, 13U);
        EXPECT_EQ(read->height, 7U);
        EXPECT_EQ(read->rgba, written.rgba);
    }
    EXPECT_EQ(files(), 1U);
}

TEST_F(Png, NamesThePathAndLeavesNothingBehindWhenItCannotWrite) {
    const Picture picture = gradient(2, 2, 255);
    const auto no_folder = write_png(folder_ / "absent" / "a.png", picture.view());
    ASSERT_FALSE(no_folder);
    EXPECT_EQ(no_folder.error().code, ErrorCode::Io);
    EXPECT_NE(no_folder.error().message.find("absent/a.png: cannot create: No such file or directory"),
              std::string::npos)
        << no_folder.error().message;

    std::filesystem::create_directories(folder_ / "taken" / "inside");
    const auto taken = write_png(folder_ / "taken", picture.view());
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::Io);
    EXPECT_EQ(files(), 1U);
}

TEST_F(Png, RefusesASizeThatDoesNotFitItsPixels) {
    Picture picture = gradient(4, 4, 255);
    picture.height = 5;
    const auto result = write_png(folder_ / "a.png", picture.view());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(files(), 0U);
}

TEST_F(Png, TellsATruncatedFileFromAMissingOne) {
    EXPECT_EQ(read_png(folder_ / "none.png").error().code, ErrorCode::NotFound);
    const Picture picture = gradient(64, 64, 255);
    ASSERT_TRUE(write_png(folder_ / "a.png", picture.view()));
    std::filesystem::resize_file(folder_ / "a.png", std::filesystem::file_size(folder_ / "a.png") / 2);
    EXPECT_EQ(read_png(folder_ / "a.png").error().code, ErrorCode::Corrupt);
}

}  // namespace
}  // namespace kinetograph::present
