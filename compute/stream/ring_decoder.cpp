#include <kinetograph/compute/stream/ring_decoder.hpp>

#include <kinetograph/engine/graph/bounded_wait.hpp>
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/engine/vulkan/memory_pool.hpp>
#include <kinetograph/engine/vulkan/vk_result.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace kinetograph::stream {
namespace {

using interop::FrameRing;
using interop::FrameRingDesc;

graph::PixelFormat pixel_format(vae::FrameFormat format) {
    switch (format) {
        case vae::FrameFormat::Float32:
            return graph::PixelFormat::Rgb32Float;
        case vae::FrameFormat::Float16:
            return graph::PixelFormat::Rgb16Float;
        case vae::FrameFormat::Rgba8:
            break;
    }
    return graph::PixelFormat::Rgba8Unorm;
}

struct CopyData {
    std::vector<graph::Buffer> pixels;
    std::vector<graph::Image> images;
};

graph::Physical physical_of(const LatentFrame& latent) {
    return {reinterpret_cast<std::uintptr_t>(latent.address), 0, latent.bytes};
}

void copy_to_image(const vulkan::BufferRange& from, const vulkan::Image& image, vulkan::PassContext& context) {
    VkBufferImageCopy region{};
    region.bufferOffset = from.offset;
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {image.desc().width, image.desc().height, 1};
    context.table().vkCmdCopyBufferToImage(context.commands(), from.buffer, image.handle(),
                                           VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

}  // namespace

Result<std::unique_ptr<RingDecoder>> RingDecoder::create(interop::Bridge& bridge, std::shared_ptr<vae::Model> model,
                                                         vae::LatentSize size, const RingDecoderOptions& options) {
    if (options.max_latent_frames < 1)
        return fail(ErrorCode::InvalidArgument, "steps of {} latent frames", options.max_latent_frames);
    vae::StepFrames frames = model->step_frames(size);
    frames.most *= options.max_latent_frames;
    if (options.slots <= frames.most)
        return fail(ErrorCode::InvalidArgument,
                    "a ring of {} frames: a step makes {} at once, and a reader holds at least one", options.slots,
                    frames.most);
    std::unique_ptr<RingDecoder> made(new RingDecoder(bridge, options));
    FrameRingDesc::Storage& storage = made->options_.storage;
    if (bridge.display() == nullptr && storage == FrameRingDesc::Storage::Image)
        storage = FrameRingDesc::Storage::Buffer;
    if (storage == FrameRingDesc::Storage::Image && options.format != vae::FrameFormat::Rgba8)
        return fail(ErrorCode::InvalidArgument, "images are of 8 bits: frames of floats are buffers");
    // Frames first, so that the clip is planned for the memory that they leave.
    KG_CHECK(made->make_ring(frames));
    KG_CHECK(made->make_copies(frames));
    KG_CHECK(made->make_flags());
    KG_CHECK(made->make_runner(std::move(model), size));
    return made;
}

Result<void> RingDecoder::make_runner(std::shared_ptr<vae::Model> model, vae::LatentSize size) {
    vae::RunnerOptions options{
        .recorder = options_.passes, .max_frames = options_.max_latent_frames, .limits = options_.limits};
    if (options_.storage != FrameRingDesc::Storage::Host) options.topology = bridge_.lane_topology();
    KG_TRY(runner_, vae::ClipRunner::create(std::move(model), size, options));
    if (copying_) return bridge_.connect(runner_->lane(), *copying_);
    if (options_.storage == FrameRingDesc::Storage::Buffer) return bridge_.connect(runner_->lane());
    return {};
}

std::vector<graph::LaneState> RingDecoder::lane_states() const {
    std::vector<graph::LaneState> states = runner_->executor().lane_states();
    if (copying_) states.push_back(copying_->state());
    if (host_copies_) states.push_back(host_copies_->state());
    return states;
}

Result<void> RingDecoder::status() const {
    KG_CHECK(runner_->lane().stream().noted());
    if (host_copies_) return host_copies_->status();
    return {};
}

Result<void> RingDecoder::wait_for_steps(Nanoseconds patience) {
    accel::AcceleratorLane& lane = runner_->lane();
    const std::uint64_t newest = lane.state().submitted;
    KG_CHECK(graph::wait_while_lanes_move(
        "the decoder", patience, [&] { return lane_states(); },
        [&](Nanoseconds timeout) -> Result<bool> {
            KG_TRY(const bool decoded, lane.wait(newest, timeout));
            if (!decoded || !host_copies_ || !copied_.timeline) return decoded;
            return host_copies_->wait(copied_, timeout);
        }));
    return lane.stream().synchronize();  // only a time stamp follows the newest value
}

std::uint64_t RingDecoder::shown_bytes() const {
    const bool images = options_.storage == FrameRingDesc::Storage::Image;
    const bool shared = bridge_.choice().topology == interop::Topology::Shared;  // else buffers are the host's
    const std::uint64_t before = images && shared ? frames_of_a_step_ : 0;
    const std::uint64_t frames =
        images || (shared && options_.storage == FrameRingDesc::Storage::Buffer) ? options_.slots : 0;
    return (frames + before) * frame_bytes_;
}

vae::StackMemory RingDecoder::memory_of_frames(const interop::Bridge& bridge, const vae::Model& model,
                                               vae::LatentSize size, const RingDecoderOptions& options) {
    const vae::StepFrames frames = model.step_frames(size);
    const auto frame = static_cast<std::uint64_t>(frames.width * frames.height) * vae::bytes_per_pixel(options.format);
    const std::uint64_t ring = options.slots * vae::whole_pages(frame);
    vae::StackMemory memory{.io =
                                vae::whole_pages((std::uint64_t{options.slots} + 1) * sizeof(std::uint32_t))};  // flags
    if (options.storage == FrameRingDesc::Storage::Host) {
        memory.io += ring;
        if (vae::HostCopies::serve(bridge.accelerator()))
            memory.stream =
                vae::HostCopies::device_bytes(static_cast<std::size_t>(frames.most * options.max_latent_frames), frame);
    } else if (options.storage == FrameRingDesc::Storage::Buffer || bridge.display() == nullptr) {
        memory.stream = ring;
    }
    return memory;
}

/// Checked before anything is allocated: drivers move memory to the host rather than refuse it.
Result<void> RingDecoder::check_shown() const {
    if (shown_bytes() == 0) return {};
    const vulkan::Device& display = *bridge_.display();
    const std::uint64_t free = display.memory().bytes_free(vulkan::MemoryUse::DeviceLocal);
    if (shown_bytes() <= free) return {};
    return fail(ErrorCode::OutOfMemory, "{}: {} frames need {}, {} are free", display.report().name, options_.slots,
                vulkan::human_bytes(shown_bytes()), vulkan::human_bytes(free));
}

Result<void> RingDecoder::make_ring(vae::StepFrames frames) {
    frames_of_a_step_ = static_cast<std::uint64_t>(frames.most);
    frame_bytes_ = static_cast<std::uint64_t>(frames.width * frames.height) * vae::bytes_per_pixel(options_.format);
    KG_CHECK(check_shown());
    KG_TRY(ring_, FrameRing::create(bridge_, {.width = static_cast<std::uint32_t>(frames.width),
                                              .height = static_cast<std::uint32_t>(frames.height),
                                              .format = pixel_format(options_.format),
                                              .storage = options_.storage,
                                              .slots = options_.slots,
                                              .color = {}}));
    slots_.reserve(static_cast<std::size_t>(frames.most));
    return {};
}

/// The copies' lane and executor, and the memory between the kernels and them.
Result<void> RingDecoder::make_copies(vae::StepFrames frames) {
    if (options_.storage == FrameRingDesc::Storage::Image) return make_image_copies();
    if (options_.storage != FrameRingDesc::Storage::Host || !vae::HostCopies::serve(bridge_.accelerator())) return {};
    KG_TRY(host_copies_, vae::HostCopies::create(bridge_.accelerator(), static_cast<std::size_t>(frames.most),
                                                 ring_->frame_bytes(), options_.recorder));
    return {};
}

Result<void> RingDecoder::make_image_copies() {
    KG_TRY(copying_, vulkan::VulkanLane::create(*bridge_.display(), options_.copy_lane, options_.recorder,
                                                bridge_.lane_sharing()));
    KG_TRY(copier_, graph::Executor::create({.lanes = {copying_.get()},
                                             .memory = {},
                                             .compile = {.topology = bridge_.lane_topology()},
                                             .log = bridge_.accelerator().log()}));
    for (std::uint64_t i = 0; i < frames_of_a_step_; ++i) {
        KG_TRY(auto buffer, bridge_.memory().create_buffer(fmt::format("pixels {}", i), ring_->frame_bytes()));
        pixels_.push_back(std::move(buffer));
    }
    return {};
}

/// One for each slot, because each may hold a frame of another step, and one for the next step.
Result<void> RingDecoder::make_flags() {
    const std::uint64_t bytes = (std::uint64_t{options_.slots} + 1) * sizeof(std::uint32_t);
    KG_TRY(flags_, bridge_.accelerator().allocate_pinned("not finite", bytes));
    flag_of_slot_.resize(options_.slots);
    return {};
}

graph::Physical RingDecoder::flag(std::size_t index) const {
    const std::byte* address = flags_->data() + index * sizeof(std::uint32_t);
    return {reinterpret_cast<std::uintptr_t>(address), 0, sizeof(std::uint32_t)};
}

/// A flag that no slot has, so none of a frame that is waiting or held. Nor is it the flag of a running step: the
/// newest step's slots have its flag until the next step is published, and step() waits for the steps before it.
std::size_t RingDecoder::unused_flag() const {
    std::size_t index = 0;
    while (std::ranges::find(flag_of_slot_, index) != flag_of_slot_.end()) ++index;
    return index;
}

/// publish() notes the flag of a slot, which stays the same until the slot is released.
std::optional<bool> RingDecoder::is_finite(const interop::FrameRecord& record) const {
    if (!bridge_.has_reached(record.ready)) return std::nullopt;
    std::uint32_t flag = 0;
    std::memcpy(&flag, flags_->host_data() + flag_of_slot_[record.slot] * sizeof(flag), sizeof(flag));
    return flag == 0;
}

/// Where the next step's kernels write a frame.
graph::Physical RingDecoder::place_of(std::size_t frame) const {
    if (copying_) return pixels_[frame]->physical();
    if (host_copies_) return host_copies_->place_of(turn_, frame);
    const FrameRing::Slot& slot = slots_[frame];
    if (slot.host == nullptr) return slot.buffer->physical();
    return {reinterpret_cast<std::uintptr_t>(slot.host->data()), 0, slot.host->bytes()};
}

Result<void> RingDecoder::declare(StepGraph& step, const LatentFrame& latent) {
    vae::Clip& clip = runner_->clip();
    const bool in_host_memory = options_.storage == FrameRingDesc::Storage::Host;
    const auto domain = in_host_memory ? graph::MemoryDomain::Accelerator : graph::MemoryDomain::Shared;
    step.latents = clip.import_latents(step.frame, physical_of(latent), latent.count, latent.dtype);
    for (std::size_t i = 0; i < slots_.size(); ++i)
        step.places.push_back(step.frame.import_buffer(fmt::format("frame {}", i),
                                                       clip.frame_desc(options_.format, domain), place_of(i)));
    step.not_finite = step.frame.import_buffer("not finite", {sizeof(std::uint32_t), 4}, flag(newest_flag_));
    KG_CHECK(clip.declare(
        step.frame, {step.latents, latent.dtype},
        {.format = options_.format, .domain = domain, .places = step.places, .not_finite = step.not_finite},
        latent.count));
    return {};
}

/// The graph of the clip's next step, on these latent frames and the slots that were acquired.
Result<RingDecoder::StepGraph*> RingDecoder::bound_graph(const LatentFrame& latent) {
    KG_TRY(const auto kind, clip().next(latent.count));
    newest_ = {kind, latent.dtype};
    const auto [it, added] = steps_.try_emplace(newest_);
    StepGraph& step = it->second;
    if (added)
        if (auto declared = declare(step, latent); !declared) {
            steps_.erase(it);
            return fail(std::move(declared.error()));
        }
    step.frame.rebind(step.latents, physical_of(latent), bridge_.import_point(latent.ready));
    step.frame.rebind(step.not_finite, flag(newest_flag_));
    for (std::size_t i = 0; i < step.places.size(); ++i) {
        graph::Point free = reusable(i);
        if (copying_) free = copied_;
        if (host_copies_) free = {};  // step() has waited for the step of the same turn
        step.frame.rebind(step.places[i], place_of(i), free);
    }
    return &step;
}

/// Copies pixels from memory that both APIs see to the slots' images, and brings these into the layout that readers
/// get.
void RingDecoder::declare(CopyGraph& copies) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        copies.pixels.push_back(copies.frame.import_buffer(
            fmt::format("pixels {}", i), {.bytes = ring_->frame_bytes(), .domain = graph::MemoryDomain::Shared},
            pixels_[i]->physical()));
        copies.images.push_back(ring_->import_image(copies.frame, slots_[i]));
    }
    const CopyData& copied = copies.frame.add_pass<CopyData>(
        "frames to images", options_.copy_lane,
        [&](graph::PassBuilder& pass, CopyData& data) {
            for (std::size_t i = 0; i < slots_.size(); ++i) {
                data.pixels.push_back(pass.read(copies.pixels[i], graph::Access::TransferRead));
                data.images.push_back(pass.write(copies.images[i], graph::Access::TransferWrite));
            }
        },
        [](const CopyData& data, vulkan::PassContext& context) {
            for (std::size_t i = 0; i < data.images.size(); ++i)
                copy_to_image(context.range(data.pixels[i]), context.image(data.images[i]), context);
        });
    for (const graph::Image image : copied.images) ring_->declare_handover(copies.frame, image, options_.copy_lane);
}

Result<void> RingDecoder::wait_until_decoded(const vae::EnqueuedStep& step) {
    constexpr Nanoseconds kPoll = std::chrono::milliseconds(20);
    const std::uint64_t done = step.execution.done[graph::Lane::Accelerator.index()];
    for (bool reached = false; !reached;) {
        KG_TRY(reached, runner_->lane().wait(done, kPoll));
        if (reached || !options_.gives_up || !options_.gives_up()) continue;
        last_ = {VK_NULL_HANDLE, runner_->lane().timeline(), done};
        return fail(ErrorCode::Cancelled, "a step was cancelled before its frames were copied");
    }
    return {};
}

/// Copies the newest step's pixels to the slots' images, once the step has written them.
Result<void> RingDecoder::copy_to_images() {
    const auto [it, added] = copies_.try_emplace(slots_.size());
    CopyGraph& copies = it->second;
    if (added) declare(copies);
    const std::vector<graph::Buffer>& places = steps_.at(newest_).places;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        copies.frame.rebind(copies.pixels[i], pixels_[i]->physical(), runner_->executor().ready(places[i]));
        copies.frame.rebind(copies.images[i], vulkan::physical_of(*slots_[i].image), reusable(i));
    }
    KG_CHECK(copier_->execute(copies.frame));
    copied_ = copier_->ready(copies.images.back());
    return {};
}

/// The same for slots in host memory; the next step takes the other turn.
Result<void> RingDecoder::copy_to_host() {
    std::vector<vae::HostPlace> places;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const auto address = reinterpret_cast<std::uintptr_t>(slots_[i].host->data());
        places.push_back({{address, 0, ring_->frame_bytes()}, reusable(i)});
    }
    const graph::Point written = runner_->executor().ready(steps_.at(newest_).places.back());
    KG_TRY(copied_, host_copies_->enqueue(turn_, places, written));
    turn_ = (turn_ + 1) % vae::HostCopies::kTurns;
    return {};
}

/// Steps, then the copies of their frames; only then memory: a driver that releases some waits for every stream that
/// was not given up.
RingDecoder::~RingDecoder() {
    if (ring_) abandon();
    if (runner_) runner_->end_lane();
    host_copies_.reset();
}

void RingDecoder::leak_frames() {
    abandon();
    if (bridge_.display() != nullptr)
        bridge_.display()->keep(std::shared_ptr<FrameRing>(std::move(ring_)));
    else
        static_cast<void>(ring_.release());  // NOLINT(bugprone-unused-return-value)
}

/// Slots for the next step, kept from call to call until there are enough.
Stepped RingDecoder::acquire(std::int64_t latent_frames, Nanoseconds timeout) {
    const auto of_a_latent = static_cast<std::int64_t>(frames_of_a_step_) / options_.max_latent_frames;
    const std::size_t wanted = first_ ? 1 : static_cast<std::size_t>(of_a_latent * latent_frames);
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
    KG_TRY(const Stepped prepared, prepare(latent, timeout));
    if (prepared == Stepped::Enqueued) KG_CHECK(start(latent));
    return prepared;
}

Result<Stepped> RingDecoder::prepare(const LatentFrame& latent, Nanoseconds timeout) {
    const std::int64_t most = first_ ? 1 : options_.max_latent_frames;
    if (latent.count < 1 || latent.count > most)
        return fail(ErrorCode::InvalidArgument, "{} latent frames: this step takes 1 to {}", latent.count, most);
    const Nanoseconds until = host_now() + timeout;
    if (const Stepped acquired = acquire(latent.count, timeout); acquired != Stepped::Enqueued) return acquired;
    if (!bridge_.has_reached(before_last_)) {
        KG_TRY(const auto done, bridge_.wait(before_last_, std::max(until - host_now(), Nanoseconds{})));
        if (!done) return Stepped::NoSlots;
    }
    const auto kind = clip().next(latent.count);
    if (!kind) abandon();
    KG_CHECK(kind);
    return Stepped::Enqueued;
}

Result<void> RingDecoder::start(const LatentFrame& latent) {
    const auto enqueued = enqueue(latent);
    if (!enqueued) abandon();
    KG_CHECK(enqueued);
    return publish(*enqueued);
}

Result<vae::EnqueuedStep> RingDecoder::enqueue(const LatentFrame& latent) {
    const Nanoseconds begin = host_now();
    accel::Stream& stream = runner_->lane().stream();
    newest_flag_ = unused_flag();
    std::memset(flags_->host_data() + newest_flag_ * sizeof(std::uint32_t), 0, sizeof(std::uint32_t));
    KG_TRY(auto* step, bound_graph(latent));
    const Lock enqueuing(clock_.enqueuing());
    KG_CHECK(clock_.begin(stream));
    KG_TRY(const auto enqueued, runner_->execute(step->frame, latent.count));
    KG_TRY(const auto number, clock_.end(stream, first_));
    step_number_ = number;
    if (options_.recorder != nullptr)
        options_.recorder->add(profile::Span{.name = "enqueue a step",
                                             .track = "host",
                                             .begin = begin,
                                             .end = host_now(),
                                             .execution = enqueued.execution.number});
    if (copying_ && options_.copies == Copies::OnceDecoded) KG_CHECK(wait_until_decoded(enqueued));
    if (copying_) KG_CHECK(copy_to_images());
    if (host_copies_) KG_CHECK(copy_to_host());
    return enqueued;
}

/// When the frames of the newest step are ready: the last one's point, because its pass is the last on its lane.
graph::Point RingDecoder::ready_point() const {
    if (copying_ || host_copies_) return copied_;
    return runner_->executor().ready(steps_.at(newest_).places.back());
}

Result<void> RingDecoder::publish(const vae::EnqueuedStep& step) {
    const graph::Point point = ready_point();
    interop::TimelinePoint ready{VK_NULL_HANDLE, point.timeline, point.value};
    // Frames in host memory are waited for on the timeline of their own device: no other API has to see it.
    if (options_.storage != FrameRingDesc::Storage::Host) {
        KG_TRY(ready, bridge_.export_point(point));
    }
    profile::StepKey made_by{profile::kNoPlan, step.execution.number};
    if (options_.passes != nullptr) {
        const graph::Executor& executor = runner_->executor();
        made_by.plan = options_.passes->plans().id_of(executor.plan()->fingerprint, executor.id());
    }
    before_last_ = std::exchange(last_, ready);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const std::int64_t index = step.frames.first + static_cast<std::int64_t>(i);
        const Nanoseconds due(std::llround(static_cast<double>(index) * 1e9 / options_.fps));
        flag_of_slot_[slots_[i].index] = newest_flag_;
        ring_->publish(slots_[i], {index, due, step_number_, made_by}, ready);
    }
    slots_.clear();
    first_ = false;
    return {};
}

void RingDecoder::collect() {
    runner_->lane().collect();
    if (copying_) copying_->collect();
    if (host_copies_) host_copies_->collect();
}

Result<void> RingDecoder::begin_clip(std::uint64_t generation) {
    abandon();
    generation_ = generation;
    first_ = true;
    KG_CHECK(runner_->reset());
    if (host_copies_) return host_copies_->reset();
    return {};
}

}  // namespace kinetograph::stream
