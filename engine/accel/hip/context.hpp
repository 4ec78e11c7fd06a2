// Context: a HIP device, and the runtime's calls as every lane makes them.
#pragma once

#include <kinetograph/engine/accel/gpu/context.hpp>
#include <kinetograph/engine/accel/hip/driver.hpp>

namespace kinetograph::accel::hip {

class Context final : public gpu::Context {
  public:
    using Driver = hip::Driver;
    static constexpr Kind kKind = Kind::Hip;
    static constexpr std::string_view kLane = "HIP";
    /// What the runtime says of a device. Errors: what it answers.
    static Result<DeviceInfo> describe(const Driver& driver, std::uint32_t ordinal);
    /// Errors: what the runtime says.
    static Result<std::shared_ptr<Context>> create(std::shared_ptr<const Driver> driver, std::uint32_t ordinal,
                                                   DeviceInfo info);

    const Driver& driver() const { return *driver_; }
    const EntryPoints& hip() const { return driver_->entry_points(); }
    /// The runtime keeps a current device for every thread, and allocations, modules and launches go to that one: every
    /// entry of ours says which it means, so that several devices and other users of HIP can live in one process.
    Result<void> make_current() const { return driver_->call(hip().hipSetDevice, ordinal_); }

    void enter_thread() override;
    Result<std::byte*> allocate(std::uint64_t bytes) override;
    MemoryLeft memory_left() override;
    void release(std::byte* address) override;
    Result<std::byte*> allocate_pinned(std::uint64_t bytes) override;
    void release_pinned(std::byte* host) override;
    Result<void> register_host(std::span<std::byte> memory) override;
    void unregister_host(std::byte* host) override;
    Result<std::byte*> device_address(std::byte* host) override;
    Result<ExternalMemoryHandle> import_memory(const ExternalMemoryDesc& desc) override;
    Result<std::byte*> map(ExternalMemoryHandle memory, std::uint64_t bytes) override;
    void release(ExternalMemoryHandle memory) override;
    Result<Counter> create_counter() override;
    void release(const Counter& counter) override;
    Result<void> wait(StreamHandle stream, const Counter& counter, std::uint64_t value) override;
    Result<void> signal(StreamHandle stream, const Counter& counter, std::uint64_t value) override;
    Result<ExternalSemaphoreHandle> import_semaphore(int fd) override;
    void release(ExternalSemaphoreHandle semaphore) override;
    Result<void> wait(StreamHandle stream, ExternalSemaphoreHandle semaphore, std::uint64_t value) override;
    Result<void> signal(StreamHandle stream, ExternalSemaphoreHandle semaphore, std::uint64_t value) override;
    Result<StreamHandle> create_stream() override;
    void release(StreamHandle stream) override;
    Result<bool> is_idle(StreamHandle stream) override;
    Result<void> synchronize(StreamHandle stream) override;
    Result<void> run_on_host(StreamHandle stream, HostFunction function, void* user_data) override;
    Result<void> launch(StreamHandle stream, const Launch& launch, FunctionHandle function) override;
    Result<void> fill(StreamHandle stream, std::byte* address, std::byte value, std::uint64_t bytes) override;
    Result<void> copy(StreamHandle stream, std::byte* to, const std::byte* from, std::uint64_t bytes) override;
    Result<void> begin_capture(StreamHandle stream) override;
    Result<GraphHandle> end_capture(StreamHandle stream) override;
    Result<std::size_t> count_nodes(GraphHandle graph) override;
    Result<GraphExecHandle> instantiate(GraphHandle graph, StreamHandle stream) override;
    Result<void> replay(StreamHandle stream, GraphExecHandle graph) override;
    void release(GraphHandle graph) override;
    void release(GraphExecHandle graph) override;
    Result<EventHandle> create_event() override;
    void release(EventHandle event) override;
    Result<void> record(StreamHandle stream, EventHandle event) override;
    Result<void> capture_record(StreamHandle stream, EventHandle event) override;
    bool has_passed(EventHandle event) override;
    Result<void> synchronize(EventHandle event) override;
    Result<double> nanoseconds(EventHandle from, EventHandle to) override;
    Result<std::shared_ptr<Module>> load(std::shared_ptr<gpu::Context> self, std::string_view name,
                                         std::span<const std::byte> image) override;

  private:
    Context(std::shared_ptr<const Driver> driver, std::uint32_t ordinal, DeviceInfo info)
        : gpu::Context(std::move(info)), driver_(std::move(driver)), ordinal_(static_cast<int>(ordinal)) {}

    std::shared_ptr<const Driver> driver_;
    int ordinal_;
};

}  // namespace kinetograph::accel::hip
