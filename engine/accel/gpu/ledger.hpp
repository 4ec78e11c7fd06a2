// Ledger: how many bytes of a device's own memory are held, and were at most.
#pragma once

#include <cstdint>
#include <mutex>

namespace kinetograph::accel::gpu {

/// Counts the bytes of Device::allocate, from any thread.
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

}  // namespace kinetograph::accel::gpu
