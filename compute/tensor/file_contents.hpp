// FileContents: a whole file, read into its own memory.
#pragma once

#include <kinetograph/engine/base/call_limits.hpp>
#include <kinetograph/engine/base/host_pages.hpp>
#include <kinetograph/engine/base/result.hpp>

#include <cstddef>
#include <filesystem>
#include <span>

namespace kinetograph::tensor {

/// How files are read into memory.
struct ReadOptions {
    HostAllocator allocator{};  ///< of their contents
    CallLimits limits{};
};

/// A copy rather than a mapping: if another process truncated or overwrote the file, readers of a mapping would die of
/// SIGBUS or see values change that were checked before.
class FileContents {
  public:
    /// Allocates the memory; reads nothing yet. Errors: NotFound; Io with the system's reason; InvalidArgument if
    /// `path` is not a regular file; OutOfMemory with the file's size and what is free.
    static Result<FileContents> open(const std::filesystem::path& path, const ReadOptions& options = {});

    FileContents(FileContents&& other) noexcept;
    FileContents& operator=(FileContents&& other) noexcept;
    ~FileContents() { close(); }

    /// Continues reading until the first `count` bytes are present, or all if the file has fewer. Reading all of them
    /// closes it. Errors: Io; Corrupt if the file has become shorter since open(); Cancelled.
    Result<void> read_first(std::size_t count);
    /// As many as the file had when it was opened; bytes not read yet are 0.
    std::span<const std::byte> bytes() const { return pages_.bytes().first(size_); }

  private:
    FileContents(std::filesystem::path path, int file, CallLimits limits)
        : path_(std::move(path)), limits_(std::move(limits)), file_(file) {}
    void close();

    std::filesystem::path path_;
    CallLimits limits_;
    int file_ = -1;  // -1: closed
    HostPages pages_;
    std::size_t size_ = 0, read_ = 0;
};

}  // namespace kinetograph::tensor
