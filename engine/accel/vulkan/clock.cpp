#include <kinetograph/engine/accel/vulkan/clock.hpp>

#include <kinetograph/engine/vulkan/api.hpp>

#include <array>

namespace kinetograph::accel::vulkan {

Result<std::shared_ptr<Stamp>> Stamp::create(const vk::Device& device) {
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 1;
    VkQueryPool pool = VK_NULL_HANDLE;
    if (const VkResult result = device.table().vkCreateQueryPool(device.handle(), &info, nullptr, &pool);
        result != VK_SUCCESS)
        return device.error(result, "creating a query pool");
    device.table().vkResetQueryPool(device.handle(), pool, 0, 1);
    return std::shared_ptr<Stamp>(new Stamp(device, pool));
}

Stamp::~Stamp() { device_.table().vkDestroyQueryPool(device_.handle(), pool_, nullptr); }

void Stamp::expect(std::shared_ptr<vk::TimelineSemaphore> progress, std::uint64_t value) {
    const Lock lock(mutex_);
    progress_ = std::move(progress);
    value_ = value;
}

std::optional<std::uint64_t> Stamp::ticks() const {
    {
        const Lock lock(mutex_);
        if (progress_ != nullptr && progress_->value() < value_) return std::nullopt;
    }
    std::array<std::uint64_t, 2> answer{};  // the ticks, and whether they have been written
    if (device_.table().vkGetQueryPoolResults(
            device_.handle(), pool_, 0, 1, sizeof(answer), answer.data(), sizeof(answer),
            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT) != VK_SUCCESS ||
        answer[1] == 0)
        return std::nullopt;
    return answer[0];
}

std::optional<Nanoseconds> StampClock::host_time(const gpu::GpuEvent& event) const {
    const auto ticks = reinterpret_cast<const Stamped*>(event.handle())->stamp->ticks();
    if (!ticks) return std::nullopt;
    clock_.calibrate();
    return clock_.to_host(*ticks, host_now());
}

}  // namespace kinetograph::accel::vulkan
