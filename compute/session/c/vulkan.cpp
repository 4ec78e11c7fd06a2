#include "choices.hpp"
#include "handles.hpp"

namespace kinetograph::c {
namespace {

constexpr std::array kLanes{graph::Lane::Graphics, graph::Lane::AsyncCompute, graph::Lane::Transfer};

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
    made->instance = vulkan::Instance::adopt(static_cast<VkInstance>(desc.instance),
                                             reinterpret_cast<PFN_vkGetInstanceProcAddr>(desc.get_instance_proc_addr));
    KG_TRY(made->device,
           vulkan::Device::adopt(*made->instance,
                                 {.physical = static_cast<VkPhysicalDevice>(desc.physical_device),
                                  .device = static_cast<VkDevice>(desc.device),
                                  .graphics = adopt(desc, desc.graphics, made->locks),
                                  .compute = adopt(desc, desc.compute, made->locks),
                                  .transfer = adopt(desc, desc.transfer, made->locks),
                                  .create_chain = desc.device_create_chain,
                                  .extensions = {desc.extensions, desc.extensions + desc.extension_count}}));
    return made;
}

Result<std::shared_ptr<VulkanDevice>> create(const char* name) {
    KG_TRY(const auto loader, vulkan::Loader::open());
    auto made = std::make_shared<VulkanDevice>();
    KG_TRY(made->instance, vulkan::Instance::create(loader));
    KG_TRY(made->device, vulkan::Device::create(*made->instance, {.name_contains = name == nullptr ? "" : name}));
    return made;
}

Result<std::mutex*> lock_of(const vulkan::Device& device, std::uint32_t queue_kind) {
    if (queue_kind >= kLanes.size()) return fail(ErrorCode::InvalidArgument, "{} is no kg_queue_kind", queue_kind);
    return device.queue(kLanes[queue_kind]).mutex;
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
        const vulkan::Device& device = *made.shared->device;
        kg_vulkan_info known{};
        known.instance = device.instance().handle();
        known.get_instance_proc_addr =
            reinterpret_cast<void (*)(void)>(device.instance().loader().get_instance_proc_addr());
        known.physical_device = device.physical();
        known.device = device.handle();
        for (std::size_t i = 0; i < kLanes.size(); ++i)
            known.queues[i] = {device.queue(kLanes[i]).handle, device.queue(kLanes[i]).family, 0};
        known.name = device.report().name.c_str();
        KG_CHECK(write(info, known, "kg_vulkan_info"));
        return KG_OK;
    });
}

kg_result kg_vulkan_lock(kg_vulkan* vulkan, uint32_t queue_kind) {
    return with("kg_vulkan_lock", vulkan, [&](const auto& made) -> Outcome {
        KG_TRY(std::mutex* const lock, lock_of(*made.shared->device, queue_kind));
        lock->lock();
        return KG_OK;
    });
}

kg_result kg_vulkan_unlock(kg_vulkan* vulkan, uint32_t queue_kind) {
    return with("kg_vulkan_unlock", vulkan, [&](const auto& made) -> Outcome {
        KG_TRY(std::mutex* const lock, lock_of(*made.shared->device, queue_kind));
        lock->unlock();
        return KG_OK;
    });
}

kg_result kg_vulkan_destroy(kg_vulkan* vulkan) { return destroy("kg_vulkan_destroy", vulkan); }
