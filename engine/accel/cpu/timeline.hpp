// Timeline and event of the CPU: a counter under a mutex, a time stamp.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace kinetograph::accel::cpu {

class CpuTimeline final : public Timeline {
  public:
    std::uint64_t value() const override;
    bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout) override;
    void signal(std::uint64_t value) override;

  private:
    mutable std::mutex mutex_;
    std::condition_variable grown_;
    std::uint64_t value_ = 0;
};

class CpuEvent final : public Event {
  public:
    std::optional<Nanoseconds> time() const override;
    void stamp(std::optional<Nanoseconds> time);

  private:
    static constexpr Nanoseconds::rep kUnset = -1;
    std::atomic<Nanoseconds::rep> time_{kUnset};
};

}  // namespace kinetograph::accel::cpu
