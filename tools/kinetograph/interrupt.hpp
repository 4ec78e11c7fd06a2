// Interrupt: the first Ctrl-C, SIGTERM or SIGHUP ends the program at once, with outputs discarded and exit code 1.
#pragma once

#include <csignal>

#include <atomic>
#include <functional>
#include <thread>

namespace kinetograph::cli {

/// While it exists, SIGINT, SIGTERM and SIGHUP run `discard` on a thread of its own and end the process: a decode step
/// may take minutes, nobody should wait for it. One that the process was started to ignore, as nohup does, stays
/// ignored. Make it before any other thread, so that they all inherit the blocked signals.
class Interrupt {
  public:
    explicit Interrupt(std::function<void()> discard);
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

  private:
    void watch();
    const sigset_t signals_;
    std::function<void()> discard_;
    std::atomic<bool> stopped_{false};
    std::thread thread_;
};

}  // namespace kinetograph::cli
