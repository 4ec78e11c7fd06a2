#include <kinetograph/engine/interop/shared_buffer.hpp>

#include <kinetograph/engine/vulkan/device.hpp>

#include <unistd.h>

#include <algorithm>

namespace kinetograph::interop {
namespace {

struct Pieces {
    std::unique_ptr<accel::Memory> memory;
    std::unique_ptr<vulkan::Buffer> buffer;
};

/// Exported and pinned memory is an allocation of its own, never part of a larger block: smaller requests are rounded
/// up to this.
constexpr std::uint64_t kSmallestBytes = 1U << 20U;

std::uint64_t worthwhile(std::uint64_t bytes) {
    return (std::max(bytes, kSmallestBytes) + vulkan::kPageBytes - 1) / vulkan::kPageBytes * vulkan::kPageBytes;
}

Result<Pieces> export_to(accel::Device& accelerator, const vulkan::Device& display, std::string_view name,
                         std::uint64_t bytes) {
    KG_TRY(auto buffer, vulkan::Buffer::create(display, name, worthwhile(bytes), {.exportable = true}));
    KG_TRY(const auto fd, buffer->export_fd());
    auto memory = accelerator.import_memory(
        name, {.fd = fd, .bytes = buffer->allocation().bytes(), .dedicated = buffer->allocation().dedicated()});
    if (!memory) ::close(fd);
    KG_CHECK(memory);
    return Pieces{std::move(*memory), std::move(buffer)};
}

Result<Pieces> import_pinned(accel::Device& accelerator, const vulkan::Device& display, std::string_view name,
                             std::uint64_t bytes) {
    KG_TRY(auto memory, accelerator.allocate_pinned(name, worthwhile(bytes)));
    KG_TRY(auto buffer, vulkan::Buffer::import_host(display, name, {memory->host_data(), worthwhile(bytes)}));
    return Pieces{std::move(memory), std::move(buffer)};
}

Result<Pieces> register_mapped(accel::Device& accelerator, const vulkan::Device& display, std::string_view name,
                               std::uint64_t bytes) {
    KG_TRY(auto buffer, vulkan::Buffer::create(display, name, worthwhile(bytes),
                                               {.memory = vulkan::MemoryUse::Readback, .whole_pages = true}));
    KG_TRY(auto memory, accelerator.import_host(name, {buffer->mapped(), worthwhile(bytes)}));
    return Pieces{std::move(memory), std::move(buffer)};
}

}  // namespace

Result<std::unique_ptr<SharedBuffer>> SharedBuffer::create(accel::Device& accelerator, const vulkan::Device* display,
                                                           const TopologyChoice& choice, std::string_view name,
                                                           std::uint64_t bytes) {
    if (bytes == 0) return fail(ErrorCode::InvalidArgument, "shared buffer \"{}\" has no bytes", name);
    std::unique_ptr<SharedBuffer> shared(new SharedBuffer(bytes));
    const auto keep = [&](std::unique_ptr<accel::Memory>& place, Result<Pieces> pieces) -> Result<void> {
        KG_TRY(auto made, std::move(pieces));
        place = std::move(made.memory);
        shared->memory_ = place.get();
        shared->buffer_ = std::move(made.buffer);
        return {};
    };
    if (choice.topology == Topology::Headless) {
        KG_TRY(shared->owner_memory_, accelerator.allocate(name, bytes));
        shared->memory_ = shared->owner_memory_.get();
    } else if (choice.topology == Topology::Shared) {
        KG_CHECK(keep(shared->mapping_, export_to(accelerator, *display, name, bytes)));
    } else if (choice.staging == Staging::Pinned) {
        KG_CHECK(keep(shared->owner_memory_, import_pinned(accelerator, *display, name, bytes)));
    } else {
        KG_CHECK(keep(shared->mapping_, register_mapped(accelerator, *display, name, bytes)));
    }
    return shared;
}

std::byte* SharedBuffer::host_address() const { return buffer_ != nullptr ? buffer_->mapped() : memory_->host_data(); }

graph::Physical SharedBuffer::physical(std::uint64_t offset, std::uint64_t bytes) const {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_->data());
    if (buffer_ == nullptr) return {address, offset, bytes};
    return {reinterpret_cast<std::uintptr_t>(buffer_.get()), offset, bytes, address};
}

}  // namespace kinetograph::interop
