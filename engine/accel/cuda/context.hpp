// Context: a CUDA device with its primary context, and the driver's calls on it.
#pragma once

#include <kinetograph/engine/accel/cuda/driver.hpp>
#include <kinetograph/engine/accel/cuda/tensor_map.hpp>
#include <kinetograph/engine/accel/gpu/driver_context.hpp>

namespace kinetograph::accel::cuda {

class Current;
class CurrentUncaptured;

/// A device with its primary context: the one that the CUDA runtime, and so PyTorch, uses for it. Their streams, memory
/// and modules and those of this library thus share one context.
class Context final : public gpu::DriverContext<Context, Api, Current, CurrentUncaptured> {
  public:
    static constexpr std::string_view kKind = "cuda";
    static constexpr std::string_view kLane = "CUDA";
    static constexpr unsigned kPinned = kHostAllocPortable | kHostAllocMapped;
    /// What the driver says of a device. Errors: what it answers.
    static Result<DeviceInfo> describe(const Driver& driver, std::uint32_t ordinal);
    /// Retains the device's primary context. Errors: what the driver says.
    static Result<std::shared_ptr<Context>> create(std::shared_ptr<const Driver> driver, std::uint32_t ordinal,
                                                   DeviceInfo info);
    ~Context() override;

    const EntryPoints& cuda() const { return driver_->entry_points(); }
    ContextHandle handle() const { return handle_; }
    bool has_clusters() const { return has_clusters_; }  ///< of blocks: from sm_90 on
    const TensorMapEncoder* encoder() const override { return has_tensor_maps_ ? &encoder_ : nullptr; }
    Result<void> check_adopted(StreamHandle stream) const override;

    void enter_thread() override;
    Result<std::byte*> allocate(std::uint64_t bytes) override;
    using DriverContext::release;
    void release(std::byte* address) override;
    Result<std::byte*> device_address(std::byte* host) override;
    Result<void> check_address(const std::byte* address) override;
    Result<void> reach(const gpu::Context& other) override;
    /// Pinned memory is every context's, at one address: streams of all devices of the driver wait for its counters.
    const void* counters() const override { return driver_->entry_points().cuInit.address(); }
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
    Context(std::shared_ptr<const Driver> driver, const gpu::CommonCalls<Status>& calls, DeviceOrdinal device,
            DeviceInfo info);
    Result<void> check_cluster(const Launch& launch) const;

    DeviceOrdinal device_;
    ContextHandle handle_ = nullptr;
    bool has_clusters_ = false, has_tensor_maps_ = false;
    DriverEncoder encoder_{*this};
};

/// Makes a context current on this thread while it lives, and then restores the thread's previous one. Costs one call
/// of the driver where the context is current already, as it is in a program that uses the CUDA runtime.
class Current {
  public:
    explicit Current(const Context& context);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    static Result<void> status() { return {}; }  ///< the next call reports a lost context

  private:
    const Context& context_;
    bool pushed_ = false;
};

/// As Current, and in relaxed capture mode: for allocations, queries and whatever else would spoil a capture that
/// another thread of the application has begun in global mode.
class CurrentUncaptured {
  public:
    explicit CurrentUncaptured(const Context& context);
    ~CurrentUncaptured();
    CurrentUncaptured(const CurrentUncaptured&) = delete;
    CurrentUncaptured& operator=(const CurrentUncaptured&) = delete;
    static Result<void> status() { return {}; }

  private:
    Current current_;
    const Context& context_;
    CaptureMode mode_ = CaptureMode::Relaxed;  ///< the thread's own mode, once exchanged
};

}  // namespace kinetograph::accel::cuda
