// LaneProgress: how far an accelerator lane has come, for those who may outlive it.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <mutex>

namespace kinetograph::accel {

/// Shared by a lane and whoever waits for its values from a thread of their own: the lane may end meanwhile. Any
/// thread.
class LaneProgress {
  public:
    /// `stream` signals `timeline`, and lives until end().
    LaneProgress(std::shared_ptr<Timeline> timeline, const Stream& stream)
        : timeline_(std::move(timeline)), stream_(&stream) {}
    /// Blocks the calling thread until the lane has reached `value`. Errors, while it has not: DeviceLost; Cancelled
    /// (the lane has ended).
    Result<void> wait(std::uint64_t value) const;
    /// The lane's last words, once its stream is empty: values that it has not reached by now never will be.
    void end();

  private:
    Result<void> may_come(std::uint64_t value) const;

    std::shared_ptr<Timeline> timeline_;
    mutable std::mutex mutex_;  ///< held while the stream is asked: after end() nobody does
    const Stream* stream_;      ///< null: the lane has ended
};

}  // namespace kinetograph::accel
