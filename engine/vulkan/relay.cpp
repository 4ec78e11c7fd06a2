#include <kinetograph/engine/vulkan/relay.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

namespace kinetograph::vulkan {

Result<VkSemaphore> create_timeline(const Device& device, std::string_view name) {
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
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

Result<std::unique_ptr<Relay>> Relay::create(const Device& device) {
    std::unique_ptr<Relay> relay(new Relay(device));
    auto semaphore = create_timeline(device, "host relay");
    if (!semaphore) return fail(semaphore.error());
    relay->semaphore_ = *semaphore;
    relay->thread_ = std::thread([raw = relay.get()] { raw->run(); });
    return relay;
}

std::uint64_t Relay::promise(std::vector<graph::ResolvedWait> waits) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(waits));
    changed_.notify_one();
    return ++promised_;
}

std::optional<Error> Relay::error() const {
    std::lock_guard lock(mutex_);
    return error_;
}

void Relay::run() {
    for (std::uint64_t value = 1;; ++value) {
        std::vector<graph::ResolvedWait> waits;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            waits = std::move(tasks_.front());
            tasks_.pop_front();
        }
        for (const graph::ResolvedWait& wait : waits) {
            auto done = wait.lane->wait(wait.value);
            std::lock_guard lock(mutex_);
            if (!done && !error_) error_ = done.error();
        }
        VkSemaphoreSignalInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
        info.semaphore = semaphore_;
        info.value = value;
        device_.table().vkSignalSemaphore(device_.handle(), &info);
    }
}

Relay::~Relay() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
        changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
    device_.table().vkDestroySemaphore(device_.handle(), semaphore_, nullptr);
}

}  // namespace kinetograph::vulkan
