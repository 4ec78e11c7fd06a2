#include <kinetograph/engine/vulkan/buffer.hpp>

#include <kinetograph/engine/base/descriptors.hpp>
#include <kinetograph/engine/base/host_pages.hpp>
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/vk_result.hpp>

#include <algorithm>

namespace kinetograph::vulkan {
namespace {

/// What the driver allows with memory of this kind under buffers of this usage.
VkExternalMemoryFeatureFlags external_features(const Device& device, VkBufferUsageFlags usage,
                                               VkExternalMemoryHandleTypeFlagBits handle_type) {
    VkPhysicalDeviceExternalBufferInfo query{};
    query.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO;
    query.usage = usage;
    query.handleType = handle_type;
    VkExternalBufferProperties answer{};
    answer.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES;
    device.instance().table().vkGetPhysicalDeviceExternalBufferProperties(device.physical(), &query, &answer);
    return answer.externalMemoryProperties.externalMemoryFeatures;
}

/// `external`: handle types of other APIs whose memory it may be bound to; 0: none.
Result<VkBuffer> create_handle(const Device& device, std::string_view name, VkDeviceSize bytes,
                               VkBufferUsageFlags usage, VkExternalMemoryHandleTypeFlags handle_types) {
    VkExternalMemoryBufferCreateInfo external{};
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = handle_types;
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.pNext = handle_types != 0 ? &external : nullptr;
    info.size = bytes;
    info.usage = usage;
    const auto families = device.families();
    info.sharingMode = families.size() > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE;
    info.queueFamilyIndexCount = families.size() > 1 ? static_cast<std::uint32_t>(families.size()) : 0;
    info.pQueueFamilyIndices = families.data();
    VkBuffer handle = VK_NULL_HANDLE;
    if (const VkResult result = device.table().vkCreateBuffer(device.handle(), &info, nullptr, &handle);
        result != VK_SUCCESS)
        return device.error(result, fmt::format("creating buffer \"{}\" of {}", name, human_bytes(bytes)));
    return handle;
}

VkBufferUsageFlags with_address(VkBufferUsageFlags usage, bool addressed) {
    return addressed ? usage | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : usage;
}

bool has(VkExternalMemoryFeatureFlags features, VkExternalMemoryFeatureFlagBits bit) { return (features & bit) != 0; }

}  // namespace

Result<std::unique_ptr<Buffer>> Buffer::create(const Device& device, std::string_view name, VkDeviceSize bytes,
                                               const BufferOptions& options) {
    if (bytes == 0) return fail(ErrorCode::InvalidArgument, "buffer \"{}\" has no bytes", name);
    const VkExternalMemoryHandleTypeFlagBits handle_type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    const VkBufferUsageFlags usage = with_address(options.usage, options.addressed);
    const auto features = options.exportable ? external_features(device, usage, handle_type) : 0;
    if (options.exportable && !has(features, VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT))
        return fail(ErrorCode::Unsupported, "{} cannot export the memory of buffer \"{}\"", device.report().name, name);

    std::unique_ptr<Buffer> buffer(new Buffer(device, name, bytes, options.addressed));
    KG_TRY(auto handle, create_handle(device, name, bytes, usage,
                                      options.exportable ? VkExternalMemoryHandleTypeFlags{handle_type} : 0));
    buffer->handle_ = handle;

    VkMemoryDedicatedRequirements dedicated{};
    dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS;
    VkMemoryRequirements2 requirements{};
    requirements.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
    requirements.pNext = &dedicated;
    VkBufferMemoryRequirementsInfo2 query{};
    query.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2;
    query.buffer = buffer->handle_;
    device.table().vkGetBufferMemoryRequirements2(device.handle(), &query, &requirements);
    const bool alone = dedicated.requiresDedicatedAllocation == VK_TRUE ||
                       has(features, VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT);
    VkMemoryRequirements needs = requirements.memoryRequirements;
    if (options.addressed) needs.alignment = std::max(needs.alignment, kAddressAlignment);
    if (options.whole_pages) needs.size = whole_host_pages(needs.size) + kHostPageBytes;
    KG_TRY(buffer->allocation_, device.memory().allocate({.name = name,
                                                          .requirements = needs,
                                                          .use = options.memory,
                                                          .exportable = options.exportable,
                                                          .dedicated = alone,
                                                          .buffer = buffer->handle_}));
    if (options.whole_pages) {
        const auto start = reinterpret_cast<std::uintptr_t>(buffer->allocation_.mapped());
        buffer->skipped_ = whole_host_pages(start) - start;
        if (start == 0 || (buffer->allocation_.offset() + buffer->skipped_) % needs.alignment != 0)
            return fail(ErrorCode::Unsupported, "{}: buffer \"{}\" cannot begin on a page of mapped memory",
                        device.report().name, name);
    }
    KG_CHECK(buffer->bind());
    return buffer;
}

Result<std::unique_ptr<Buffer>> Buffer::import_host(const Device& device, std::string_view name,
                                                    std::span<std::byte> pages, bool addressed) {
    if (pages.empty() || reinterpret_cast<std::uintptr_t>(pages.data()) % kHostPageBytes != 0 ||
        pages.size() % kHostPageBytes != 0)
        return fail(ErrorCode::InvalidArgument, "\"{}\": {} bytes at {} are not whole pages of {} bytes", name,
                    pages.size(), static_cast<const void*>(pages.data()), kHostPageBytes);
    const VkExternalMemoryHandleTypeFlagBits handle_type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    const VkBufferUsageFlags usage = with_address(kGraphBufferUsage, addressed);
    const auto features = external_features(device, usage, handle_type);
    if (!has(features, VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT))
        return fail(ErrorCode::Unsupported, "{} does not import memory of the host for buffers", device.report().name);
    std::unique_ptr<Buffer> buffer(new Buffer(device, name, pages.size(), addressed));
    KG_TRY(auto handle, create_handle(device, name, pages.size(), usage, handle_type));
    buffer->handle_ = handle;
    VkMemoryRequirements needs{};
    device.table().vkGetBufferMemoryRequirements(device.handle(), buffer->handle_, &needs);
    if (needs.size > pages.size())
        return fail(ErrorCode::Unsupported, "{}: a buffer over {} of the host wants {}", device.report().name,
                    human_bytes(pages.size()), human_bytes(needs.size));
    needs.size = pages.size();
    KG_TRY(buffer->allocation_,
           device.memory().allocate({.name = name,
                                     .requirements = needs,
                                     .use = MemoryUse::Readback,
                                     .dedicated = has(features, VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT),
                                     .buffer = buffer->handle_,
                                     .host_memory = pages.data()}));
    KG_CHECK(buffer->bind());
    return buffer;
}

Result<std::unique_ptr<Buffer>> Buffer::import_fd(const Device& device, std::string_view name, int fd,
                                                  VkDeviceSize bytes, bool dedicated) {
    const VkExternalMemoryHandleTypeFlagBits handle_type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    std::unique_ptr<Buffer> buffer(new Buffer(device, name, bytes, true));
    KG_TRY(buffer->handle_, create_handle(device, name, bytes, with_address(kGraphBufferUsage, true), handle_type));
    VkMemoryRequirements needs{};
    device.table().vkGetBufferMemoryRequirements(device.handle(), buffer->handle_, &needs);
    needs.size = bytes;  // the exporter's allocation
    KG_TRY(buffer->allocation_,
           device.memory().allocate(
               {.name = name, .requirements = needs, .dedicated = dedicated, .buffer = buffer->handle_, .fd = fd}));
    KG_CHECK(buffer->bind());
    return buffer;
}

VkDeviceAddress Buffer::address() const {
    VkBufferDeviceAddressInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    info.buffer = handle_;
    return device_.table().vkGetBufferDeviceAddress(device_.handle(), &info);
}

Result<void> Buffer::bind() {
    if (const VkResult result = device_.table().vkBindBufferMemory(device_.handle(), handle_, allocation_.memory(),
                                                                   allocation_.offset() + skipped_);
        result != VK_SUCCESS)
        return device_.error(result, fmt::format("binding memory of buffer \"{}\"", name_));
    device_.set_name(VK_OBJECT_TYPE_BUFFER, reinterpret_cast<std::uint64_t>(handle_), name_);
    return {};
}

Buffer::~Buffer() { device_.table().vkDestroyBuffer(device_.handle(), handle_, nullptr); }

Result<int> Buffer::export_fd() const { return export_memory_fd(device_, allocation_, name_); }

Result<int> export_memory_fd(const Device& device, const Allocation& allocation, std::string_view name) {
    if (!allocation.exportable())
        return fail(ErrorCode::Unsupported, "\"{}\" was not created exportable, so its memory has no file descriptor",
                    name);
    VkMemoryGetFdInfoKHR info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR;
    info.memory = allocation.memory();
    info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    int descriptor = -1;
    if (const VkResult result = device.table().vkGetMemoryFdKHR(device.handle(), &info, &descriptor);
        result != VK_SUCCESS)
        return device.error(result, fmt::format("exporting the memory of \"{}\"", name));
    return above_stdio(descriptor);
}

}  // namespace kinetograph::vulkan
