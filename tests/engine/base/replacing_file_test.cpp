#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <kinetograph/engine/base/descriptors.hpp>
#include <kinetograph/engine/base/host_pages.hpp>
#include <kinetograph/engine/base/partial_names.hpp>
#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <string>
#include <utility>

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

TEST(ReplacingFile, RefusesAtOnceWhatARenameWouldRefuse) {
    const TemporaryFolder folder;
    std::filesystem::create_symlink("nowhere", folder.path() / "link");
    std::filesystem::create_directory(folder.path() / "folder");
    for (const auto& [name, reason] : {std::pair(std::string(256, 'a'), "File name too long"),
                                       std::pair(std::string("link"), "it is a link to a file that is not there"),
                                       std::pair(std::string("folder"), "exists and is not a regular file")}) {
        const auto file = ReplacingFile::create(folder.path() / name);
        ASSERT_FALSE(file) << name;
        EXPECT_EQ(file.error().message, (folder.path() / name).string() + ": cannot write: " + reason);
    }
    EXPECT_EQ(folder.count_entries(), 2U);
}

/// The exit code of a child process that runs `body` as the user "nobody".
int as_nobody(const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(setuid(65534) != 0 ? 2 : body() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

TEST(ReplacingFile, RefusesAnotherUsersFileThatTheyProtect) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    const TemporaryFolder folder;
    const auto path = folder.write("out", "older");
    const auto is_refused = [&](const std::string& reason) {
        const auto file = ReplacingFile::create(path);
        return !file && file.error().message == path.string() + ": cannot write: it is another user's, " + reason;
    };
    using Mode = std::filesystem::perms;
    std::filesystem::permissions(folder.path(), Mode{0777});
    EXPECT_EQ(as_nobody([&] { return is_refused("who does not allow that"); }), 0);
    std::filesystem::permissions(path, Mode{0666});
    EXPECT_EQ(as_nobody([&] { return ReplacingFile::create(path).has_value(); }), 0);
    const auto kept = ReplacingFile::create(folder.path() / "kept");
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_EQ(as_nobody([&] { return abandoned_beside(path, kPartial).empty(); }), 0) << "its owner runs";
    std::filesystem::permissions(folder.path(), Mode{01777});
    EXPECT_EQ(as_nobody([&] { return is_refused("in a folder where only they can replace it"); }), 0);
}

TEST(ReplacingFile, RemovesWhatItsOwnersLeftThatHaveEnded) {
    const TemporaryFolder folder;
    const auto kept = ReplacingFile::create(folder.path() / "kept");
    ASSERT_TRUE(kept) << kept.error().message;
    const std::string own = kept->partial_path().filename();
    const auto larger = HostPages::allocate(64U << 20U);  // the owner's other figures in /proc change
    ASSERT_TRUE(larger);
    EXPECT_TRUE(abandoned_beside(folder.path() / "out", kPartial).empty());
    const pid_t child = fork();
    if (child == 0) {
        auto file = ReplacingFile::create(folder.path() / "out");
        _exit(file ? 0 : 1);  // without the destructor
    }
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
    EXPECT_EQ(abandoned_beside(folder.path() / "out", kPartial).size(), 1U) << "of a process that is not waited for";
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(WEXITSTATUS(status), 0);
    folder.write(".kinetograph-00000000-1-1-0.partial", "of another system");
    folder.write(".kinetograph-notes.partial", "of a user");
    ASSERT_EQ(folder.count_entries(), 4U);
    ASSERT_EQ(abandoned_beside(folder.path() / "out", kPartial).size(), 1U);
    // The same process id in another life.
    const std::string process = "-" + std::to_string(getpid()) + "-";
    std::string other = own;
    other.replace(other.find(process), process.size(), process + "9");
    folder.write(other, "of an owner whose process id was given anew");
    const std::string placing = std::filesystem::path(other).replace_extension(kPlacing);
    folder.write(placing, "what is no partial file");
    ASSERT_TRUE(replace(folder.path() / "out", "text"));
    EXPECT_TRUE(std::filesystem::exists(folder.path() / own));
    EXPECT_TRUE(std::filesystem::exists(folder.path() / placing));
    EXPECT_FALSE(std::filesystem::exists(folder.path() / other));
    EXPECT_EQ(folder.count_entries(), 5U);
}

TEST(ReplacingFile, LeavesNothingOfWhatCannotBeWrittenOrPutInPlace) {
    const TemporaryFolder folder;
    const auto path = folder.write("out", "older");
    const pid_t child = fork();
    if (child == 0) {  // in which a file has ten bytes at most
        const rlimit ten{10, 10};
        std::signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &ten);
        const auto failed = replace(path, "much longer than that");
        _exit(!failed && failed.error().message == path.string() + ": cannot write: File too large" ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(folder.count_entries(), 1U);
    auto file = ReplacingFile::create(path);
    ASSERT_TRUE(file) << file.error().message;
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    EXPECT_EQ(file->commit().error().message, path.string() + ": cannot rename into place: Is a directory");
    file = tl::unexpected(Error{});
    EXPECT_EQ(folder.count_entries(), 1U);
}

TEST(ReplacingFile, LeavesNoDescriptorOpen) {
    const TemporaryFolder folder;
    const auto lowest_free = [] {
        const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::close(fd);
        return fd;
    };
    const int before = lowest_free();
    ASSERT_TRUE(replace(folder.path() / "out", "text"));
    EXPECT_EQ(lowest_free(), before);
}

TEST(Descriptors, OfOursAreAboveThoseOfStdio) {
    const TemporaryFolder folder;
    const pid_t child = fork();
    if (child == 0) {
        for (const int fd : {0, 1, 2}) close(fd);
        const bool moves = above_stdio(open("/dev/null", O_RDONLY)) > 2;
        auto file = ReplacingFile::create(folder.path() / "out");
        const bool is_free = fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0;
        occupy_closed_stdio();
        char byte = 0;
        const bool fails = read(0, &byte, 1) < 0 && write(1, &byte, 1) < 0 && write(2, &byte, 1) == 1;
        const int lowest = dup(0);
        close(lowest);
        occupy_closed_stdio();  // of which none is closed
        _exit(moves && file && is_free && fails && dup(0) == lowest ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SameFile, IsSeenThroughLinksFoldersAndNamesOfFilesThatAreNotThereYet) {
    const TemporaryFolder folder;
    const auto file = folder.write("file", "");
    std::filesystem::create_symlink("file", folder.path() / "link");
    std::filesystem::create_directory(folder.path() / "sub");
    EXPECT_TRUE(is_same_file(file, folder.path() / "link"));
    EXPECT_TRUE(is_same_file(file, folder.path() / "sub" / ".." / "file"));
    EXPECT_TRUE(is_same_file(folder.path() / "new", folder.path() / "." / "new"));
    const auto relative = std::filesystem::relative(folder.path() / "new");
    EXPECT_TRUE(is_same_file(relative, folder.path() / "new"));
    EXPECT_TRUE(is_same_file("new", "./new"));
    EXPECT_FALSE(is_same_file(folder.path() / "new", file));
    EXPECT_FALSE(is_same_file(folder.path() / "new", folder.path() / "sub" / "new"));
}

}  // namespace
}  // namespace kinetograph
