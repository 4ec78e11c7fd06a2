// Watchdog: ends a test that hangs.
#pragma once

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace kinetograph::interop::testing {

/// Ends the process with a message if this object lives for longer than `patience`.
class Watchdog {
  public:
    Watchdog(std::string what, std::chrono::seconds patience)
        : thread_([this, what = std::move(what), patience] {
              std::unique_lock lock(mutex_);
              if (ended_.wait_for(lock, patience, [&] { return over_; })) return;
              std::fprintf(stderr, "%s: stands still since %ld s\n", what.c_str(), static_cast<long>(patience.count()));
              std::_Exit(1);
          }) {}
    ~Watchdog() {
        {
            std::lock_guard lock(mutex_);
            over_ = true;
        }
        ended_.notify_one();
        thread_.join();
    }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

  private:
    std::mutex mutex_;
    std::condition_variable ended_;
    bool over_ = false;
    std::thread thread_;  ///< last member: starts after the others were initialised
};

}  // namespace kinetograph::interop::testing
