#include "choices.hpp"
#include "handles.hpp"

namespace kinetograph::c {
namespace {

/// By kg_queue_kind.
std::array<vulkan::AdoptedQueue, 3> queues_of(const vulkan::AdoptedDevice& device) {
    return {device.graphics, device.compute, device.transfer};
}

/// The lock of the first kind with the same queue: kinds that share a queue share it.
vulkan::AdoptedQueue adopt(const kg_vulkan_desc& desc, const kg_queue& queue, std::array<std::mutex, 3>& locks) {
    if (queue.queue == nullptr) return {};
    std::mutex* lock = &locks[2];
    if (queue.queue == desc.graphics.queue)
        lock = &locks[0];
    else if (queue.queue == desc.compute.queue)
        lock = &locks[1];
    return {static_cast<VkQueue>(queue.queue), queue.family, lock};
}

Result<std::shared_ptr<VulkanDevice>> adopt(const kg_vulkan_desc& desc) {
    KG_CHECK(check_given(desc.instance, "kg_vulkan_desc.instance"));
    KG_CHECK(check_given(desc.physical_device, "kg_vulkan_desc.physical_device"));
    KG_CHECK(check_given(desc.device, "kg_vulkan_desc.device"));
    if (desc.get_instance_proc_addr == nullptr)
        return fail(ErrorCode::InvalidArgument, "kg_vulkan_desc.get_instance_proc_addr is NULL");
    if (desc.extension_count > 0) KG_CHECK(check_given(desc.extensions, "kg_vulkan_desc.extensions"));
    for (const char* const extension : std::span(desc.extensions, desc.extension_count))
        KG_CHECK(check_given(extension, "one of kg_vulkan_desc.extensions"));
    for (const kg_queue& queue : {desc.graphics, desc.compute, desc.transfer})
        KG_CHECK(check_unused(queue.unused, "kg_queue.unused"));
    auto made = std::make_shared<VulkanDevice>();
    KG_TRY(made->display,
           vulkan::adopt_display(
               {.instance = static_cast<VkInstance>(desc.instance),
                .get_instance_proc_addr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(desc.get_instance_proc_addr),
                .device = {.physical = static_cast<VkPhysicalDevice>(desc.physical_device),
                           .device = static_cast<VkDevice>(desc.device),
                           .graphics = adopt(desc, desc.graphics, made->locks),
                           .compute = adopt(desc, desc.compute, made->locks),
                           .transfer = adopt(desc, desc.transfer, made->locks),
                           .create_chain = desc.device_create_chain,
                           .extensions = {desc.extensions, desc.extensions + desc.extension_count}}}));
    return made;
}

Result<std::shared_ptr<VulkanDevice>> create(const char* name) {
    auto made = std::make_shared<VulkanDevice>();
    KG_TRY(made->display, vulkan::open_display(name == nullptr ? "" : name));
    return made;
}

Result<std::mutex*> lock_of(const vulkan::Display& display, std::uint32_t queue_kind) {
    const auto queues = queues_of(display.handles().device);
    if (queue_kind >= queues.size()) return fail(ErrorCode::InvalidArgument, "{} is no kg_queue_kind", queue_kind);
    return queues[queue_kind].mutex;
}

}  // namespace
}  // namespace kinetograph::c

using namespace kinetograph;
using namespace kinetograph::c;

kg_result kg_vulkan_create(kg_instance* instance, const char* name, kg_vulkan** vulkan) {
    return with("kg_vulkan_create", instance, [&](const auto& made_with) -> Outcome {
        KG_CHECK(check_given(vulkan, "vulkan"));
        KG_TRY(auto made, create(name));
        *vulkan = hand_out<kg_vulkan>({made_with.root, std::move(made)});
        return KG_OK;
    });
}

kg_result kg_vulkan_adopt(kg_instance* instance, const kg_vulkan_desc* desc, kg_vulkan** vulkan) {
    return with("kg_vulkan_adopt", instance, [&](const auto& made_with) -> Outcome {
        KG_CHECK(check_given(vulkan, "vulkan"));
        KG_TRY(const auto known, read(desc, "kg_vulkan_desc"));
        KG_TRY(auto made, adopt(known));
        *vulkan = hand_out<kg_vulkan>({made_with.root, std::move(made)});
        return KG_OK;
    });
}

kg_result kg_vulkan_describe(kg_vulkan* vulkan, kg_vulkan_info* info) {
    return with("kg_vulkan_describe", vulkan, [&](const auto& made) -> Outcome {
        const vulkan::ApplicationVulkan handles = made.shared->display->handles();
        kg_vulkan_info known{};
        known.instance = handles.instance;
        known.get_instance_proc_addr = reinterpret_cast<void (*)(void)>(handles.get_instance_proc_addr);
        known.physical_device = handles.device.physical;
        known.device = handles.device.device;
        std::ranges::transform(queues_of(handles.device), known.queues, [](const vulkan::AdoptedQueue& queue) {
            return kg_queue{queue.handle, queue.family, 0};
        });
        known.name = made.shared->display->report().name.c_str();
        KG_CHECK(write(info, known, "kg_vulkan_info"));
        return KG_OK;
    });
}

kg_result kg_vulkan_lock(kg_vulkan* vulkan, uint32_t queue_kind) {
    return with("kg_vulkan_lock", vulkan, [&](const auto& made) -> Outcome {
        KG_TRY(std::mutex* const lock, lock_of(*made.shared->display, queue_kind));
        lock->lock();
        return KG_OK;
    });
}

kg_result kg_vulkan_unlock(kg_vulkan* vulkan, uint32_t queue_kind) {
    return with("kg_vulkan_unlock", vulkan, [&](const auto& made) -> Outcome {
        KG_TRY(std::mutex* const lock, lock_of(*made.shared->display, queue_kind));
        lock->unlock();
        return KG_OK;
    });
}

kg_result kg_vulkan_destroy(kg_vulkan* vulkan) { return destroy("kg_vulkan_destroy", vulkan); }
