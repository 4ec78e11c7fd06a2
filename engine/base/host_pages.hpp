// HostPages: a large buffer of the host's, from the operating system or from an application's allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

namespace kinetograph {

constexpr std::size_t kHostPageBytes = 4096;
/// 0 if that is more than can be counted.
constexpr std::uint64_t whole_host_pages(std::uint64_t bytes) {
    return (bytes + kHostPageBytes - 1) / kHostPageBytes * kHostPageBytes;
}

/// An application's allocator for large buffers: a checkpoint's contents, and what a CPU device allocates (arenas, kept
/// frames, weights). Both functions or neither. Called from any thread; what was allocated is released once, perhaps
/// after the objects that the allocator was given to.
struct HostAllocator {
    /// `bytes` is a multiple of `alignment`, a power of two. Null: refused.
    std::function<void*(std::size_t bytes, std::size_t alignment)> allocate{};
    std::function<void(void* memory, std::size_t bytes)> release{};

    explicit operator bool() const { return static_cast<bool>(allocate); }
};

/// Whole pages, zeroed, released on destruction.
class HostPages {
  public:
    /// At least `bytes`; nothing if the allocator or the operating system refuses. No bytes take no memory.
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
    std::function<void(void*, std::size_t)> release_;  ///< empty: the operating system's
};

}  // namespace kinetograph
