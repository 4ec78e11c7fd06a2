// PendingFolder: a folder for incomplete files, on the file system of their destination.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <filesystem>

namespace kinetograph::media {

class PendingFolder {
  public:
    /// An empty folder beside `target` (partial_names.hpp). Errors: Io naming `target`, if its folder is missing or not
    /// writable.
    static Result<PendingFolder> create_beside(const std::filesystem::path& target);

    PendingFolder(PendingFolder&& other) noexcept;
    PendingFolder& operator=(PendingFolder&&) = delete;
    ~PendingFolder();  ///< removes it with everything that is still inside, unless keep() was called

    const std::filesystem::path& path() const { return path_; }
    /// While it is set, its name says that contents are being moved out: if the process ends then, they are not whole.
    /// Errors: Io.
    Result<void> set_placing(bool is_placing);
    void remove();  ///< with everything that is still inside; path() is empty then
    /// For contents that exist nowhere else: the folder and its contents outlive this object.
    void keep() { keep_ = true; }

  private:
    explicit PendingFolder(std::filesystem::path path);
    std::filesystem::path path_;  ///< empty once moved from
    bool keep_ = false;
};

}  // namespace kinetograph::media
