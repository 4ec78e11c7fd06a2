#include <kinetograph/compute/tensor/file_contents.hpp>
#include <kinetograph/engine/base/descriptors.hpp>
#include <kinetograph/engine/base/host_memory.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace kinetograph::tensor {

namespace {

tl::unexpected<Error> system_failure(const std::filesystem::path& path, int error) {
    return fail(error == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, "{}: {}", path.string(),
                std::generic_category().message(error));
}

}  // namespace

Result<FileContents> FileContents::open(const std::filesystem::path& path, const ReadOptions& options) {
    const int file =
        above_stdio(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe must not block here
    if (file < 0) return system_failure(path, errno);
    FileContents contents(path, file, options.limits);  // closes it on every path
    struct stat status {};
    if (::fstat(file, &status) != 0) return system_failure(path, errno);
    if (!S_ISREG(status.st_mode)) return fail(ErrorCode::InvalidArgument, "{}: not a regular file", path.string());
    const auto size = static_cast<std::size_t>(status.st_size);
    const std::uint64_t free = available_host_memory();
    auto pages = size > free ? std::nullopt : HostPages::allocate(size, options.allocator);
    if (!pages)
        return fail(ErrorCode::OutOfMemory, "{}: {} bytes, {} bytes of memory are free", path.string(), size, free);
    contents.pages_ = *std::move(pages);
    contents.size_ = size;
    return contents;
}

Result<void> FileContents::read_first(std::size_t count) {
    constexpr std::size_t kPiece = 16U << 20U;
    const std::size_t end = std::min(count, size_);
    while (read_ < end) {
        KG_CHECK(limits_.check(path_.string()));
        const ssize_t got = ::read(file_, pages_.bytes().data() + read_, std::min(end - read_, kPiece));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_failure(path_, errno);
        if (got == 0)
            return fail(ErrorCode::Corrupt, "{}: became shorter while it was read: {} bytes came of {}", path_.string(),
                        read_, size_);
        read_ += static_cast<std::size_t>(got);
    }
    if (read_ == size_) close();
    return {};
}

void FileContents::close() {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
}

FileContents::FileContents(FileContents&& other) noexcept
    : path_(std::move(other.path_)),
      limits_(std::move(other.limits_)),
      file_(std::exchange(other.file_, -1)),
      pages_(std::move(other.pages_)),
      size_(std::exchange(other.size_, 0)),
      read_(other.read_) {}

FileContents& FileContents::operator=(FileContents&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(limits_, other.limits_);
    std::swap(file_, other.file_);
    std::swap(pages_, other.pages_);
    std::swap(size_, other.size_);
    std::swap(read_, other.read_);
    return *this;
}

}  // namespace kinetograph::tensor
