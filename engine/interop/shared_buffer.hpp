// SharedBuffer: bytes that an accelerator and a Vulkan device both see.
#pragma once

#include <kinetograph/engine/interop/topology.hpp>
#include <kinetograph/engine/vulkan/display.hpp>

#include <memory>

namespace kinetograph::interop {

/// Destroyed only after both sides have ended using it.
class SharedBuffer {
  public:
    /// `display` is null in the headless topology only; both devices outlive the buffer. Contents are undefined.
    /// Errors: OutOfMemory, Unsupported (a driver that declines what `choice` relies on), each naming `name`.
    static Result<std::unique_ptr<SharedBuffer>> create(accel::Device& accelerator, const vulkan::Display* display,
                                                        const TopologyChoice& choice, std::string_view name,
                                                        std::uint64_t bytes);
    SharedBuffer(const SharedBuffer&) = delete;
    SharedBuffer& operator=(const SharedBuffer&) = delete;

    std::uint64_t bytes() const { return bytes_; }
    /// For kernels.
    std::byte* address() const { return memory_->data(); }
    /// For the host; null in the shared topology, and headless unless the accelerator is the CPU.
    std::byte* host_address() const;
    /// For Vulkan; null when headless.
    const vulkan::Buffer* buffer() const { return shown_.buffer.get(); }
    VkBuffer handle() const { return shown_.handle; }
    /// For a frame graph, in MemoryDomain::Shared. `bytes` from `offset` on.
    graph::Physical physical(std::uint64_t offset, std::uint64_t bytes) const;
    graph::Physical physical() const { return physical(0, bytes_); }

  private:
    explicit SharedBuffer(std::uint64_t bytes) : bytes_(bytes) {}
    std::uint64_t bytes_;
    // The topology decides whether the accelerator's memory or the Vulkan buffer owns the bytes. The owner is destroyed
    // last, hence this order of members.
    std::unique_ptr<accel::Memory> owner_memory_;
    vulkan::DisplayBuffer shown_;
    std::unique_ptr<accel::Memory> mapping_;
    accel::Memory* memory_ = nullptr;
};

}  // namespace kinetograph::interop
