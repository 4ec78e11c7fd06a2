#include <kinetograph/tests/standin/address_space.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace kinetograph::standin {

namespace {

constexpr std::uint64_t kAlignment = 256;  // guaranteed by hipMalloc and cuMemAlloc, and no more
constexpr std::uint64_t kGap = 256;        // between allocations: an access one element too far hits none of them
constexpr std::uint64_t kPage = 4096;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}
std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }
void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

AddressSpace::AddressSpace(std::uint64_t memory_bytes) : arena_bytes_(round_up(memory_bytes, kPage)) {
    void* arena = ::mmap(nullptr, arena_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    arena_ = arena == MAP_FAILED ? 0 : number(arena);
    if (arena_ == 0) arena_bytes_ = 0;
}

AddressSpace::~AddressSpace() {
    if (arena_ != 0) ::munmap(pointer(arena_), arena_bytes_);
}

/// The lowest free address in the arena for `bytes` after a gap; 0: none.
std::uintptr_t AddressSpace::place(std::uint64_t bytes) const {
    std::uintptr_t from = arena_ + kGap;
    for (auto range = ranges_.lower_bound(arena_); range != ranges_.end() && range->first < arena_ + arena_bytes_;
         ++range) {
        if (from + bytes + kGap <= range->first) break;
        from = round_up(range->first + range->second.bytes + kGap, kAlignment);
    }
    return from + bytes <= arena_ + arena_bytes_ ? from : 0;
}

void* AddressSpace::allocate(std::uint64_t bytes, int device) {
    if (bytes > arena_bytes_) return nullptr;
    std::uintptr_t address = 0;
    {
        std::lock_guard lock(mutex_);
        address = place(bytes);
        if (address == 0) return nullptr;
        ranges_[address] = {bytes, AddressKind::Device, 0, device};
        held_ += bytes;
        high_water_ = std::max(high_water_, round_up(address + bytes - arena_, kPage));
        if (accesses_ > 0) protect(PROT_READ | PROT_WRITE);
    }
    const Access access(*this);
    std::memset(pointer(address), 0xFF, bytes);
    return pointer(address);
}

void* AddressSpace::allocate_signal() {
    void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    std::lock_guard lock(mutex_);
    ranges_[number(page)] = {sizeof(std::uint64_t), AddressKind::Signal, number(page)};
    return page;
}

void* AddressSpace::allocate_pinned(std::uint64_t bytes) {
    const int fd = ::memfd_create("standin pinned", MFD_CLOEXEC);
    if (fd < 0) return nullptr;
    void *device = MAP_FAILED, *host = MAP_FAILED;
    if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
        device = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        host = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    ::close(fd);
    if (device == MAP_FAILED || host == MAP_FAILED) return nullptr;
    std::lock_guard lock(mutex_);
    ranges_[number(device)] = {bytes, AddressKind::Pinned, number(host)};
    return host;
}

void* AddressSpace::import(int fd, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t behind_page = offset % kPage;
    void* mapped = ::mmap(nullptr, behind_page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                          static_cast<off_t>(offset - behind_page));
    if (mapped == MAP_FAILED) return nullptr;
    const std::uintptr_t address = number(mapped) + behind_page;
    std::lock_guard lock(mutex_);
    ranges_[address] = {bytes, AddressKind::Imported, 0};
    return pointer(address);
}

bool AddressSpace::register_host(void* host, std::uint64_t bytes) {
    std::lock_guard lock(mutex_);
    const auto next = ranges_.upper_bound(number(host));
    if (next != ranges_.end() && next->first < number(host) + bytes) return false;
    if (next != ranges_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > number(host)) return false;
    ranges_[number(host)] = {bytes, AddressKind::Registered, number(host)};
    return true;
}

bool AddressSpace::release(const void* address, AddressKind kind) {
    std::lock_guard lock(mutex_);
    const bool by_host = kind == AddressKind::Pinned;
    const auto found =
        by_host ? std::ranges::find_if(ranges_,
                                       [&](const auto& range) {
                                           return range.second.kind == kind && range.second.host == number(address);
                                       })
                : ranges_.find(number(address));
    if (found == ranges_.end() || found->second.kind != kind) return false;
    const auto [start, range] = *found;
    ranges_.erase(found);
    if (kind == AddressKind::Device) held_ -= range.bytes;
    if (kind == AddressKind::Signal) ::munmap(pointer(start), kPage);
    if (kind == AddressKind::Pinned) ::munmap(pointer(range.host), range.bytes);
    if (kind == AddressKind::Pinned) ::munmap(pointer(start), range.bytes);
    if (kind == AddressKind::Imported) ::munmap(pointer(start - start % kPage), range.bytes + start % kPage);
    return true;
}

void* AddressSpace::device_address(void* host) const {
    std::lock_guard lock(mutex_);
    for (const auto& [device, range] : ranges_)
        if (range.host != 0 && number(host) >= range.host && number(host) < range.host + range.bytes)
            return pointer(device + (number(host) - range.host));
    return nullptr;
}

std::optional<AddressKind> AddressSpace::find(const void* address, std::uint64_t bytes) const {
    std::lock_guard lock(mutex_);
    auto next = ranges_.upper_bound(number(address));
    if (next == ranges_.begin()) return std::nullopt;
    const auto& [start, range] = *std::prev(next);
    if (number(address) + bytes > start + range.bytes) return std::nullopt;
    return range.kind;
}

std::optional<AddressSpace::Owner> AddressSpace::owner(const void* address) const {
    std::lock_guard lock(mutex_);
    const auto at = number(address);
    for (const auto& [start, range] : ranges_)
        if ((at >= start && at < start + range.bytes) ||
            (range.host != 0 && at >= range.host && at < range.host + range.bytes))
            return Owner{range.kind, range.device};
    return std::nullopt;
}

Place AddressSpace::place(const void* address, std::uint64_t bytes) const {
    if (find(address, bytes) || device_address(const_cast<void*>(address)) != nullptr) return Place::Device;
    return find(address, 1) ? Place::Broken : Place::Pageable;
}

void* AddressSpace::host_address(void* address) const {
    std::lock_guard lock(mutex_);
    const auto next = ranges_.upper_bound(number(address));
    if (next == ranges_.begin()) return address;
    const auto& [start, range] = *std::prev(next);
    if (number(address) >= start + range.bytes || range.host == 0) return address;
    return pointer(range.host + (number(address) - start));
}

std::size_t AddressSpace::count(AddressKind kind) const {
    std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(ranges_, [&](const auto& range) { return range.second.kind == kind; }));
}

std::uint64_t AddressSpace::held() const {
    std::lock_guard lock(mutex_);
    return held_;
}

void AddressSpace::protect(int protection) const {
    if (high_water_ > 0) ::mprotect(pointer(arena_), high_water_, protection);
}

AddressSpace::Access::Access(AddressSpace& space) : space_(space) {
    std::lock_guard lock(space_.mutex_);
    if (space_.accesses_++ == 0) space_.protect(PROT_READ | PROT_WRITE);
}

AddressSpace::Access::~Access() {
    std::lock_guard lock(space_.mutex_);
    if (--space_.accesses_ == 0) space_.protect(PROT_NONE);
}

}  // namespace kinetograph::standin
