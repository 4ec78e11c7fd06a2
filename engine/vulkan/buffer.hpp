// Buffer: a VkBuffer and its memory.
#pragma once

#include <kinetograph/engine/vulkan/memory_pool.hpp>

#include <span>
#include <string>

namespace kinetograph::vulkan {

/// What frame graph buffers are used for: storage, uniforms, vertices, indices, indirect arguments, copies.
inline constexpr VkBufferUsageFlags kGraphBufferUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
    VK_BUFFER_USAGE_INDEX_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
    VK_BUFFER_USAGE_TRANSFER_DST_BIT;

struct BufferOptions {
    VkBufferUsageFlags usage = kGraphBufferUsage;
    MemoryUse memory = MemoryUse::DeviceLocal;
    bool exportable = false;   ///< another API may import its memory: export_fd()
    bool addressed = false;    ///< kernels get its address(), which is aligned to kAddressAlignment
    bool whole_pages = false;  ///< mapped() is page-aligned and no other allocation shares its last page: for
                               ///< registration with another API
};

/// Of addresses that kernels get.
inline constexpr VkDeviceSize kAddressAlignment = 256;

/// Destroy it only after the device has finished using it.
class Buffer {
  public:
    /// Errors: those of MemoryPool::allocate, naming `name`.
    static Result<std::unique_ptr<Buffer>> create(const Device& device, std::string_view name, VkDeviceSize bytes,
                                                  const BufferOptions& options = {});
    /// A buffer over host pages, such as pinned memory of an accelerator, which must outlive it; mapped() is their
    /// start. Start and size are multiples of kHostPageBytes. Errors: Unsupported (no VK_EXT_external_memory_host, or a
    /// driver that declines), InvalidArgument (alignment).
    static Result<std::unique_ptr<Buffer>> import_host(const Device& device, std::string_view name,
                                                       std::span<std::byte> pages, bool addressed = false);
    /// An addressed buffer over the memory of an exported one, `bytes` in all: an opaque file descriptor of the same
    /// GPU and driver, which belongs to the driver once this has succeeded. `dedicated`: Allocation::dedicated().
    /// Errors: Unsupported (no VK_KHR_external_memory_fd), what the driver says.
    static Result<std::unique_ptr<Buffer>> import_fd(const Device& device, std::string_view name, int fd,
                                                     VkDeviceSize bytes, bool dedicated);
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    VkBuffer handle() const { return handle_; }
    VkDeviceSize bytes() const { return bytes_; }
    const std::string& name() const { return name_; }
    bool is_addressed() const { return addressed_; }
    VkDeviceAddress address() const;  ///< of an addressed buffer, for kernels
    /// Null for device-local memory.
    std::byte* mapped() const { return allocation_.mapped() != nullptr ? allocation_.mapped() + skipped_ : nullptr; }
    const Allocation& allocation() const { return allocation_; }
    /// A new opaque file descriptor of its memory, which is allocation().bytes() long; the importer closes it. Errors:
    /// Unsupported if the buffer is not exportable.
    Result<int> export_fd() const;

  private:
    friend class GraphArena;
    Buffer(const Device& device, std::string_view name, VkDeviceSize bytes, bool addressed = false)
        : device_(device), name_(name), bytes_(bytes), addressed_(addressed) {}
    Result<void> bind();
    const Device& device_;
    std::string name_;
    VkDeviceSize bytes_;
    bool addressed_;
    VkBuffer handle_ = VK_NULL_HANDLE;
    Allocation allocation_;
    VkDeviceSize skipped_ = 0;  // of the allocation, up to the first whole page
};

/// An opaque file descriptor of an exportable allocation.
Result<int> export_memory_fd(const Device& device, const Allocation& allocation, std::string_view name);

}  // namespace kinetograph::vulkan
