#include <kinetograph/engine/vulkan/buffer.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/vk_result.hpp>

namespace kinetograph::vulkan {
namespace {

/// Whether the driver exports buffers of this usage at all, and whether only dedicated ones.
struct ExportRules {
    bool possible = false;
    bool dedicated_only = false;
};
ExportRules export_rules(const Device& device, VkBufferUsageFlags usage) {
    VkPhysicalDeviceExternalBufferInfo query{};
    query.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO;
    query.usage = usage;
    query.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkExternalBufferProperties answer{};
    answer.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES;
    device.instance().table().vkGetPhysicalDeviceExternalBufferProperties(device.physical(), &query, &answer);
    const VkExternalMemoryFeatureFlags features = answer.externalMemoryProperties.externalMemoryFeatures;
    return {(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) != 0,
            (features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0};
}

}  // namespace

Result<std::unique_ptr<Buffer>> Buffer::create(const Device& device, std::string_view name, VkDeviceSize bytes,
                                               const BufferOptions& options) {
    if (bytes == 0) return fail(ErrorCode::InvalidArgument, "buffer \"{}\" has no bytes", name);
    const ExportRules rules = options.exportable ? export_rules(device, options.usage) : ExportRules{};
    if (options.exportable && !rules.possible)
        return fail(ErrorCode::Unsupported, "{} cannot export the memory of buffer \"{}\"", device.report().name, name);

    std::unique_ptr<Buffer> buffer(new Buffer(device, name, bytes));
    VkExternalMemoryBufferCreateInfo external{};
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.pNext = options.exportable ? &external : nullptr;
    info.size = bytes;
    info.usage = options.usage;
    const auto families = device.families();
    info.sharingMode = families.size() > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE;
    info.queueFamilyIndexCount = families.size() > 1 ? static_cast<std::uint32_t>(families.size()) : 0;
    info.pQueueFamilyIndices = families.data();
    if (const VkResult result = device.table().vkCreateBuffer(device.handle(), &info, nullptr, &buffer->handle_);
        result != VK_SUCCESS)
        return device.error(result, fmt::format("creating buffer \"{}\" of {}", name, human_bytes(bytes)));

    VkMemoryDedicatedRequirements dedicated{};
    dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS;
    VkMemoryRequirements2 requirements{};
    requirements.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
    requirements.pNext = &dedicated;
    VkBufferMemoryRequirementsInfo2 query{};
    query.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2;
    query.buffer = buffer->handle_;
    device.table().vkGetBufferMemoryRequirements2(device.handle(), &query, &requirements);
    const bool alone = dedicated.requiresDedicatedAllocation == VK_TRUE || (options.exportable && rules.dedicated_only);
    auto allocation = device.memory().allocate({.name = name,
                                                .requirements = requirements.memoryRequirements,
                                                .use = options.memory,
                                                .exportable = options.exportable,
                                                .dedicated = alone,
                                                .buffer = buffer->handle_});
    if (!allocation) return fail(allocation.error());
    buffer->allocation_ = std::move(*allocation);
    if (const VkResult result = device.table().vkBindBufferMemory(
            device.handle(), buffer->handle_, buffer->allocation_.memory(), buffer->allocation_.offset());
        result != VK_SUCCESS)
        return device.error(result, fmt::format("binding memory of buffer \"{}\"", name));
    device.set_name(VK_OBJECT_TYPE_BUFFER, reinterpret_cast<std::uint64_t>(buffer->handle_), name);
    return buffer;
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
    return descriptor;
}

}  // namespace kinetograph::vulkan
