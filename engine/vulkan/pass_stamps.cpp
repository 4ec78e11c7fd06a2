#include <kinetograph/engine/vulkan/pass_stamps.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/clock.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::vulkan {

PassStamps::~PassStamps() { device_.table().vkDestroyQueryPool(device_.handle(), queries_, nullptr); }

bool PassStamps::are_available(const Device& device, graph::Lane lane) {
    return device.queue(lane).timestamp_valid_bits > 0 && device.clock().available();
}

Result<void> PassStamps::prepare(std::size_t passes) {
    passes_.clear();
    if (passes == 0 || !are_available(device_, lane_)) return {};
    const VolkDeviceTable& table = device_.table();
    const auto wanted = static_cast<std::uint32_t>(2 * passes);
    if (wanted > capacity_) {
        table.vkDestroyQueryPool(device_.handle(), queries_, nullptr);
        queries_ = VK_NULL_HANDLE;
        capacity_ = 0;
        VkQueryPoolCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
        info.queryType = VK_QUERY_TYPE_TIMESTAMP;
        info.queryCount = std::max(64U, wanted);
        if (const VkResult result = table.vkCreateQueryPool(device_.handle(), &info, nullptr, &queries_);
            result != VK_SUCCESS)
            return device_.error(result, "creating a query pool");
        capacity_ = info.queryCount;
        copies_.reset();
        // Asking lavapipe for query results waits for its whole queue, and so for lanes that this queue waits for.
        // There the commands copy the results to memory, where they are available once the batch is done. On a GPU that
        // copy would be a dispatch, which takes the multiprocessors from other contexts' kernels.
        if (device_.report().type == to_string(VK_PHYSICAL_DEVICE_TYPE_CPU) &&
            (device_.queue(lane_).flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) != 0) {
            KG_TRY(copies_, Buffer::create(device_, "time stamps", info.queryCount * sizeof(std::uint64_t),
                                           {.memory = MemoryUse::Readback}));
        }
    }
    table.vkResetQueryPool(device_.handle(), queries_, 0, capacity_);
    return {};
}

void PassStamps::begin(VkCommandBuffer commands, VkPipelineStageFlags2 stage) const {
    if (capacity_ == 0) return;
    device_.table().vkCmdWriteTimestamp2(commands, stage, queries_, static_cast<std::uint32_t>(2 * passes_.size()));
}

void PassStamps::end(VkCommandBuffer commands, VkPipelineStageFlags2 stage, profile::NameId pass) {
    if (capacity_ == 0) return;
    device_.table().vkCmdWriteTimestamp2(commands, stage, queries_, static_cast<std::uint32_t>(2 * passes_.size() + 1));
    passes_.push_back(pass);
}

bool PassStamps::copy(VkCommandBuffer commands) const {
    if (!copies_ || passes_.empty()) return false;
    device_.table().vkCmdCopyQueryPoolResults(commands, queries_, 0, static_cast<std::uint32_t>(2 * passes_.size()),
                                              copies_->handle(), 0, sizeof(std::uint64_t),
                                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    return true;
}

void PassStamps::record(profile::Recorder& recorder, profile::SpanRecord batch, const Bracket& bracket) const {
    if (passes_.empty()) return;
    device_.clock().calibrate();
    std::vector<std::uint64_t> stamps(2 * passes_.size());
    const std::size_t bytes = stamps.size() * sizeof(stamps[0]);
    if (copies_) {
        std::memcpy(stamps.data(), copies_->mapped(), bytes);
    } else if (device_.table().vkGetQueryPoolResults(device_.handle(), queries_, 0,
                                                     static_cast<std::uint32_t>(stamps.size()), bytes, stamps.data(),
                                                     sizeof(stamps[0]), VK_QUERY_RESULT_64_BIT) != VK_SUCCESS) {
        return;
    }
    device_.clock().note_work(stamps.front(), bracket.submitted, stamps.back(), bracket.seen);
    for (std::size_t i = 0; i < passes_.size(); ++i) {
        batch.name = passes_[i];
        batch.begin = device_.clock().to_host(stamps[2 * i], bracket.seen);
        batch.end = device_.clock().to_host(stamps[2 * i + 1], bracket.seen);
        recorder.add(batch);
    }
    recorder.note_clock(batch.track, device_.clock().error(), device_.clock().drift_ppm());
}

}  // namespace kinetograph::vulkan
