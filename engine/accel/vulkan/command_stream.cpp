#include <kinetograph/engine/accel/vulkan/command_stream.hpp>

#include <kinetograph/engine/accel/vulkan/context.hpp>
#include <kinetograph/engine/vulkan/api.hpp>

#include <pthread.h>

#include <algorithm>

namespace kinetograph::accel::vulkan {
namespace {

constexpr Nanoseconds kLookAgain = std::chrono::milliseconds(10);  // how soon a wait notices the stream's end

VkSemaphoreSubmitInfo submit_info(const graph::Point& point, VkPipelineStageFlags2 stages) {
    VkSemaphoreSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
    info.semaphore = static_cast<const vk::TimelineSemaphore&>(*point.timeline).handle();
    info.value = point.value;
    info.stageMask = stages;
    return info;
}

}  // namespace

Result<std::unique_ptr<CommandStream>> CommandStream::create(Context& context) {
    KG_TRY(auto progress, vk::TimelineSemaphore::create(context.device(), "progress of a stream"));
    context.points().add(*progress);
    return std::unique_ptr<CommandStream>(new CommandStream(context, std::move(progress)));
}

CommandStream::~CommandStream() {
    give_up();
    if (pump_.joinable()) pump_.join();
    context_.points().remove(*progress_);
}

void CommandStream::give_up() {
    {
        const Lock lock(mutex_);
        stop_ = true;
        held_back_.clear();
        closed_ = passed_on_;
    }
    changed_.notify_all();
}

Result<void> CommandStream::check() const {
    if (error_) return fail(*error_);
    return {};
}

/// A recording that has been executed, or a new one.
Result<std::unique_ptr<Recording>> CommandStream::take_recording() {
    if (executing_.empty() || (executing_.front().number > progress_->value() && executing_.size() < kMostExecuting))
        return Recording::create(context_.device(), context_.layout(), Recording::Use::Once);
    Executing oldest = std::move(executing_.front());
    executing_.pop_front();
    while (!progress_->wait(oldest.number, graph::kLook)) KG_CHECK(progress_->status());
    KG_CHECK(oldest.recording->begin());
    return std::move(oldest.recording);
}

/// What the next command is recorded into.
Result<Recording*> CommandStream::target() {
    if (capture_) {
        if (capture_->parts.empty() || !capture_->parts.back()->has_room()) {
            if (!capture_->parts.empty()) KG_CHECK(capture_->parts.back()->end());
            KG_TRY(auto part, Recording::create(context_.device(), context_.layout(), Recording::Use::Replays));
            capture_->parts.push_back(std::move(part));
        }
        ++capture_->nodes;
        return capture_->parts.back().get();
    }
    KG_CHECK(check());
    if (open_.recording && !open_.recording->has_room()) close();
    if (!open_.recording) {
        KG_TRY(open_.recording, take_recording());
    }
    return open_.recording.get();
}

Result<void> CommandStream::launch(const Pipeline& pipeline, const Extent3& grid,
                                   std::span<const std::byte> arguments) {
    const Lock lock(mutex_);
    KG_TRY(auto* const recording, target());
    recording->launch(pipeline, grid, arguments);
    return {};
}

Result<void> CommandStream::fill(BufferRange to, std::byte value, std::uint64_t bytes) {
    const Lock lock(mutex_);
    KG_TRY(auto* const recording, target());
    recording->fill(to, value, bytes);
    return {};
}

Result<void> CommandStream::copy(BufferRange to, BufferRange from, std::uint64_t bytes) {
    const Lock lock(mutex_);
    KG_TRY(auto* const recording, target());
    recording->copy(to, from, bytes);
    return {};
}

Result<void> CommandStream::record(const std::shared_ptr<Stamp>& stamp) {
    const Lock lock(mutex_);
    KG_TRY(auto* const recording, target());
    if (capture_)
        stamp->expect(nullptr, 0);
    else
        stamp->expect(progress_, closed_ + 1);
    recording->write(stamp);
    return {};
}

Result<void> CommandStream::wait(std::shared_ptr<graph::Timeline> timeline, std::uint64_t value) {
    const Lock lock(mutex_);
    if (open_.recording) close();
    open_.waits.push_back({std::move(timeline), value});
    return check();
}

Result<void> CommandStream::signal(std::shared_ptr<graph::Timeline> timeline, std::uint64_t value) {
    const Lock lock(mutex_);
    open_.signals.push_back({std::move(timeline), value});
    close();
    return check();
}

Result<void> CommandStream::run_on_host(gpu::HostFunction function, void* user_data) {
    const Lock lock(mutex_);
    KG_CHECK(check());
    close();
    open_.function = function;
    open_.user_data = user_data;
    close();
    return {};
}

Result<void> CommandStream::replay(Captured& graph) {
    const Lock lock(mutex_);
    KG_CHECK(check());
    if (graph.last_replay.timeline != progress_ && !graph.last_replay.reached()) {
        close();
        open_.waits.push_back(graph.last_replay);
    }
    for (const auto& part : graph.parts) {
        if (open_.recording && open_.recording->commands() + part->commands() > Recording::kMostCommands) close();
        if (!open_.recording) {
            KG_TRY(open_.recording, take_recording());
        }
        open_.recording->execute(*part);
    }
    graph.last_replay = {progress_, closed_ + 1};
    close();
    return {};
}

Result<void> CommandStream::begin_capture() {
    const Lock lock(mutex_);
    capture_.emplace();
    return {};
}

Result<Captured> CommandStream::end_capture() {
    const Lock lock(mutex_);
    Captured captured = std::move(*capture_);
    capture_.reset();
    if (!captured.parts.empty()) KG_CHECK(captured.parts.back()->end());
    return captured;
}

/// The open slice is complete.
void CommandStream::close() {
    if (open_.is_empty()) return;
    Slice slice = std::move(open_);
    open_ = {};
    if (slice.recording)
        if (auto ended = slice.recording->end(); !ended) fail_with(std::move(ended.error()));
    if (error_ || stop_) return;
    slice.number = ++closed_;
    held_back_.push_back(std::move(slice));
    advance();
}

/// Submits what is held back, as far as it waits for nothing unknown; the rest is the pump's.
void CommandStream::advance() {
    if (pumping_) return changed_.notify_all();
    const bool at_once = context_.device().serves_lanes(graph::Lane::AsyncCompute);
    while (!held_back_.empty()) {
        Slice& front = held_back_.front();
        if (!at_once && (front.function != nullptr || unmet(front))) break;
        Slice slice = std::move(front);
        held_back_.pop_front();
        if (slice.function == nullptr) {
            submit(std::move(slice));
            continue;
        }
        newest_function_ = passed_on_ = slice.number;
        functions_.push_back(std::move(slice));
    }
    pumping_ = !held_back_.empty();
    if (pumping_ || !functions_.empty()) wake_pump();
}

void CommandStream::wake_pump() {
    if (!pump_.joinable()) {
        pump_ = std::thread([this] { pump(); });
        pthread_setname_np(pump_.native_handle(), "vulkan stream");
    }
    changed_.notify_all();
}

/// A point that the slice waits for, and that no submission is known to signal. One whose timeline has failed is not
/// waited for: its value is reached without the work.
std::optional<graph::Point> CommandStream::unmet(const Slice& slice) const {
    for (const graph::Point& point : slice.waits)
        if (!point.reached() && !context_.points().is_submitted(point) && point.timeline->status()) return point;
    return std::nullopt;
}

void CommandStream::submit(Slice slice) {
    const vk::Device& device = context_.device();
    constexpr VkPipelineStageFlags2 kAll = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    slice.signals.push_back({progress_, slice.number});
    slice.waits.push_back({progress_, newest_function_});
    std::vector<VkSemaphoreSubmitInfo> waits, signals;
    for (const graph::Point& point : slice.waits)
        if (!point.reached() && point.timeline->status()) waits.push_back(submit_info(point, Recording::kStages));
    for (const graph::Point& point : slice.signals)
        if (!point.reached()) signals.push_back(submit_info(point, kAll));
    VkCommandBufferSubmitInfo commands{};
    commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
    commands.commandBuffer = slice.recording ? slice.recording->handle() : VK_NULL_HANDLE;
    VkSubmitInfo2 info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
    info.waitSemaphoreInfoCount = static_cast<std::uint32_t>(waits.size());
    info.pWaitSemaphoreInfos = waits.data();
    info.commandBufferInfoCount = slice.recording ? 1 : 0;
    info.pCommandBufferInfos = &commands;
    info.signalSemaphoreInfoCount = static_cast<std::uint32_t>(signals.size());
    info.pSignalSemaphoreInfos = signals.data();
    const vk::Queue& queue = device.queue(graph::Lane::AsyncCompute);
    VkResult result = VK_SUCCESS;
    {
        const std::lock_guard lock(*queue.mutex);
        result = device.table().vkQueueSubmit2(queue.handle, 1, &info, VK_NULL_HANDLE);
        if (result == VK_SUCCESS)
            for (const graph::Point& point : slice.signals) context_.points().note_submitted(point);
    }
    passed_on_ = slice.number;
    if (slice.recording) executing_.push_back({std::move(slice.recording), slice.number});
    if (result != VK_SUCCESS) fail_with(device.error(result, "vkQueueSubmit2").value());
}

void CommandStream::fail_with(Error error) {
    if (!error_) error_ = std::move(error);
    held_back_.clear();
    functions_.clear();
    changed_.notify_all();
}

/// The thread: what is held back goes on as soon as it can. Functions that the queue waits for are run to the end.
void CommandStream::pump() {
    Lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return stop_ || pumping_ || !functions_.empty(); });
        while (!functions_.empty() || (!stop_ && !held_back_.empty())) {
            const auto unlocked = pass_front();
            if (!unlocked) continue;
            lock.unlock();
            unlocked();
            const auto status = progress_->status();
            lock.lock();
            if (!status) fail_with(status.error());
        }
        pumping_ = false;
        changed_.notify_all();
        if (stop_) return;
    }
}

/// One step towards the end of the oldest slice of the pump's. Returns what is to be waited for or run unlocked.
std::function<void()> CommandStream::pass_front() {
    std::deque<Slice>& slices = functions_.empty() ? held_back_ : functions_;
    Slice& front = slices.front();
    const graph::Point before{progress_, front.number - 1};
    if (const auto point = front.function != nullptr && !before.reached() ? before : unmet(front))
        return [point] { (void)point->timeline->wait(point->value, kLookAgain); };
    Slice slice = std::move(front);
    slices.pop_front();
    if (slice.function == nullptr) {
        submit(std::move(slice));
        return {};
    }
    passed_on_ = std::max(passed_on_, slice.number);
    return [this, function = slice.function, user_data = slice.user_data, number = slice.number] {
        function(user_data);
        progress_->signal(number);
    };
}

Result<bool> CommandStream::is_idle() {
    const Lock lock(mutex_);
    close();
    KG_CHECK(check());
    KG_CHECK(progress_->status());
    return progress_->value() >= closed_;
}

Result<void> CommandStream::synchronize() {
    std::uint64_t newest = 0;
    {
        Lock lock(mutex_);
        close();
        newest = closed_;
        changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return !pumping_ || error_ || stop_; });
        KG_CHECK(check());
    }
    while (!progress_->wait(newest, graph::kLook)) KG_CHECK(progress_->status());
    return {};
}

}  // namespace kinetograph::accel::vulkan
