// GivenUpWork: what a device was given and nobody waits for any more.
#pragma once

#include <kinetograph/engine/base/thread_safety.hpp>

#include <functional>
#include <vector>

namespace kinetograph::accel::gpu {

/// Of one context. While such work has not ended, memory, modules and graphs are leaked instead of released: the work
/// may use them, and a driver would wait for the work. Thread-safe.
class GivenUpWork {
  public:
    /// `has_ended` is asked until it says so; it blocks on nothing.
    void add(std::function<bool()> has_ended);
    bool has_ended();

  private:
    Mutex mutex_;
    std::vector<std::function<bool()>> pending_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::accel::gpu
