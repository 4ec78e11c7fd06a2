#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <algorithm>

namespace kinetograph::vulkan {
namespace {

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

/// Only what the host enabled can be used, whatever the device supports.
OptionalExtensions enabled_extensions(const std::vector<std::string>& names) {
    const auto has = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    return {.swapchain = has(VK_KHR_SWAPCHAIN_EXTENSION_NAME),
            .external_memory_fd = has(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME),
            .external_semaphore_fd = has(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME),
            .external_memory_host = has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME),
            .calibrated_timestamps = has(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME),
            .memory_budget = has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME),
            .present_wait = has(VK_KHR_PRESENT_ID_EXTENSION_NAME) && has(VK_KHR_PRESENT_WAIT_EXTENSION_NAME),
            .cooperative_matrix = has(kCooperativeMatrix),
            .shader_bfloat16 = has(kShaderBfloat16)};
}

Result<void> check(const DeviceReport& report, const AdoptedDevice& adopted, const RequiredFeatures& enabled) {
    if (!report.usable())
        return fail(ErrorCode::Unsupported, "the host's device {} cannot be used: {}", report.name,
                    joined(report.declined));
    if (adopted.create_chain == nullptr) return {};
    const auto missing = enabled.missing();
    if (missing.empty()) return {};
    return fail(ErrorCode::Unsupported, "the host's device {} was created without the features {}", report.name,
                joined(missing));
}

}  // namespace

Result<std::unique_ptr<Device>> Device::adopt(const Instance& instance, const AdoptedDevice& adopted) {
    if (adopted.device == VK_NULL_HANDLE || adopted.physical == VK_NULL_HANDLE ||
        adopted.graphics.handle == VK_NULL_HANDLE)
        return fail(ErrorCode::InvalidArgument,
                    "an adopted device needs a VkPhysicalDevice, a VkDevice and a graphics queue");
    KG_TRY(auto reports, inspect_devices(instance));
    const auto report = std::find_if(reports.begin(), reports.end(),
                                     [&](const DeviceReport& entry) { return entry.handle == adopted.physical; });
    if (report == reports.end())
        return fail(ErrorCode::InvalidArgument,
                    "the adopted VkPhysicalDevice does not belong to the adopted VkInstance");
    RequiredFeatures enabled;
    enabled.read(adopted.create_chain);
    KG_CHECK(check(*report, adopted, enabled));
    report->compute = enabled.compute();
    report->extensions = enabled_extensions(adopted.extensions);

    std::unique_ptr<Device> device(new Device(instance, *report, adopted.device, false));
    std::array<Queue, 3> queues;
    const std::array given{adopted.graphics, adopted.compute, adopted.transfer};
    for (std::size_t lane = 0; lane < queues.size(); ++lane) {
        const AdoptedQueue& queue = given[lane].handle != VK_NULL_HANDLE ? given[lane] : given[0];
        queues[lane].handle = queue.handle;
        queues[lane].family = queue.family;
        queues[lane].mutex = queue.mutex;
    }
    device->set_queues(queues);
    KG_CHECK(device->finish());
    return device;
}

}  // namespace kinetograph::vulkan
