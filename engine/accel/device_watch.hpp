// DeviceWatch: a device's clocks, power and memory as counters of a recorder.
#pragma once

#include <kinetograph/engine/accel/sensors.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/profile/recorder.hpp>

#include <string>
#include <thread>

namespace kinetograph::accel {

struct DeviceWatchOptions {
    Nanoseconds period = std::chrono::milliseconds(250);  ///< querying a driver is slow
    SensorSources sources{};
};

/// "NVIDIA H200 at 3b:00": the device's name with its place on the PCI bus, so that equal GPUs have their own counters.
std::string counted_name_of(const DeviceInfo& device);

/// Samples at once, then every period on a thread of its own, and once more when destroyed.
class DeviceWatch {
  public:
    /// Records what the sensors report, and the memory that `device` has handed out, its peak and its budget, under the
    /// device's counted_name_of(). Where there are no sensors, the device's log says why. `recorder` outlives the
    /// watch.
    DeviceWatch(std::shared_ptr<const Device> device, profile::Recorder& recorder,
                const DeviceWatchOptions& options = {});
    DeviceWatch(const DeviceWatch&) = delete;
    DeviceWatch& operator=(const DeviceWatch&) = delete;
    ~DeviceWatch();

  private:
    void run();
    void sample();
    void count();

    std::shared_ptr<const Device> device_;
    profile::Recorder& recorder_;
    Nanoseconds period_;
    std::string label_;                 // of the device, in every counter
    std::unique_ptr<Sensors> sensors_;  ///< null: none
    Mutex mutex_;
    bool ends_ KG_GUARDED_BY(mutex_) = false;
    Condition wakes_;
    std::thread thread_;
};

}  // namespace kinetograph::accel
