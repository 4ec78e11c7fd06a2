#include <kinetograph/engine/vulkan/timeline.hpp>

#include <kinetograph/engine/base/descriptors.hpp>
#include <kinetograph/engine/base/log.hpp>
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

namespace kinetograph::vulkan {

Result<VkSemaphore> create_timeline(const Device& device, std::string_view name, Sharing sharing) {
    const bool exportable = sharing == Sharing::Exportable;
    if (exportable && !device.report().extensions.external_semaphore_fd)
        return fail(ErrorCode::Unsupported,
                    "{}: the timeline of {} is to be exportable, but VK_KHR_external_semaphore_fd is not enabled",
                    device.report().name, name);
    VkExportSemaphoreCreateInfo external{};
    external.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO;
    external.handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.pNext = exportable ? &external : nullptr;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    VkSemaphore semaphore = VK_NULL_HANDLE;
    if (const VkResult result = device.table().vkCreateSemaphore(device.handle(), &info, nullptr, &semaphore);
        result != VK_SUCCESS)
        return device.error(result, fmt::format("creating the timeline of {}", name));
    device.set_name(VK_OBJECT_TYPE_SEMAPHORE, reinterpret_cast<std::uint64_t>(semaphore), name);
    return semaphore;
}

Result<int> export_timeline_fd(const Device& device, VkSemaphore timeline, std::string_view name) {
    VkSemaphoreGetFdInfoKHR info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR;
    info.semaphore = timeline;
    info.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    int descriptor = -1;
    if (const VkResult result = device.table().vkGetSemaphoreFdKHR(device.handle(), &info, &descriptor);
        result != VK_SUCCESS)
        return device.error(result, fmt::format("exporting the timeline of {}", name));
    return above_stdio(descriptor);
}

Result<bool> wait_timeline(const Device& device, VkSemaphore timeline, std::uint64_t value, Nanoseconds timeout) {
    VkSemaphoreWaitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &timeline;
    info.pValues = &value;
    const VkResult result =
        device.table().vkWaitSemaphores(device.handle(), &info, static_cast<std::uint64_t>(timeout.count()));
    if (result == VK_TIMEOUT) return false;
    if (result != VK_SUCCESS) return device.error(result, fmt::format("waiting for value {} of a timeline", value));
    return true;
}

Result<std::shared_ptr<TimelineSemaphore>> TimelineSemaphore::create(const Device& device, std::string name,
                                                                     Sharing sharing) {
    KG_TRY(const auto semaphore, create_timeline(device, name, sharing));
    std::shared_ptr<TimelineSemaphore> timeline(new TimelineSemaphore(device, semaphore, true));
    timeline->set_name(std::move(name));
    return timeline;
}

std::shared_ptr<TimelineSemaphore> TimelineSemaphore::borrow(const Device& device, VkSemaphore semaphore) {
    std::shared_ptr<TimelineSemaphore> timeline(new TimelineSemaphore(device, semaphore, false));
    timeline->set_name("a timeline of the application's");
    return timeline;
}

Result<std::shared_ptr<TimelineSemaphore>> TimelineSemaphore::import_fd(const Device& device, std::string name,
                                                                        int fd) {
    if (!device.report().extensions.external_semaphore_fd)
        return fail(ErrorCode::Unsupported, "{}: {} is to be imported, but VK_KHR_external_semaphore_fd is not enabled",
                    device.report().name, name);
    KG_TRY(auto timeline, create(device, std::move(name)));
    VkImportSemaphoreFdInfoKHR info{};
    info.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR;
    info.semaphore = timeline->handle();
    info.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    info.fd = fd;
    if (const VkResult result = device.table().vkImportSemaphoreFdKHR(device.handle(), &info); result != VK_SUCCESS)
        return device.error(result, fmt::format("importing {}", timeline->name()));
    return timeline;
}

TimelineSemaphore::~TimelineSemaphore() {
    if (owned_) device_.retire(semaphore_);
}

std::uint64_t TimelineSemaphore::counter() const {
    constexpr std::uint64_t kNotCounted = 1ULL << 63U;  // distinct from the numbers of graph::Timeline
    const auto device = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&device_));
    return (reinterpret_cast<std::uint64_t>(semaphore_) ^ device * 0x9e3779b97f4a7c15U) | kNotCounted;
}

std::uint64_t TimelineSemaphore::value() const {
    std::uint64_t value = 0;
    device_.table().vkGetSemaphoreCounterValue(device_.handle(), semaphore_, &value);
    return value;
}

bool TimelineSemaphore::wait(std::uint64_t value, std::optional<Nanoseconds> timeout) {
    const auto reached = wait_timeline(device_, semaphore_, value, timeout.value_or(Nanoseconds::max()));
    return reached && *reached;
}

void TimelineSemaphore::signal(std::uint64_t value) {
    if (this->value() >= value) return;
    VkSemaphoreSignalInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
    info.semaphore = semaphore_;
    info.value = value;
    const VkResult result = device_.table().vkSignalSemaphore(device_.handle(), &info);
    if (result == VK_SUCCESS) return;
    Error refused = device_.error(result, fmt::format("signalling value {} of {}", value, name())).value();
    if (refused.code != ErrorCode::DeviceLost) Log().error("{}", refused.message);  // status() reports a loss
    report(std::move(refused));
}

Result<void> TimelineSemaphore::status() const {
    KG_CHECK(Timeline::status());
    std::uint64_t value = 0;
    if (const VkResult result = device_.table().vkGetSemaphoreCounterValue(device_.handle(), semaphore_, &value);
        result != VK_SUCCESS)
        return device_.error(result, "asking " + name() + " for its value");
    return {};
}

}  // namespace kinetograph::vulkan
