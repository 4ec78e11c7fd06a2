// DeviceClock: device time stamps on the host axis.
#pragma once

#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/profile/clock_brackets.hpp>

#include <vulkan/vulkan_core.h>

#include <memory>
#include <string>

namespace kinetograph::vulkan {

class Device;

/// Offset and drift are fitted over repeated readings of both clocks: together by VK_EXT_calibrated_timestamps,
/// otherwise derived from the lanes' work, which runs between its submission and its completion as the host sees them
/// (profile::ClockBrackets).
class DeviceClock {
  public:
    static Result<std::unique_ptr<DeviceClock>> create(const Device& device);

    /// Takes another reading, if one is possible and the last is older than 100 ms. Thread-safe.
    void calibrate();
    /// Notes a lane's work: `first` was stamped after `submitted`, `last` before `done`. Thread-safe; ignored if the
    /// extension is used.
    void note_work(std::uint64_t first, Nanoseconds submitted, std::uint64_t last, Nanoseconds done);
    /// Host time of a stamp that was taken at about `near`: by up to half the range of the counter, which wraps after
    /// the fewest valid bits of the lanes' queues. Thread-safe.
    Nanoseconds to_host(std::uint64_t ticks, Nanoseconds near) const;
    /// "calibrated (VK_EXT_calibrated_timestamps), drift 1.2 ppm", or how the estimate was made, with its error.
    std::string describe() const;
    Nanoseconds error() const;  ///< upper bound, of a time on the host axis
    double drift_ppm() const;
    bool available() const;  ///< false if the graphics queue has no time stamps

  private:
    explicit DeviceClock(const Device& device);
    void read_together() KG_REQUIRES(mutex_);
    Result<void> anchor();
    bool reads_host_clock() const;
    Nanoseconds error_locked() const KG_REQUIRES(mutex_);

    const Device& device_;
    bool calibrated_ = false;
    mutable Mutex mutex_;
    profile::ClockRegression regression_ KG_GUARDED_BY(mutex_);
    profile::ClockBrackets brackets_ KG_GUARDED_BY(mutex_){regression_};
    Nanoseconds last_reading_ KG_GUARDED_BY(mutex_){};
};

}  // namespace kinetograph::vulkan
