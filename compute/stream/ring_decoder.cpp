#include <kinetograph/compute/stream/ring_decoder.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace kinetograph::stream {
namespace {

using interop::FrameRing;
using interop::FrameRingDesc;

struct CopyData {
    std::vector<graph::Buffer> pixels;
    std::vector<graph::Image> images;
};

void copy_to_image(const vulkan::BufferRange& from, const vulkan::Image& image, vulkan::PassContext& context) {
    VkBufferImageCopy region{};
    region.bufferOffset = from.offset;
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {image.desc().width, image.desc().height, 1};
    context.table().vkCmdCopyBufferToImage(context.commands(), from.buffer, image.handle(),
                                           VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

}  // namespace

Result<std::unique_ptr<RingDecoder>> RingDecoder::create(interop::Bridge& bridge, std::unique_ptr<vae::Decoder> decoder,
                                                         const RingDecoderOptions& options) {
    const std::int64_t most = decoder->step_frames().most;
    if (options.slots <= most)
        return fail(ErrorCode::InvalidArgument,
                    "a ring of {} frames: a step makes {} at once, and a reader holds at least one", options.slots,
                    most);
    std::unique_ptr<RingDecoder> made(new RingDecoder(bridge, std::move(decoder), options));
    FrameRingDesc::Storage& storage = made->options_.storage;
    if (bridge.display() == nullptr && storage == FrameRingDesc::Storage::Image)
        storage = FrameRingDesc::Storage::Buffer;
    if (storage == FrameRingDesc::Storage::Image && options.format != vae::FrameFormat::Rgba8)
        return fail(ErrorCode::InvalidArgument, "images are of 8 bits: frames of floats are buffers");
    KG_CHECK(made->make_ring());
    KG_CHECK(made->make_flags());
    KG_CHECK(made->attach());
    return made;
}

Result<void> RingDecoder::make_ring() {
    const vae::StepFrames frames = decoder_->step_frames();
    KG_TRY(ring_, FrameRing::create(
                      bridge_, {.width = static_cast<std::uint32_t>(frames.width),
                                .height = static_cast<std::uint32_t>(frames.height),
                                .format = options_.format == vae::FrameFormat::Rgba8 ? graph::PixelFormat::Rgba8Unorm
                                                                                     : graph::PixelFormat::Rgb32Float,
                                .storage = options_.storage,
                                .slots = options_.slots,
                                .color = {}}));
    slots_.reserve(frames_of_a_step());
    places_.reserve(frames_of_a_step());
    return {};
}

/// Makes the decoder write pixels where the ring wants them, or where a copy finds them.
Result<void> RingDecoder::attach() {
    vae::DeviceOutput output;
    output.format = options_.format;
    if (options_.storage == FrameRingDesc::Storage::Host) return decoder_->attach(std::move(output));
    output.domain = graph::MemoryDomain::Shared;
    output.backends = {{graph::MemoryDomain::Shared, &bridge_.memory()}};
    output.topology = bridge_.lane_topology();
    if (options_.storage == FrameRingDesc::Storage::Buffer) {
        KG_CHECK(bridge_.connect(decoder_->lane()));
    } else if (auto made = make_copying(); !made) {
        return made;
    } else if (options_.copies == Copies::OnceDecoded) {
        KG_CHECK(make_pixels());
    } else {
        output.memory = vae::DeviceOutput::Memory::Transient;
        output.lanes = {copying_.get()};
        output.then = [this](graph::FrameGraph& frame, std::span<const graph::Buffer> frames) {
            declare_copies(frame, frames);
        };
        const std::uint64_t pixels = (ring_->frame_bytes() + 255) / 256 * 256 * frames_of_a_step();
        KG_CHECK(bridge_.memory().reserve(pixels));
    }
    return decoder_->attach(std::move(output));
}

Result<void> RingDecoder::make_copying() {
    auto copying =
        vulkan::VulkanLane::create(*bridge_.display(), options_.copy_lane, options_.recorder, bridge_.lane_sharing());
    if (!copying) return fail(std::move(copying.error()));
    copying_ = std::move(*copying);
    return bridge_.connect(decoder_->lane(), *copying_);
}

/// Memory for the frames of one step, and an executor for the copies out of it.
Result<void> RingDecoder::make_pixels() {
    for (std::size_t i = 0; i < frames_of_a_step(); ++i) {
        KG_TRY(auto buffer, bridge_.memory().create_buffer(fmt::format("pixels {}", i), ring_->frame_bytes()));
        pixels_.push_back(std::move(buffer));
    }
    KG_TRY(copier_, graph::Executor::create(
                        {.lanes = {copying_.get()}, .memory = {}, .compile = {.topology = bridge_.lane_topology()}}));
    return {};
}

/// One for each step of which a frame may wait, two that are on their way, and the one to come.
Result<void> RingDecoder::make_flags() {
    const std::uint64_t bytes = (std::uint64_t{options_.slots} + 3) * sizeof(std::uint32_t);
    KG_TRY(flags_, bridge_.accelerator().allocate_pinned("not finite", bytes));
    return {};
}

graph::Physical RingDecoder::flag_of(std::uint64_t step) const {
    const std::uint64_t offset = step % (options_.slots + 3) * sizeof(std::uint32_t);
    return {reinterpret_cast<std::uintptr_t>(flags_->data() + offset), 0, sizeof(std::uint32_t)};
}

bool RingDecoder::is_finite(const interop::FrameRecord& record) const {
    std::uint32_t flag = 0;
    const std::uint64_t index = record.label.step % (options_.slots + 3);
    std::memcpy(&flag, flags_->host_data() + index * sizeof(flag), sizeof(flag));
    return flag == 0;
}

/// From memory that both APIs see to the slots' images, and those into the layout in which readers get them.
void RingDecoder::declare_copies(graph::FrameGraph& frame, std::span<const graph::Buffer> frames) {
    std::vector<graph::Image>& images = images_[frames.size()];
    images.clear();
    for (std::size_t i = 0; i < frames.size(); ++i) images.push_back(ring_->import_image(frame, slots_[i]));
    const CopyData& copies = frame.add_pass<CopyData>(
        "frames to images", options_.copy_lane,
        [&](graph::PassBuilder& pass, CopyData& data) {
            for (std::size_t i = 0; i < frames.size(); ++i) {
                data.pixels.push_back(pass.read(frames[i], graph::Access::TransferRead));
                data.images.push_back(pass.write(images[i], graph::Access::TransferWrite));
            }
        },
        [](const CopyData& data, vulkan::PassContext& context) {
            for (std::size_t i = 0; i < data.images.size(); ++i)
                copy_to_image(context.range(data.pixels[i]), context.image(data.images[i]), context);
        });
    for (const graph::Image image : copies.images) ring_->declare_handover(frame, image, options_.copy_lane);
}

void RingDecoder::rebind_images(graph::FrameGraph& frame) {
    const std::vector<graph::Image>& images = images_.at(slots_.size());
    for (std::size_t i = 0; i < images.size(); ++i) frame.rebind(images[i], vulkan::physical_of(*slots_[i].image));
}

/// Waits for the step, then brings its pixels to the slots' images; the step is done when they are there.
Result<void> RingDecoder::copy_decoded(vae::EnqueuedStep& step) {
    constexpr auto kAccelerator = graph::Lane::Accelerator.index();
    KG_CHECK(decoder_->lane().wait(step.execution.done[kAccelerator]));
    const auto [it, added] = copies_.try_emplace(slots_.size());
    if (added) {
        std::vector<graph::Buffer> frames;
        for (std::size_t i = 0; i < slots_.size(); ++i)
            frames.push_back(it->second.import_buffer(
                fmt::format("pixels {}", i), {.bytes = ring_->frame_bytes(), .domain = graph::MemoryDomain::Shared},
                pixels_[i]->physical()));
        declare_copies(it->second, frames);
    }
    rebind_images(it->second);
    KG_TRY(auto execution, copier_->execute(it->second));
    step.execution = execution;
    return {};
}

RingDecoder::~RingDecoder() {
    if (ring_) abandon();
}

graph::LaneBackend& RingDecoder::last_lane() const {
    if (copying_) return *copying_;
    return decoder_->lane();
}

/// Slots for the next step, kept from call to call until there are enough.
Stepped RingDecoder::acquire(Nanoseconds timeout) {
    const std::size_t wanted = first_ ? 1 : frames_of_a_step();
    const Nanoseconds until = host_now() + timeout;
    while (slots_.size() < wanted) {
        const auto slot = ring_->acquire(std::max(until - host_now(), Nanoseconds{}));
        if (!slot) break;
        slots_.push_back(*slot);
    }
    const bool outdated = std::any_of(slots_.begin(), slots_.end(),
                                      [&](const FrameRing::Slot& slot) { return slot.generation != generation_; });
    if (outdated) abandon();
    if (outdated) return Stepped::Outdated;
    return slots_.size() == wanted ? Stepped::Enqueued : Stepped::NoSlots;
}

void RingDecoder::abandon() {
    for (const FrameRing::Slot& slot : slots_) ring_->abandon(slot);
    slots_.clear();
}

Result<Stepped> RingDecoder::step(const LatentFrame& latent, Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    if (const Stepped acquired = acquire(timeout); acquired != Stepped::Enqueued) return acquired;
    if (!bridge_.has_reached(before_last_)) {
        KG_TRY(const auto done, bridge_.wait(before_last_, std::max(until - host_now(), Nanoseconds{})));
        if (!done) return Stepped::NoSlots;
    }
    const auto enqueued = enqueue(latent);
    if (!enqueued) {
        abandon();
        if (copying_) copying_->forget_external();
        return fail(enqueued.error());
    }
    KG_CHECK(publish(*enqueued));
    return Stepped::Enqueued;
}

Result<vae::EnqueuedStep> RingDecoder::enqueue(const LatentFrame& latent) {
    const Nanoseconds begin = host_now();
    accel::AcceleratorLane& lane = decoder_->lane();
    bridge_.wait_before_next(lane, latent.ready);
    places_.clear();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const FrameRing::Slot& slot = slots_[i];
        if (copying_)
            bridge_.wait_before_next(*copying_, slot.reusable);
        else
            bridge_.wait_before_next(lane, slot.reusable);
        if (copier_)
            places_.push_back(pixels_[i]->physical());
        else if (slot.host != nullptr)
            places_.push_back({reinterpret_cast<std::uintptr_t>(slot.host->data()), 0, slot.host->bytes()});
        else if (!copying_)
            places_.push_back(slot.buffer->physical());
    }
    if (copier_) bridge_.wait_before_next(lane, last_);  // the copies out of the memory that this step writes
    const graph::Physical flag = flag_of(step_number_ + 1);
    std::memset(flags_->host_data() + (flag.object - reinterpret_cast<std::uintptr_t>(flags_->data())), 0, flag.bytes);
    const auto enqueuing = clock_.enqueuing();
    KG_CHECK(clock_.begin(lane.stream()));
    auto enqueued = decoder_->enqueue({.latents = {reinterpret_cast<std::uintptr_t>(latent.address), 0, latent.bytes},
                                       .frames = places_,
                                       .not_finite = flag,
                                       .bind = [this](graph::FrameGraph& frame) {
                                           if (copying_ && !copier_) rebind_images(frame);
                                       }});
    if (!enqueued) return enqueued;
    KG_TRY(const auto number, clock_.end(lane.stream(), first_));
    step_number_ = number;
    if (options_.recorder != nullptr)
        options_.recorder->add({.name = "enqueue a step",
                                .track = "host",
                                .begin = begin,
                                .end = host_now(),
                                .execution = enqueued->execution.number});
    if (copier_) KG_CHECK(copy_decoded(*enqueued));
    return enqueued;
}

/// What lies in the host's memory is waited for where it was made: no other API has to see it.
Result<interop::TimelinePoint> RingDecoder::ready_point(const vae::EnqueuedStep& step) {
    graph::LaneBackend& lane = last_lane();
    const std::uint64_t value = step.execution.done[lane.lane().index()];
    if (options_.storage == FrameRingDesc::Storage::Host)
        return interop::TimelinePoint{VK_NULL_HANDLE, lane.timeline(), value};
    return bridge_.point_of(lane, value);
}

Result<void> RingDecoder::publish(const vae::EnqueuedStep& step) {
    KG_TRY(auto ready, ready_point(step));
    before_last_ = std::exchange(last_, ready);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const std::int64_t index = step.first_index + static_cast<std::int64_t>(i);
        const Nanoseconds due(std::llround(static_cast<double>(index) * 1e9 / options_.fps));
        ring_->publish(slots_[i], {index, due, step_number_}, ready);
    }
    slots_.clear();
    first_ = false;
    return {};
}

void RingDecoder::collect() {
    decoder_->lane().collect();
    if (copying_) copying_->collect();
}

Result<void> RingDecoder::begin_clip(std::uint64_t generation) {
    abandon();
    generation_ = generation;
    first_ = true;
    return decoder_->reset();
}

}  // namespace kinetograph::stream
