// GuardedSink: a frame sink that an interruption may discard from another thread (interrupt.hpp).
#pragma once

#include <kinetograph/tools/media/frame_sink.hpp>

#include <memory>
#include <mutex>

namespace kinetograph::cli {

class GuardedSink {
  public:
    void set(std::unique_ptr<media::FrameSink> sink) {
        std::lock_guard lock(mutex_);
        sink_ = std::move(sink);
    }
    Result<void> write(std::span<const float> hwc) {
        std::lock_guard lock(mutex_);
        return sink_->write(hwc);
    }
    Result<void> finish() {
        std::lock_guard lock(mutex_);
        return sink_->finish();
    }
    /// For the end of an interrupted process: keeps the lock, so that nothing is written or finished any more.
    void discard() {
        mutex_.lock();
        sink_.reset();
    }

  private:
    std::mutex mutex_;
    std::unique_ptr<media::FrameSink> sink_;
};

}  // namespace kinetograph::cli
