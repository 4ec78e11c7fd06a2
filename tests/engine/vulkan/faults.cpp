#include "faults.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace kinetograph::vulkan::testing {
namespace {

PFN_vkGetInstanceProcAddr real_instance_proc_addr = nullptr;
PFN_vkGetDeviceProcAddr real_device_proc_addr = nullptr;
VkInstance last_instance = VK_NULL_HANDLE;
PFN_vkQueueSubmit2 real_queue_submit = nullptr;  // the same for every device: a queue identifies its own

template <class Function>
Function real(const char* name) {
    return reinterpret_cast<Function>(real_instance_proc_addr(last_instance, name));
}
template <class Function>
Function real_global(const char* name) {
    return reinterpret_cast<Function>(real_instance_proc_addr(VK_NULL_HANDLE, name));
}
template <class Function>
Function real_device(const char* name, VkDevice device) {
    return reinterpret_cast<Function>(real_device_proc_addr(device, name));
}

VkResult create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* callbacks,
                         VkInstance* instance) {
    if (faults().no_driver) return VK_ERROR_INCOMPATIBLE_DRIVER;
    const VkResult result = real_global<PFN_vkCreateInstance>("vkCreateInstance")(info, callbacks, instance);
    last_instance = *instance;
    return result;
}

/// A create-info chain without the structure of one type; restored at the end. The chain belongs to the caller.
class WithoutLink {
  public:
    WithoutLink(const void* chain, VkStructureType type) {
        auto* link = static_cast<VkBaseOutStructure*>(const_cast<void*>(chain));
        for (; link != nullptr; link = link->pNext) {
            if (link->pNext == nullptr || link->pNext->sType != type) continue;
            before_ = link;
            taken_ = link->pNext;
            before_->pNext = taken_->pNext;
            return;
        }
    }
    ~WithoutLink() {
        if (before_ != nullptr) before_->pNext = taken_;
    }
    WithoutLink(const WithoutLink&) = delete;
    WithoutLink& operator=(const WithoutLink&) = delete;

  private:
    VkBaseOutStructure* before_ = nullptr;
    VkBaseOutStructure* taken_ = nullptr;
};

VkResult counted(VkResult created) {
    if (created == VK_SUCCESS) ++faults().alive;
    return created;
}

std::mutex exported_mutex;
std::vector<std::weak_ptr<Payload>> payloads;
std::map<int, std::shared_ptr<Payload>> descriptors;  // until they are imported

/// The payloads that satisfy `is_wanted`.
template <class Predicate>
std::vector<std::shared_ptr<Payload>> find_payloads(Predicate is_wanted) {
    std::erase_if(payloads, [](const auto& payload) { return payload.expired(); });
    std::vector<std::shared_ptr<Payload>> found;
    for (const auto& weak : payloads)
        if (auto payload = weak.lock(); payload && is_wanted(*payload)) found.push_back(std::move(payload));
    return found;
}

VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                       const VkAllocationCallbacks* callbacks, VkDevice* device) {
    std::vector<const char*> names(info->ppEnabledExtensionNames,
                                   info->ppEnabledExtensionNames + info->enabledExtensionCount);
    if (faults().exports_semaphores)
        std::erase_if(names, [](const char* name) {
            return std::strcmp(name, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME) == 0;
        });
    if (faults().tells_budget)
        std::erase_if(names,
                      [](const char* name) { return std::strcmp(name, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) == 0; });
    if (faults().tells_screen)
        std::erase_if(names, [](const char* name) {
            return std::strcmp(name, VK_KHR_PRESENT_ID_EXTENSION_NAME) == 0 ||
                   std::strcmp(name, VK_KHR_PRESENT_WAIT_EXTENSION_NAME) == 0;
        });
    VkDeviceCreateInfo changed = *info;
    const WithoutLink no_wait(&changed, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_WAIT_FEATURES_KHR);
    const WithoutLink no_id(&changed, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_ID_FEATURES_KHR);
    changed.enabledExtensionCount = static_cast<std::uint32_t>(names.size());
    changed.ppEnabledExtensionNames = names.data();
    return real<PFN_vkCreateDevice>("vkCreateDevice")(physical, &changed, callbacks, device);
}

VkResult create_semaphore(VkDevice device, const VkSemaphoreCreateInfo* info, const VkAllocationCallbacks* callbacks,
                          VkSemaphore* semaphore) {
    ++faults().objects;
    const auto create = real_device<PFN_vkCreateSemaphore>("vkCreateSemaphore", device);
    if (!faults().exports_semaphores) return counted(create(device, info, callbacks, semaphore));
    const WithoutLink plain(info, VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO);
    return counted(create(device, info, callbacks, semaphore));
}

void stop_lost_work(VkDevice device);

/// What is exported goes with its last importer.
void destroy_semaphore(VkDevice device, VkSemaphore semaphore, const VkAllocationCallbacks* callbacks) {
    stop_lost_work(device);
    if (semaphore == VK_NULL_HANDLE) return;
    --faults().alive;
    std::vector<std::shared_ptr<Payload>> exported;
    {
        std::lock_guard lock(exported_mutex);
        exported = find_payloads([&](const Payload& payload) { return payload.semaphore() == semaphore; });
    }
    for (const auto& payload : exported) payload->leave_semaphore();
    if (exported.empty())
        real_device<PFN_vkDestroySemaphore>("vkDestroySemaphore", device)(device, semaphore, callbacks);
}

VkResult get_semaphore_fd(VkDevice device, const VkSemaphoreGetFdInfoKHR* info, int* fd) {
    *fd = ::eventfd(0, EFD_CLOEXEC);
    std::lock_guard lock(exported_mutex);
    auto exported = find_payloads([&](const Payload& payload) { return payload.semaphore() == info->semaphore; });
    if (exported.empty()) {
        exported.push_back(std::make_shared<Payload>(device, info->semaphore));
        payloads.emplace_back(exported.front());
    }
    descriptors[*fd] = std::move(exported.front());
    return VK_SUCCESS;
}

void destroy_device(VkDevice device, const VkAllocationCallbacks* callbacks) {
    std::vector<std::shared_ptr<Payload>> exported;
    {
        std::lock_guard lock(exported_mutex);
        exported = find_payloads([&](const Payload& payload) { return payload.device() == device; });
        std::erase_if(descriptors, [&](const auto& descriptor) { return descriptor.second->device() == device; });
    }
    for (const auto& payload : exported) payload->leave_device();
    real_device<PFN_vkDestroyDevice>("vkDestroyDevice", device)(device, callbacks);
}

VkResult host_pointer_properties(VkDevice device, VkExternalMemoryHandleTypeFlagBits type, const void* pointer,
                                 VkMemoryHostPointerPropertiesEXT* properties) {
    if (faults().no_host_imports) return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    return real_device<PFN_vkGetMemoryHostPointerPropertiesEXT>("vkGetMemoryHostPointerPropertiesEXT", device)(
        device, type, pointer, properties);
}

VkResult create_buffer(VkDevice device, const VkBufferCreateInfo* info, const VkAllocationCallbacks* callbacks,
                       VkBuffer* buffer) {
    ++faults().objects;
    return counted(real_device<PFN_vkCreateBuffer>("vkCreateBuffer", device)(device, info, callbacks, buffer));
}

void count_wait() {
    if (faults().watched.load() == std::this_thread::get_id()) ++faults().waits;
}
VkResult wait_semaphores(VkDevice device, const VkSemaphoreWaitInfo* info, std::uint64_t timeout) {
    if (timeout > 0) count_wait();
    if (faults().device_lost) return VK_ERROR_DEVICE_LOST;
    return real_device<PFN_vkWaitSemaphores>("vkWaitSemaphores", device)(device, info, timeout);
}
VkResult semaphore_value(VkDevice device, VkSemaphore semaphore, std::uint64_t* value) {
    const VkResult result =
        real_device<PFN_vkGetSemaphoreCounterValue>("vkGetSemaphoreCounterValue", device)(device, semaphore, value);
    return faults().device_lost ? VK_ERROR_DEVICE_LOST : result;
}
VkResult signal_semaphore(VkDevice device, const VkSemaphoreSignalInfo* info) {
    if (faults().refuses_signals) return VK_ERROR_OUT_OF_HOST_MEMORY;
    // lavapipe must be told in any case, or stop_lost_work() would wait for ever.
    const VkResult result = real_device<PFN_vkSignalSemaphore>("vkSignalSemaphore", device)(device, info);
    return faults().device_lost ? VK_ERROR_DEVICE_LOST : result;
}
/// A lost device's work has stopped, but lavapipe's goes on: it must end before its resources are destroyed.
void stop_lost_work(VkDevice device) {
    if (faults().device_lost) real_device<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle", device)(device);
}
void destroy_command_pool(VkDevice device, VkCommandPool pool, const VkAllocationCallbacks* callbacks) {
    stop_lost_work(device);
    if (pool != VK_NULL_HANDLE) --faults().alive;
    real_device<PFN_vkDestroyCommandPool>("vkDestroyCommandPool", device)(device, pool, callbacks);
}
void destroy_buffer(VkDevice device, VkBuffer buffer, const VkAllocationCallbacks* callbacks) {
    stop_lost_work(device);
    if (buffer != VK_NULL_HANDLE) --faults().alive;
    real_device<PFN_vkDestroyBuffer>("vkDestroyBuffer", device)(device, buffer, callbacks);
}
void free_memory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* callbacks) {
    stop_lost_work(device);
    if (memory != VK_NULL_HANDLE) --faults().alive;
    real_device<PFN_vkFreeMemory>("vkFreeMemory", device)(device, memory, callbacks);
}
VkResult device_wait_idle(VkDevice device) {
    count_wait();
    return real_device<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle", device)(device);
}

VkResult enumerate_layers(std::uint32_t* count, VkLayerProperties* layers) {
    if (!faults().no_layers)
        return real_global<PFN_vkEnumerateInstanceLayerProperties>("vkEnumerateInstanceLayerProperties")(count, layers);
    *count = 0;
    return VK_SUCCESS;
}

VkResult enumerate_devices(VkInstance instance, std::uint32_t* count, VkPhysicalDevice* devices) {
    if (!faults().no_devices)
        return real<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(instance, count, devices);
    *count = 0;
    return VK_SUCCESS;
}

void properties(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
    real<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(device, properties);
    if (faults().old_device) properties->properties.apiVersion = VK_API_VERSION_1_2;
}

void features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
    real<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2")(device, features);
    for (auto* link = static_cast<VkBaseOutStructure*>(features->pNext); link != nullptr; link = link->pNext) {
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_ID_FEATURES_KHR)
            reinterpret_cast<VkPhysicalDevicePresentIdFeaturesKHR*>(link)->presentId = faults().tells_screen;
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_WAIT_FEATURES_KHR)
            reinterpret_cast<VkPhysicalDevicePresentWaitFeaturesKHR*>(link)->presentWait = faults().tells_screen;
    }
    if (!faults().no_synchronization2) return;
    for (auto* link = static_cast<VkBaseOutStructure*>(features->pNext); link != nullptr; link = link->pNext)
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES) {
            auto* v13 = reinterpret_cast<VkPhysicalDeviceVulkan13Features*>(link);
            v13->synchronization2 = v13->dynamicRendering = VK_FALSE;
        }
}

VkResult device_extensions(VkPhysicalDevice device, const char* layer, std::uint32_t* count,
                           VkExtensionProperties* list) {
    const auto enumerate = real<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
    std::uint32_t total = 0;
    enumerate(device, layer, &total, nullptr);
    std::vector<VkExtensionProperties> all(total);
    enumerate(device, layer, &total, all.data());
    if (faults().no_calibrated_timestamps)
        std::erase_if(all, [](const auto& one) {
            return std::strcmp(one.extensionName, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) == 0;
        });
    if (faults().no_external_memory_host)
        std::erase_if(all, [](const auto& one) {
            return std::strcmp(one.extensionName, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) == 0;
        });
    if (faults().exports_semaphores) all.push_back({VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, 1});
    if (faults().tells_screen) {
        all.push_back({VK_KHR_PRESENT_ID_EXTENSION_NAME, 1});
        all.push_back({VK_KHR_PRESENT_WAIT_EXTENSION_NAME, 1});
    }
    if (faults().tells_budget) all.push_back({VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, 1});
    if (list != nullptr) std::copy_n(all.begin(), std::min<std::size_t>(*count, all.size()), list);
    *count = static_cast<std::uint32_t>(all.size());
    return VK_SUCCESS;
}

VkResult allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* callbacks,
                         VkDeviceMemory* memory) {
    ++faults().allocations;
    if (faults().out_of_memory) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return counted(real_device<PFN_vkAllocateMemory>("vkAllocateMemory", device)(device, info, callbacks, memory));
}

VkResult queue_submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
    int left = faults().submissions_left;
    while (left > 0 && !faults().submissions_left.compare_exchange_weak(left, left - 1)) {
    }
    if (left == 0) faults().device_lost = true;
    if (faults().device_lost) return VK_ERROR_DEVICE_LOST;
    return real_queue_submit(queue, count, infos, fence);
}

PFN_vkQueuePresentKHR real_present = nullptr;
VkResult queue_present(VkQueue queue, const VkPresentInfoKHR* info) {
    if (const auto* id = static_cast<const VkPresentIdKHR*>(info->pNext);
        id != nullptr && id->sType == VK_STRUCTURE_TYPE_PRESENT_ID_KHR)
        faults().presented = id->pPresentIds[0];
    if (faults().drops_presents) return VK_SUCCESS;
    VkPresentInfoKHR changed = *info;
    const WithoutLink no_id(&changed, VK_STRUCTURE_TYPE_PRESENT_ID_KHR);
    return real_present(queue, &changed);
}
std::atomic<int> waiting_for_screen{0};
VkResult wait_for_present(VkDevice, VkSwapchainKHR, std::uint64_t id, std::uint64_t timeout) {
    ++faults().screen_waits;
    ++waiting_for_screen;
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout);
    while (faults().on_screen < id && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    --waiting_for_screen;
    return faults().on_screen < id ? VK_TIMEOUT : VK_SUCCESS;
}
void destroy_swapchain(VkDevice device, VkSwapchainKHR swapchain, const VkAllocationCallbacks* callbacks) {
    if (waiting_for_screen > 0) ++faults().waits_for_destroyed;
    real_device<PFN_vkDestroySwapchainKHR>("vkDestroySwapchainKHR", device)(device, swapchain, callbacks);
}

VkResult create_command_pool(VkDevice device, const VkCommandPoolCreateInfo* info,
                             const VkAllocationCallbacks* callbacks, VkCommandPool* pool) {
    ++faults().allocations;
    return counted(real_device<PFN_vkCreateCommandPool>("vkCreateCommandPool", device)(device, info, callbacks, pool));
}
VkResult allocate_command_buffers(VkDevice device, const VkCommandBufferAllocateInfo* info, VkCommandBuffer* buffers) {
    if (faults().no_command_buffers) return VK_ERROR_OUT_OF_HOST_MEMORY;
    return real_device<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers", device)(device, info, buffers);
}
VkResult create_descriptor_pool(VkDevice device, const VkDescriptorPoolCreateInfo* info,
                                const VkAllocationCallbacks* callbacks, VkDescriptorPool* pool) {
    ++faults().allocations;
    return counted(
        real_device<PFN_vkCreateDescriptorPool>("vkCreateDescriptorPool", device)(device, info, callbacks, pool));
}
VkResult create_query_pool(VkDevice device, const VkQueryPoolCreateInfo* info, const VkAllocationCallbacks* callbacks,
                           VkQueryPool* pool) {
    ++faults().allocations;
    return counted(real_device<PFN_vkCreateQueryPool>("vkCreateQueryPool", device)(device, info, callbacks, pool));
}

// Kinds of objects that are only counted.
#define COUNTED_KINDS(KIND)   \
    KIND(Fence)               \
    KIND(Image)               \
    KIND(ImageView)           \
    KIND(Sampler)             \
    KIND(ShaderModule)        \
    KIND(DescriptorSetLayout) \
    KIND(PipelineLayout)      \
    KIND(PipelineCache)
#define DEFINE_COUNTED(Kind)                                                                                          \
    VkResult create_##Kind(VkDevice device, const Vk##Kind##CreateInfo* info, const VkAllocationCallbacks* callbacks, \
                           Vk##Kind* made) {                                                                          \
        return counted(real_device<PFN_vkCreate##Kind>("vkCreate" #Kind, device)(device, info, callbacks, made));     \
    }                                                                                                                 \
    void destroy_##Kind(VkDevice device, Vk##Kind object, const VkAllocationCallbacks* callbacks) {                   \
        if (object != VK_NULL_HANDLE) --faults().alive;                                                               \
        real_device<PFN_vkDestroy##Kind>("vkDestroy" #Kind, device)(device, object, callbacks);                       \
    }
COUNTED_KINDS(DEFINE_COUNTED)
#undef DEFINE_COUNTED

void destroy_descriptor_pool(VkDevice device, VkDescriptorPool pool, const VkAllocationCallbacks* callbacks) {
    if (pool != VK_NULL_HANDLE) --faults().alive;
    real_device<PFN_vkDestroyDescriptorPool>("vkDestroyDescriptorPool", device)(device, pool, callbacks);
}
void destroy_query_pool(VkDevice device, VkQueryPool pool, const VkAllocationCallbacks* callbacks) {
    if (pool != VK_NULL_HANDLE) --faults().alive;
    real_device<PFN_vkDestroyQueryPool>("vkDestroyQueryPool", device)(device, pool, callbacks);
}
VkResult create_graphics_pipelines(VkDevice device, VkPipelineCache cache, std::uint32_t count,
                                   const VkGraphicsPipelineCreateInfo* infos, const VkAllocationCallbacks* callbacks,
                                   VkPipeline* pipelines) {
    const VkResult result = real_device<PFN_vkCreateGraphicsPipelines>("vkCreateGraphicsPipelines", device)(
        device, cache, count, infos, callbacks, pipelines);
    if (result == VK_SUCCESS) faults().alive += static_cast<int>(count);
    return result;
}
VkResult create_compute_pipelines(VkDevice device, VkPipelineCache cache, std::uint32_t count,
                                  const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* callbacks,
                                  VkPipeline* pipelines) {
    const VkResult result = real_device<PFN_vkCreateComputePipelines>("vkCreateComputePipelines", device)(
        device, cache, count, infos, callbacks, pipelines);
    if (result == VK_SUCCESS) faults().alive += static_cast<int>(count);
    return result;
}
void destroy_pipeline(VkDevice device, VkPipeline pipeline, const VkAllocationCallbacks* callbacks) {
    if (pipeline != VK_NULL_HANDLE) --faults().alive;
    real_device<PFN_vkDestroyPipeline>("vkDestroyPipeline", device)(device, pipeline, callbacks);
}

void memory_properties(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2* properties) {
    constexpr auto kBudget = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
    constexpr std::uint64_t kUsed = 1U << 20U;
    {
        const WithoutLink link(properties, kBudget);
        real<PFN_vkGetPhysicalDeviceMemoryProperties2>("vkGetPhysicalDeviceMemoryProperties2")(device, properties);
    }
    for (auto* link = static_cast<VkBaseOutStructure*>(properties->pNext); link != nullptr; link = link->pNext) {
        if (link->sType != kBudget) continue;
        auto* budget = reinterpret_cast<VkPhysicalDeviceMemoryBudgetPropertiesEXT*>(link);
        for (std::uint32_t heap = 0; heap < properties->memoryProperties.memoryHeapCount; ++heap) {
            budget->heapUsage[heap] = kUsed;
            budget->heapBudget[heap] = kUsed + faults().heap_bytes_left;
        }
    }
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc_addr(VkDevice device, const char* name) {
    const std::string function = name;
    const auto as_void = [](auto pointer) { return reinterpret_cast<PFN_vkVoidFunction>(pointer); };
    if (function == "vkAllocateMemory") return as_void(&allocate_memory);
    if (function == "vkQueueSubmit2") {
        real_queue_submit = real_device<PFN_vkQueueSubmit2>("vkQueueSubmit2", device);
        return as_void(&queue_submit);
    }
    if (function == "vkQueuePresentKHR" && (faults().tells_screen || faults().drops_presents)) {
        real_present = real_device<PFN_vkQueuePresentKHR>("vkQueuePresentKHR", device);
        return as_void(&queue_present);
    }
    if (function == "vkWaitForPresentKHR" && faults().tells_screen) return as_void(&wait_for_present);
    if (function == "vkDestroySwapchainKHR" && faults().tells_screen) return as_void(&destroy_swapchain);
    if (function == "vkCreateSemaphore") return as_void(&create_semaphore);
    if (function == "vkDestroyDevice") return as_void(&destroy_device);
    if (function == "vkDestroySemaphore") return as_void(&destroy_semaphore);
    if (function == "vkGetSemaphoreFdKHR" && faults().exports_semaphores) return as_void(&get_semaphore_fd);
    if (function == "vkGetMemoryHostPointerPropertiesEXT") return as_void(&host_pointer_properties);
    if (function == "vkCreateBuffer") return as_void(&create_buffer);
    if (function == "vkWaitSemaphores") return as_void(&wait_semaphores);
    if (function == "vkGetSemaphoreCounterValue") return as_void(&semaphore_value);
    if (function == "vkSignalSemaphore") return as_void(&signal_semaphore);
    if (function == "vkDestroyCommandPool") return as_void(&destroy_command_pool);
    if (function == "vkDestroyBuffer") return as_void(&destroy_buffer);
    if (function == "vkFreeMemory") return as_void(&free_memory);
    if (function == "vkDeviceWaitIdle") return as_void(&device_wait_idle);
    if (function == "vkCreateCommandPool") return as_void(&create_command_pool);
    if (function == "vkAllocateCommandBuffers") return as_void(&allocate_command_buffers);
    if (function == "vkCreateDescriptorPool") return as_void(&create_descriptor_pool);
    if (function == "vkCreateQueryPool") return as_void(&create_query_pool);
#define FIND_COUNTED(Kind)                                            \
    if (function == "vkCreate" #Kind) return as_void(&create_##Kind); \
    if (function == "vkDestroy" #Kind) return as_void(&destroy_##Kind);
    COUNTED_KINDS(FIND_COUNTED)
#undef FIND_COUNTED
    if (function == "vkDestroyDescriptorPool") return as_void(&destroy_descriptor_pool);
    if (function == "vkDestroyQueryPool") return as_void(&destroy_query_pool);
    if (function == "vkCreateGraphicsPipelines") return as_void(&create_graphics_pipelines);
    if (function == "vkCreateComputePipelines") return as_void(&create_compute_pipelines);
    if (function == "vkDestroyPipeline") return as_void(&destroy_pipeline);
    return real_device_proc_addr(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_proc_addr(VkInstance instance, const char* name) {
    const std::string function = name;
    const auto as_void = [](auto pointer) { return reinterpret_cast<PFN_vkVoidFunction>(pointer); };
    if (function == "vkCreateInstance") return as_void(&create_instance);
    if (function == "vkEnumerateInstanceLayerProperties") return as_void(&enumerate_layers);
    if (function == "vkEnumeratePhysicalDevices") return as_void(&enumerate_devices);
    if (function == "vkGetPhysicalDeviceProperties2") return as_void(&properties);
    if (function == "vkGetPhysicalDeviceFeatures2") return as_void(&features);
    if (function == "vkGetPhysicalDeviceMemoryProperties2") return as_void(&memory_properties);
    if (function == "vkEnumerateDeviceExtensionProperties") return as_void(&device_extensions);
    if (function == "vkCreateDevice") return as_void(&create_device);
    if (function == "vkGetDeviceProcAddr") {
        real_device_proc_addr = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real_instance_proc_addr(instance, name));
        return as_void(&device_proc_addr);
    }
    return real_instance_proc_addr(instance, name);
}

}  // namespace

void Faults::reset() {
    for (auto* fault :
         {&no_driver, &no_layers, &no_devices, &old_device, &no_synchronization2, &no_calibrated_timestamps,
          &no_external_memory_host, &no_host_imports, &exports_semaphores, &tells_budget, &tells_screen,
          &drops_presents, &out_of_memory, &no_command_buffers, &refuses_signals, &device_lost})
        *fault = false;
    allocations = 0;
    objects = alive = 0;
    waits = screen_waits = waits_for_destroyed = 0;
    on_screen = presented = 0;
    watched = std::thread::id{};
    submissions_left = -1;
    heap_bytes_left = ~std::uint64_t{0} / 2;
}

void Faults::recover() {
    submissions_left = -1;
    device_lost = false;
}

Payload::~Payload() {
    if (!is_orphan_ || semaphore_ == VK_NULL_HANDLE) return;
    stop_lost_work(device_);
    real_device<PFN_vkDestroySemaphore>("vkDestroySemaphore", device_)(device_, semaphore_, nullptr);
}

std::uint64_t Payload::value() const {
    const std::shared_lock lock(mutex_);
    if (semaphore_ == VK_NULL_HANDLE) return last_;
    std::uint64_t value = 0;
    real_device<PFN_vkGetSemaphoreCounterValue>("vkGetSemaphoreCounterValue", device_)(device_, semaphore_, &value);
    return value;
}

void Payload::signal(std::uint64_t value) {
    const std::shared_lock lock(mutex_);
    if (semaphore_ == VK_NULL_HANDLE) {
        last_ = value;
        return;
    }
    VkSemaphoreSignalInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
    info.semaphore = semaphore_;
    info.value = value;
    real_device<PFN_vkSignalSemaphore>("vkSignalSemaphore", device_)(device_, &info);
}

/// In short waits, so that the device can go meanwhile.
bool Payload::wait(std::uint64_t value, std::optional<std::chrono::nanoseconds> timeout) const {
    constexpr std::chrono::milliseconds kSlice{5};
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
        if (this->value() >= value) return true;
        const auto waited = std::chrono::steady_clock::now() - begin;
        if (timeout && waited >= *timeout) return false;
        const std::shared_lock lock(mutex_);
        if (semaphore_ == VK_NULL_HANDLE) continue;
        VkSemaphoreWaitInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
        info.semaphoreCount = 1;
        info.pSemaphores = &semaphore_;
        info.pValues = &value;
        const std::chrono::nanoseconds most =
            timeout ? std::min<std::chrono::nanoseconds>(kSlice, *timeout - waited) : kSlice;
        real_device<PFN_vkWaitSemaphores>("vkWaitSemaphores", device_)(device_, &info,
                                                                       static_cast<std::uint64_t>(most.count()));
    }
}

VkDevice Payload::device() const {
    const std::shared_lock lock(mutex_);
    return device_;
}

VkSemaphore Payload::semaphore() const {
    const std::shared_lock lock(mutex_);
    return is_orphan_ ? VK_NULL_HANDLE : semaphore_;
}

void Payload::leave_device() {
    last_ = value();
    const std::unique_lock lock(mutex_);
    if (is_orphan_) real_device<PFN_vkDestroySemaphore>("vkDestroySemaphore", device_)(device_, semaphore_, nullptr);
    device_ = VK_NULL_HANDLE;
    semaphore_ = VK_NULL_HANDLE;
}

std::shared_ptr<Payload> import_payload(int fd) {
    std::lock_guard lock(exported_mutex);
    const auto descriptor = descriptors.extract(fd);
    return descriptor.empty() ? nullptr : descriptor.mapped();
}

Faults& faults() {
    static Faults faults;
    return faults;
}

Result<Loader> faulty_loader() {
    auto loader = Loader::open();
    if (!loader) return loader;
    real_instance_proc_addr = loader->get_instance_proc_addr();
    return Loader::adopt(&instance_proc_addr);
}

}  // namespace kinetograph::vulkan::testing
