// ReplacingFile: an output file that appears under its name complete, or not at all.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

namespace kinetograph {

/// Whether both names refer to one file, which need not exist yet: writing to one would write to the other.
bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other);

/// Whether a file may be renamed to `path`. Errors: Io with the path and why not: a name that is too long, a target
/// that is not a regular file (a rename would replace a device or pipe by a file), a link to nothing, an immutable or a
/// mounted file, another user's file that may not be written or, in a sticky folder, replaced.
Result<void> check_replaceable(const std::filesystem::path& path);

/// Bytes go to a hidden file beside the target (partial_names.hpp); commit() renames it into place. If destroyed
/// without commit(), or after a failure, it removes the hidden file and leaves an older target untouched. A replaced
/// file keeps its mode; a new one gets 0666 less the umask. Every error is Io with the path and the system's reason, or
/// one of check_replaceable(). The hidden file of a killed process is removed by the next ReplacingFile in the folder.
class ReplacingFile {
  public:
    /// Follows a symbolic link at `path`: its target is replaced.
    static Result<ReplacingFile> create(const std::filesystem::path& path);

    ReplacingFile(ReplacingFile&& other) noexcept;
    ReplacingFile& operator=(ReplacingFile&& other) = delete;
    ~ReplacingFile();

    Result<void> write(std::span<const std::byte> bytes);
    /// For a library that opens its output by name: write to this path, and close it before commit().
    const std::filesystem::path& partial_path() const { return partial_; }
    const std::filesystem::path& target() const { return target_; }
    /// Flushes to the disk and renames. No write() afterwards.
    Result<void> commit();

  private:
    ReplacingFile(std::filesystem::path target, std::filesystem::path partial, int fd, std::optional<mode_t> mode);
    tl::unexpected<Error> system_failure(std::string_view verb, int error) const;

    std::filesystem::path target_, partial_;
    int fd_;                      // -1 once closed; partial_ is empty once renamed or moved from
    std::optional<mode_t> mode_;  // of the file that is replaced
};

}  // namespace kinetograph
