// GivenUpWork: work that a device was given and that is no longer waited for.
#pragma once

#include <kinetograph/engine/base/thread_safety.hpp>

#include <functional>
#include <vector>

namespace kinetograph::accel::gpu {

/// One per context. Until such work has ended, memory, modules and graphs are leaked instead of released, because the
/// work may still use them and a driver would wait for it. Thread-safe.
class GivenUpWork {
  public:
    /// `has_ended` is polled until it returns true, and then destroyed with what it keeps; it must not block.
    void add(std::function<bool()> has_ended);
    bool has_ended();

  private:
    Mutex mutex_;
    std::vector<std::function<bool()>> pending_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::accel::gpu
