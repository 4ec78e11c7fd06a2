#include <kinetograph/engine/base/host_pages.hpp>

#include <sys/mman.h>

#include <cstring>

namespace kinetograph {

std::optional<HostPages> HostPages::allocate(std::uint64_t bytes, const HostAllocator& allocator) {
    if (bytes == 0) return HostPages();
    const std::size_t rounded = whole_host_pages(bytes);
    if (rounded == 0) return std::nullopt;
    if (allocator) {
        void* memory = allocator.allocate(rounded, kHostPageBytes);
        if (memory == nullptr) return std::nullopt;
        std::memset(memory, 0, rounded);
        return HostPages({static_cast<std::byte*>(memory), rounded}, allocator.release);
    }
    void* memory = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return std::nullopt;
    constexpr std::size_t kHugePage = std::size_t{2} << 20U;
    if (rounded >= kHugePage) ::madvise(memory, rounded, MADV_HUGEPAGE);  // only a hint: fewer TLB misses
    return HostPages({static_cast<std::byte*>(memory), rounded}, {});
}

HostPages::~HostPages() {
    if (pages_.empty()) return;
    if (release_)
        release_(pages_.data(), pages_.size());
    else
        ::munmap(pages_.data(), pages_.size());
}

}  // namespace kinetograph
