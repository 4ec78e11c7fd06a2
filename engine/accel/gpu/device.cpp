#include <kinetograph/engine/accel/gpu/device.hpp>

#include <kinetograph/engine/accel/gpu/memory.hpp>
#include <kinetograph/engine/accel/gpu/stream.hpp>
#include <kinetograph/engine/accel/gpu/timeline.hpp>

namespace kinetograph::accel::gpu {

Result<std::unique_ptr<Memory>> GpuDevice::allocate(std::string_view name, std::uint64_t bytes) {
    return gpu::allocate(context_, name, bytes);
}

Result<std::unique_ptr<Memory>> GpuDevice::allocate_pinned(std::string_view name, std::uint64_t bytes) {
    return gpu::allocate_pinned(context_, name, bytes);
}

Result<std::unique_ptr<Memory>> GpuDevice::import_host(std::string_view name, std::span<std::byte> memory) {
    return gpu::import_host(context_, name, memory);
}

Result<std::unique_ptr<Memory>> GpuDevice::import_memory(std::string_view name, const ExternalMemoryDesc& desc) {
    return gpu::import_memory(context_, name, desc);
}

Result<std::unique_ptr<Stream>> GpuDevice::create_stream(std::string_view name) {
    return GpuStream::create(context_, name);
}

Result<std::unique_ptr<Stream>> GpuDevice::adopt_stream(std::string_view name, void* stream) {
    auto* const handle = static_cast<StreamHandle>(stream);
    KG_CHECK_IN(fmt::format("adopting stream \"{}\"", name), context_->check_adopted(handle));
    return GpuStream::adopt(context_, name, handle);
}

Result<void> GpuDevice::reach(Device& other) {
    const auto* const gpu = dynamic_cast<const GpuDevice*>(&other);
    return gpu != nullptr ? context_->reach(*gpu->context_) : Device::reach(other);
}

Result<std::shared_ptr<Timeline>> GpuDevice::create_timeline() { return context_->create_timeline(context_); }

Result<std::shared_ptr<Timeline>> GpuDevice::import_timeline(int fd, std::shared_ptr<Timeline> original) {
    if (!info().can_import_timeline)
        return fail(ErrorCode::Unsupported, "importing a timeline into {}: {}", info().name,
                    info().can_import_timeline.reason);
    return context_->import_timeline(context_, fd, std::move(original));
}

Result<std::shared_ptr<Event>> GpuDevice::create_event() {
    KG_TRY(auto clock, this->clock());
    return GpuEvent::create(context_, std::move(clock));
}

Result<std::shared_ptr<Module>> GpuDevice::load(std::string_view name, std::span<const std::byte> image) {
    const std::string what = fmt::format("loading \"{}\" on {}", name, info().name);
    if (image.empty()) return fail(ErrorCode::InvalidArgument, "{}: the image is empty", what);
    KG_TRY_IN(what, auto module, context_->load(context_, name, image));
    return module;
}

std::optional<ClockQuality> GpuDevice::clock_quality() const {
    const Lock lock(clock_mutex_);
    return clock_ ? std::optional(clock_->quality()) : std::nullopt;
}

/// Its thread starts with the first event: without events there is none.
Result<std::shared_ptr<EventClock>> GpuDevice::clock() {
    const Lock lock(clock_mutex_);
    if (!clock_) {
        KG_TRY(clock_, context_->start_clock(context_));
    }
    return clock_;
}

}  // namespace kinetograph::accel::gpu
