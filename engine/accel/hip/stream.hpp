// Stream of HIP.
#pragma once

#include <kinetograph/engine/accel/driver_stream.hpp>
#include <kinetograph/engine/accel/hip/context.hpp>

namespace kinetograph::accel::hip {

/// Destroying a stream waits for its work.
class HipStream final : public DriverStream {
  public:
    static Result<std::unique_ptr<HipStream>> create(std::shared_ptr<Context> context, std::string_view name);
    ~HipStream() override;
    HipStream(const HipStream&) = delete;
    HipStream& operator=(const HipStream&) = delete;

  private:
    HipStream(std::shared_ptr<Context> context, std::string_view name, StreamHandle handle)
        : DriverStream(name), context_(std::move(context)), handle_(handle) {}

    const DeviceInfo& info() const override { return context_->info; }
    bool owns(const Kernel& kernel) const override;
    bool owns(const Timeline& timeline) const override;
    bool owns(const Graph& graph) const override;
    bool owns(const DriverEvent& event) const override;
    Result<void> enqueue_host_function(HostFunction function, void* user_data) override;
    Result<void> enqueue_kernel(const Launch& launch) override;
    Result<void> enqueue_fill(std::byte* address, std::byte value, std::uint64_t bytes) override;
    Result<void> enqueue_copy(void* to, const void* from, std::uint64_t bytes) override;
    Result<void> enqueue_wait(Timeline& timeline, std::uint64_t value) override;
    Result<void> enqueue_signal(Timeline& timeline, std::uint64_t value) override;
    Result<void> enqueue_record(DriverEvent& event) override;
    Result<void> capture_record(DriverEvent& event) override;
    Result<void> enqueue_graph(DriverGraph& graph) override;
    Result<void> start_capture() override;
    Result<std::unique_ptr<CapturedWork>> finish_capture() override;
    Result<bool> query() const override;
    Result<void> block() override;

    std::shared_ptr<Context> context_;
    StreamHandle handle_;
};

}  // namespace kinetograph::accel::hip
