#include <sys/stat.h>
#include <kinetograph/engine/base/partial_names.hpp>
#include <kinetograph/tools/media/pending_folder.hpp>

#include <cerrno>
#include <system_error>
#include <utility>

namespace kinetograph::media {

Result<PendingFolder> PendingFolder::create_beside(const std::filesystem::path& target) {
    remove_abandoned(target);
    for (;;) {
        std::filesystem::path path = next_partial_name(target);
        if (mkdir(path.c_str(), 0777) == 0) return PendingFolder(std::move(path));
        if (errno == ENOENT)
            return fail(ErrorCode::Io, "{}: cannot create: there is no folder {}", target.string(),
                        folder_of(target).string());
        if (errno != EEXIST)
            return fail(ErrorCode::Io, "{}: cannot create: {}", target.string(),
                        std::generic_category().message(errno));
    }
}

PendingFolder::PendingFolder(std::filesystem::path path) : path_(std::move(path)) {}

PendingFolder::PendingFolder(PendingFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), keep_(other.keep_) {}

PendingFolder::~PendingFolder() {
    if (!keep_) remove();
}

Result<void> PendingFolder::set_placing(bool is_placing) {
    std::filesystem::path renamed = path_;
    renamed.replace_extension(is_placing ? kPlacing : kPartial);
    std::error_code error;
    std::filesystem::rename(path_, renamed, error);
    if (error) return fail(ErrorCode::Io, "{}: cannot be renamed: {}", path_.string(), error.message());
    path_ = std::move(renamed);
    return {};
}

void PendingFolder::remove() {
    std::error_code ignored;  // a folder that cannot be removed is left
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    path_.clear();
}

}  // namespace kinetograph::media
