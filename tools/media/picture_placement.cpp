#include <kinetograph/engine/base/log.hpp>
#include <kinetograph/engine/base/partial_names.hpp>
#include <kinetograph/tools/media/picture_placement.hpp>

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

namespace kinetograph::media {
namespace {

constexpr const char* kNames = "names";  ///< lines: how many, the identity of each; then their pattern

Result<void> move(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::error_code error;
    std::filesystem::rename(from, to, error);
    if (error) return fail(ErrorCode::Io, "{}: cannot be put in place: {}", to.string(), error.message());
    return {};
}

std::filesystem::file_type type_of(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::symlink_status(path, ignored).type();
}

bool is_there(const std::filesystem::path& path) { return type_of(path) != std::filesystem::file_type::not_found; }

void keep_mode(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::error_code error;  // a file system without modes
    const auto status = std::filesystem::status(from, error);
    if (!error) std::filesystem::permissions(to, status.permissions(), error);
}

/// By its inode and when it was written, since numbers of inodes are used again. 0, 0: it is not there.
std::pair<std::uint64_t, std::int64_t> identity_of(const std::filesystem::path& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return {};
    return {status.st_ino, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace

PicturePlacement::PicturePlacement(std::filesystem::path folder, PictureNames names, std::int64_t count)
    : folder_(std::move(folder)), names_(std::move(names)), count_(count) {}

std::filesystem::path PicturePlacement::pending(const std::filesystem::path& folder, std::int64_t index) {
    return folder / fmt::format("{}.png", index);
}

std::filesystem::path PicturePlacement::older(std::int64_t index) const {
    return folder_ / fmt::format("{}.older", index);
}

Result<void> PicturePlacement::record() {
    const std::filesystem::path unnamed = folder_ / "unnamed";
    std::ofstream file(unnamed);
    file << count_ << '\n';
    for (std::int64_t i = 0; i < count_; ++i) {
        identities_.push_back(identity_of(pending(folder_, i)));
        file << identities_.back().first << ' ' << identities_.back().second << '\n';
    }
    file << names_.pattern();
    file.close();
    if (!file) return fail(ErrorCode::Io, "{}: cannot be written", unnamed.string());
    return move(unnamed, folder_ / kNames);
}

Result<PicturePlacement> PicturePlacement::resume(const std::filesystem::path& folder) {
    std::ifstream file(folder / kNames);
    std::int64_t count = 0;
    file >> count;
    std::vector<Identity> identities(static_cast<std::size_t>(count));
    for (auto& [inode, written] : identities) file >> inode >> written;
    file.ignore();
    const std::string pattern{std::istreambuf_iterator<char>(file), {}};
    KG_TRY(auto names, PictureNames::parse((folder_of(folder) / pattern).string()));
    PicturePlacement made(folder, std::move(names), count);
    made.identities_ = std::move(identities);
    return made;
}

Result<void> PicturePlacement::put_in_place() {
    for (std::int64_t i = 0; i < count_; ++i) {
        if (auto done = put_in_place(i); !done) {
            take_back();
            return done;
        }
    }
    return {};
}

Result<void> PicturePlacement::put_in_place(std::int64_t index) {
    const std::filesystem::path target = target_of(index);
    const auto type = type_of(target);
    if (type == std::filesystem::file_type::directory)
        return fail(ErrorCode::Io, "{}: cannot be put in place: a folder is there", target.string());
    const bool replaces = type != std::filesystem::file_type::not_found;
    if (replaces) {
        keep_mode(target, pending(folder_, index));
        KG_CHECK(move(target, older(index)));
    }
    return move(pending(folder_, index), target);
}

bool PicturePlacement::is_own(const std::filesystem::path& target, std::int64_t index) const {
    return identity_of(target) == identities_[static_cast<std::size_t>(index)];
}

void PicturePlacement::take_back() {
    for (std::int64_t i = count_; i-- > 0;) {
        const std::filesystem::path target = target_of(i);
        std::error_code ignored;
        if (!is_there(pending(folder_, i)) && is_own(target, i)) std::filesystem::remove(target, ignored);
        if (is_there(older(i)) && (is_there(target) || !move(older(i), target))) ++stranded_;
    }
}

bool PicturePlacement::is_complete() const {
    for (std::int64_t i = 0; i < count_; ++i)
        if (is_there(pending(folder_, i))) return false;
    return true;
}

Result<void> settle_abandoned(const std::filesystem::path& target) {
    for (const auto& folder : abandoned_beside(target, kPlacing)) {
        std::error_code ignored;           // a folder that cannot be removed is left
        if (!is_there(folder / kNames)) {  // nothing was moved
            std::filesystem::remove_all(folder, ignored);
            continue;
        }
        auto begun = PicturePlacement::resume(folder);
        if (!begun) return fail(std::move(begun.error()), folder.string());
        const bool is_complete = begun->is_complete();
        if (!is_complete) begun->take_back();
        if (begun->stranded() > 0)
            return fail(
                ErrorCode::Io,
                "{}: a run was killed while it put {} and others in place; {} older pictures cannot be put back "
                "and lie in {}: restore what you want and remove that folder",
                target.string(), begun->target_of(0).string(), begun->stranded(), folder.string());
        std::filesystem::remove_all(folder, ignored);
        Log().warn("{} and others were being put in place when a run was killed: {}", begun->target_of(0).string(),
                   is_complete ? "they are complete" : "what was there before is there again");
    }
    return {};
}

}  // namespace kinetograph::media
