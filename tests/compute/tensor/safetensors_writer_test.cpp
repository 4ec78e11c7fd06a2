#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>

namespace kinetograph::tensor {
namespace {

using test::TemporaryFolder;

const std::array<float, 6> kValues = {1, 2, 3, 4, 5, 6};

NamedTensor named(std::string name, Shape shape, std::uint64_t elements) {
    return {std::move(name), {DType::F32, std::move(shape), std::as_bytes(std::span(kValues)).data(), elements * 4}};
}

std::string contents(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "out.safetensors";
    const std::array<std::byte, 3> odd = {std::byte{7}, std::byte{8}, std::byte{9}};
    const std::vector<NamedTensor> tensors = {named("frames", {1, 2, 3}, 6),
                                              {"odd", {DType::U8, {3}, odd.data(), 3}},
                                              {"empty \"\n", {DType::BF16, {0, 4}, nullptr, 0}},
                                              named("scalar", {}, 1)};
    const auto written = write_safetensors(path, tensors, {{"fps", "24"}, {"note", "\xc3\xa9"}});
    ASSERT_TRUE(written) << written.error().message;

    const auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->metadata(), (std::map<std::string, std::string>{{"fps", "24"}, {"note", "\xc3\xa9"}}));
    ASSERT_EQ(file->tensors().size(), tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const NamedTensor& read = file->tensors()[i];
        EXPECT_EQ(read.name, tensors[i].name);
        EXPECT_EQ(read.view.dtype, tensors[i].view.dtype);
        EXPECT_EQ(read.view.shape, tensors[i].view.shape);
        ASSERT_EQ(read.view.bytes, tensors[i].view.bytes);
        if (read.view.bytes != 0) {
            EXPECT_EQ(std::memcmp(read.view.data, tensors[i].view.data, read.view.bytes), 0);
        }
    }
    const auto header_bytes = file->tensors()[0].view.data - file->bytes().data();
    EXPECT_EQ(header_bytes % 8, 0);
    EXPECT_EQ(folder.count_entries(), 1U);
}

TEST(SafetensorsWriter, WritesAFileOfNoTensors) {
    const TemporaryFolder folder;
    ASSERT_TRUE(write_safetensors(folder.path() / "none.safetensors", {}));
    EXPECT_TRUE(SafetensorsFile::open(folder.path() / "none.safetensors"));
}

TEST(SafetensorsWriter, ReplacesAnOlderFileWhileItIsMapped) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "out.safetensors";
    ASSERT_TRUE(write_safetensors(path, std::array{named("old", {6}, 6)}));
    const auto old = SafetensorsFile::open(path);
    ASSERT_TRUE(old);
    ASSERT_TRUE(write_safetensors(path, std::array{named("new", {1}, 1)}));
    EXPECT_EQ(to_f32(*old->find("old"), "old").value(), std::vector<float>(kValues.begin(), kValues.end()));
    EXPECT_NE(SafetensorsFile::open(path)->find("new"), nullptr);
    EXPECT_EQ(folder.count_entries(), 1U);
}

TEST(SafetensorsWriter, WritesThroughASymbolicLink) {
    const TemporaryFolder folder;
    const auto target = folder.write("target.safetensors", "older");
    const auto link = folder.path() / "link.safetensors";
    std::filesystem::create_symlink(target, link);
    ASSERT_TRUE(write_safetensors(link, std::array{named("a", {1}, 1)}));
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_TRUE(SafetensorsFile::open(target));
}

TEST(SafetensorsWriter, NamesPathAndReasonWhenTheFolderIsAbsentOrNoFolder) {
    const TemporaryFolder folder;
    const auto absent = folder.path() / "absent" / "out.safetensors";
    const auto missing = write_safetensors(absent, {});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::Io);
    EXPECT_EQ(missing.error().message, absent.string() + ": cannot create: No such file or directory");

    const auto below_file = folder.write("plain", "x") / "out.safetensors";
    EXPECT_EQ(write_safetensors(below_file, {}).error().message,
              below_file.string() + ": cannot write: Not a directory");
}

TEST(SafetensorsWriter, WillNotReplaceAFolderOrDevice) {
    const TemporaryFolder folder;
    EXPECT_EQ(write_safetensors(folder.path(), {}).error().message,
              folder.path().string() + ": cannot write: exists and is not a regular file");
    EXPECT_EQ(write_safetensors("/dev/null", {}).error().message,
              "/dev/null: cannot write: exists and is not a regular file");
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

/// Limits the size of files to `bytes` while it exists: the same error as a full disk.
class FileSizeLimit {
  public:
    explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &old_);
        const rlimit small{bytes, old_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &old_);
        std::signal(SIGXFSZ, handler_);
    }

  private:
    rlimit old_{};
    void (*handler_)(int);
};

TEST(SafetensorsWriter, LeavesNothingBehindAndTheOlderFileUntouchedWhenTheDiskIsFull) {
    const TemporaryFolder folder;
    const auto path = folder.write("out.safetensors", "older");
    const std::vector<float> large(100'000, 1.0F);
    const NamedTensor tensor{"frames", {DType::F32, {100'000}, std::as_bytes(std::span(large)).data(), 400'000}};
    Result<void> written;
    {
        const FileSizeLimit limit(65'536);
        written = write_safetensors(path, std::array{tensor});
    }
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::Io);
    EXPECT_EQ(written.error().message, path.string() + ": cannot write: File too large");
    EXPECT_EQ(folder.count_entries(), 1U);
    EXPECT_EQ(contents(path), "older");
}

TEST(SafetensorsWriter, RefusesTensorsThatNoReaderWouldAccept) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "out.safetensors";
    const auto refusal = [&](std::vector<NamedTensor> tensors,
                             const std::map<std::string, std::string>& metadata = {}) {
        const auto written = write_safetensors(path, tensors, metadata);
        EXPECT_EQ(folder.count_entries(), 0U);
        return written ? std::string("accepted") : written.error().message;
    };
    EXPECT_EQ(refusal({named("a", {6}, 5)}), path.string() + ": tensor \"a\": 20 bytes are not 6 elements of F32");
    EXPECT_EQ(refusal({named("a", {-6}, 6)}), path.string() + ": tensor \"a\": shape [-6] has a negative dimension");
    EXPECT_EQ(refusal({named("a", {6}, 6), named("a", {6}, 6)}), path.string() + ": tensor name \"a\" is taken");
    EXPECT_EQ(refusal({named("__metadata__", {6}, 6)}), path.string() + ": tensor name \"__metadata__\" is taken");
    EXPECT_EQ(refusal({}, {{"note", "\xff"}}), path.string() + ": a tensor name or a metadata text is not UTF-8");
}

}  // namespace
}  // namespace kinetograph::tensor
