#include "host.hpp"

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

template <class Info>
Info made(VkStructureType type) {
    Info info{};
    info.sType = type;
    return info;
}

}  // namespace

Host::Host() {
    auto application = made<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
    application.apiVersion = VK_API_VERSION_1_3;
    auto info = made<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
    info.pApplicationInfo = &application;
    if (vkCreateInstance(&info, nullptr, &instance) != VK_SUCCESS) return;
    std::uint32_t count = 1;
    vkEnumeratePhysicalDevices(instance, &count, &physical);
    if (count == 0) return;
    make_device();
    if (device != VK_NULL_HANDLE) make_readback();
    usable = mapped_ != nullptr;
}

/// Those of the list that the device has.
void Host::enable_features() {
    auto there11 = made<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    auto there12 = made<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    auto there13 = made<VkPhysicalDeviceVulkan13Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
    auto there = made<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    features_ = there, features11_ = there11, features12_ = there12, features13_ = there13;
    there.pNext = &there11, there11.pNext = &there12, there12.pNext = &there13;
    features_.pNext = &features11_, features11_.pNext = &features12_, features12_.pNext = &features13_;
    vkGetPhysicalDeviceFeatures2(physical, &there);
    features_.features.shaderInt16 = there.features.shaderInt16;
    features_.features.shaderInt64 = there.features.shaderInt64;
    features11_.storageBuffer16BitAccess = there11.storageBuffer16BitAccess;
    features12_.timelineSemaphore = features12_.hostQueryReset = VK_TRUE;
    features12_.bufferDeviceAddress = there12.bufferDeviceAddress;
    features12_.scalarBlockLayout = there12.scalarBlockLayout;
    features12_.shaderFloat16 = there12.shaderFloat16;
    features12_.shaderInt8 = there12.shaderInt8;
    features12_.storageBuffer8BitAccess = there12.storageBuffer8BitAccess;
    features12_.vulkanMemoryModel = there12.vulkanMemoryModel;
    features12_.vulkanMemoryModelDeviceScope = there12.vulkanMemoryModelDeviceScope;
    features13_.synchronization2 = features13_.dynamicRendering = features13_.maintenance4 = VK_TRUE;
    features13_.subgroupSizeControl = there13.subgroupSizeControl;
    features13_.computeFullSubgroups = there13.computeFullSubgroups;
}

void Host::make_device() {
    std::uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
    while (family + 1 < count && (families[family].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0) ++family;

    enable_features();
    const float priority = 1.0F;
    auto queue_info = made<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
    queue_info.queueFamilyIndex = family;
    queue_info.queueCount = 1;
    queue_info.pQueuePriorities = &priority;
    auto info = made<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
    info.pNext = &features_;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue_info;
    vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> available(count);
    vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, available.data());
    for (const char* wanted : kSharing)
        for (const VkExtensionProperties& extension : available)
            if (std::strcmp(extension.extensionName, wanted) == 0) extensions.push_back(wanted);
    info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    if (vkCreateDevice(physical, &info, nullptr, &device) == VK_SUCCESS) vkGetDeviceQueue(device, family, 0, &queue);
}

/// The command buffer, the timeline, and four bytes that the host can read.
void Host::make_readback() {
    auto pool = made<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.queueFamilyIndex = family;
    vkCreateCommandPool(device, &pool, nullptr, &pool_);
    auto commands = made<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    commands.commandPool = pool_;
    commands.commandBufferCount = 1;
    vkAllocateCommandBuffers(device, &commands, &commands_);
    auto type = made<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    auto semaphore = made<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
    semaphore.pNext = &type;
    vkCreateSemaphore(device, &semaphore, nullptr, &done);

    auto buffer = made<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
    buffer.size = 4;
    buffer.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    vkCreateBuffer(device, &buffer, nullptr, &pixel_);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, pixel_, &needs);
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(physical, &memory);
    constexpr VkMemoryPropertyFlags kMapped =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    auto allocate = made<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    allocate.allocationSize = needs.size;
    while ((needs.memoryTypeBits & (1U << allocate.memoryTypeIndex)) == 0 ||
           (memory.memoryTypes[allocate.memoryTypeIndex].propertyFlags & kMapped) != kMapped)
        ++allocate.memoryTypeIndex;
    vkAllocateMemory(device, &allocate, nullptr, &memory_);
    vkBindBufferMemory(device, pixel_, memory_, 0);
    vkMapMemory(device, memory_, 0, VK_WHOLE_SIZE, 0, &mapped_);
}

std::uint64_t Host::submit(VkImage image, VkImageLayout layout, VkExtent2D size, VkSemaphore ready,
                           std::uint64_t value) {
    vkResetCommandPool(device, pool_, 0);
    auto begin = made<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    vkBeginCommandBuffer(commands_, &begin);
    auto barrier = made<VkImageMemoryBarrier2>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2);
    barrier.srcStageMask = barrier.dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
    barrier.dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT;
    barrier.oldLayout = layout;
    barrier.newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image;
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    auto dependency = made<VkDependencyInfo>(VK_STRUCTURE_TYPE_DEPENDENCY_INFO);
    dependency.imageMemoryBarrierCount = 1;
    dependency.pImageMemoryBarriers = &barrier;
    vkCmdPipelineBarrier2(commands_, &dependency);
    VkBufferImageCopy region{};
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageOffset = {static_cast<std::int32_t>(size.width / 2), static_cast<std::int32_t>(size.height / 2), 0};
    region.imageExtent = {1, 1, 1};
    vkCmdCopyImageToBuffer(commands_, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, pixel_, 1, &region);
    vkEndCommandBuffer(commands_);

    auto wait = made<VkSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO), signal = wait;
    wait.semaphore = ready;
    wait.value = value;
    wait.stageMask = signal.stageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
    signal.semaphore = done;
    signal.value = ++submitted_;
    auto commands = made<VkCommandBufferSubmitInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO);
    commands.commandBuffer = commands_;
    auto info = made<VkSubmitInfo2>(VK_STRUCTURE_TYPE_SUBMIT_INFO_2);
    info.waitSemaphoreInfoCount = info.signalSemaphoreInfoCount = info.commandBufferInfoCount = 1;
    info.pWaitSemaphoreInfos = &wait;
    info.pSignalSemaphoreInfos = &signal;
    info.pCommandBufferInfos = &commands;
    const std::lock_guard lock(queue_mutex);
    vkQueueSubmit2(queue, 1, &info, VK_NULL_HANDLE);
    return submitted_;
}

void Host::print(std::uint64_t value, std::int64_t index, std::chrono::nanoseconds due) {
    auto info = made<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
    info.semaphoreCount = 1;
    info.pSemaphores = &done;
    info.pValues = &value;
    vkWaitSemaphores(device, &info, UINT64_MAX);
    std::array<std::uint8_t, 4> pixel;
    std::memcpy(pixel.data(), mapped_, pixel.size());
    std::printf("frame %3lld, due at %.3f s, centre pixel %3d %3d %3d\n", static_cast<long long>(index),
                std::chrono::duration<double>(due).count(), pixel[0], pixel[1], pixel[2]);
}

Host::~Host() {
    if (device != VK_NULL_HANDLE) {
        vkDeviceWaitIdle(device);
        vkDestroySemaphore(device, done, nullptr);
        vkDestroyCommandPool(device, pool_, nullptr);
        vkDestroyBuffer(device, pixel_, nullptr);
        vkFreeMemory(device, memory_, nullptr);
        vkDestroyDevice(device, nullptr);
    }
    vkDestroyInstance(instance, nullptr);
}
