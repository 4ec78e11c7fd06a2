#include <kinetograph/engine/vulkan/memory_pool.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/vk_result.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace kinetograph::vulkan {

/// One VkDeviceMemory and its free ranges.
struct MemoryBlock {
    std::uint32_t type = 0;
    bool optimal_images = false;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkDeviceSize bytes = 0;
    std::byte* mapped = nullptr;
    std::map<VkDeviceSize, VkDeviceSize> free;  // offset -> bytes; neighbours are always merged

    /// First fit.
    std::optional<VkDeviceSize> take(VkDeviceSize wanted, VkDeviceSize alignment) {
        for (auto range = free.begin(); range != free.end(); ++range) {
            const auto [begin, length] = *range;
            const VkDeviceSize offset = (begin + alignment - 1) / alignment * alignment;
            if (offset + wanted > begin + length) continue;
            free.erase(range);
            if (offset > begin) free.emplace(begin, offset - begin);
            if (offset + wanted < begin + length) free.emplace(offset + wanted, begin + length - offset - wanted);
            return offset;
        }
        return std::nullopt;
    }
    void give_back(VkDeviceSize offset, VkDeviceSize length) {
        auto range = free.emplace(offset, length).first;
        if (const auto next = std::next(range); next != free.end() && range->first + range->second == next->first) {
            range->second += next->second;
            free.erase(next);
        }
        if (range == free.begin()) return;
        if (const auto previous = std::prev(range); previous->first + previous->second == range->first) {
            previous->second += range->second;
            free.erase(range);
        }
    }
};

namespace {

constexpr VkDeviceSize kBlockBytes = 32ULL << 20U;  // large compared with a frame, small compared with any device

struct TypeWish {
    VkMemoryPropertyFlags required;
    VkMemoryPropertyFlags preferred;
};
TypeWish wish_of(MemoryUse use) {
    constexpr VkMemoryPropertyFlags kMapped =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    switch (use) {
        case MemoryUse::DeviceLocal:
            return {0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT};
        case MemoryUse::Upload:
            return {kMapped, kMapped};
        case MemoryUse::Readback:
            return {kMapped, kMapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
        case MemoryUse::Arguments:
            return {kMapped, kMapped | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT};
    }
    return {0, 0};
}

}  // namespace

Allocation& Allocation::operator=(Allocation&& other) noexcept {
    if (this == &other) return *this;
    reset();
    pool_ = std::exchange(other.pool_, nullptr);
    block_ = other.block_;
    memory_ = other.memory_;
    offset_ = other.offset_;
    bytes_ = other.bytes_;
    mapped_ = other.mapped_;
    exportable_ = other.exportable_;
    dedicated_ = other.dedicated_;
    return *this;
}

void Allocation::reset() {
    if (pool_ != nullptr) pool_->release(*this);
    pool_ = nullptr;
}

MemoryPool::MemoryPool(const Device& device) : device_(device) {
    VkPhysicalDeviceMemoryProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    device.instance().table().vkGetPhysicalDeviceMemoryProperties2(device.physical(), &properties);
    properties_ = properties.memoryProperties;
    VkPhysicalDeviceMaintenance3Properties limits{};
    limits.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
    VkPhysicalDeviceProperties2 device_properties{};
    device_properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    device_properties.pNext = &limits;
    device.instance().table().vkGetPhysicalDeviceProperties2(device.physical(), &device_properties);
    largest_allocation_ = limits.maxMemoryAllocationSize;
}

MemoryPool::~MemoryPool() {
    for (const auto& block : blocks_) give_back(block->memory, block->bytes);
}

/// Of the memory types that serve the use, the one with the most preferred and the fewest other properties.
Result<std::uint32_t> MemoryPool::find_type(const AllocationRequest& request) const {
    const TypeWish wish = wish_of(request.use);
    std::optional<std::uint32_t> best;
    int best_score = 0;
    for (std::uint32_t type = 0; type < properties_.memoryTypeCount; ++type) {
        const VkMemoryPropertyFlags flags = properties_.memoryTypes[type].propertyFlags;
        constexpr VkMemoryPropertyFlags kNever =
            VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
        if ((request.requirements.memoryTypeBits & (1U << type)) == 0 || (flags & kNever) != 0) continue;
        if ((flags & wish.required) != wish.required) continue;
        const int score = 8 * __builtin_popcount(flags & wish.preferred) - __builtin_popcount(flags & ~wish.preferred);
        if (!best || score > best_score) {
            best = type;
            best_score = score;
        }
    }
    if (best) return *best;
    return kinetograph::fail(ErrorCode::Unsupported, "{}: no memory type of {} serves \"{}\"", device_.report().name,
                             device_.report().driver, request.name);
}

std::vector<MemoryHeap> MemoryPool::heaps() const {
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
    budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
    VkPhysicalDeviceMemoryProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    if (device_.report().extensions.memory_budget) properties.pNext = &budget;
    device_.instance().table().vkGetPhysicalDeviceMemoryProperties2(device_.physical(), &properties);
    std::vector<MemoryHeap> heaps;
    for (std::uint32_t heap = 0; heap < properties.memoryProperties.memoryHeapCount; ++heap) {
        const VkMemoryHeap& heap_facts = properties.memoryProperties.memoryHeaps[heap];
        heaps.push_back({(heap_facts.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0, heap_facts.size,
                         budget.heapUsage[heap], budget.heapBudget[heap]});
    }
    return heaps;
}

std::uint64_t MemoryPool::bytes_free(MemoryUse use) const {
    AllocationRequest request{.name = "any", .use = use};
    request.requirements.memoryTypeBits = ~0U;
    const auto type = find_type(request);
    if (!type) return 0;
    const MemoryHeap heap = heaps()[properties_.memoryTypes[*type].heapIndex];
    return heap.budget > 0 ? heap.budget - std::min(heap.budget, heap.used)
                           : heap.bytes - std::min(heap.bytes, bytes_held());
}

Error MemoryPool::out_of_memory(const AllocationRequest& request, std::uint32_t type) const {
    const std::uint32_t index = properties_.memoryTypes[type].heapIndex;
    const MemoryHeap heap = heaps()[index];
    const std::string free =
        heap.budget > 0 ? fmt::format(", {} are free", human_bytes(heap.budget - std::min(heap.budget, heap.used)))
                        : "";
    return {ErrorCode::OutOfMemory,
            fmt::format("{}: \"{}\" needs {}, but heap {} has {} in all, of which we hold {}{}", device_.report().name,
                        request.name, human_bytes(request.requirements.size), index, human_bytes(heap.bytes),
                        human_bytes(bytes_held()), free)};
}

Result<VkDeviceMemory> MemoryPool::take(const AllocationRequest& request, std::uint32_t type, VkDeviceSize bytes,
                                        bool own) {
    if (bytes > properties_.memoryHeaps[properties_.memoryTypes[type].heapIndex].size || bytes > largest_allocation_)
        return kinetograph::fail(out_of_memory(request, type));
    VkExportMemoryAllocateInfo export_info{};
    export_info.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO;
    export_info.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkMemoryDedicatedAllocateInfo dedicated{};
    dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
    dedicated.buffer = request.buffer;
    dedicated.image = request.image;
    VkMemoryAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.allocationSize = bytes;
    info.memoryTypeIndex = type;
    VkImportMemoryHostPointerInfoEXT host{};
    host.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
    host.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    host.pHostPointer = request.host_memory;
    if (own && request.dedicated) info.pNext = &dedicated;
    if (own && request.host_memory != nullptr) {
        host.pNext = info.pNext;
        info.pNext = &host;
    }
    if (own && request.exportable) {
        export_info.pNext = info.pNext;
        info.pNext = &export_info;
    }
    VkImportMemoryFdInfoKHR fd{};
    fd.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
    fd.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    fd.fd = request.fd;
    if (own && request.fd >= 0) {
        fd.pNext = info.pNext;
        info.pNext = &fd;
    }
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    if (device_.report().compute.addresses) {
        flags.pNext = info.pNext;
        info.pNext = &flags;
    }
    VkDeviceMemory memory = VK_NULL_HANDLE;
    const VkResult result = device_.table().vkAllocateMemory(device_.handle(), &info, nullptr, &memory);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
        return kinetograph::fail(out_of_memory(request, type));
    if (result != VK_SUCCESS) return device_.error(result, fmt::format("allocating memory for \"{}\"", request.name));
    bytes_held_ += bytes;
    return memory;
}

void MemoryPool::give_back(VkDeviceMemory memory, VkDeviceSize bytes) {
    device_.table().vkFreeMemory(device_.handle(), memory, nullptr);
    bytes_held_ -= bytes;
}

Result<std::byte*> MemoryPool::map(const AllocationRequest& request, VkDeviceMemory memory) const {
    if (request.host_memory != nullptr) return request.host_memory;
    if (request.use == MemoryUse::DeviceLocal) return nullptr;
    void* address = nullptr;
    if (const VkResult result = device_.table().vkMapMemory(device_.handle(), memory, 0, VK_WHOLE_SIZE, 0, &address);
        result != VK_SUCCESS)
        return device_.error(result, fmt::format("mapping \"{}\"", request.name));
    return static_cast<std::byte*>(address);
}

Result<Allocation> MemoryPool::allocate_own(const AllocationRequest& request, std::uint32_t type) {
    KG_TRY(auto memory, take(request, type, request.requirements.size, true));
    Allocation allocation;
    allocation.pool_ = this;
    allocation.memory_ = memory;
    allocation.bytes_ = request.requirements.size;
    allocation.exportable_ = request.exportable;
    allocation.dedicated_ = request.dedicated;
    KG_TRY(auto mapped, map(request, memory));
    allocation.mapped_ = mapped;
    return allocation;
}

/// The driver reports which of its memory types can represent these pages.
Result<Allocation> MemoryPool::import_host(AllocationRequest request) {
    if (!device_.report().extensions.external_memory_host)
        return kinetograph::fail(ErrorCode::Unsupported,
                                 "{}: \"{}\" is to be imported from the host, but VK_EXT_external_memory_host is not "
                                 "enabled",
                                 device_.report().name, request.name);
    VkMemoryHostPointerPropertiesEXT answer{};
    answer.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
    if (const VkResult result = device_.table().vkGetMemoryHostPointerPropertiesEXT(
            device_.handle(), VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, request.host_memory, &answer);
        result != VK_SUCCESS)
        return device_.error(result, fmt::format("asking how to import \"{}\" from the host", request.name));
    request.requirements.memoryTypeBits &= answer.memoryTypeBits;
    KG_TRY(const auto type, find_type(request));
    return allocate_own(request, type);
}

Result<Allocation> MemoryPool::allocate(const AllocationRequest& request) {
    if (request.host_memory != nullptr) return import_host(request);
    if ((request.exportable || request.fd >= 0) && !device_.report().extensions.external_memory_fd)
        return kinetograph::fail(ErrorCode::Unsupported,
                                 "{}: \"{}\" is to be {}, but VK_KHR_external_memory_fd is not "
                                 "enabled",
                                 device_.report().name, request.name, request.fd >= 0 ? "imported" : "exportable");
    KG_TRY(const auto type, find_type(request));
    const bool own = request.exportable || request.fd >= 0 || request.dedicated;
    if (own || request.requirements.size > kBlockBytes / 2) return allocate_own(request, type);

    const Lock lock(mutex_);
    const auto take_from = [&](MemoryBlock& block) -> std::optional<Allocation> {
        if (block.type != type || block.optimal_images != request.optimal_image) return std::nullopt;
        if ((block.mapped != nullptr) != (request.use != MemoryUse::DeviceLocal)) return std::nullopt;
        const auto offset = block.take(request.requirements.size, request.requirements.alignment);
        if (!offset) return std::nullopt;
        Allocation allocation;
        allocation.pool_ = this;
        allocation.block_ = &block;
        allocation.memory_ = block.memory;
        allocation.offset_ = *offset;
        allocation.bytes_ = request.requirements.size;
        allocation.mapped_ = block.mapped != nullptr ? block.mapped + *offset : nullptr;
        return allocation;
    };
    for (const auto& block : blocks_)
        if (auto allocation = take_from(*block)) return std::move(*allocation);

    auto memory = take(request, type, kBlockBytes, false);
    if (!memory) return allocate_own(request, type);  // a heap too full for a block may still hold the allocation
    auto mapped = map(request, *memory);
    if (!mapped) give_back(*memory, kBlockBytes);
    KG_CHECK(mapped);
    auto block = std::make_unique<MemoryBlock>();
    block->type = type;
    block->optimal_images = request.optimal_image;
    block->memory = *memory;
    block->bytes = kBlockBytes;
    block->mapped = *mapped;
    block->free.emplace(0, kBlockBytes);
    blocks_.push_back(std::move(block));
    return std::move(*take_from(*blocks_.back()));
}

void MemoryPool::release(Allocation& allocation) {
    if (allocation.block_ == nullptr) return give_back(allocation.memory_, allocation.bytes_);
    const Lock lock(mutex_);
    MemoryBlock& block = *allocation.block_;
    block.give_back(allocation.offset_, allocation.bytes_);
    if (block.free.size() != 1 || block.free.begin()->second != block.bytes) return;
    // Keep one empty block of each kind, because a growing buffer frees and allocates repeatedly.
    const bool has_sibling = std::any_of(blocks_.begin(), blocks_.end(), [&](const auto& other) {
        return other.get() != &block && other->type == block.type && other->optimal_images == block.optimal_images &&
               (other->mapped != nullptr) == (block.mapped != nullptr);
    });
    if (!has_sibling) return;
    give_back(block.memory, block.bytes);
    std::erase_if(blocks_, [&](const auto& other) { return other.get() == &block; });
}

}  // namespace kinetograph::vulkan
