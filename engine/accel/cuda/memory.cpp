#include <kinetograph/engine/accel/cuda/memory.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kinetograph::accel::cuda {

namespace {

constexpr std::uint64_t kPageBytes = 4096;

class CudaMemory : public Memory {
  public:
    CudaMemory(std::shared_ptr<Context> context, DeviceAddress device, void* host, std::uint64_t bytes)
        : context_(std::move(context)), device_(device), host_(static_cast<std::byte*>(host)), bytes_(bytes) {}
    std::byte* data() const final { return to_pointer(device_); }
    std::byte* host_data() const final { return host_; }
    std::uint64_t bytes() const final { return bytes_; }

  protected:
    // A destructor has nobody to tell that releasing failed; the driver releases everything with the process.
    Context& context() { return *context_; }
    const EntryPoints& cuda() const { return context_->cuda(); }
    DeviceAddress device() const { return device_; }

  private:
    std::shared_ptr<Context> context_;
    DeviceAddress device_;
    std::byte* host_;
    std::uint64_t bytes_;
};

class OwnMemory final : public CudaMemory {
  public:
    using CudaMemory::CudaMemory;
    ~OwnMemory() override {
        const CurrentUncaptured current(context());
        (void)cuda().cuMemFree_v2(device());
        context().ledger().remove(bytes());
    }
};

class PinnedMemory final : public CudaMemory {
  public:
    using CudaMemory::CudaMemory;
    ~PinnedMemory() override {
        const CurrentUncaptured current(context());
        (void)cuda().cuMemFreeHost(host_data());
    }
};

class RegisteredMemory final : public CudaMemory {
  public:
    using CudaMemory::CudaMemory;
    ~RegisteredMemory() override {
        const CurrentUncaptured current(context());
        (void)cuda().cuMemHostUnregister(host_data());
    }
};

class ImportedMemory final : public CudaMemory {
  public:
    ImportedMemory(std::shared_ptr<Context> context, ExternalMemoryHandle handle, DeviceAddress device,
                   std::uint64_t bytes)
        : CudaMemory(std::move(context), device, nullptr, bytes), handle_(handle) {}
    ~ImportedMemory() override {
        const CurrentUncaptured current(context());
        (void)cuda().cuMemFree_v2(device());  // the mapping; the memory belongs to whoever exported it
        (void)cuda().cuDestroyExternalMemory(handle_);
    }

  private:
    ExternalMemoryHandle handle_;
};

std::string quoted(std::string_view name) { return fmt::format("\"{}\"", name); }

}  // namespace

Result<std::unique_ptr<Memory>> allocate(const std::shared_ptr<Context>& context, std::string_view name,
                                         std::uint64_t bytes) {
    const CurrentUncaptured current(*context);
    const Driver& driver = context->driver();
    const std::uint64_t rounded = std::max<std::uint64_t>(bytes, 1);  // cuMemAlloc refuses 0 bytes
    DeviceAddress device = 0;
    if (const Status status = driver->cuMemAlloc_v2(&device, rounded); status == Status::OutOfMemory) {
        std::size_t free = 0, total = 0;
        (void)driver->cuMemGetInfo_v2(&free, &total);
        return fail(ErrorCode::OutOfMemory, "\"{}\" needs {} bytes, {} of {} bytes are free on {}: cuMemAlloc: {}",
                    name, bytes, free, total, context->info().name, driver.name(status));
    } else if (status != Status::Success) {
        return fail(driver.error(status, "cuMemAlloc"), quoted(name));
    }
    context->ledger().add(rounded);
    return std::make_unique<OwnMemory>(context, device, nullptr, rounded);
}

Result<std::unique_ptr<Memory>> allocate_pinned(const std::shared_ptr<Context>& context, std::string_view name,
                                                std::uint64_t bytes) {
    const CurrentUncaptured current(*context);
    const Driver& driver = context->driver();
    const std::uint64_t rounded = (std::max<std::uint64_t>(bytes, 1) + kPageBytes - 1) / kPageBytes * kPageBytes;
    void* host = nullptr;
    if (auto made = driver.call(driver->cuMemHostAlloc, &host, rounded, kHostAllocPortable | kHostAllocMapped); !made)
        return fail(std::move(made.error()), fmt::format("\"{}\" needs {} bytes of pinned host memory", name, bytes));
    DeviceAddress device = 0;
    if (auto mapped = driver.call(driver->cuMemHostGetDevicePointer_v2, &device, host, 0U); !mapped) {
        (void)driver->cuMemFreeHost(host);
        return fail(std::move(mapped.error()), quoted(name));
    }
    return std::make_unique<PinnedMemory>(context, device, host, rounded);
}

Result<std::unique_ptr<Memory>> import_host(const std::shared_ptr<Context>& context, std::string_view name,
                                            std::span<std::byte> memory) {
    if (!context->info().can_import_host)
        return fail(ErrorCode::Unsupported, "importing \"{}\" into {}: {}", name, context->info().name,
                    context->info().can_import_host.reason);
    if (memory.empty() || reinterpret_cast<std::uintptr_t>(memory.data()) % kPageBytes != 0 ||
        memory.size() % kPageBytes != 0)
        return fail(ErrorCode::InvalidArgument, "\"{}\": {} bytes at {} are not whole pages of {} bytes", name,
                    memory.size(), static_cast<const void*>(memory.data()), kPageBytes);
    const CurrentUncaptured current(*context);
    const Driver& driver = context->driver();
    if (auto made = driver.call(driver->cuMemHostRegister_v2, static_cast<void*>(memory.data()), memory.size(),
                                kHostRegisterPortable | kHostRegisterMapped);
        !made)
        return fail(std::move(made.error()), quoted(name));
    DeviceAddress device = 0;
    if (auto mapped = driver.call(driver->cuMemHostGetDevicePointer_v2, &device, static_cast<void*>(memory.data()), 0U);
        !mapped) {
        (void)driver->cuMemHostUnregister(memory.data());
        return fail(std::move(mapped.error()), quoted(name));
    }
    return std::make_unique<RegisteredMemory>(context, device, memory.data(), memory.size());
}

/// Unlike HIP, CUDA takes the descriptor over with the import itself.
Result<std::unique_ptr<Memory>> import_memory(const std::shared_ptr<Context>& context, std::string_view name,
                                              const ExternalMemoryDesc& desc) {
    if (!context->info().can_import_memory)
        return fail(ErrorCode::Unsupported, "importing \"{}\" into {}: {}", name, context->info().name,
                    context->info().can_import_memory.reason);
    const CurrentUncaptured current(*context);
    const Driver& driver = context->driver();
    const auto what = [&] { return fmt::format("\"{}\", {} bytes of another API", name, desc.bytes); };
    // Should mapping fail after the import, the caller's descriptor must still be the caller's.
    const int own_fd = ::dup(desc.fd);
    if (own_fd < 0)
        return fail(ErrorCode::InvalidArgument, "{}: descriptor {} cannot be duplicated ({})", what(), desc.fd,
                    std::strerror(errno));
    ExternalMemoryHandleDesc handle_desc{};
    handle_desc.type = ExternalMemoryType::OpaqueFd;
    handle_desc.handle.fd = own_fd;
    handle_desc.size = desc.bytes;
    handle_desc.flags = desc.dedicated ? kExternalMemoryDedicated : 0;
    ExternalMemoryHandle handle = nullptr;
    if (auto made = driver.call(driver->cuImportExternalMemory, &handle, &handle_desc); !made) {
        ::close(own_fd);
        return fail(std::move(made.error()), what());
    }
    ExternalMemoryBufferDesc buffer{};
    buffer.size = desc.bytes;
    DeviceAddress device = 0;
    if (auto mapped = driver.call(driver->cuExternalMemoryGetMappedBuffer, &device, handle, &buffer); !mapped) {
        (void)driver->cuDestroyExternalMemory(handle);
        return fail(std::move(mapped.error()), what());
    }
    ::close(desc.fd);
    return std::make_unique<ImportedMemory>(context, handle, device, desc.bytes);
}

}  // namespace kinetograph::accel::cuda
