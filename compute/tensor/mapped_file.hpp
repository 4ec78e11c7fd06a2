// MappedFile: a whole file as read-only memory.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <cstddef>
#include <filesystem>
#include <span>

namespace kinetograph::tensor {

/// Owns the mapping. A file that another process truncates while it is mapped ends reads beyond its new end with
/// SIGBUS: the price of not copying. Replacing the file by a rename (as write_safetensors does) is safe.
class MappedFile {
  public:
    /// Errors: NotFound; Io with the system's reason; InvalidArgument when `path` is not a regular file.
    static Result<MappedFile> open(const std::filesystem::path& path);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    ~MappedFile();

    std::span<const std::byte> bytes() const { return bytes_; }

  private:
    explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
    std::span<const std::byte> bytes_;  // page-aligned when not empty
};

}  // namespace kinetograph::tensor
