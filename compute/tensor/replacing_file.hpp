// ReplacingFile: an output file that appears under its name complete, or not at all.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <cstddef>
#include <filesystem>
#include <span>

namespace kinetograph::tensor {

/// Bytes go to a hidden file beside the target (".kinetograph-PID-N.partial"); commit() renames it into
/// place. Destroyed without commit(), or after a failure, it leaves nothing behind and an older target untouched.
/// Every error is Io: the path and the system's reason, or that the target exists and is no regular file (a rename
/// would put a file in the place of a device or pipe). A process that is killed leaves its hidden file.
class ReplacingFile {
  public:
    /// A symbolic link at `path` is followed: its target is what gets replaced.
    static Result<ReplacingFile> create(const std::filesystem::path& path);

    ReplacingFile(ReplacingFile&& other) noexcept;
    ReplacingFile& operator=(ReplacingFile&& other) = delete;
    ~ReplacingFile();

    Result<void> write(std::span<const std::byte> bytes);
    /// For a library that opens its output by name: write there instead, and let go of it before commit().
    const std::filesystem::path& partial_path() const { return partial_; }
    const std::filesystem::path& target() const { return target_; }
    /// Flushes to the disk and renames. No write() afterwards.
    Result<void> commit();

  private:
    ReplacingFile(std::filesystem::path target, std::filesystem::path partial, int fd);
    tl::unexpected<Error> system_failure(std::string_view verb, int error) const;

    std::filesystem::path target_, partial_;
    int fd_;  // -1 once closed; partial_ is empty once renamed or moved from
};

}  // namespace kinetograph::tensor
