// Interrupt: the first Ctrl-C or SIGTERM ends the program at once, with outputs discarded and exit code 1.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace kinetograph::cli {

/// While it exists, SIGINT and SIGTERM run `discard` on a thread of its own and end the process: a decode step may take
/// minutes, nobody should wait for it. Make it before any other thread, so that they all inherit the blocked signals.
class Interrupt {
  public:
    explicit Interrupt(std::function<void()> discard);
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

  private:
    void watch();
    std::function<void()> discard_;
    std::atomic<bool> stopped_{false};
    std::thread thread_;
};

}  // namespace kinetograph::cli
