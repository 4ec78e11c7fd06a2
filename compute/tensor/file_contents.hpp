// FileContents: a whole file, read into its own memory.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <cstddef>
#include <filesystem>
#include <span>

namespace kinetograph::tensor {

/// A copy rather than a mapping: if another process truncated or overwrote the file, readers of a mapping would die of
/// SIGBUS or see values change that were checked before.
class FileContents {
  public:
    /// Allocates the memory; reads nothing yet. Errors: NotFound; Io with the system's reason; InvalidArgument if
    /// `path` is not a regular file; OutOfMemory with the file's size and what is free.
    static Result<FileContents> open(const std::filesystem::path& path);

    FileContents(FileContents&& other) noexcept;
    FileContents& operator=(FileContents&& other) noexcept;
    ~FileContents();

    /// Continues reading until the first `count` bytes are present, or all if the file has fewer. Reading all of them
    /// closes it. Errors: Io; Corrupt if the file has become shorter since open().
    Result<void> read_first(std::size_t count);
    /// As many as the file had when it was opened; bytes not read yet are 0.
    std::span<const std::byte> bytes() const { return bytes_; }

  private:
    FileContents(std::filesystem::path path, int file, std::span<std::byte> bytes)
        : path_(std::move(path)), file_(file), bytes_(bytes) {}
    void close();

    std::filesystem::path path_;
    int file_ = -1;               // -1: closed
    std::span<std::byte> bytes_;  // page-aligned when not empty
    std::size_t read_ = 0;
};

}  // namespace kinetograph::tensor
