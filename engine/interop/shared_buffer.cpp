#include <kinetograph/engine/interop/shared_buffer.hpp>

#include <kinetograph/engine/accel/backend.hpp>
#include <kinetograph/engine/base/host_pages.hpp>

#include <unistd.h>

#include <algorithm>

namespace kinetograph::interop {
namespace {

struct Pieces {
    std::unique_ptr<accel::Memory> memory;
    vulkan::DisplayBuffer shown;
};

/// Exported and pinned memory is an allocation of its own, never part of a larger block: smaller requests are rounded
/// up to this.
constexpr std::uint64_t kSmallestBytes = 1U << 20U;

std::uint64_t worthwhile(std::uint64_t bytes) { return whole_host_pages(std::max(bytes, kSmallestBytes)); }

Result<Pieces> create_in(const accel::Device& accelerator, const vulkan::Display& display, std::string_view name,
                         std::uint64_t bytes) {
    KG_TRY(auto buffer, display.create_buffer(name, bytes));
    KG_TRY(auto memory, accel::find_backend(accelerator.info().kind)->in_vulkan->share(accelerator, *buffer.buffer));
    return Pieces{std::move(memory), std::move(buffer)};
}

Result<Pieces> export_to(accel::Device& accelerator, const vulkan::Display& display, std::string_view name,
                         std::uint64_t bytes) {
    vulkan::ExportedMemory exported;
    KG_TRY(auto buffer, display.export_buffer(name, worthwhile(bytes), exported));
    auto memory =
        accelerator.import_memory(name, {.fd = exported.fd, .bytes = exported.bytes, .dedicated = exported.dedicated});
    if (!memory) ::close(exported.fd);
    KG_CHECK(memory);
    return Pieces{std::move(*memory), std::move(buffer)};
}

Result<Pieces> import_pinned(accel::Device& accelerator, const vulkan::Display& display, std::string_view name,
                             std::uint64_t bytes) {
    KG_TRY(auto memory, accelerator.allocate_pinned(name, worthwhile(bytes)));
    KG_TRY(auto buffer, display.import_pages(name, {memory->host_data(), worthwhile(bytes)}));
    return Pieces{std::move(memory), std::move(buffer)};
}

Result<Pieces> register_mapped(accel::Device& accelerator, const vulkan::Display& display, std::string_view name,
                               std::uint64_t bytes) {
    KG_TRY(auto buffer, display.map_buffer(name, worthwhile(bytes)));
    KG_TRY(auto memory, accelerator.import_host(name, {buffer.mapped, worthwhile(bytes)}));
    return Pieces{std::move(memory), std::move(buffer)};
}

}  // namespace

Result<std::unique_ptr<SharedBuffer>> SharedBuffer::create(accel::Device& accelerator, const vulkan::Display* display,
                                                           const TopologyChoice& choice, std::string_view name,
                                                           std::uint64_t bytes) {
    if (bytes == 0) return fail(ErrorCode::InvalidArgument, "shared buffer \"{}\" has no bytes", name);
    std::unique_ptr<SharedBuffer> shared(new SharedBuffer(bytes));
    const auto keep = [&](std::unique_ptr<accel::Memory>& place, Result<Pieces> pieces) -> Result<void> {
        KG_TRY(auto made, std::move(pieces));
        place = std::move(made.memory);
        shared->memory_ = place.get();
        shared->shown_ = std::move(made.shown);
        return {};
    };
    if (choice.topology == Topology::Headless) {
        KG_TRY(shared->owner_memory_, accelerator.allocate(name, bytes));
        shared->memory_ = shared->owner_memory_.get();
    } else if (choice.timelines == Timelines::Own) {
        KG_CHECK(keep(shared->mapping_, create_in(accelerator, *display, name, bytes)));
    } else if (choice.topology == Topology::Shared) {
        KG_CHECK(keep(shared->mapping_, export_to(accelerator, *display, name, bytes)));
    } else if (choice.staging == Staging::Pinned) {
        KG_CHECK(keep(shared->owner_memory_, import_pinned(accelerator, *display, name, bytes)));
    } else {
        KG_CHECK(keep(shared->mapping_, register_mapped(accelerator, *display, name, bytes)));
    }
    return shared;
}

std::byte* SharedBuffer::host_address() const { return shown_.buffer ? shown_.mapped : memory_->host_data(); }

graph::Physical SharedBuffer::physical(std::uint64_t offset, std::uint64_t bytes) const {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_->data());
    if (!shown_.buffer) return {address, offset, bytes};
    return {reinterpret_cast<std::uintptr_t>(shown_.buffer.get()), offset, bytes, address};
}

}  // namespace kinetograph::interop
