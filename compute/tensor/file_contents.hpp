// FileContents: a whole file, read into memory of its own.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <cstddef>
#include <filesystem>
#include <span>

namespace kinetograph::tensor {

/// A copy and no mapping of the file: one that is cut short or written over by another process would end a mapping's
/// readers with SIGBUS, or change values that were checked before.
class FileContents {
  public:
    /// Claims the memory; nothing is read yet.
    /// Errors: NotFound; Io with the system's reason; InvalidArgument when `path` is not a regular file; OutOfMemory
    /// with the file's size and what is free.
    static Result<FileContents> open(const std::filesystem::path& path);

    FileContents(FileContents&& other) noexcept;
    FileContents& operator=(FileContents&& other) noexcept;
    ~FileContents();

    /// Reads on until the first `count` bytes are there, or all if the file has fewer. Reading all of them closes it.
    /// Errors: Io; Corrupt when the file is shorter by now than open() found it.
    Result<void> read_first(std::size_t count);
    /// As many as the file had when it was opened; those that were not read are 0.
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
