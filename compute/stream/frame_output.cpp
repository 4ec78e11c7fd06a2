#include <kinetograph/compute/stream/frame_output.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kinetograph::stream {
namespace {

using interop::FrameRing;
using Storage = interop::FrameRingDesc::Storage;

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

Storage storage_of(const interop::Bridge& bridge, const vae::StepOptions& options) {
    return options.storage.value_or(bridge.display() != nullptr ? Storage::Image : Storage::Host);
}

std::uint64_t frame_bytes(const vae::StepFrames& frames, vae::FrameFormat format) {
    return static_cast<std::uint64_t>(frames.width * frames.height) * vae::bytes_per_pixel(format, frames.channels);
}

std::uint64_t flag_bytes(std::uint32_t slots) { return (std::uint64_t{slots} + 1) * sizeof(std::uint32_t); }

std::uint64_t shown(const interop::Bridge& bridge, const vae::StepFrames& frames, const vae::StepOptions& options) {
    const Storage storage = storage_of(bridge, options);
    const bool shared = bridge.choice().topology == interop::Topology::Shared;  // else buffers are the host's
    std::uint64_t count = 0;
    if (storage == Storage::Image)
        count = options.slots + (shared ? static_cast<std::uint64_t>(frames.most) : 0);
    else if (storage == Storage::Buffer && shared)
        count = options.slots;
    return count * frame_bytes(frames, options.format);
}

}  // namespace

Result<std::unique_ptr<FrameOutput>> FrameOutput::create(interop::Bridge& bridge, const vae::StepFrames& frames,
                                                         const vae::StepOptions& options) {
    const Storage storage = storage_of(bridge, options);
    if (options.slots <= frames.most)
        return fail(ErrorCode::InvalidArgument,
                    "a ring of {} frames: a step makes {} at once, and a reader holds at least one", options.slots,
                    frames.most);
    if (storage == Storage::Image && options.format != vae::FrameFormat::Rgba8)
        return fail(ErrorCode::InvalidArgument, "images are of 8 bits: frames of floats are buffers");
    std::unique_ptr<FrameOutput> made(
        new FrameOutput(bridge, storage, options.copy_lane, shown(bridge, frames, options)));
    KG_CHECK(made->check_shown(options.slots));
    KG_CHECK(made->make(frames, options));
    return made;
}

FrameOutput::~FrameOutput() = default;

/// Checked before anything is allocated: drivers move memory to the host rather than refuse it.
Result<void> FrameOutput::check_shown(std::uint32_t slots) const {
    if (shown_bytes_ == 0 || bridge_.display() == nullptr) return {};
    return bridge_.display()->check_free(shown_bytes_, fmt::format("{} frames", slots));
}

/// The ring, then the lane and the memory of copies; a flag for each slot, because each may hold a frame of another
/// step, and one for the next step.
Result<void> FrameOutput::make(const vae::StepFrames& frames, const vae::StepOptions& options) {
    accel::Device& device = bridge_.accelerator();
    if (storage_ == Storage::Host) domain_ = options.placement.memory;
    KG_TRY(ring_, FrameRing::create(bridge_, {.width = static_cast<std::uint32_t>(frames.width),
                                              .height = static_cast<std::uint32_t>(frames.height),
                                              .format = pixel_format(options.format),
                                              .pixel_bytes = static_cast<std::uint32_t>(
                                                  vae::bytes_per_pixel(options.format, frames.channels)),
                                              .storage = storage_,
                                              .slots = options.slots,
                                              .color = {}}));
    if (storage_ == Storage::Image) KG_CHECK(make_image_copies(frames.most, options.recorder));
    if (storage_ == Storage::Host && vae::HostCopies::serve(device)) {
        KG_TRY(host_copies_, vae::HostCopies::create(device, static_cast<std::size_t>(frames.most),
                                                     ring_->frame_bytes(), options.recorder));
    }
    KG_TRY(flags_, device.allocate_pinned("not finite", flag_bytes(options.slots)));
    flag_of_slot_.resize(options.slots);
    slots_.reserve(static_cast<std::size_t>(frames.most));
    return {};
}

Result<void> FrameOutput::make_image_copies(std::int64_t frames, profile::Recorder* recorder) {
    KG_TRY(copying_, bridge_.display()->create_lane(copy_lane_, recorder, bridge_.lane_sharing()));
    KG_TRY(copier_, graph::Executor::create({.lanes = {copying_.get()},
                                             .memory = {},
                                             .compile = {.topology = bridge_.lane_topology()},
                                             .log = bridge_.accelerator().log()}));
    for (std::int64_t i = 0; i < frames; ++i) {
        KG_TRY(auto buffer, bridge_.memory().create_buffer(fmt::format("pixels {}", i), ring_->frame_bytes()));
        pixels_.push_back(std::move(buffer));
    }
    return {};
}

vae::StackMemory FrameOutput::memory(const interop::Bridge& bridge, const vae::StepFrames& frames,
                                     const vae::StepOptions& options) {
    const Storage storage = storage_of(bridge, options);
    const std::uint64_t frame = frame_bytes(frames, options.format), ring = options.slots * vae::whole_pages(frame);
    vae::StackMemory memory{.io = vae::whole_pages(flag_bytes(options.slots))};
    if (storage == Storage::Host) {
        memory.io += ring;
        if (vae::HostCopies::serve(bridge.accelerator()))
            memory.stream = vae::HostCopies::device_bytes(static_cast<std::size_t>(frames.most), frame);
    } else if (storage == Storage::Buffer) {
        memory.stream = ring;
    }
    return memory;
}

bool FrameOutput::acquire(std::size_t frames, Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    while (slots_.size() < frames) {
        const auto slot = ring_->acquire(std::max(until - host_now(), Nanoseconds{}));
        if (!slot) return false;
        slots_.push_back(*slot);
    }
    return true;
}

bool FrameOutput::is_outdated(std::uint64_t generation) const {
    return std::ranges::any_of(slots_, [&](const FrameRing::Slot& slot) { return slot.generation != generation; });
}

void FrameOutput::abandon() {
    for (const FrameRing::Slot& slot : slots_) ring_->abandon(slot);
    slots_.clear();
}

/// Chooses a flag that no slot has, so none of a frame that is waiting or held. Nor is it the flag of a running step:
/// the newest step's slots have its flag until the next step is published, and steps before it have ended.
void FrameOutput::begin_step() {
    newest_flag_ = 0;
    while (std::ranges::find(flag_of_slot_, newest_flag_) != flag_of_slot_.end()) ++newest_flag_;
    std::memset(flags_->host_data() + newest_flag_ * sizeof(std::uint32_t), 0, sizeof(std::uint32_t));
}

graph::Physical FrameOutput::place(std::size_t frame) const {
    if (copying_) return pixels_[frame]->physical();
    if (host_copies_) return host_copies_->place_of(turn_, frame);
    const FrameRing::Slot& slot = slots_[frame];
    if (slot.host == nullptr) return slot.buffer->physical();
    return {reinterpret_cast<std::uintptr_t>(slot.host->data()), 0, slot.host->bytes()};
}

/// Of copies to the host the step of the same turn has ended: at most two steps are on their way.
graph::Point FrameOutput::free_at(std::size_t frame) const {
    if (copying_) return copied_;
    return host_copies_ ? graph::Point{} : reusable(frame);
}

graph::Physical FrameOutput::flag(std::size_t index) const {
    const std::byte* address = flags_->data() + index * sizeof(std::uint32_t);
    return {reinterpret_cast<std::uintptr_t>(address), 0, sizeof(std::uint32_t)};
}

Result<graph::Point> FrameOutput::copy(const graph::Point& written) {
    if (copying_) return copy_to_images(written);
    return host_copies_ ? copy_to_host(written) : Result<graph::Point>(written);
}

/// Copies pixels from memory that both APIs see to the slots' images, and brings these into the layout that readers
/// get.
void FrameOutput::declare(ImageCopies& copies) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        copies.pixels.push_back(copies.frame.import_buffer(
            fmt::format("pixels {}", i), {.bytes = ring_->frame_bytes(), .domain = graph::MemoryDomain::Shared},
            pixels_[i]->physical()));
        copies.images.push_back(ring_->import_image(copies.frame, slots_[i]));
    }
    for (const graph::Image image :
         bridge_.display()->copy_to_images(copies.frame, copy_lane_, copies.pixels, copies.images))
        ring_->declare_handover(copies.frame, image, copy_lane_);
}

Result<graph::Point> FrameOutput::copy_to_images(const graph::Point& written) {
    const auto [it, added] = image_copies_.try_emplace(slots_.size());
    ImageCopies& copies = it->second;
    if (added) declare(copies);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        copies.frame.rebind(copies.pixels[i], pixels_[i]->physical(), written);
        copies.frame.rebind(copies.images[i], ring_->physical_of(slots_[i]), reusable(i));
    }
    KG_CHECK(copier_->execute(copies.frame));
    copied_ = copier_->ready(copies.images.back());
    return copied_;
}

/// The next step takes the other turn.
Result<graph::Point> FrameOutput::copy_to_host(const graph::Point& written) {
    std::vector<vae::HostPlace> places;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const auto address = reinterpret_cast<std::uintptr_t>(slots_[i].host->data());
        places.push_back({{address, 0, ring_->frame_bytes()}, reusable(i)});
    }
    KG_TRY(copied_, host_copies_->enqueue(turn_, places, written));
    turn_ = (turn_ + 1) % vae::HostCopies::kTurns;
    return copied_;
}

void FrameOutput::publish(interop::FrameLabel label, double fps, const interop::TimelinePoint& ready) {
    for (const FrameRing::Slot& slot : slots_) {
        label.presentation_time = Nanoseconds(std::llround(static_cast<double>(label.index) * 1e9 / fps));
        flag_of_slot_[slot.index] = newest_flag_;
        ring_->publish(slot, label, ready);
        ++label.index;
    }
    slots_.clear();
}

/// publish() notes the flag of a slot, which stays the same until the slot is released.
std::optional<bool> FrameOutput::is_finite(const interop::FrameRecord& record) const {
    if (!bridge_.has_reached(record.ready)) return std::nullopt;
    std::uint32_t flag = 0;
    std::memcpy(&flag, flags_->host_data() + flag_of_slot_[record.slot] * sizeof(flag), sizeof(flag));
    return flag == 0;
}

void FrameOutput::add_lane_states(std::vector<graph::LaneState>& states) const {
    if (copying_) states.push_back(copying_->state());
    if (host_copies_) states.push_back(host_copies_->state());
}

Result<void> FrameOutput::status() const { return host_copies_ ? host_copies_->status() : Result<void>{}; }

Result<bool> FrameOutput::wait_for_host_copies(Nanoseconds timeout) {
    if (!host_copies_ || !copied_.timeline) return true;
    return host_copies_->wait(copied_, timeout);
}

Result<void> FrameOutput::reset() { return host_copies_ ? host_copies_->reset() : Result<void>{}; }

void FrameOutput::collect() {
    if (copying_) copying_->collect();
    if (host_copies_) host_copies_->collect();
}

void FrameOutput::end_copies() { host_copies_.reset(); }

void FrameOutput::leak_frames() {
    abandon();
    if (bridge_.display() != nullptr)
        bridge_.display()->keep(std::shared_ptr<FrameRing>(std::move(ring_)));
    else
        static_cast<void>(ring_.release());  // NOLINT(bugprone-unused-return-value)
}

}  // namespace kinetograph::stream
