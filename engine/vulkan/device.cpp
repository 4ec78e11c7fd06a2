#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/clock.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/image.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>
#include <kinetograph/engine/vulkan/memory_pool.hpp>
#include <kinetograph/engine/vulkan/vk_result.hpp>

#include <algorithm>
#include <cassert>
#include <new>

namespace kinetograph::vulkan {
namespace {

/// volk fills a table through a global vkGetDeviceProcAddr; two instances may come from two loaders.
void load_table(VolkDeviceTable& table, VkDevice device, PFN_vkGetDeviceProcAddr get_device_proc_addr) {
    static Mutex mutex;
    const Lock lock(mutex);
    vkGetDeviceProcAddr = get_device_proc_addr;
    volkLoadDeviceTable(&table, device);
}

std::uint64_t nanoseconds_of(Nanoseconds timeout) {
    return static_cast<std::uint64_t>(std::max(timeout, Nanoseconds{}).count());
}

/// What a submission uses that its queue has not executed yet; destroyed with the device.
struct Unfinished {
    const Device& device;
    VkFence fence = VK_NULL_HANDLE;
    VkCommandPool pool = VK_NULL_HANDLE;
    Unfinished(const Device& of, VkFence submitted, VkCommandPool commands)
        : device(of), fence(submitted), pool(commands) {}
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;
    ~Unfinished() {
        device.table().vkDestroyFence(device.handle(), fence, nullptr);
        device.table().vkDestroyCommandPool(device.handle(), pool, nullptr);
    }
};

}  // namespace

Device::Device(const Instance& instance, DeviceReport report, VkDevice handle, bool owned)
    : instance_(instance),
      report_(std::move(report)),
      handle_(handle),
      owned_(owned),
      table_(std::make_unique<VolkDeviceTable>()) {
    load_table(*table_, handle, instance.table().vkGetDeviceProcAddr);
}

void Device::set_queues(std::array<Queue, 3> queues) {
    const auto families = queue_families(instance_, physical());
    for (std::size_t lane = 0; lane < queues.size(); ++lane) {
        Queue& queue = queues[lane];
        queue.flags = families[queue.family].queueFlags;
        queue.timestamp_valid_bits = families[queue.family].timestampValidBits;
        for (std::size_t other = 0; other < lane && queue.mutex == nullptr; ++other)
            if (queues[other].handle == queue.handle) queue.mutex = queues[other].mutex;
        if (queue.mutex == nullptr) queue.mutex = &mutexes_[lane];
        if (std::find(families_.begin(), families_.end(), queue.family) == families_.end())
            families_.push_back(queue.family);
    }
    queues_ = queues;
}

Result<void> Device::finish() {
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    instance_.table().vkGetPhysicalDeviceProperties2(physical(), &properties);
    limits_ = properties.properties.limits;
    memory_ = std::make_unique<MemoryPool>(*this);

    KG_TRY_IN(report_.name, pipelines_, PipelineCache::create(handle_, *table_, properties.properties));
    VkSamplerCreateInfo linear{};
    linear.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    linear.magFilter = linear.minFilter = VK_FILTER_LINEAR;
    linear.addressModeU = linear.addressModeV = linear.addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    if (const VkResult result = table_->vkCreateSampler(handle_, &linear, nullptr, &linear_sampler_);
        result != VK_SUCCESS)
        return error(result, "vkCreateSampler");
    KG_TRY(clock_, DeviceClock::create(*this));
    return {};
}

/// Waits until the queue has finished its earlier work. VK_TIMEOUT after `patience`, since batches may wait for ever:
/// then the queue still uses the fence, which is returned in `late`.
VkResult Device::finish(const Queue& queue, Nanoseconds patience, VkFence& late) const {
    VkFenceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    VkFence fence = VK_NULL_HANDLE;
    VkResult result = table_->vkCreateFence(handle_, &info, nullptr, &fence);
    if (result == VK_SUCCESS) {
        const std::lock_guard lock(*queue.mutex);
        result = table_->vkQueueSubmit2(queue.handle, 0, nullptr, fence);
    }
    if (result == VK_SUCCESS) result = table_->vkWaitForFences(handle_, 1, &fence, VK_TRUE, nanoseconds_of(patience));
    if (result == VK_TIMEOUT)
        late = fence;
    else
        table_->vkDestroyFence(handle_, fence, nullptr);
    return result;
}

std::vector<Queue> Device::distinct_queues() const {
    std::vector<Queue> distinct;
    for (const Queue& queue : queues_)
        if (queue.handle != VK_NULL_HANDLE &&
            std::ranges::find(distinct, queue.handle, &Queue::handle) == distinct.end())
            distinct.push_back(queue);
    return distinct;
}

/// False if a queue has not finished after kPatience; the fence that it still uses is leaked.
bool Device::settle() const {
    bool settled = true;
    VkFence late = VK_NULL_HANDLE;
    for (const Queue& queue : distinct_queues())
        settled &= finish(queue, losses_->patience_for(graph::kPatience), late) != VK_TIMEOUT;
    return settled;
}

Device::~Device() {
    const bool settled = (!owned_ && retired_.empty() && kept_.empty()) || settle();
    if (owned_ && settled) table_->vkDeviceWaitIdle(handle_);
    clock_.reset();
    if (!settled &&
        (owned_ || !kept_.empty())) {  // objects that a queue still uses cannot be destroyed, nor can the device
        if (owned_) instance_.leave();
        static_cast<void>(memory_.release());
        static_cast<void>(pipelines_.release());
        static_cast<void>(new (std::nothrow) std::vector<std::shared_ptr<const void>>(std::move(kept_)));
        return;
    }
    kept_.clear();
    for (VkSemaphore semaphore : retired_) table_->vkDestroySemaphore(handle_, semaphore, nullptr);
    table_->vkDestroySampler(handle_, linear_sampler_, nullptr);
    pipelines_.reset();
    memory_.reset();
    if (owned_) table_->vkDestroyDevice(handle_, nullptr);
}

void Device::keep(std::shared_ptr<const void> object) const {
    const Lock lock(retired_mutex_);
    if (object) kept_.push_back(std::move(object));
}

void Device::share_gpu_with(graph::Timeline& lane) const {
    if (!owned_) return;
    lane.on_report([losses = losses_](const Error& error) {
        if (error.code == ErrorCode::DeviceLost) losses->note(error);
    });
}

void Device::add_lane(const VulkanLane& lane) const {
    const Lock lock(lanes_mutex_);
    lanes_.push_back(&lane);
}

void Device::remove_lane(const VulkanLane& lane) const {
    const Lock lock(lanes_mutex_);
    std::erase(lanes_, &lane);
}

bool Device::serves_lanes(graph::Lane lane) const {
    const Lock lock(lanes_mutex_);
    return std::ranges::any_of(
        lanes_, [&](const VulkanLane* other) { return queue(other->lane()).handle == queue(lane).handle; });
}

bool Device::waits_for_a_point(graph::Lane lane) const {
    const Lock lock(lanes_mutex_);
    return std::ranges::any_of(lanes_, [&](const VulkanLane* other) {
        return queue(other->lane()).handle == queue(lane).handle && other->waits_for_a_point();
    });
}

void Device::retire(VkSemaphore semaphore) const {
    if (semaphore == VK_NULL_HANDLE) return;
    const Lock lock(retired_mutex_);
    retired_.push_back(semaphore);
    if (retired_.size() <= kRetired) return;
    table_->vkDestroySemaphore(handle_, retired_.front(), nullptr);
    retired_.pop_front();
}

const Queue& Device::queue(graph::Lane lane) const {
    assert(lane.is_vulkan());
    return queues_[lane.index()];
}

graph::Footprint Device::footprint(const graph::ImageDesc& desc) const {
    const VkImageCreateInfo info = graph_image_info(desc, families());
    VkDeviceImageMemoryRequirements query{};
    query.sType = VK_STRUCTURE_TYPE_DEVICE_IMAGE_MEMORY_REQUIREMENTS;
    query.pCreateInfo = &info;
    VkMemoryRequirements2 requirements{};
    requirements.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
    table_->vkGetDeviceImageMemoryRequirements(handle_, &query, &requirements);
    // Whole pages of bufferImageGranularity, so that no buffer of the arena shares one with an image.
    const std::uint64_t page = std::max(requirements.memoryRequirements.alignment, limits_.bufferImageGranularity);
    return {.bytes = (requirements.memoryRequirements.size + page - 1) / page * page,
            .alignment = static_cast<std::uint32_t>(page)};
}

void Device::set_name(VkObjectType type, std::uint64_t object, std::string_view name) const {
    if (!instance_.has_debug_names()) return;
    const std::string text(name);
    VkDebugUtilsObjectNameInfoEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
    info.objectType = type;
    info.objectHandle = object;
    info.pObjectName = text.c_str();
    instance_.table().vkSetDebugUtilsObjectNameEXT(handle_, &info);
}

tl::unexpected<Error> Device::error(VkResult result, std::string_view doing) const {
    if (result == VK_ERROR_DEVICE_LOST)
        return kinetograph::fail(ErrorCode::DeviceLost,
                                 "{} was lost while {}: nothing it was asked for will be finished", report_.name,
                                 doing);
    return fail(result, fmt::format("{}: {}", report_.name, doing));
}

Result<void> Device::wait_idle(Nanoseconds patience) const { return wait_idle(distinct_queues(), patience); }

Result<void> Device::wait_idle(graph::Lane lane, Nanoseconds patience) const {
    return wait_idle({&queue(lane), 1}, patience);
}

Result<void> Device::wait_idle(std::span<const Queue> queues, Nanoseconds usual) const {
    const Nanoseconds patience = losses_->patience_for(usual), end = host_now() + patience;
    for (const Queue& queue : queues) {
        VkFence late = VK_NULL_HANDLE;
        const VkResult result = finish(queue, std::max(end - host_now(), Nanoseconds{}), late);
        if (result == VK_TIMEOUT) {
            keep(std::make_shared<const Unfinished>(*this, late, VkCommandPool{}));
            return kinetograph::fail(ErrorCode::DeviceLost, "{}: a queue has not finished its work within {:.1f} s",
                                     report_.name, std::chrono::duration<double>(patience).count());
        }
        if (result == VK_ERROR_DEVICE_LOST) stop_lost_work();
        if (result != VK_SUCCESS) return error(result, "waiting for it to become idle");
    }
    return {};
}

/// On a lost device vkDeviceWaitIdle returns in finite time, and nothing runs any more afterwards.
void Device::stop_lost_work() const {
    std::vector<std::unique_lock<std::mutex>> locks;
    for (const Queue& queue : distinct_queues())
        if (std::ranges::find(locks, queue.mutex, &std::unique_lock<std::mutex>::mutex) == locks.end())
            locks.emplace_back(*queue.mutex);
    static_cast<void>(table_->vkDeviceWaitIdle(handle_));
}

Result<void> Device::run_once(std::string_view what, const std::function<void(VkCommandBuffer)>& record,
                              Nanoseconds usual) const {
    const Nanoseconds patience = losses_->patience_for(usual);
    const Queue& target = queue(graph::Lane::Graphics);
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool_info.queueFamilyIndex = target.family;
    if (const VkResult result = table_->vkCreateCommandPool(handle_, &pool_info, nullptr, &pool); result != VK_SUCCESS)
        return error(result, what);
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkCommandBufferAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocate.commandPool = pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    VkResult result = table_->vkAllocateCommandBuffers(handle_, &allocate, &commands);
    VkFence fence = VK_NULL_HANDLE;
    VkFenceCreateInfo fence_info{};
    fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    if (result == VK_SUCCESS) result = table_->vkCreateFence(handle_, &fence_info, nullptr, &fence);
    if (result == VK_SUCCESS) {
        VkCommandBufferBeginInfo begin{};
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
        table_->vkBeginCommandBuffer(commands, &begin);
        record(commands);
        result = table_->vkEndCommandBuffer(commands);
    }
    if (result == VK_SUCCESS) {
        VkCommandBufferSubmitInfo buffer{};
        buffer.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
        buffer.commandBuffer = commands;
        VkSubmitInfo2 submit{};
        submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
        submit.commandBufferInfoCount = 1;
        submit.pCommandBufferInfos = &buffer;
        std::lock_guard lock(*target.mutex);
        result = table_->vkQueueSubmit2(target.handle, 1, &submit, fence);
    }
    if (result == VK_SUCCESS) result = table_->vkWaitForFences(handle_, 1, &fence, VK_TRUE, nanoseconds_of(patience));
    if (result == VK_TIMEOUT) {
        keep(std::make_shared<const Unfinished>(*this, fence, pool));
        return kinetograph::fail(ErrorCode::DeviceLost, "{}: {}: its queue has not come to it within {:.1f} s",
                                 report_.name, what, std::chrono::duration<double>(patience).count());
    }
    table_->vkDestroyFence(handle_, fence, nullptr);
    table_->vkDestroyCommandPool(handle_, pool, nullptr);
    if (result != VK_SUCCESS) return error(result, what);
    return {};
}

}  // namespace kinetograph::vulkan
