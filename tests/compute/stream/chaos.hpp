// Chaos: the time, the seed and the random numbers of tests that for a while call anything that may be called.
#pragma once

#include <kinetograph/engine/base/clock.hpp>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

namespace kinetograph::testing {

/// The time for all such tests of a program together: KINETOGRAPH_CHAOS_SECONDS, by default 10 seconds.
inline Nanoseconds chaos_time() {
    const char* given = std::getenv("KINETOGRAPH_CHAOS_SECONDS");
    return std::chrono::seconds(given != nullptr ? std::max(1, std::atoi(given)) : 10);
}

/// KINETOGRAPH_CHAOS_SEED, by default 1.
inline std::uint32_t chaos_seed() {
    const char* given = std::getenv("KINETOGRAPH_CHAOS_SEED");
    return given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : 1;
}

/// Random numbers for one thread.
class Dice {
  public:
    explicit Dice(std::uint32_t seed) : random_(seed) {}
    /// 0 to `sides` - 1.
    std::uint32_t roll(std::uint32_t sides) { return static_cast<std::uint32_t>(random_()) / 7 % sides; }
    bool one_in(std::uint32_t sides) { return roll(sides) == 0; }
    Nanoseconds up_to(std::chrono::microseconds most) {
        return std::chrono::microseconds(roll(static_cast<std::uint32_t>(most.count()) + 1));
    }
    void pause(std::chrono::microseconds most) { std::this_thread::sleep_for(up_to(most)); }

  private:
    std::minstd_rand random_;
};

}  // namespace kinetograph::testing
