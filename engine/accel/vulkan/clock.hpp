// Events as time stamps of the device, on the host's axis by the device's clock.
#pragma once

#include <kinetograph/engine/accel/gpu/clock.hpp>
#include <kinetograph/engine/vulkan/clock.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/timeline.hpp>

namespace kinetograph::accel::vulkan {

namespace vk = ::kinetograph::vulkan;

/// One time stamp. Kept by its event, and by the recordings that write it until the device has executed them.
class Stamp {
  public:
    /// Errors: what the driver says.
    static Result<std::shared_ptr<Stamp>> create(const vk::Device& device);
    ~Stamp();
    Stamp(const Stamp&) = delete;
    Stamp& operator=(const Stamp&) = delete;

    VkQueryPool pool() const { return pool_; }
    /// It is about to be written, before `progress` reaches `value`; without a timeline, by every replay of a graph.
    void expect(std::shared_ptr<vk::TimelineSemaphore> progress, std::uint64_t value);
    /// Ticks of the device's clock; empty before it has been written.
    std::optional<std::uint64_t> ticks() const;

  private:
    Stamp(const vk::Device& device, VkQueryPool pool) : device_(device), pool_(pool) {}
    const vk::Device& device_;
    VkQueryPool pool_;
    mutable Mutex mutex_;
    std::shared_ptr<vk::TimelineSemaphore> progress_ KG_GUARDED_BY(mutex_);
    std::uint64_t value_ KG_GUARDED_BY(mutex_) = 0;
};

/// What gpu::EventHandle points to.
struct Stamped {
    std::shared_ptr<Stamp> stamp;
};

class StampClock final : public gpu::EventClock {
  public:
    explicit StampClock(std::shared_ptr<gpu::Context> context, vk::DeviceClock& clock)
        : context_(std::move(context)), clock_(clock) {}
    std::optional<Nanoseconds> host_time(const gpu::GpuEvent& event) const override;
    ClockQuality quality() const override { return {clock_.error(), clock_.drift_ppm()}; }

  private:
    std::shared_ptr<gpu::Context> context_;  ///< keeps the device
    vk::DeviceClock& clock_;
};

}  // namespace kinetograph::accel::vulkan
