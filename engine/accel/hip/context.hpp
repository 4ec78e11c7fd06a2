// Context: a HIP device, and the runtime's calls on it.
#pragma once

#include <kinetograph/engine/accel/gpu/driver_context.hpp>
#include <kinetograph/engine/accel/hip/driver.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <map>

namespace kinetograph::accel::hip {

class Current;

class Context final : public gpu::DriverContext<Context, Api, Current, Current> {
  public:
    static constexpr std::string_view kKind = "hip";
    static constexpr std::string_view kLane = "HIP";
    static constexpr unsigned kPinned = kHostMallocPortable | kHostMallocMapped | kHostMallocCoherent;
    /// What the runtime says of a device. Errors: what it answers.
    static Result<DeviceInfo> describe(const Driver& driver, std::uint32_t ordinal);
    /// Errors: what the runtime says.
    static Result<std::shared_ptr<Context>> create(std::shared_ptr<const Driver> driver, std::uint32_t ordinal,
                                                   DeviceInfo info);

    const EntryPoints& hip() const { return driver_->entry_points(); }
    /// The runtime keeps a current device per thread, to which allocations, modules and launches go. Every call of this
    /// class sets it first, so that several devices and other users of HIP can coexist in one process.
    Result<void> make_current() const { return driver_->call(hip().hipSetDevice, ordinal_); }

    void enter_thread() override;
    Result<std::byte*> allocate(std::uint64_t bytes) override;
    using DriverContext::release;
    void release(std::byte* address) override;
    Result<std::byte*> device_address(std::byte* host) override;
    Result<void> check_address(const std::byte* address) override;
    Result<void> reach(const gpu::Context& other) override;
    Result<ExternalMemoryHandle> import_memory(const ExternalMemoryDesc& desc) override;
    Result<std::byte*> map(ExternalMemoryHandle memory, std::uint64_t bytes) override;
    Result<Counter> create_counter() override;
    void release(const Counter& counter) override;
    using DriverContext::wait;
    Result<void> wait(StreamHandle stream, const Counter& counter, std::uint64_t value) override;
    using DriverContext::signal;
    Result<void> signal(StreamHandle stream, const Counter& counter, std::uint64_t value) override;
    Result<ExternalSemaphoreHandle> import_semaphore(int fd) override;
    Result<void> launch(StreamHandle stream, const Launch& launch, FunctionHandle function) override;
    Result<void> fill(StreamHandle stream, std::byte* address, std::byte value, std::uint64_t bytes) override;
    Result<void> copy(StreamHandle stream, std::byte* to, const std::byte* from, std::uint64_t bytes) override;
    Result<bool> is_capturing(StreamHandle stream) override;
    Result<void> begin_capture(StreamHandle stream) override;
    Result<GraphExecHandle> instantiate(GraphHandle graph, StreamHandle stream) override;
    Result<void> record(StreamHandle stream, EventHandle event) override;
    Result<void> capture_record(StreamHandle stream, EventHandle event) override;
    Result<std::shared_ptr<Module>> load(std::shared_ptr<gpu::Context> self, std::string_view name,
                                         std::span<const std::byte> image) override;

  private:
    Context(std::shared_ptr<const Driver> driver, const gpu::CommonCalls<Status>& calls, std::uint32_t ordinal,
            DeviceInfo info);

    int ordinal_;
    Mutex mutex_;
    /// Memory of other APIs, [address] -> bytes: the runtime does not report which device that belongs to.
    std::map<const std::byte*, std::uint64_t> mapped_ KG_GUARDED_BY(mutex_);
};

/// Makes a device the thread's current one.
class Current {
  public:
    explicit Current(const Context& context) : status_(context.make_current()) {}
    const Result<void>& status() const { return status_; }

  private:
    Result<void> status_;
};

}  // namespace kinetograph::accel::hip
