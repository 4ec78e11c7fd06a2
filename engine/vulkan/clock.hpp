// DeviceClock: device time stamps on the host axis.
#pragma once

#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/profile/clock_regression.hpp>

#include <vulkan/vulkan_core.h>

#include <memory>
#include <string>

namespace kinetograph::vulkan {

class Device;

/// With VK_EXT_calibrated_timestamps both clocks are read together repeatedly, and offset and drift are fitted. Without
/// it one stamp is anchored between the host times before its submission and after its completion.
class DeviceClock {
  public:
    static Result<std::unique_ptr<DeviceClock>> create(const Device& device);

    /// Takes another reading, if one is possible and the last is older than 100 ms. Thread-safe.
    void calibrate();
    /// Host time of a stamp of a queue with that many valid bits. Thread-safe.
    Nanoseconds to_host(std::uint64_t ticks) const;
    /// "calibrated (VK_EXT_calibrated_timestamps), drift 1.2 ppm", or how the estimate was made, with its error.
    std::string describe() const;
    Nanoseconds error() const;  ///< of a time on the host axis
    double drift_ppm() const;
    bool available() const;  ///< false if the graphics queue has no time stamps

  private:
    explicit DeviceClock(const Device& device);
    void read_together() KG_REQUIRES(mutex_);
    Result<void> anchor();
    bool reads_host_clock() const;

    const Device& device_;
    bool calibrated_ = false;
    mutable Mutex mutex_;
    profile::ClockRegression regression_ KG_GUARDED_BY(mutex_);
    Nanoseconds last_reading_ KG_GUARDED_BY(mutex_){};
};

}  // namespace kinetograph::vulkan
