// Context: what everything of one HIP device shares; it lives as long as the last of them.
#pragma once

#include <kinetograph/engine/accel/hip/runtime.hpp>

#include <mutex>

namespace kinetograph::accel::hip {

/// Counts the bytes of Device::allocate.
class Ledger {
  public:
    void add(std::uint64_t bytes);
    void remove(std::uint64_t bytes);
    std::uint64_t held() const;
    std::uint64_t peak() const;

  private:
    mutable std::mutex mutex_;
    std::uint64_t held_ = 0;
    std::uint64_t peak_ = 0;
};

struct Context {
    std::shared_ptr<const Runtime> runtime;
    int ordinal = 0;
    DeviceInfo info;
    Ledger ledger;

    const EntryPoints& hip() const { return runtime->entry_points(); }
    /// The runtime keeps a current device for every thread, and allocations, modules and launches go to that one: every
    /// entry of ours says which it means, so that several devices and other users of HIP can live in one process.
    Result<void> make_current() const { return runtime->check(hip().hipSetDevice(ordinal), "hipSetDevice"); }
};

}  // namespace kinetograph::accel::hip
