#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>

namespace kinetograph {
namespace {

using test::TemporaryFolder;

Result<void> replace(const std::filesystem::path& path, std::string_view text) {
    KG_TRY(auto file, ReplacingFile::create(path));
    KG_CHECK(file.write(std::as_bytes(std::span(text))));
    return file.commit();
}

unsigned mode_of(const std::filesystem::path& path) {
    return static_cast<unsigned>(std::filesystem::status(path).permissions());
}

/// Sets the umask for one test.
class Umask {
  public:
    explicit Umask(mode_t mask) : before_(umask(mask)) {}
    Umask(const Umask&) = delete;
    Umask& operator=(const Umask&) = delete;
    ~Umask() { umask(before_); }

  private:
    mode_t before_;
};

TEST(ReplacingFile, HandsOnTheModeOfTheFileThatItReplaces) {
    const TemporaryFolder folder;
    for (const unsigned mode : {0600U, 0640U, 0666U, 0444U, 0755U}) {
        const auto path = folder.write("out", "older");
        std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
        ASSERT_TRUE(replace(path, "newer"));
        EXPECT_EQ(mode_of(path), mode);
        std::filesystem::remove(path);
    }
}

TEST(ReplacingFile, IsNeverReadableByMorePeopleThanTheFileThatItReplaces) {
    const TemporaryFolder folder;
    const auto path = folder.write("out", "older");
    std::filesystem::permissions(path, std::filesystem::perms{0600});
    const auto file = ReplacingFile::create(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(mode_of(file->partial_path()), 0600U);
}

TEST(ReplacingFile, HonoursTheUmaskWhereThereWasNoFile) {
    const TemporaryFolder folder;
    for (const mode_t mask : {022U, 077U, 027U}) {
        const Umask umask(mask);
        const auto path = folder.path() / "out";
        ASSERT_TRUE(replace(path, "new"));
        EXPECT_EQ(mode_of(path), 0666U & ~mask);
        std::filesystem::remove(path);
    }
}

TEST(ReplacingFile, HasTheNameThatItWasGivenUnlessThatIsALink) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder.path() / "sub");
    const auto file = folder.write("file", "old"), given = folder.path() / "sub" / ".." / "file";
    EXPECT_EQ(ReplacingFile::create(given)->target(), given);
    std::filesystem::create_symlink("file", folder.path() / "link");
    EXPECT_EQ(ReplacingFile::create(folder.path() / "link")->target(), std::filesystem::canonical(file));
}

TEST(SameFile, IsSeenThroughLinksFoldersAndNamesOfFilesThatAreNotThereYet) {
    const TemporaryFolder folder;
    const auto file = folder.write("file", "");
    std::filesystem::create_symlink("file", folder.path() / "link");
    std::filesystem::create_directory(folder.path() / "sub");
    EXPECT_TRUE(is_same_file(file, folder.path() / "link"));
    EXPECT_TRUE(is_same_file(file, folder.path() / "sub" / ".." / "file"));
    EXPECT_TRUE(is_same_file(folder.path() / "new", folder.path() / "." / "new"));
    EXPECT_FALSE(is_same_file(folder.path() / "new", file));
    EXPECT_FALSE(is_same_file(folder.path() / "new", folder.path() / "sub" / "new"));
}

}  // namespace
}  // namespace kinetograph
