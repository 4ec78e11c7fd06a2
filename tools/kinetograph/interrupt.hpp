// Interrupt: the first Ctrl-C, SIGTERM or SIGHUP ends the program at once, with outputs discarded and exit code 1.
#pragma once

#include <csignal>

#include <atomic>
#include <functional>
#include <thread>

namespace kinetograph::cli {

/// While it exists, SIGINT, SIGTERM and SIGHUP run `discard` on a separate thread and end the process, without waiting
/// for a decode step, which may take minutes. A signal that the process was started to ignore, as by nohup, stays
/// ignored. Create it before any other thread, so that all threads inherit the blocked signals.
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
