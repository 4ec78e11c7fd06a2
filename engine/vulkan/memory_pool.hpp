// MemoryPool: device memory in large blocks, suballocated; also exportable and dedicated allocations.
#pragma once

#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace kinetograph::vulkan {

class Device;

/// How the memory is accessed, which determines its type.
enum class MemoryUse : std::uint8_t {
    DeviceLocal,  ///< fast for the device
    Upload,       ///< mapped; the host writes in order, the device reads
    Readback,     ///< mapped and cached; the device writes, the host reads
    Arguments,    ///< mapped; few bytes that the host writes in order, near the device, which reads them often
};

struct AllocationRequest {
    std::string_view name;  ///< for error messages
    VkMemoryRequirements requirements{};
    MemoryUse use = MemoryUse::DeviceLocal;
    bool optimal_image = false;  ///< never shares a block with buffers (bufferImageGranularity)
    bool exportable = false;     ///< as an opaque file descriptor; gets a VkDeviceMemory of its own
    bool dedicated = false;      ///< required or preferred by the driver for the resource below
    VkBuffer buffer = VK_NULL_HANDLE;
    VkImage image = VK_NULL_HANDLE;
    /// Host memory to import instead, requirements.size bytes of whole pages; `use` must be a mapped one.
    std::byte* host_memory = nullptr;
    /// An opaque file descriptor to import instead, of requirements.size bytes; the driver's once this has succeeded.
    int fd = -1;
};

/// Memory in use; freed when destroyed. Destroy it only after the device has finished using it.
class Allocation {
  public:
    Allocation() = default;
    Allocation(Allocation&& other) noexcept { *this = std::move(other); }
    Allocation& operator=(Allocation&& other) noexcept;
    ~Allocation() { reset(); }

    VkDeviceMemory memory() const { return memory_; }
    VkDeviceSize offset() const { return offset_; }
    VkDeviceSize bytes() const { return bytes_; }
    std::byte* mapped() const { return mapped_; }  ///< null if the use is DeviceLocal
    bool exportable() const { return exportable_; }
    bool dedicated() const { return dedicated_; }  ///< allocated for one buffer or image
    void reset();

  private:
    friend class MemoryPool;
    class MemoryPool* pool_ = nullptr;
    struct MemoryBlock* block_ = nullptr;  // null: memory_ belongs to this allocation alone
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    VkDeviceSize offset_ = 0;
    VkDeviceSize bytes_ = 0;
    std::byte* mapped_ = nullptr;
    bool exportable_ = false;
    bool dedicated_ = false;
};

/// One of the device's heaps, as the driver reports it.
struct MemoryHeap {
    bool device_local = false;
    std::uint64_t bytes = 0;
    std::uint64_t used = 0, budget = 0;  ///< by this process, and what it may use; budget 0: not reported
};

class MemoryPool {
  public:
    explicit MemoryPool(const Device& device);
    ~MemoryPool();
    MemoryPool(const MemoryPool&) = delete;
    MemoryPool& operator=(const MemoryPool&) = delete;

    /// Thread-safe. Errors: OutOfMemory (with the requested size, the heap's size, how much this pool holds and how
    /// much is free), Unsupported (no memory type serves the use, or exporting is not possible).
    Result<Allocation> allocate(const AllocationRequest& request);

    std::vector<MemoryHeap> heaps() const;
    /// Free bytes of the heap that serves such memory: what this process may still take according to the driver
    /// (VK_EXT_memory_budget, which includes other processes and APIs), otherwise the heap's size less what this pool
    /// holds.
    std::uint64_t bytes_free(MemoryUse use) const;
    std::uint64_t bytes_held() const { return bytes_held_.load(); }  ///< taken from the driver, blocks included

  private:
    friend class Allocation;
    Result<std::uint32_t> find_type(const AllocationRequest& request) const;
    Result<VkDeviceMemory> take(const AllocationRequest& request, std::uint32_t type, VkDeviceSize bytes, bool own);
    void give_back(VkDeviceMemory memory, VkDeviceSize bytes);
    Result<std::byte*> map(const AllocationRequest& request, VkDeviceMemory memory) const;
    Result<Allocation> allocate_own(const AllocationRequest& request, std::uint32_t type);
    Result<Allocation> import_host(AllocationRequest request);
    Error out_of_memory(const AllocationRequest& request, std::uint32_t type) const;
    void release(Allocation& allocation);

    const Device& device_;
    VkPhysicalDeviceMemoryProperties properties_{};
    VkDeviceSize largest_allocation_ = 0;
    Mutex mutex_;
    std::vector<std::unique_ptr<struct MemoryBlock>> blocks_ KG_GUARDED_BY(mutex_);
    std::atomic<std::uint64_t> bytes_held_{0};
};

}  // namespace kinetograph::vulkan
