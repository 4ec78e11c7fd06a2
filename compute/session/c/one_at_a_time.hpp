// OneAtATime: calls that one thread makes at a time.
#pragma once

#include <atomic>

namespace kinetograph::c {

/// Entered by one thread at a time; false for a second one.
class OneAtATime {
  public:
    explicit OneAtATime(std::atomic<bool>& busy) : busy_(busy), entered_(!busy.exchange(true)) {}
    OneAtATime(const OneAtATime&) = delete;
    OneAtATime& operator=(const OneAtATime&) = delete;
    ~OneAtATime() {
        if (entered_) busy_ = false;
    }
    explicit operator bool() const { return entered_; }

  private:
    std::atomic<bool>& busy_;
    const bool entered_;
};

}  // namespace kinetograph::c
