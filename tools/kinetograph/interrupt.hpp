// Interrupt: the first Ctrl-C, SIGTERM or other signal that ends programs ends the program at once, with outputs
// discarded and exit code 1.
#pragma once

#include <csignal>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace kinetograph::cli {

/// While it exists, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2 and SIGXCPU run `discard` on a separate
/// thread and end the process with the sentence that it returns, without waiting for a decode step, which may take
/// minutes. A signal that the process was started to ignore, as by nohup, stays ignored. Create it before any other
/// thread, so that all threads inherit the blocked signals.
class Interrupt {
  public:
    explicit Interrupt(std::function<std::string()> discard);
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

  private:
    void watch();
    const sigset_t signals_;
    std::function<std::string()> discard_;
    std::atomic<bool> stopped_{false};
    std::thread thread_;
};

}  // namespace kinetograph::cli
