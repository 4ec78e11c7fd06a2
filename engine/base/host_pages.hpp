// HostPages: a large buffer in host memory, from the operating system or from an application's allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

namespace kinetograph {

constexpr std::size_t kHostPageBytes = 4096;
/// `bytes` rounded up to whole pages; 0 if that overflows.
constexpr std::uint64_t whole_host_pages(std::uint64_t bytes) {
    return (bytes + kHostPageBytes - 1) / kHostPageBytes * kHostPageBytes;
}

/// An application's allocator for large buffers: a checkpoint's contents, and what a CPU device allocates (arenas, kept
/// frames, weights). Set both functions or neither. Called from any thread. Each allocation is released exactly once,
/// perhaps after the objects that the allocator was given to have been destroyed.
struct HostAllocator {
    /// `bytes` is a multiple of `alignment`, a power of two. Returns null to refuse.
    std::function<void*(std::size_t bytes, std::size_t alignment)> allocate{};
    std::function<void(void* memory, std::size_t bytes)> release{};

    explicit operator bool() const { return static_cast<bool>(allocate); }
};

/// Whole pages, zeroed, released on destruction.
class HostPages {
  public:
    /// At least `bytes`; nothing if the allocator or the operating system refuses. Zero bytes allocate nothing.
    static std::optional<HostPages> allocate(std::uint64_t bytes, const HostAllocator& allocator = {});

    HostPages() = default;
    HostPages(HostPages&& other) noexcept
        : pages_(std::exchange(other.pages_, {})), release_(std::move(other.release_)) {}
    HostPages& operator=(HostPages&& other) noexcept {
        std::swap(pages_, other.pages_);
        std::swap(release_, other.release_);
        return *this;
    }
    HostPages(const HostPages&) = delete;
    HostPages& operator=(const HostPages&) = delete;
    ~HostPages();

    std::span<std::byte> bytes() const { return pages_; }

  private:
    HostPages(std::span<std::byte> pages, std::function<void(void*, std::size_t)> release)
        : pages_(pages), release_(std::move(release)) {}

    std::span<std::byte> pages_;
    std::function<void(void*, std::size_t)> release_;  ///< empty: the pages are the operating system's
};

}  // namespace kinetograph
