#include <sys/stat.h>
#include <unistd.h>
#include <kinetograph/tools/media/pending_folder.hpp>

#include <cerrno>
#include <system_error>
#include <utility>

namespace kinetograph::media {

Result<PendingFolder> PendingFolder::create_beside(const std::filesystem::path& target) {
    const std::filesystem::path parent = target.has_parent_path() ? target.parent_path() : ".";
    for (int attempt = 0;; ++attempt) {
        std::filesystem::path path = parent / fmt::format(".kinetograph-{}-{}.partial", getpid(), attempt);
        if (mkdir(path.c_str(), 0777) == 0) return PendingFolder(std::move(path));
        if (errno == ENOENT)
            return fail(ErrorCode::Io, "{}: cannot create: there is no folder {}", target.string(), parent.string());
        if (errno != EEXIST)
            return fail(ErrorCode::Io, "{}: cannot create: {}", target.string(),
                        std::generic_category().message(errno));
    }
}

PendingFolder::PendingFolder(std::filesystem::path path) : path_(std::move(path)) {}

PendingFolder::PendingFolder(PendingFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), keep_(other.keep_) {}

PendingFolder::~PendingFolder() {
    std::error_code ignored;  // a folder that cannot be removed is left
    if (!path_.empty() && !keep_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace kinetograph::media
