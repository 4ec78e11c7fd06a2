// PendingPath: a file or folder that is written beside its final place and moved there only when it is complete.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <filesystem>

namespace kinetograph::media {

class PendingPath {
  public:
    /// An empty file `.NAME.PID-N.part` in the folder of `target`, which is not touched yet.
    /// Errors: Io naming `target`, when its folder is missing or refuses, or when `target` is a folder.
    static Result<PendingPath> create_file(const std::filesystem::path& target);
    /// An empty folder of the same naming, in the folder of `target`.
    static Result<PendingPath> create_folder(const std::filesystem::path& target);

    PendingPath(PendingPath&& other) noexcept;
    PendingPath& operator=(PendingPath&& other) noexcept;
    ~PendingPath();  ///< removes what was not committed

    const std::filesystem::path& path() const { return path_; }      ///< write here
    const std::filesystem::path& target() const { return target_; }  ///< appears here

    /// Flushes the file to the disk and moves it to its target, replacing an older file. Errors: Io.
    Result<void> commit();

  private:
    PendingPath(std::filesystem::path path, std::filesystem::path target);
    void discard() noexcept;
    std::filesystem::path path_;  ///< empty once committed or moved from
    std::filesystem::path target_;
};

}  // namespace kinetograph::media
