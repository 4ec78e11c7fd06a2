// SharedMemory: arenas of a frame graph that an accelerator and a Vulkan device both see.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/interop/shared_buffer.hpp>

namespace kinetograph::interop {

/// Serves MemoryDomain::Shared in every topology. Plans of one executor never run unordered, so they share one arena,
/// which is as large as the largest plan realised so far; reserve() that size first and no step ever allocates.
/// Buffers only: accelerators write rows of pixels, and a pass on a Vulkan lane copies them to an image.
class SharedMemory final : public graph::MemoryBackend {
  public:
    /// `display` is null in the headless topology only; both devices outlive this.
    SharedMemory(accel::Device& accelerator, const vulkan::Display* display, TopologyChoice choice)
        : accelerator_(accelerator), display_(display), choice_(std::move(choice)) {}
    ~SharedMemory() override;

    Result<std::unique_ptr<SharedBuffer>> create_buffer(std::string_view name, std::uint64_t bytes) const {
        return SharedBuffer::create(accelerator_, display_, choice_, name, bytes);
    }
    Result<void> reserve(std::uint64_t arena_bytes);
    /// Errors: those of SharedBuffer::create; Unsupported for an image, by name.
    Result<std::unique_ptr<graph::PlanMemory>> realize(const graph::Plan& plan, graph::MemoryDomain domain) override;

  private:
    accel::Device& accelerator_;
    const vulkan::Display* display_;
    TopologyChoice choice_;
    std::shared_ptr<SharedBuffer> arena_;  ///< plans realised on a smaller one keep that alive
};

}  // namespace kinetograph::interop
