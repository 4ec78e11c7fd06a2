// Timeline and event of the CPU.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <atomic>

namespace kinetograph::accel::cpu {

/// What streams of the CPU wait for and signal.
class CpuTimeline : public graph::HostTimeline {};

class CpuEvent final : public Event {
  public:
    std::optional<Nanoseconds> time() const override;
    void stamp(std::optional<Nanoseconds> time);

  private:
    static constexpr Nanoseconds::rep kUnset = -1;
    std::atomic<Nanoseconds::rep> time_{kUnset};
};

}  // namespace kinetograph::accel::cpu
