// Context: a Vulkan device of the engine that computes; gpu::Context by buffers with addresses and one compute queue.
#pragma once

#include <kinetograph/engine/accel/gpu/context.hpp>
#include <kinetograph/engine/accel/vulkan/command_stream.hpp>
#include <kinetograph/engine/accel/vulkan/describe.hpp>
#include <kinetograph/engine/accel/vulkan/submitted_points.hpp>

#include <map>

namespace kinetograph::accel::vulkan {

/// A device of the library's own and what it was made from; of a caller's, nothing is kept.
struct OwnDevice {
    std::unique_ptr<vk::Instance> instance{};
    std::unique_ptr<vk::Device> device{};
};

class Context final : public gpu::Context, public std::enable_shared_from_this<Context> {
  public:
    /// Errors: Unsupported (a feature is missing or was not enabled), what the driver says.
    static Result<std::shared_ptr<Context>> create(const vk::Device& device, OwnDevice own);
    ~Context() override;

    const vk::Device& device() const { return device_; }
    const ComputeLimits& limits() const { return limits_; }
    VkPipelineLayout layout() const { return layout_; }  ///< of every kernel: the address of its arguments
    SubmittedPoints& points() { return points_; }
    /// From now on range() finds another's buffer, until release(). Errors: InvalidArgument (it has no address).
    Result<std::byte*> share(const vk::Buffer& buffer);
    /// Errors: InvalidArgument (not all of the bytes are in one allocation of this device).
    Result<BufferRange> range(const std::byte* address, std::uint64_t bytes) const;

    void enter_thread() override {}
    Result<std::byte*> allocate(std::uint64_t bytes) override;
    MemoryLeft memory_left() override;
    void release(std::byte* address) override;
    Result<std::byte*> allocate_pinned(std::uint64_t bytes) override;
    void release_pinned(std::byte* host) override;
    Result<void> register_host(std::span<std::byte> memory) override;
    void unregister_host(std::byte* host) override;
    Result<std::byte*> device_address(std::byte* host) override;
    Result<void> check_address(const std::byte* address) override;
    Result<gpu::ExternalMemoryHandle> import_memory(const ExternalMemoryDesc& desc) override;
    Result<std::byte*> map(gpu::ExternalMemoryHandle memory, std::uint64_t bytes) override;
    void release(gpu::ExternalMemoryHandle memory) override;

    const void* timelines() const override { return &device_; }
    Result<std::shared_ptr<Timeline>> create_timeline(std::shared_ptr<gpu::Context> self) override;
    Result<std::shared_ptr<Timeline>> import_timeline(std::shared_ptr<gpu::Context> self, int fd,
                                                      std::shared_ptr<Timeline> original) override;
    Result<void> wait(gpu::StreamHandle stream, const std::shared_ptr<Timeline>& timeline,
                      std::uint64_t value) override;
    Result<void> signal(gpu::StreamHandle stream, const std::shared_ptr<Timeline>& timeline,
                        std::uint64_t value) override;

    Result<gpu::StreamHandle> create_stream() override;
    void release(gpu::StreamHandle stream) override;
    void give_up(gpu::StreamHandle stream) override;
    /// Errors: InvalidArgument, always: a caller's stream would be a queue, which the engine's device shares already.
    Result<void> check_adopted(gpu::StreamHandle stream) const override;
    Result<bool> is_idle(gpu::StreamHandle stream) override;
    Result<void> synchronize(gpu::StreamHandle stream) override;
    Result<void> run_on_host(gpu::StreamHandle stream, gpu::HostFunction function, void* user_data) override;
    Result<void> launch(gpu::StreamHandle stream, const Launch& launch, gpu::FunctionHandle function) override;
    Result<void> fill(gpu::StreamHandle stream, std::byte* address, std::byte value, std::uint64_t bytes) override;
    Result<void> copy(gpu::StreamHandle stream, std::byte* to, const std::byte* from, std::uint64_t bytes) override;
    Result<void> upload(gpu::StreamHandle stream, std::byte* to, std::span<const std::byte> from) override;
    Result<void> read_back(gpu::StreamHandle stream, std::span<std::byte> to, const std::byte* from) override;

    Result<bool> is_capturing(gpu::StreamHandle stream) override;
    Result<void> begin_capture(gpu::StreamHandle stream) override;
    Result<gpu::GraphHandle> end_capture(gpu::StreamHandle stream) override;
    Result<std::size_t> count_nodes(gpu::GraphHandle graph) override;
    Result<gpu::GraphExecHandle> instantiate(gpu::GraphHandle graph, gpu::StreamHandle stream) override;
    Result<void> replay(gpu::StreamHandle stream, gpu::GraphExecHandle graph) override;
    void release(gpu::GraphHandle graph) override;
    void release(gpu::GraphExecHandle graph) override;

    Result<gpu::EventHandle> create_event() override;
    void release(gpu::EventHandle event) override;
    Result<void> record(gpu::StreamHandle stream, gpu::EventHandle event) override;
    Result<void> capture_record(gpu::StreamHandle stream, gpu::EventHandle event) override;
    Result<std::shared_ptr<gpu::EventClock>> start_clock(std::shared_ptr<gpu::Context> self) override;

    Result<std::shared_ptr<Module>> load(std::shared_ptr<gpu::Context> self, std::string_view name,
                                         std::span<const std::byte> image) override;

  private:
    /// Memory that kernels address.
    struct Addressed {
        VkBuffer buffer = VK_NULL_HANDLE;
        std::uint64_t bytes = 0;
        std::unique_ptr<vk::Buffer> own{};  ///< null: another's, or imported, whose handle owns it
    };
    Context(const vk::Device& device, OwnDevice own);
    Result<void> create_layout();
    Result<void> check_launch(const Launch& launch, const Pipeline& pipeline) const;
    std::byte* add(std::unique_ptr<vk::Buffer> buffer);
    Result<std::unique_ptr<vk::Buffer>> take_staging();
    void give_back(std::unique_ptr<vk::Buffer> staging);

    OwnDevice own_;
    const vk::Device& device_;
    ComputeLimits limits_;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    SubmittedPoints points_;
    mutable Mutex mutex_;
    std::map<std::uintptr_t, Addressed> addressed_ KG_GUARDED_BY(mutex_);  ///< by address on the device
    std::map<std::byte*, std::byte*> pinned_ KG_GUARDED_BY(mutex_);        ///< host's address -> device's
    std::vector<std::unique_ptr<vk::Buffer>> staging_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::accel::vulkan
