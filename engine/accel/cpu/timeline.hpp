// Timeline and event of the CPU.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <atomic>

namespace kinetograph::accel::cpu {

/// Timeline::owner() of what any CPU device makes: streams of all CPU devices can wait for and signal it.
inline constexpr char kCpuOwner{};

/// What streams of the CPU wait for and signal.
class CpuTimeline : public graph::HostTimeline {
  public:
    const void* owner() const final { return &kCpuOwner; }
};

class CpuEvent final : public Event {
  public:
    std::optional<Nanoseconds> time() const override;
    const void* owner() const override { return &kCpuOwner; }
    void stamp(std::optional<Nanoseconds> time);

  private:
    static constexpr Nanoseconds::rep kUnset = -1;
    std::atomic<Nanoseconds::rep> time_{kUnset};
};

}  // namespace kinetograph::accel::cpu
