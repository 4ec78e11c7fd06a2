#include <kinetograph/engine/vulkan/lane.hpp>

#include <kinetograph/engine/base/tool_range.hpp>
#include <kinetograph/engine/graph/run_pass.hpp>
#include <kinetograph/engine/vulkan/access.hpp>
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/pass_stamps.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace kinetograph::vulkan {

struct VulkanLane::Slot {
    Slot(const Device& owner, graph::Lane lane)
        : device(owner), descriptors(owner), uploads(owner), stamps(owner, lane) {}
    ~Slot() { device.table().vkDestroyCommandPool(device.handle(), pool, nullptr); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    const Device& device;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    DescriptorHeap descriptors;
    UploadHeap uploads;
    PassStamps stamps;
    bool in_flight = false;
    std::uint64_t value = 0;  // the timeline's value when the batch is done
    Nanoseconds submitted{};  // host time just before the submission
    std::uint64_t execution = 0;
    profile::PlanId plan = profile::kNoPlan;
    std::vector<std::shared_ptr<graph::Timeline>> waits;  // keeps the semaphores that the batch waits for
};

namespace {

VkSemaphoreSubmitInfo semaphore_info(VkSemaphore semaphore, std::uint64_t value, VkPipelineStageFlags2 stages) {
    VkSemaphoreSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
    info.semaphore = semaphore;
    info.value = value;
    info.stageMask = stages;
    return info;
}

/// The name of the device in a profile::Recorder. Lanes of an accelerator on the same GPU use another name.
std::string recorded_device(const Device& device) {
    return fmt::format("vulkan {:02x}", fmt::join(device.report().uuid, ""));
}

std::vector<graph::Access> accesses_of(const graph::PassNode& node) {
    std::vector<graph::Access> accesses;
    for (const graph::AccessNode& access : node.accesses) accesses.push_back(access.access);
    return accesses;
}

/// What one pass does to one image before it runs: all barriers of the image, as one layout change.
struct ImageChange {
    Image* image;
    AccessScope before, after;
    bool discard;
};

VkImageMemoryBarrier2 image_barrier(const ImageChange& change) {
    VkImageMemoryBarrier2 info{};
    info.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2;
    info.srcStageMask = change.before.stages;
    info.srcAccessMask = writes_of(change.before.access);
    info.dstStageMask = change.after.stages;
    info.dstAccessMask = change.after.access;
    info.oldLayout = change.discard ? VK_IMAGE_LAYOUT_UNDEFINED : change.image->layout();
    info.newLayout = change.after.layout;
    info.srcQueueFamilyIndex = info.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    info.image = change.image->handle();
    info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    return info;
}

/// Used for buffers too: a global memory barrier costs no more on any driver and needs no range.
VkMemoryBarrier2 memory_barrier(const AccessScope& before, const AccessScope& after) {
    VkMemoryBarrier2 info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
    info.srcStageMask = before.stages;
    info.srcAccessMask = writes_of(before.access);
    info.dstStageMask = after.stages;
    info.dstAccessMask = after.access;
    return info;
}

/// True if a pass of the batch writes memory that the host has mapped.
bool writes_mapped_memory(const graph::BatchRecord& batch) {
    for (const graph::PassRecord& pass : batch.passes)
        for (const graph::AccessNode& access : pass.node->accesses) {
            const auto& planned = batch.plan->resources[access.resource];
            if (!graph::is_write(access.access) || planned.type == graph::ResourceType::Image) continue;
            const auto* buffer = reinterpret_cast<const Buffer*>(batch.resources[access.resource].object);
            if (buffer != nullptr && buffer->mapped() != nullptr) return true;
        }
    return false;
}

}  // namespace

VulkanLane::VulkanLane(const Device& device, graph::Lane lane, std::shared_ptr<TimelineSemaphore> timeline,
                       profile::Recorder* recorder)
    : device_(device),
      lane_(lane),
      recorder_(PassStamps::are_available(device, lane) ? recorder : nullptr),
      timeline_(std::move(timeline)),
      waits_(
          timeline_, [this](const graph::Timeline& other) { return other.owner() == &device_; },
          [this] { return TimelineSemaphore::create(device_, "host relay"); }) {
    if (recorder != nullptr) track_ = recorder->open_track(graph::to_string(lane_), recorded_device(device_));
    device_.add_lane(*this);
}

Result<std::unique_ptr<VulkanLane>> VulkanLane::create(const Device& device, graph::Lane lane,
                                                       profile::Recorder* recorder, Sharing sharing) {
    assert(PassContext::serves(lane) && "only the three Vulkan lanes run here");
    const std::string name = fmt::format("lane {}", graph::to_string(lane));
    KG_TRY(auto timeline, TimelineSemaphore::create(device, name));
    std::unique_ptr<VulkanLane> result(new VulkanLane(device, lane, std::move(timeline), recorder));
    if (sharing == Sharing::Private) return result;
    KG_TRY(result->exported_, TimelineSemaphore::create(device, name + ", exported", sharing));
    return result;
}

VulkanLane::~VulkanLane() {
    device_.remove_lane(*this);
    timeline_->forget_views();
    const auto given_up = graph::end_of_lane(*this, waits_, [this] {
        const auto done = wait_for_queue(state().submitted, graph::kLook);
        return !done || *done;
    });
    if (!given_up) return;
    if (state().patience) device_.losses().give_up(lane_);
    if (exported_) exported_->report(*given_up);
    // The commands may still run.
    for (auto& slot : slots_) device_.keep(std::shared_ptr<Slot>(std::move(slot)));
    device_.keep(timeline_);
    device_.keep(exported_);
    device_.keep(waits_.relayed());
}

Result<bool> VulkanLane::wait(std::uint64_t value, Nanoseconds timeout) {
    const Nanoseconds begin = host_now();
    for (Nanoseconds left = timeout;; left = timeout - (host_now() - begin)) {
        KG_TRY(const bool reached, wait_for_queue(value, std::clamp(left, Nanoseconds{}, graph::kLook)));
        if (reached) return true;
        if (completed() < value) KG_CHECK(check_goes_on());
        if (left <= graph::kLook) return false;
    }
}

/// An error if the lane's work has stalled since another context of its GPU was lost, and not because of a point that
/// a lane of its queue waits for.
Result<void> VulkanLane::check_goes_on() {
    const auto loss = device_.losses().newest();
    const bool may_stand = loss && !device_.waits_for_a_point(lane_);
    const Lock lock(mutex_);
    const std::uint64_t reached = completed();
    if (!may_stand || reached >= submitted_) {
        standstill_.reset();
        return {};
    }
    const Nanoseconds now = host_now();
    const bool was_seen = standstill_ && standstill_->submitted == submitted_ && standstill_->reached == reached &&
                          now - standstill_->seen < 3 * graph::kLook;
    if (!was_seen) standstill_ = Standstill{submitted_, reached, now, now};
    standstill_->seen = now;
    if (!device_.losses().gave_up(lane_) && now - standstill_->since < GpuLosses::kPatience) return {};
    device_.losses().give_up(lane_);
    return fail(ErrorCode::DeviceLost, "{}: {} has stalled since {}", device_.report().name, timeline_->name(),
                loss->message);
}

Result<bool> VulkanLane::wait_for_queue(std::uint64_t value, Nanoseconds timeout) {
    KG_TRY_IN(timeline_->name(), const bool reached, wait_timeline(device_, timeline_->handle(), value, timeout));
    if (!reached) return false;
    const Lock lock(mutex_);
    collect_locked();
    KG_CHECK(status_of_others());
    return true;
}

/// Needed because a relay signals also when the wait behind it has failed.
Result<void> VulkanLane::status_of_others() {
    constexpr std::string_view kWho = "a lane that this one waited for";
    KG_CHECK_IN(kWho, waits_.status());
    for (const auto& awaited : awaited_)
        if (const auto timeline = awaited.lock()) KG_CHECK_IN(kWho, timeline->status());
    return {};
}

graph::LaneState VulkanLane::state() const {
    const bool gave_up = device_.losses().gave_up(lane_);
    const bool is_lost = device_.losses().newest().has_value() && !device_.waits_for_a_point(lane_);
    const Lock lock(mutex_);
    const std::uint64_t reached = completed();
    graph::LaneState state{
        .lane = lane_, .submitted = submitted_, .reached = reached, .waits = waits_.unmet(), .error = {}};
    if (auto status = timeline_->status(); !status) state.error = std::move(status.error());
    if (gave_up)
        state.patience = Nanoseconds{};
    else if (state.waits.empty() && is_lost)
        state.patience = GpuLosses::kPatience;
    return state;
}

void VulkanLane::collect() {
    const Lock lock(mutex_);
    collect_locked();
}

void VulkanLane::collect_locked() {
    const std::uint64_t done = completed();
    const Nanoseconds seen_at = host_now();
    for (const auto& slot : slots_) {
        if (!slot->in_flight || slot->value > done) continue;
        if (recorder_ != nullptr)
            slot->stamps.record(*recorder_, {.track = track_.name(), .plan = slot->plan, .execution = slot->execution},
                                {slot->submitted, seen_at});
        slot->in_flight = false;
    }
}

Result<VulkanLane::Slot*> VulkanLane::acquire_slot(std::size_t passes) {
    const Lock lock(mutex_);
    collect_locked();
    const auto free = std::find_if(slots_.begin(), slots_.end(), [](const auto& slot) { return !slot->in_flight; });
    Slot* slot = nullptr;
    if (free != slots_.end()) {
        slot = free->get();
    } else {
        slots_.push_back(std::make_unique<Slot>(device_, lane_));
        slot = slots_.back().get();
    }
    KG_CHECK(prepare(*slot, passes));
    return slot;
}

/// Creates what the slot lacks and resets the rest.
Result<void> VulkanLane::prepare(Slot& slot, std::size_t passes) {
    const VolkDeviceTable& table = device_.table();
    if (slot.pool == VK_NULL_HANDLE) {
        VkCommandPoolCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        info.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
        info.queueFamilyIndex = device_.queue(lane_).family;
        if (const VkResult result = table.vkCreateCommandPool(device_.handle(), &info, nullptr, &slot.pool);
            result != VK_SUCCESS)
            return device_.error(result, "creating a command pool");
    } else if (const VkResult result = table.vkResetCommandPool(device_.handle(), slot.pool, 0); result != VK_SUCCESS) {
        return device_.error(result, "resetting a command pool");
    }
    if (slot.commands == VK_NULL_HANDLE) {
        VkCommandBufferAllocateInfo allocate{};
        allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        allocate.commandPool = slot.pool;
        allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
        allocate.commandBufferCount = 1;
        if (const VkResult result = table.vkAllocateCommandBuffers(device_.handle(), &allocate, &slot.commands);
            result != VK_SUCCESS)
            return device_.error(result, "allocating a command buffer");
    }
    slot.descriptors.reset();
    slot.uploads.reset();
    return recorder_ != nullptr ? slot.stamps.prepare(passes) : Result<void>{};
}

Result<void> VulkanLane::submit(const graph::BatchRecord& batch) {
    KG_TRY(auto slot, acquire_slot(batch.passes.size()));
    const SwapchainSemaphores swapchain = swapchain_;
    layouts_before_.clear();
    auto submitted = record(*slot, batch);
    if (submitted) submitted = enqueue(*slot, batch);
    if (!submitted) forget_recorded(swapchain);
    return submitted;
}

/// Nothing of a failed batch runs: images get back their previous layouts, and `swapchain` remains to be waited for and
/// signalled.
void VulkanLane::forget_recorded(const SwapchainSemaphores& swapchain) {
    for (auto change = layouts_before_.rbegin(); change != layouts_before_.rend(); ++change)
        change->first->set_layout(change->second);
    swapchain_ = swapchain;
}

Result<void> VulkanLane::record(Slot& slot, const graph::BatchRecord& batch) {
    const VolkDeviceTable& table = device_.table();
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    if (const VkResult result = table.vkBeginCommandBuffer(slot.commands, &begin); result != VK_SUCCESS)
        return device_.error(result, "beginning a command buffer");

    // The host, or a lane that runs on it, may write after this submission, so the submission does not make that
    // visible.
    if (waits_.are_relayed(batch))
        record_barrier(slot.commands, memory_barrier({VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_WRITE_BIT},
                                                     {every_stage(device_.queue(lane_).flags),
                                                      VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT}));
    if (recorder_ != nullptr) slot.plan = recorder_->note(batch, *timeline_, track_.name());
    std::optional<Error> error;
    const bool labels = device_.instance().has_debug_names();
    for (const graph::PassRecord& pass : batch.passes) {
        if (labels) {
            VkDebugUtilsLabelEXT label{};
            label.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
            label.pLabelName = pass.planned->name.c_str();
            device_.instance().table().vkCmdBeginDebugUtilsLabelEXT(slot.commands, &label);
        }
        record_barriers(slot.commands, pass, batch);
        const auto accesses = accesses_of(*pass.node);
        const VkPipelineStageFlags2 stage = timing_stage(accesses.data(), accesses.size(), device_.queue(lane_).flags);
        slot.stamps.begin(slot.commands, stage);
        const ToolRange range(pass.planned->name);
        PassContext context(pass, batch.execution, {device_, slot.commands, slot.descriptors, slot.uploads, error});
        if (auto done = graph::run_pass(pass.node->execute, context); !done && !error) error = std::move(done.error());
        if (recorder_ != nullptr) slot.stamps.end(slot.commands, stage, recorder_->names().intern(pass.planned->name));
        if (labels) device_.instance().table().vkCmdEndDebugUtilsLabelEXT(slot.commands);
    }
    // Waiting for a timeline value makes the device's writes available, but not visible to the host.
    const bool copies_stamps = slot.stamps.copy(slot.commands);
    if (copies_stamps || writes_mapped_memory(batch))
        record_barrier(slot.commands,
                       memory_barrier({every_stage(device_.queue(lane_).flags), VK_ACCESS_2_MEMORY_WRITE_BIT},
                                      {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT}));
    const VkResult result = table.vkEndCommandBuffer(slot.commands);
    if (error) return fail(*error);
    if (result != VK_SUCCESS) return device_.error(result, "ending a command buffer");
    return {};
}

void VulkanLane::record_barriers(VkCommandBuffer commands, const graph::PassRecord& pass,
                                 const graph::BatchRecord& batch) {
    const VkQueueFlags queue = device_.queue(lane_).flags;
    std::vector<VkMemoryBarrier2> memory;
    std::vector<ImageChange> changes;
    for (const graph::Barrier& barrier : pass.planned->barriers) {
        // A semaphore orders accesses on another lane and makes them visible: the layout change chains to its wait.
        const AccessScope before =
            barrier.from == lane_ ? scope_of(barrier.before, queue) : AccessScope{every_stage(queue)};
        const AccessScope after = scope_of(barrier.after, queue);
        const bool is_image = barrier.resource != graph::kNoIndex &&
                              batch.plan->resources[barrier.resource].type == graph::ResourceType::Image;
        // An image barrier covers only its own image's accesses: for bytes that the image takes over, a memory barrier
        // is needed too.
        const bool of_memory = !is_image || barrier.aliased != graph::kNoIndex;
        if (of_memory && barrier.from == lane_) memory.push_back(memory_barrier(before, after));
        if (!is_image) continue;
        auto* image = reinterpret_cast<Image*>(batch.resources[barrier.resource].object);
        const auto known =
            std::find_if(changes.begin(), changes.end(), [&](const auto& change) { return change.image == image; });
        if (known == changes.end()) {
            changes.push_back({image, before, after, barrier.discard});
        } else {
            known->before.stages |= before.stages;
            known->before.access |= before.access;
            known->after.stages |= after.stages;
            known->after.access |= after.access;
            known->discard = known->discard && barrier.discard;
        }
    }
    if (memory.empty() && changes.empty()) return;
    std::vector<VkImageMemoryBarrier2> images;
    for (const ImageChange& change : changes) {
        images.push_back(image_barrier(change));
        layouts_before_.emplace_back(change.image, change.image->layout());
        change.image->set_layout(change.after.layout);
    }
    VkDependencyInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
    info.memoryBarrierCount = static_cast<std::uint32_t>(memory.size());
    info.pMemoryBarriers = memory.data();
    info.imageMemoryBarrierCount = static_cast<std::uint32_t>(images.size());
    info.pImageMemoryBarriers = images.data();
    device_.table().vkCmdPipelineBarrier2(commands, &info);
}

void VulkanLane::record_barrier(VkCommandBuffer commands, const VkMemoryBarrier2& barrier) {
    VkDependencyInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
    info.memoryBarrierCount = 1;
    info.pMemoryBarriers = &barrier;
    device_.table().vkCmdPipelineBarrier2(commands, &info);
}

/// The device waits for timelines that this queue sees; the relay's thread waits for the others.
Result<std::vector<VkSemaphoreSubmitInfo>> VulkanLane::resolve_waits(Slot& slot, const graph::BatchRecord& batch) {
    const VkPipelineStageFlags2 stages = every_stage(device_.queue(lane_).flags);
    std::vector<VkSemaphoreSubmitInfo> infos;
    slot.waits.clear();
    KG_TRY(const auto points, waits_.resolve(batch));
    for (graph::Point& point : points) {
        infos.push_back(
            semaphore_info(static_cast<const TimelineSemaphore&>(*point.timeline).handle(), point.value, stages));
        slot.waits.push_back(std::move(point.timeline));
    }
    for (const graph::ResolvedWait& wait : batch.waits)
        if (wait.lane != this) note_awaited(wait.lane->timeline());
    if (batch.batch->ordinal == 0 && swapchain_.acquired != VK_NULL_HANDLE)
        infos.push_back(semaphore_info(std::exchange(swapchain_.acquired, VK_NULL_HANDLE), 0, stages));
    return infos;
}

/// For status_of_others().
void VulkanLane::note_awaited(const std::shared_ptr<graph::Timeline>& timeline) {
    const Lock lock(mutex_);
    bool known = false;
    std::erase_if(awaited_, [&](const auto& awaited) {
        const auto other = awaited.lock();
        known |= other == timeline;
        return other == nullptr;
    });
    if (!known) awaited_.push_back(timeline);
}

Result<void> VulkanLane::enqueue(Slot& slot, const graph::BatchRecord& batch) {
    KG_TRY(const auto waits, resolve_waits(slot, batch));
    const VkPipelineStageFlags2 stages = every_stage(device_.queue(lane_).flags);
    std::vector<VkSemaphoreSubmitInfo> signals{semaphore_info(timeline_->handle(), batch.signal, stages)};
    if (exported_) signals.push_back(semaphore_info(exported_->handle(), batch.signal, stages));
    if (batch.batch->ordinal + 1 == batch.plan->batches_on_lane[lane_.index()] && swapchain_.drawn != VK_NULL_HANDLE)
        signals.push_back(semaphore_info(std::exchange(swapchain_.drawn, VK_NULL_HANDLE), 0, stages));
    VkCommandBufferSubmitInfo commands{};
    commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
    commands.commandBuffer = slot.commands;
    VkSubmitInfo2 info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
    info.waitSemaphoreInfoCount = static_cast<std::uint32_t>(waits.size());
    info.pWaitSemaphoreInfos = waits.data();
    info.commandBufferInfoCount = 1;
    info.pCommandBufferInfos = &commands;
    info.signalSemaphoreInfoCount = static_cast<std::uint32_t>(signals.size());
    info.pSignalSemaphoreInfos = signals.data();
    const Queue& queue = device_.queue(lane_);
    VkResult result = VK_SUCCESS;
    {
        std::lock_guard lock(*queue.mutex);
        slot.submitted = host_now();
        result = device_.table().vkQueueSubmit2(queue.handle, 1, &info, VK_NULL_HANDLE);
    }
    if (result != VK_SUCCESS)
        return device_.error(
            result, fmt::format("submitting batch {} of the {} lane", batch.batch->ordinal, graph::to_string(lane_)));
    const Lock lock(mutex_);
    slot.in_flight = true;
    slot.value = batch.signal;
    slot.execution = batch.execution;
    submitted_ = batch.signal;
    return {};
}

}  // namespace kinetograph::vulkan
