#include <kinetograph/engine/vulkan/descriptor_heap.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <array>

namespace kinetograph::vulkan {
namespace {
constexpr std::uint32_t kSetsPerPool = 64;
}

Result<void> DescriptorHeap::grow() {
    constexpr std::array kSizes{VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4 * kSetsPerPool},
                                VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 2 * kSetsPerPool},
                                VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 2 * kSetsPerPool}};
    VkDescriptorPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = kSetsPerPool;
    info.poolSizeCount = kSizes.size();
    info.pPoolSizes = kSizes.data();
    VkDescriptorPool pool = VK_NULL_HANDLE;
    if (const VkResult result = device_.table().vkCreateDescriptorPool(device_.handle(), &info, nullptr, &pool);
        result != VK_SUCCESS)
        return device_.error(result, "creating a descriptor pool");
    pools_.push_back(pool);
    return {};
}

Result<VkDescriptorSet> DescriptorHeap::allocate(VkDescriptorSetLayout layout) {
    for (bool is_new = false;; ++current_) {
        if (current_ == pools_.size()) {
            KG_CHECK(grow());
            is_new = true;
        }
        VkDescriptorSetAllocateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
        info.descriptorPool = pools_[current_];
        info.descriptorSetCount = 1;
        info.pSetLayouts = &layout;
        VkDescriptorSet set = VK_NULL_HANDLE;
        const VkResult result = device_.table().vkAllocateDescriptorSets(device_.handle(), &info, &set);
        if (result == VK_SUCCESS) return set;
        const bool is_full = result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL;
        if (!is_full || is_new) return device_.error(result, "allocating a descriptor set");
    }
}

void DescriptorHeap::reset() {
    for (VkDescriptorPool pool : pools_) device_.table().vkResetDescriptorPool(device_.handle(), pool, 0);
    current_ = 0;
}

DescriptorHeap::~DescriptorHeap() {
    for (VkDescriptorPool pool : pools_) device_.table().vkDestroyDescriptorPool(device_.handle(), pool, nullptr);
}

}  // namespace kinetograph::vulkan
