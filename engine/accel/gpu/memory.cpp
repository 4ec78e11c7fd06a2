#include <kinetograph/engine/accel/gpu/memory.hpp>

#include <unistd.h>

#include <algorithm>

namespace kinetograph::accel::gpu {

namespace {

class GpuMemory : public Memory {
  public:
    GpuMemory(std::shared_ptr<Context> context, std::byte* device, std::byte* host, std::uint64_t bytes)
        : context_(std::move(context)), device_(device), host_(host), bytes_(bytes) {}
    std::byte* data() const final { return device_; }
    std::byte* host_data() const final { return host_; }
    std::uint64_t bytes() const final { return bytes_; }

  protected:
    Context& context() { return *context_; }
    /// False: work that was given up may still use it, so it must be leaked.
    bool may_be_released() { return context_->given_up().has_ended(); }

  private:
    std::shared_ptr<Context> context_;
    std::byte* device_;
    std::byte* host_;
    std::uint64_t bytes_;
};

class OwnMemory final : public GpuMemory {
  public:
    using GpuMemory::GpuMemory;
    ~OwnMemory() override {
        if (!may_be_released()) return;
        context().release(data());
        context().ledger().remove(bytes());
    }
};

class PinnedMemory final : public GpuMemory {
  public:
    using GpuMemory::GpuMemory;
    ~PinnedMemory() override {
        if (may_be_released()) context().release_pinned(host_data());
    }
};

class RegisteredMemory final : public GpuMemory {
  public:
    using GpuMemory::GpuMemory;
    ~RegisteredMemory() override {
        if (may_be_released()) context().unregister_host(host_data());
    }
};

class ImportedMemory final : public GpuMemory {
  public:
    ImportedMemory(std::shared_ptr<Context> context, ExternalMemoryHandle handle, std::byte* device,
                   std::uint64_t bytes)
        : GpuMemory(std::move(context), device, nullptr, bytes), handle_(handle) {}
    ~ImportedMemory() override {
        if (!may_be_released()) return;
        context().release(data());  // the mapping; the memory belongs to its exporter
        context().release(handle_);
    }

  private:
    ExternalMemoryHandle handle_;
};

std::string quoted(std::string_view name) { return fmt::format("\"{}\"", name); }

Result<std::unique_ptr<Memory>> allocate_once(const std::shared_ptr<Context>& context, std::string_view name,
                                              std::uint64_t bytes) {
    const std::uint64_t rounded = std::max<std::uint64_t>(bytes, 1);  // drivers refuse 0 bytes, or answer with null
    Ledger& ledger = context->ledger();
    if (!ledger.add(rounded)) return over_budget(ledger, name, bytes, context->info().name);
    auto device = context->allocate(rounded);
    if (device) return std::make_unique<OwnMemory>(context, *device, nullptr, rounded);
    ledger.remove(rounded);
    if (device.error().code != ErrorCode::OutOfMemory) return fail(std::move(device.error()), quoted(name));
    const auto [free, total] = context->memory_left();
    return fail(ErrorCode::OutOfMemory, "\"{}\" needs {} bytes, {} of {} bytes are free on {}: {}", name, bytes, free,
                total, context->info().name, device.error().message);
}

}  // namespace

Result<std::unique_ptr<Memory>> allocate(const std::shared_ptr<Context>& context, std::string_view name,
                                         std::uint64_t bytes) {
    return allocate_or_relieve(
        context->ledger(), name, bytes, [&] { return allocate_once(context, name, bytes); },
        [&] { return std::min(context->memory_left().free, context->ledger().left()); });
}

Result<std::unique_ptr<Memory>> allocate_pinned(const std::shared_ptr<Context>& context, std::string_view name,
                                                std::uint64_t bytes) {
    const std::uint64_t rounded = whole_host_pages(std::max<std::uint64_t>(bytes, 1));
    KG_TRY_IN(fmt::format("\"{}\" needs {} bytes of pinned host memory", name, bytes), std::byte * host,
              context->allocate_pinned(rounded));
    auto device = context->device_address(host);
    if (!device) context->release_pinned(host);
    KG_CHECK_IN(quoted(name), device);
    return std::make_unique<PinnedMemory>(context, *device, host, rounded);
}

Result<std::unique_ptr<Memory>> import_host(const std::shared_ptr<Context>& context, std::string_view name,
                                            std::span<std::byte> memory) {
    if (!context->info().can_import_host)
        return fail(ErrorCode::Unsupported, "importing \"{}\" into {}: {}", name, context->info().name,
                    context->info().can_import_host.reason);
    if (memory.empty() || reinterpret_cast<std::uintptr_t>(memory.data()) % kHostPageBytes != 0 ||
        memory.size() % kHostPageBytes != 0)
        return fail(ErrorCode::InvalidArgument, "\"{}\": {} bytes at {} are not whole pages of {} bytes", name,
                    memory.size(), static_cast<const void*>(memory.data()), kHostPageBytes);
    KG_CHECK_IN(quoted(name), context->register_host(memory));
    auto device = context->device_address(memory.data());
    if (!device) context->unregister_host(memory.data());
    KG_CHECK_IN(quoted(name), device);
    return std::make_unique<RegisteredMemory>(context, *device, memory.data(), memory.size());
}

Result<std::unique_ptr<Memory>> import_memory(const std::shared_ptr<Context>& context, std::string_view name,
                                              const ExternalMemoryDesc& desc) {
    if (!context->info().can_import_memory)
        return fail(ErrorCode::Unsupported, "importing \"{}\" into {}: {}", name, context->info().name,
                    context->info().can_import_memory.reason);
    const auto what = [&] { return fmt::format("\"{}\", {} bytes of another API", name, desc.bytes); };
    KG_TRY_IN(what(), const auto handle, context->import_memory(desc));
    auto device = context->map(handle, desc.bytes);
    if (!device) context->release(handle);
    KG_CHECK_IN(what(), device);
    ::close(desc.fd);
    return std::make_unique<ImportedMemory>(context, handle, *device, desc.bytes);
}

}  // namespace kinetograph::accel::gpu
