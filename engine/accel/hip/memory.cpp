#include <kinetograph/engine/accel/hip/memory.hpp>

#include <unistd.h>

#include <algorithm>

namespace kinetograph::accel::hip {

namespace {

constexpr std::uint64_t kPageBytes = 4096;

class HipMemory : public Memory {
  public:
    HipMemory(std::shared_ptr<Context> context, void* device, void* host, std::uint64_t bytes)
        : context_(std::move(context)),
          device_(static_cast<std::byte*>(device)),
          host_(static_cast<std::byte*>(host)),
          bytes_(bytes) {}
    std::byte* data() const final { return device_; }
    std::byte* host_data() const final { return host_; }
    std::uint64_t bytes() const final { return bytes_; }

  protected:
    // A destructor has nobody to tell that releasing failed; the driver releases everything with the process.
    const Context& context() const { return *context_; }
    Context& context() { return *context_; }
    const EntryPoints& hip() const { return context_->hip(); }

  private:
    std::shared_ptr<Context> context_;
    std::byte* device_;
    std::byte* host_;
    std::uint64_t bytes_;
};

class OwnMemory final : public HipMemory {
  public:
    using HipMemory::HipMemory;
    ~OwnMemory() override {
        (void)context().make_current();
        (void)hip().hipFree(data());
        context().ledger.remove(bytes());
    }
};

class PinnedMemory final : public HipMemory {
  public:
    using HipMemory::HipMemory;
    ~PinnedMemory() override {
        (void)context().make_current();
        (void)hip().hipHostFree(host_data());
    }
};

class RegisteredMemory final : public HipMemory {
  public:
    using HipMemory::HipMemory;
    ~RegisteredMemory() override {
        (void)context().make_current();
        (void)hip().hipHostUnregister(host_data());
    }
};

class ImportedMemory final : public HipMemory {
  public:
    ImportedMemory(std::shared_ptr<Context> context, ExternalMemoryHandle handle, void* device, std::uint64_t bytes)
        : HipMemory(std::move(context), device, nullptr, bytes), handle_(handle) {}
    ~ImportedMemory() override {
        (void)context().make_current();
        (void)hip().hipFree(data());  // the mapping; the memory belongs to whoever exported it
        (void)hip().hipDestroyExternalMemory(handle_);
    }

  private:
    ExternalMemoryHandle handle_;
};

std::string quoted(std::string_view name) { return fmt::format("\"{}\"", name); }

}  // namespace

Result<std::unique_ptr<Memory>> allocate(const std::shared_ptr<Context>& context, std::string_view name,
                                         std::uint64_t bytes) {
    if (auto current = context->make_current(); !current) return fail(std::move(current.error()), quoted(name));
    const std::uint64_t rounded = std::max<std::uint64_t>(bytes, 1);  // hipMalloc answers 0 bytes with null
    void* device = nullptr;
    if (const Status status = context->hip().hipMalloc(&device, rounded); status == Status::OutOfMemory) {
        std::size_t free = 0, total = 0;
        (void)context->hip().hipMemGetInfo(&free, &total);
        return fail(ErrorCode::OutOfMemory, "\"{}\" needs {} bytes, {} of {} bytes are free on {}: hipMalloc: {}", name,
                    bytes, free, total, context->info.name, context->runtime->name(status));
    } else if (status != Status::Success) {
        return fail(context->runtime->error(status, "hipMalloc"), quoted(name));
    }
    context->ledger.add(rounded);
    return std::make_unique<OwnMemory>(context, device, nullptr, rounded);
}

Result<std::unique_ptr<Memory>> allocate_pinned(const std::shared_ptr<Context>& context, std::string_view name,
                                                std::uint64_t bytes) {
    if (auto current = context->make_current(); !current) return fail(std::move(current.error()), quoted(name));
    const std::uint64_t rounded = (std::max<std::uint64_t>(bytes, 1) + kPageBytes - 1) / kPageBytes * kPageBytes;
    void* host = nullptr;
    void* device = nullptr;
    const unsigned flags = kHostMallocPortable | kHostMallocMapped | kHostMallocCoherent;
    if (auto made = context->runtime->check(context->hip().hipHostMalloc(&host, rounded, flags), "hipHostMalloc");
        !made)
        return fail(std::move(made.error()), fmt::format("\"{}\" needs {} bytes of pinned host memory", name, bytes));
    if (auto mapped = context->runtime->check(context->hip().hipHostGetDevicePointer(&device, host, 0),
                                              "hipHostGetDevicePointer");
        !mapped) {
        (void)context->hip().hipHostFree(host);
        return fail(std::move(mapped.error()), quoted(name));
    }
    return std::make_unique<PinnedMemory>(context, device, host, rounded);
}

Result<std::unique_ptr<Memory>> import_host(const std::shared_ptr<Context>& context, std::string_view name,
                                            std::span<std::byte> memory) {
    if (!context->info.can_import_host)
        return fail(ErrorCode::Unsupported, "importing \"{}\" into {}: {}", name, context->info.name,
                    context->info.can_import_host.reason);
    if (memory.empty() || reinterpret_cast<std::uintptr_t>(memory.data()) % kPageBytes != 0 ||
        memory.size() % kPageBytes != 0)
        return fail(ErrorCode::InvalidArgument, "\"{}\": {} bytes at {} are not whole pages of {} bytes", name,
                    memory.size(), static_cast<const void*>(memory.data()), kPageBytes);
    if (auto current = context->make_current(); !current) return fail(std::move(current.error()), quoted(name));
    const EntryPoints& hip = context->hip();
    if (auto made = context->runtime->check(
            hip.hipHostRegister(memory.data(), memory.size(), kHostRegisterPortable | kHostRegisterMapped),
            "hipHostRegister");
        !made)
        return fail(std::move(made.error()), quoted(name));
    void* device = nullptr;
    if (auto mapped =
            context->runtime->check(hip.hipHostGetDevicePointer(&device, memory.data(), 0), "hipHostGetDevicePointer");
        !mapped) {
        (void)hip.hipHostUnregister(memory.data());
        return fail(std::move(mapped.error()), quoted(name));
    }
    return std::make_unique<RegisteredMemory>(context, device, memory.data(), memory.size());
}

Result<std::unique_ptr<Memory>> import_memory(const std::shared_ptr<Context>& context, std::string_view name,
                                              const ExternalMemoryDesc& desc) {
    if (!context->info.can_import_memory)
        return fail(ErrorCode::Unsupported, "importing \"{}\" into {}: {}", name, context->info.name,
                    context->info.can_import_memory.reason);
    if (auto current = context->make_current(); !current) return fail(std::move(current.error()), quoted(name));
    const EntryPoints& hip = context->hip();
    ExternalMemoryHandleDesc handle_desc{};
    handle_desc.type = ExternalMemoryType::OpaqueFd;
    handle_desc.handle.fd = desc.fd;
    handle_desc.size = desc.bytes;
    handle_desc.flags = desc.dedicated ? kExternalMemoryDedicated : 0;
    ExternalMemoryHandle handle = nullptr;
    if (auto made =
            context->runtime->check(hip.hipImportExternalMemory(&handle, &handle_desc), "hipImportExternalMemory");
        !made)
        return fail(std::move(made.error()), fmt::format("\"{}\", {} bytes of another API", name, desc.bytes));
    ExternalMemoryBufferDesc buffer{};
    buffer.size = desc.bytes;
    void* device = nullptr;
    if (auto mapped = context->runtime->check(hip.hipExternalMemoryGetMappedBuffer(&device, handle, &buffer),
                                              "hipExternalMemoryGetMappedBuffer");
        !mapped) {
        (void)hip.hipDestroyExternalMemory(handle);
        return fail(std::move(mapped.error()), fmt::format("\"{}\", {} bytes of another API", name, desc.bytes));
    }
    ::close(desc.fd);  // unlike CUDA, HIP holds a reference of its own and leaves the descriptor to its caller
    return std::make_unique<ImportedMemory>(context, handle, device, desc.bytes);
}

}  // namespace kinetograph::accel::hip
