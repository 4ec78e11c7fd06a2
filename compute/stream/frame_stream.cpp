#include <kinetograph/compute/stream/frame_stream.hpp>

#include <kinetograph/engine/vulkan/api.hpp>

#include <pthread.h>

#include <cstring>

namespace kinetograph::stream {
namespace {

using interop::FrameRing;
using interop::FrameRingDesc;

constexpr Nanoseconds kStopPoll = std::chrono::milliseconds(20);  // how soon a wait for a slot notices the end

struct Staging {
    graph::Buffer pixels;
};
struct ToImage {
    graph::Buffer pixels;
    graph::Image image;
};

void copy_to_image(const ToImage& data, vulkan::PassContext& context) {
    const vulkan::BufferRange from = context.range(data.pixels);
    const vulkan::Image& image = context.image(data.image);
    VkBufferImageCopy region{};
    region.bufferOffset = from.offset;
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {image.desc().width, image.desc().height, 1};
    context.table().vkCmdCopyBufferToImage(context.commands(), from.buffer, image.handle(),
                                           VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

}  // namespace

Result<std::unique_ptr<FrameStream>> FrameStream::create(interop::Bridge& bridge, std::unique_ptr<vae::Decoder> decoder,
                                                         vae::Latents clip, const FrameStreamOptions& options) {
    std::unique_ptr<FrameStream> stream(new FrameStream(bridge, options));
    if (bridge.display() == nullptr) stream->options_.storage = FrameRingDesc::Storage::Buffer;
    if (auto made = stream->make_slots(clip); !made) return fail(std::move(made.error()));
    if (auto made = stream->make_lanes(); !made) return fail(std::move(made.error()));
    auto queue = vae::DecodeQueue::create(std::move(decoder), std::move(clip),
                                          {.capacity = options.queue_capacity, .loop = options.loop});
    if (!queue) return fail(std::move(queue.error()));
    stream->queue_ = std::move(*queue);
    stream->thread_ = std::thread([raw = stream.get()] { raw->run(); });
    pthread_setname_np(stream->thread_.native_handle(), "frame stream");
    return stream;
}

Result<void> FrameStream::make_slots(const vae::Latents& clip) {
    auto ring = FrameRing::create(bridge_, {.width = static_cast<std::uint32_t>(8 * clip.width),
                                            .height = static_cast<std::uint32_t>(8 * clip.height),
                                            .storage = options_.storage,
                                            .slots = options_.slots,
                                            .color = {}});
    if (!ring) return fail(std::move(ring.error()));
    ring_ = std::move(*ring);
    staged_.resize(options_.slots);
    pinned_.reserve(options_.slots);
    for (std::uint32_t slot = 0; slot < options_.slots; ++slot) {
        auto memory = bridge_.accelerator().allocate_pinned("pixels of a frame", ring_->frame_bytes());
        if (!memory) return fail(std::move(memory.error()));
        pinned_.push_back(std::move(*memory));
    }
    return {};
}

Result<void> FrameStream::make_lanes() {
    auto accelerator = accel::AcceleratorLane::create(bridge_.accelerator(), options_.recorder);
    if (!accelerator) return fail(std::move(accelerator.error()));
    accelerator_ = std::move(*accelerator);
    graph::ExecutorDesc desc;
    desc.lanes = {accelerator_.get()};
    if (options_.storage == FrameRingDesc::Storage::Image) {
        auto copying = vulkan::VulkanLane::create(*bridge_.display(), options_.copy_lane, options_.recorder,
                                                  bridge_.lane_sharing());
        if (!copying) return fail(std::move(copying.error()));
        copying_ = std::move(*copying);
        if (auto connected = bridge_.connect(*accelerator_, *copying_); !connected) return connected;
        desc.lanes.push_back(copying_.get());
    }
    desc.memory = {{graph::MemoryDomain::Shared, &bridge_.memory()}};
    desc.compile.topology = bridge_.lane_topology();
    auto executor = graph::Executor::create(desc);
    if (!executor) return fail(std::move(executor.error()));
    executor_ = std::move(*executor);
    return {};
}

FrameStream::~FrameStream() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    queue_.reset();
    executor_.reset();  // waits for the lanes
    copying_.reset();
    accelerator_.reset();
}

void FrameStream::run() {
    while (!stop_) {
        std::uint64_t generation = 0;
        {
            std::lock_guard lock(mutex_);  // not in the middle of a restart
            generation = generation_;
        }
        auto frame = queue_->pop();
        Result<void> delivered;
        if (frame && *frame) delivered = deliver(**frame);
        if (frame && *frame && delivered) continue;
        {
            std::lock_guard lock(mutex_);
            if (generation != generation_) continue;  // the end, or an error, of what has been thrown away
            if (!frame)
                error_ = std::move(frame.error());
            else if (!delivered)
                error_ = std::move(delivered.error());
            at_end_ = true;
        }
        if (!wait_for_restart(generation)) return;
    }
}

/// False when the stream ends instead.
bool FrameStream::wait_for_restart(std::uint64_t generation) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stop_ || generation_ != generation; });
    return !stop_;
}

std::optional<FrameRing::Slot> FrameStream::acquire(std::uint64_t generation) {
    while (!stop_) {
        auto slot = ring_->acquire(kStopPoll);
        if (slot && slot->generation == generation) return slot;
        if (slot) ring_->abandon(*slot);
        if (slot || generation_ != generation) return std::nullopt;
    }
    return std::nullopt;
}

Result<void> FrameStream::deliver(const vae::Frame& frame) {
    const auto slot = acquire(frame.generation);
    if (!slot) return {};  // of a generation that is over
    const auto give_up = [&](Error error) {
        ring_->abandon(*slot);
        return fail(std::move(error), fmt::format("frame {}", frame.index));
    };
    std::uint64_t& staged = staged_[slot->index];
    if (staged != 0)
        if (auto done = accelerator_->wait(staged); !done) return give_up(std::move(done.error()));
    std::memcpy(pinned_[slot->index]->host_data(), frame.rgba.data(), frame.rgba.size());
    frame_.clear();
    graph::LaneBackend& last = declare(*slot);
    auto execution = executor_->execute(frame_);
    if (!execution) return give_up(std::move(execution.error()));
    staged = execution->done[static_cast<std::size_t>(graph::Lane::Accelerator)];
    const auto ready = bridge_.point_of(last, execution->done[static_cast<std::size_t>(last.lane())]);
    if (!ready) return give_up(ready.error());
    ring_->publish(*slot, {frame.index, frame.presentation_time}, *ready);
    return {};
}

/// Declares what brings the slot's pixels to where readers get them; returns the lane that does the last of it.
graph::LaneBackend& FrameStream::declare(const FrameRing::Slot& slot) {
    if (slot.image == nullptr) {
        bridge_.wait_before_next(*accelerator_, slot.reusable);
        frame_.export_contents(declare_staging(slot, ring_->import_buffer(frame_, slot)));
        return *accelerator_;
    }
    bridge_.wait_before_next(*copying_, slot.reusable);
    const graph::Buffer pixels = declare_staging(slot, {});
    const graph::Image image = ring_->import_image(frame_, slot);
    const graph::Image written =
        frame_
            .add_pass<ToImage>(
                "frame to image", options_.copy_lane,
                [&](graph::PassBuilder& pass, ToImage& data) {
                    data.pixels = pass.read(pixels, graph::Access::TransferRead);
                    data.image = pass.write(image, graph::Access::TransferWrite);
                },
                [](const ToImage& data, vulkan::PassContext& context) { copy_to_image(data, context); })
            .image;
    ring_->declare_handover(frame_, written, options_.copy_lane);
    return *copying_;
}

/// The pixels, on their way through memory that both sides see; in `target`, or in a transient if that is empty.
graph::Buffer FrameStream::declare_staging(const FrameRing::Slot& slot, graph::Buffer target) {
    const graph::BufferDesc desc{.bytes = ring_->frame_bytes(), .domain = graph::MemoryDomain::Shared};
    return frame_
        .add_pass<Staging>(
            "frame to shared memory", graph::Lane::Accelerator,
            [&](graph::PassBuilder& pass, Staging& data) {
                data.pixels = target ? pass.write(target, graph::Access::KernelWrite)
                                     : pass.create("pixels", desc, graph::Access::KernelWrite);
            },
            [from = pinned_[slot.index]->data(), bytes = desc.bytes](const Staging& data, accel::PassContext& context) {
                context.stream().copy(context.address(data.pixels), from, bytes);
            })
        .pixels;
}

Result<std::optional<interop::FrameRecord>> FrameStream::try_take() {
    // Asked before the ring: whatever was decoded before an error is in there by then.
    std::optional<Error> error;
    {
        std::lock_guard lock(mutex_);
        error = error_;
    }
    auto record = ring_->try_take();
    if (!record && error) return fail(std::move(*error));
    return record;
}

void FrameStream::restart() {
    {
        std::lock_guard lock(mutex_);
        // In this order: a frame of the new generation meets only slots of the new generation.
        ++generation_;
        ring_->restart();
        queue_->restart();
        at_end_ = false;
        error_.reset();
    }
    changed_.notify_all();
}

bool FrameStream::finished() const {
    std::lock_guard lock(mutex_);
    return at_end_ && !error_ && ring_->stats().waiting == 0;
}

}  // namespace kinetograph::stream
