#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <kinetograph/tools/media/pending_path.hpp>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace kinetograph::media {
namespace {

std::string system_message(int error) { return std::generic_category().message(error); }

/// Calls `make(path)` on fresh names beside `target` until one is not taken; `make` returns 0 or an errno.
template <class Make>
Result<std::filesystem::path> make_beside(const std::filesystem::path& target, Make make) {
    const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
    if (!std::filesystem::is_directory(folder)) {
        return fail(ErrorCode::Io, "{}: cannot be written, there is no folder {}", target.string(), folder.string());
    }
    for (int attempt = 0;; ++attempt) {
        std::filesystem::path path =
            folder / fmt::format(".{}.{}-{}.part", target.filename().string(), getpid(), attempt);
        const int error = make(path);
        if (error == 0) return path;
        if (error != EEXIST) {
            return fail(ErrorCode::Io, "{}: cannot be written: {}", target.string(), system_message(error));
        }
    }
}

}  // namespace

Result<PendingPath> PendingPath::create_file(const std::filesystem::path& target) {
    if (std::filesystem::is_directory(target)) {
        return fail(ErrorCode::Io, "{}: cannot be written, it is a folder", target.string());
    }
    auto path = make_beside(target, [](const std::filesystem::path& candidate) {
        const int file = open(candidate.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
        if (file < 0) return errno;
        close(file);
        return 0;
    });
    if (!path) return fail(path.error());
    return PendingPath(std::move(*path), target);
}

Result<PendingPath> PendingPath::create_folder(const std::filesystem::path& target) {
    auto path = make_beside(
        target, [](const std::filesystem::path& candidate) { return mkdir(candidate.c_str(), 0777) == 0 ? 0 : errno; });
    if (!path) return fail(path.error());
    return PendingPath(std::move(*path), target);
}

PendingPath::PendingPath(std::filesystem::path path, std::filesystem::path target)
    : path_(std::move(path)), target_(std::move(target)) {}

PendingPath::PendingPath(PendingPath&& other) noexcept
    : path_(std::exchange(other.path_, {})), target_(std::move(other.target_)) {}

PendingPath& PendingPath::operator=(PendingPath&& other) noexcept {
    if (this != &other) {
        discard();
        path_ = std::exchange(other.path_, {});
        target_ = std::move(other.target_);
    }
    return *this;
}

PendingPath::~PendingPath() { discard(); }

void PendingPath::discard() noexcept {
    if (path_.empty()) return;
    std::error_code ignored;  // nothing is left to do about a file that cannot be removed
    std::filesystem::remove_all(path_, ignored);
    path_.clear();
}

Result<void> PendingPath::commit() {
    const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    const bool flushed = file >= 0 && fsync(file) == 0;
    const int flush_error = errno;
    if (file >= 0) close(file);
    if (!flushed)
        return fail(ErrorCode::Io, "{}: cannot be flushed: {}", target_.string(), system_message(flush_error));
    std::error_code error;
    std::filesystem::rename(path_, target_, error);
    if (error) return fail(ErrorCode::Io, "{}: cannot be put in place: {}", target_.string(), error.message());
    path_.clear();
    return {};
}

}  // namespace kinetograph::media
