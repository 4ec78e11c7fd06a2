// Memory of a frame graph's resources: an accelerator's own, and host memory that several accelerators share.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/graph/executor.hpp>

#include <memory>
#include <vector>

namespace kinetograph::accel {

/// Plans of one executor never run unordered, so they share one arena, which is as large as the largest plan realised
/// so far; reserve() that size first and no step ever allocates.
class ArenaMemory : public graph::MemoryBackend {
  public:
    Result<void> reserve(std::uint64_t arena_bytes);
    Result<std::unique_ptr<graph::PlanMemory>> realize(const graph::Plan& plan, graph::MemoryDomain domain) final;

  private:
    virtual Result<std::unique_ptr<Memory>> allocate(std::string_view name, std::uint64_t bytes) = 0;
    std::shared_ptr<Memory> arena_;  ///< null if none needs any; plans realised on a smaller one keep that alive
};

/// Serves an accelerator's domain out of Device::allocate.
class AcceleratorMemory final : public ArenaMemory {
  public:
    explicit AcceleratorMemory(Device& device) : device_(device) {}

  private:
    Result<std::unique_ptr<Memory>> allocate(std::string_view name, std::uint64_t bytes) override {
        return device_.allocate(name, bytes);
    }
    Device& device_;
};

/// Serves MemoryDomain::Host where passes on accelerators use it: pages that every one of them and the host address.
/// What one device writes there another reads across the bus, without a copy.
class PinnedMemory final : public ArenaMemory {
  public:
    /// The devices, at least one, outlive this.
    explicit PinnedMemory(std::vector<Device*> devices) : devices_(std::move(devices)) {}

  private:
    /// Errors: OutOfMemory; Unsupported (two devices that do not see the pages at one address, by name).
    Result<std::unique_ptr<Memory>> allocate(std::string_view name, std::uint64_t bytes) override;
    std::vector<Device*> devices_;
};

}  // namespace kinetograph::accel
