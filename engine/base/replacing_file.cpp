#include <kinetograph/engine/base/descriptors.hpp>
#include <kinetograph/engine/base/partial_names.hpp>
#include <kinetograph/engine/base/replacing_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace kinetograph {

namespace {

constexpr mode_t kPermissions = 0777;

/// Makes the rename itself durable. Best effort: not every file system can, and the file is complete either way.
void flush_folder(const std::filesystem::path& folder) {
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    ::fsync(fd);
    ::close(fd);
}

}  // namespace

bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
    std::error_code error;
    if (std::filesystem::equivalent(one, other, error)) return true;
    const auto place = [&error](const std::filesystem::path& path) {
        const std::filesystem::path absolute = std::filesystem::absolute(path, error);
        return error ? path : std::filesystem::weakly_canonical(absolute, error);
    };
    const std::filesystem::path of_one = place(one);
    if (error) return one == other;
    const std::filesystem::path of_other = place(other);
    return error ? one == other : of_one == of_other;
}

Result<void> check_replaceable(const std::filesystem::path& path) {
    const auto refused = [&](std::string_view reason) {
        return fail(ErrorCode::Io, "{}: cannot write: {}", path.string(), reason);
    };
    struct statx target {};
    if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &target) != 0) {
        if (errno != ENOENT) return refused(std::generic_category().message(errno));
        struct stat link {};
        if (::lstat(path.c_str(), &link) == 0) return refused("it is a link to a file that is not there");
        return {};
    }
    if (!S_ISREG(target.stx_mode)) return refused("exists and is not a regular file");
    if ((target.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0)
        return refused("its attributes allow no other file in its place");
    if ((target.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) return refused("it is mounted there");
    const uid_t user = ::geteuid();
    const bool is_anothers = user != 0 && target.stx_uid != user;
    if (is_anothers && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0)
        return refused("it is another user's, who does not allow that");
    struct stat folder {};
    if (is_anothers && ::stat(folder_of(path).c_str(), &folder) == 0 && (folder.st_mode & S_ISVTX) != 0 &&
        folder.st_uid != user)
        return refused("it is another user's, in a folder where only they can replace it");
    return {};
}

Result<ReplacingFile> ReplacingFile::create(const std::filesystem::path& path) {
    KG_CHECK(check_replaceable(path));
    remove_abandoned(path);
    std::error_code ignored;
    std::filesystem::path target = path;
    if (std::filesystem::is_symlink(path, ignored)) target = std::filesystem::canonical(path, ignored);
    struct stat status {};
    const bool replaces = ::stat(target.c_str(), &status) == 0;
    const auto kept_mode = replaces ? std::optional<mode_t>(status.st_mode & kPermissions) : std::nullopt;
    // Never readable by more users than the file it replaces. The owner's bits let a library open it by name.
    const mode_t mode = kept_mode ? *kept_mode | S_IRUSR | S_IWUSR : 0666;
    for (;;) {
        std::filesystem::path partial = next_partial_name(target);
        const int fd = above_stdio(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
        if (fd >= 0) return ReplacingFile(std::move(target), std::move(partial), fd, kept_mode);
        if (errno != EEXIST) {
            return fail(ErrorCode::Io, "{}: cannot create: {}", path.string(), std::generic_category().message(errno));
        }
    }
}

ReplacingFile::ReplacingFile(std::filesystem::path target, std::filesystem::path partial, int fd,
                             std::optional<mode_t> mode)
    : target_(std::move(target)), partial_(std::move(partial)), fd_(fd), mode_(mode) {}

ReplacingFile::ReplacingFile(ReplacingFile&& other) noexcept
    : target_(std::move(other.target_)),
      partial_(std::exchange(other.partial_, {})),
      fd_(std::exchange(other.fd_, -1)),
      mode_(other.mode_) {}

ReplacingFile::~ReplacingFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!partial_.empty()) ::unlink(partial_.c_str());
}

tl::unexpected<Error> ReplacingFile::system_failure(std::string_view verb, int error) const {
    return fail(ErrorCode::Io, "{}: cannot {}: {}", target_.string(), verb, std::generic_category().message(error));
}

Result<void> ReplacingFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return system_failure("write", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

Result<void> ReplacingFile::commit() {
    if (mode_ && ::fchmod(fd_, *mode_) != 0 && errno != EPERM)  // EPERM: a file system without modes
        return system_failure("set the mode", errno);
    if (::fsync(fd_) != 0) return system_failure("flush", errno);
    if (::close(std::exchange(fd_, -1)) != 0) return system_failure("close", errno);
    if (::rename(partial_.c_str(), target_.c_str()) != 0) return system_failure("rename into place", errno);
    partial_.clear();
    flush_folder(folder_of(target_));
    return {};
}

}  // namespace kinetograph
